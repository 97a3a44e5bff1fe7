"""What to know of the money before one relies on a plan: each a warning that the user can act on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from decimal import Decimal

from emporion.market.ages import age_s
from emporion.market.budget import ceilings, within_budget
from emporion.market.cost_lines import Cost, plain_usd
from emporion.market.fallback import keeps_budget, on_demand_cost
from emporion.market.intent.model import DataSet, FallbackRule, Intent
from emporion.market.offer import Market
from emporion.market.placement.model import Placement
from emporion.market.transfer import checkpoint_place, dataset_place, moving_usd, on_nfs

__all__ = ["cost_advice", "datasets", "machines"]

_YEAR_S = 365 * 86_400
_CENT = Decimal("0.01")
_NAMED = 4
"""Things named at most in one warning."""


def cost_advice(intent: Intent, chosen: Placement | None, placements: Sequence[Placement], now: datetime) -> list[str]:
    """Return the warnings on an intent's data and budget, and on the cost of the placement that is looked at first."""
    found = [*_nfs(intent), *_lengths(intent)]
    if chosen is not None:
        found += [
            *_far_data(intent, chosen),
            *_far_checkpoints(intent, chosen),
            *_fallback(intent, chosen, placements),
            *_third_parties(chosen.cost),
            *_old_figures(chosen.cost, now),
        ]
    return found


def datasets(intent: Intent) -> Iterator[DataSet]:
    """Yield every dataset of an intent and its stages that comes from somewhere."""
    for several in (intent.data, *(stage.data_in for stage in intent.stages)):
        yield from (data for data in several if data.source is not None)


def machines(placement: Placement) -> str:
    """Return the machines of a placement in words: `2 x p4d.24xlarge`."""
    return " and ".join(f"{pool.count} x {pool.offer.instance_type}" for pool in placement.pools)


def _nfs(intent: Intent) -> Iterator[str]:
    if on_nfs(intent.checkpoint_path):
        yield (
            f"checkpoints at {intent.checkpoint_path} lie on NFS: one server bounds all nodes' writes and is lost with "
            "its zone; this version writes checkpoints to a bucket only, name one in checkpoint_path"
        )
    sources = dict.fromkeys(data.source for data in datasets(intent) if on_nfs(data.source))
    for source in sources:
        yield f"data at {source} lie on NFS: one server feeds all nodes, a bucket or lustre reads faster"
    if intent.resources.storage_type == "nfs":
        yield (
            "resources.storage_type nfs: this version makes no NFS file system, and checkpoints and data on one are "
            "slow to share: lustre or a bucket"
        )


def _lengths(intent: Intent) -> Iterator[str]:
    hours, most_s = intent.model.hours, intent.lifecycle.max_run_s
    if hours is not None and most_s is not None and hours * 3600 > most_s:
        yield f"model.hours {hours.normalize():f} is longer than lifecycle.max_run, {most_s / 3600:g} hours"
    if intent.resources.storage is not None and intent.resources.storage_type != "lustre":
        yield "resources.storage is the size of a lustre file system: without storage_type lustre none is made"


def _far_data(intent: Intent, chosen: Placement) -> Iterator[str]:
    """Tell of each dataset that does not lie where the cluster stands: both regions, and what moving it costs."""
    unsaid = "; it is in no total, model.hours does not say over how long" if chosen.cost.hours is None else ""
    for data, home in dict.fromkeys(_read_at(intent, chosen)):
        place = dataset_place(data)
        if place is None or place == home:
            continue
        said = f"{data.source} lies in {_place(place)}" if place[1] else f"the region of {data.source} is not said"
        yield f"{said}, the cluster stands in {_place(home)}: {_moving(data, place, home)}{unsaid}"


def _read_at(intent: Intent, chosen: Placement) -> Iterator[tuple[DataSet, tuple[str, str]]]:
    """Yield each dataset with each region in which it is read: of several stages those of the stage that reads it."""
    if not chosen.stages:
        yield from ((data, home) for data in datasets(intent) for home in _homes(chosen))
    for stage, part in zip(intent.stages, chosen.stages, strict=False):
        several = [*stage.data_in, *(() if part.needs else intent.data)]
        yield from ((data, home) for data in several if data.source is not None for home in _homes(part.placement))


def _homes(placement: Placement) -> list[tuple[str, str]]:
    return list(dict.fromkeys((pool.offer.provider, pool.offer.region) for pool in placement.pools))


def _moving(data: DataSet, place: tuple[str, str | None], home: tuple[str, str]) -> str:
    if data.size is None:
        return "what moving it costs is not known without its size"
    usd, exact = moving_usd(data.size.gb, place, home)
    size = f"{data.size.gb.normalize():f} GB"
    if usd is None:
        return f"what moving its {size} costs is not known"
    amount = plain_usd(usd.quantize(_CENT))
    if exact:
        return f"moving its {size} costs {amount} USD once"
    near = ", nothing within one region" if place[0] == home[0] else ""
    return f"moving its {size} costs at most {amount} USD once{near}; say data[].region"


def _place(place: tuple[str, str | None]) -> str:
    return " ".join(part for part in place if part)


def _far_checkpoints(intent: Intent, chosen: Placement) -> Iterator[str]:
    place = checkpoint_place(intent)
    training = [part.placement for part in chosen.stages if part.placement.pools[0].offer.gpu_count] or [chosen]
    homes = dict.fromkeys(home for placement in training for home in _homes(placement))
    for home in homes if place is not None else ():
        if place is None or place == home or (place[1] is None and place[0] == home[0]):
            continue
        line = next((line for line in chosen.cost.lines if line.item == "checkpoint traffic"), None)
        usd = None if line is None else line.usd_per_hour
        price = None if line is None else line.unit_price
        if usd is not None:
            costs = f"their traffic costs ${plain_usd(usd.quantize(Decimal('0.0001')))}/hr"
        else:
            rate = "?" if price is None else f"${plain_usd(price)}"
            costs = f"their traffic costs {rate} per GB, the volume is not known"
        there = f"{intent.checkpoint_path} in {_place(place)}"
        yield f"checkpoints go to {there}, the cluster stands in {_place(home)}: {costs}"


def _fallback(intent: Intent, chosen: Placement, placements: Sequence[Placement]) -> Iterator[str]:
    """Tell that spot falls back to machines that the budget does not allow (`spot_fallback: true`)."""
    budgeted = ceilings(intent.budget, intent.model.hours)
    if intent.lifecycle.spot_fallback is not FallbackRule.ON_DEMAND or not budgeted:
        return
    cost = on_demand_cost(chosen.pools, chosen.cost)
    if cost is not None:
        kept = keeps_budget(cost, intent)
        if kept is None:
            yield f"spot_fallback true: whether {_spot(chosen)} keep the budget on demand is not known, no price is"
        elif not kept:
            breach = next(each for each in within_budget(cost, intent) if each.judged)
            yield (
                f"spot_fallback true does not keep the budget: with {_spot(chosen)} on demand it costs "
                f"${plain_usd(cost.total.quantize(_CENT))}/hr, {breach.text}; spot_fallback pause waits instead"
            )
    others = [each for each in placements if each is not chosen]
    several = [fall for each in others if (fall := on_demand_cost(each.pools, each.cost)) is not None]
    broken = sum(keeps_budget(each, intent) is False for each in several)
    if broken:
        placements_do = "placement on spot does" if broken == 1 else "placements on spot do"
        yield f"spot_fallback true: {broken} other {placements_do} not keep the budget on demand"


def _spot(placement: Placement) -> str:
    spot = [pool for pool in placement.pools if pool.offer.market is Market.SPOT]
    return " and ".join(f"{pool.count} x {pool.offer.instance_type}" for pool in spot)


def _third_parties(cost: Cost) -> Iterator[str]:
    items = list(dict.fromkeys(line.item for line in cost.lines if line.quality == "secondary"))
    if items:
        yield f"priced by a third party's figure, not by the provider's list: {_some(items)}"


def _old_figures(cost: Cost, now: datetime) -> Iterator[str]:
    """Tell how old the figures beside the machines are; those of the machines have their own warning."""
    beside = [line for line in cost.lines if line.part != "compute" and line.unit_price and line.quality != "assumed"]
    undated = list(dict.fromkeys(line.item for line in beside if line.as_of is None))
    old = [line for line in beside if line.as_of is not None and age_s(line.as_of, now) > _YEAR_S]
    if old:
        oldest = min(old, key=lambda line: (line.as_of or "", line.item))
        others = f" and {len(old) - 1} more" if len(old) > 1 else ""
        yield f"priced by figures of more than a year ago: {oldest.item} of {oldest.as_of}{others}"
    if undated:
        yield f"priced by figures without a date: {_some(undated)}"


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return ", ".join(names[:_NAMED]) + more
