"""What has changed since a placement was pinned (`emporion plan --diff STACK`), and what a re-plan would do.

The pinned placement is priced anew with today's offers, as it stands; the plan says what would be chosen today. Both
are compared, so that a market that moved is told apart from a better place in it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from emporion.market.budget import within_budget
from emporion.market.clouds import FoundImage
from emporion.market.cost import CostModel
from emporion.market.cost_lines import Cost, plain_usd
from emporion.market.intent import intent_json
from emporion.market.offer import Offer
from emporion.market.offers import OfferFilter
from emporion.market.pin import PinnedPlacement, PinnedPool, Place
from emporion.market.placement.model import Placement, Pool
from emporion.market.plan.pinning import ImageKey, images_used
from emporion.market.plan.planning import Plan
from emporion.market.plan.stale import stale_note
from emporion.market.stages.placements import whole_cost

__all__ = ["Change", "Diff", "diff_plans", "market_diff"]

_LOSS_S_PER_HOUR = 3600
_PRICES_ALONE = "the same nodes: only the prices that are written down"


@dataclass(frozen=True, slots=True)
class Change:
    """One difference between a pinned placement and today."""

    kind: str
    """`intent`, `feasibility`, `gone`, `price`, `total`, `budget`, `placement` or `image`."""
    what: str
    pinned: str | None
    now: str | None
    """None: it is no longer there."""
    usd_per_hour: Decimal | None = None
    """How much dearer an hour is now, below 0 how much cheaper; of `placement`: than the pinned one today."""


@dataclass(frozen=True, slots=True)
class Diff:
    """How the market moved since a placement was pinned."""

    changes: tuple[Change, ...]
    stale: str | None
    """That the pinned prices are older than they may be."""
    today: Cost | None
    """The pinned placement at today's prices; None: an offer of it is gone, or it has other stages than the intent."""
    best: Placement | None
    """What would be chosen today; None: nothing can be stood up."""
    effect: str
    """What pinning and `up` would do, in words."""


def diff_plans(
    pinned: PinnedPlacement, plan: Plan, images: Mapping[ImageKey, FoundImage] | None = None
) -> tuple[Change, ...]:
    """Return what a re-plan would change, and how the prices of what is pinned have moved.

    `images` are those of the pinned regions now; None: not looked up.
    """
    return market_diff(pinned, plan, images).changes


def market_diff(pinned: PinnedPlacement, plan: Plan, images: Mapping[ImageKey, FoundImage] | None = None) -> Diff:
    """Return how the market moved since a placement was pinned; `images` as in `diff_plans`."""
    offers = _offers_now(pinned, plan)
    today = _today(pinned, plan, offers)
    image_changes = tuple(_images(pinned, images or {}))
    changes = (
        *_intent(pinned, plan),
        *_feasibility(plan),
        *_prices(pinned, offers),
        *_total(pinned, today),
        *_budget(plan, today),
        *_placement(pinned, plan, today),
        *image_changes,
    )
    return Diff(changes, stale_note(pinned, plan.now), today, plan.recommended, _effect(pinned, plan, changes))


# What was pinned, today


def _offers_now(pinned: PinnedPlacement, plan: Plan) -> dict[str, Offer]:
    wanted = {pool.offer_id for pool in pinned.pools}
    types = frozenset(pool.instance_type for pool in pinned.pools)
    return {
        each.id: each for each in plan.catalogue.find_offers(OfferFilter(instance_types=types)) if each.id in wanted
    }


def _today(pinned: PinnedPlacement, plan: Plan, offers: Mapping[str, Offer]) -> Cost | None:
    """Return the full chain of the pinned placement at today's prices, with the lost time that it was pinned with."""
    best = plan.recommended
    if best is not None and _same_nodes(pinned, best):
        return best.cost
    if any(pool.offer_id not in offers for pool in pinned.pools):
        return None
    if plan.stages is None:
        return None if pinned.stages else _cost(plan.choice.costs, pinned, offers)
    graph = plan.stages.graph
    if [stage.name for stage in pinned.stages] != list(graph.names):
        return None
    clusters = [stage.placement for stage in pinned.stages]
    own = [_cost(choice.costs, each, offers) for choice, each in zip(graph.choices, clusters, strict=True)]
    return whole_cost(graph, own, [(each.provider, each.region) for each in clusters])


def _cost(costs: CostModel, pinned: PinnedPlacement, offers: Mapping[str, Offer]) -> Cost:
    pools = [Pool(offers[pool.offer_id], pool.count, pool.stage) for pool in pinned.pools]
    return costs.cost(pools, loss_s_per_day=_loss_s(pinned))


def _loss_s(pinned: PinnedPlacement) -> int | None:
    line = next((line for line in pinned.cost_lines if line.get("item") == "interruptions"), None)
    hours = None if line is None else line.get("quantity")
    return None if hours is None else round(Decimal(hours) * _LOSS_S_PER_HOUR)


def _same_nodes(pinned: PinnedPlacement, best: Placement) -> bool:
    return [(pool.stage, pool.offer_id, pool.count) for pool in pinned.pools] == [
        (pool.stage, pool.offer.id, pool.count) for pool in best.pools
    ]


# The changes


def _intent(pinned: PinnedPlacement, plan: Plan) -> Iterator[Change]:
    before, now = _flat(pinned.intent), _flat(intent_json(plan.intent))
    one_sided = _parts(before) ^ _parts(now)  # a stage that came or went is told by its name alone
    for key in dict.fromkeys([*before, *now]):
        if key in _NOT_WISHES or key.split(".")[-1] in _NOT_WISHES or before.get(key) == now.get(key):
            continue
        if key.partition("]")[0] in one_sided:
            continue
        yield Change("intent", key, _word(before.get(key)), _word(now.get(key)))


_NOT_WISHES = frozenset({"schema", "name", "asked", "not_acted_on"})


def _flat(document: Mapping[str, Any], path: str = "") -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in document.items():
        if isinstance(value, Mapping):
            found |= _flat(value, f"{path}{key}.")
        elif isinstance(value, list) and value and all(isinstance(one, Mapping) and "name" in one for one in value):
            found[f"{path}{key}"] = [one["name"] for one in value]
            for one in value:
                found |= _flat(one, f"{path}{key}[{one['name']}].")
        elif value not in (None, [], ""):  # a key of a later version that is not set is no difference
            found[f"{path}{key}"] = value
    return found


def _parts(flat: Mapping[str, Any]) -> set[str]:
    """Return the named parts of lists that have keys of their own: `stages[train`."""
    return {key.partition("]")[0] for key in flat if "]" in key}


def _word(value: object) -> str | None:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Mapping):
        return " ".join(f"{key} {_word(one)}" for key, one in _flat(value).items())
    if isinstance(value, list):
        return ", ".join(str(_word(one)) for one in value)
    return None if value is None else str(value)


def _feasibility(plan: Plan) -> Iterator[Change]:
    if plan.error is not None:
        yield Change("feasibility", "the intent", "feasible", plan.error.what)
    elif plan.recommended is None:
        yield Change("feasibility", "the intent", "deployable", plan.solutions[0].deploy_problem)


def _prices(pinned: PinnedPlacement, offers: Mapping[str, Offer]) -> Iterator[Change]:
    seen: set[str] = set()
    for pool in pinned.pools:
        offer = offers.get(pool.offer_id)
        if pool.offer_id in seen:
            continue
        seen.add(pool.offer_id)
        if offer is None:
            yield Change("gone", pool.offer_id, f"{_nodes(pool)} at {_hourly(pool.usd_per_hour)}", None)
        elif offer.usd_per_hour != pool.usd_per_hour:
            yield Change(
                "price",
                pool.offer_id,
                _hourly(pool.usd_per_hour),
                _hourly(offer.usd_per_hour),
                offer.usd_per_hour - pool.usd_per_hour,
            )


def _total(pinned: PinnedPlacement, today: Cost | None) -> Iterator[Change]:
    if today is not None and today.total != pinned.usd_per_hour:
        more = today.total - pinned.usd_per_hour
        yield Change("total", "full chain", _hourly(pinned.usd_per_hour), _hourly(today.total), more)


def _budget(plan: Plan, today: Cost | None) -> Iterator[Change]:
    for breach in within_budget(today, plan.intent) if today is not None else ():
        if breach.judged:
            yield Change("budget", breach.key, "kept", breach.text)


def _placement(pinned: PinnedPlacement, plan: Plan, today: Cost | None) -> Iterator[Change]:
    best = plan.recommended
    if best is None or _same_nodes(pinned, best):
        return
    before = " + ".join(f"{pool.count} x {pool.offer_id}" for pool in pinned.pools)
    now = " + ".join(f"{pool.count} x {pool.offer.id}" for pool in best.pools)
    more = None if today is None else best.cost.total - today.total
    yield Change("placement", "nodes", before, f"{now} at {_hourly(best.cost.total)}", more)


def _images(pinned: PinnedPlacement, images: Mapping[ImageKey, FoundImage]) -> Iterator[Change]:
    for key, name, image in images_used(pinned):
        found = images.get(key)
        if found is not None and found.id != image.id:
            yield Change("image", name, f"{image.id} {image.name}".strip(), f"{found.id} {found.name}".strip())


def _nodes(pool: PinnedPool) -> str:
    return f"{pool.count} x {pool.instance_type}"


def _hourly(usd: Decimal) -> str:
    return f"${plain_usd(usd)}/hr"


# What a re-plan would do


def _effect(pinned: PinnedPlacement, plan: Plan, changes: tuple[Change, ...]) -> str:
    """Return what pinning again and `up` would change."""
    best = plan.recommended
    if best is None:
        return "nothing: no placement can be pinned today, the stack stays as it is"
    moved = _moved(pinned, best)
    if moved:
        return "; ".join(moved)
    if not _same_nodes(pinned, best):
        return "the nodes that are no longer in the placement are removed, new ones are made"
    kinds = {change.kind for change in changes}
    return next((effect for kind, effect in _EFFECTS if kind in kinds), "nothing")


def _moved(pinned: PinnedPlacement, best: Placement) -> list[str]:
    """Return what is made anew elsewhere, a stage at a time."""
    before = {stage: Place(each.provider, each.region) for stage, each in pinned.clusters}
    now: dict[str | None, Place] = {part.name: Place(*part.placement.sites[0][:2]) for part in best.stages}
    now = now or {None: Place(*best.sites[0][:2])}
    found = [
        f"{'everything' if stage is None else f'stage {stage}'} is made anew in {place}, "
        f"what stands in {before[stage].region} is removed"
        for stage, place in now.items()
        if stage in before and before[stage] != place
    ]
    found += [f"stage {stage or 'without a name'} is made in {now[stage]}" for stage in now if stage not in before]
    return found + [
        f"what stands in {before[stage]}{f' for {stage}' if stage else ''} is removed"
        for stage in before
        if stage not in now
    ]


_EFFECTS = (
    ("image", "the nodes are replaced by ones with the newer image"),
    ("intent", "the same nodes; what else the intent changes"),
    ("price", _PRICES_ALONE),
    ("total", _PRICES_ALONE),
    ("budget", "nothing"),
)
"""Kind of change, where the nodes stay -> what it comes to; the first that is there counts."""
