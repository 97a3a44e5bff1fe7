"""What each stage of an intent asks for by itself: an intent of its own, and the data that goes between stages.

Constraints of the intent hold for every stage, a stage's own narrow them. The budget is that of the whole and no part
of a stage's intent.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal

from emporion.market.intent.model import Budget, Constraints, DataSet, Intent, Network, Stage
from emporion.market.intent.stages import STAGE_SCHEME, producer_of, resources_of
from emporion.market.sites import region_glob, region_matches

__all__ = ["Need", "Place", "alone", "needs_between", "own_key", "stage_intents"]

Place = tuple[str, str]
"""Provider and region."""


@dataclass(frozen=True, slots=True)
class Need:
    """One stage that needs another, with what goes from one to the other."""

    producer: int
    consumer: int
    size_gb: Decimal | None
    """None: neither of them says how much."""
    stored: bool = False
    """What the producer writes lies in a store of the user's, and is read from there: nothing goes directly."""


def needs_between(intent: Intent) -> tuple[Need, ...]:
    """Return every need, in the order of the intent.

    What goes is what the reading stage's `data_in` says of it (`stage://NAME`), else the sum of the sizes of the
    writing stage's `data_out` without a store.
    """
    number = {stage.name: index for index, stage in enumerate(intent.stages)}
    found = []
    for consumer, stage in enumerate(intent.stages):
        for name in dict.fromkeys(stage.needs):
            producer = number[name]
            written = intent.stages[producer].data_out
            said = [data.size for data in stage.data_in if producer_of(data) == name and data.size is not None]
            sizes = said or [data.size for data in written if data.source is None and data.size is not None]
            stored = not sizes and any(data.source is not None for data in written)
            size = sum((each.gb for each in sizes), Decimal(0)) if sizes else None
            found.append(Need(producer, consumer, size, stored))
    return tuple(found)


def own_key(intent: Intent, index: int, key: str) -> str:
    """Return where the intent says a key of a stage: in the stage, or in the part that all stages share."""
    stage = intent.stages[index]
    own = f"stages[{index}].{key}"
    top, _, name = key.partition(".")
    if top == "constraints":
        field = {"max_price_age": "max_price_age_s", "max_carbon": "max_carbon_g_per_hour"}.get(name, name)
        return own if getattr(stage.constraints, field, None) else key
    if top == "resources":
        asked = {"gpus": "gpus", "nodes": "nodes_min", "cpus": "cpus_min", "memory": "memory_min"}
        part = name.partition(".")[0]
        if part == "network":
            return own if stage.resources.network != Network() else key
        if part not in asked:
            return own
        return own if any(getattr(stage.resources, each) is not None for each in asked.values()) else key
    return key


def stage_intents(intent: Intent, sites: Iterable[Place]) -> tuple[Intent, ...]:
    """Return each stage as an intent of its own, without a budget; `sites` are the regions that there are."""
    needed = {name for stage in intent.stages for name in stage.needs}
    known = tuple(sites)
    return tuple(_intent_of(intent, stage, known, last=stage.name not in needed) for stage in intent.stages)


def _intent_of(intent: Intent, stage: Stage, sites: tuple[Place, ...], *, last: bool) -> Intent:
    resources = resources_of(intent, stage)
    inputs = [data for data in stage.data_in if producer_of(data) is None]
    inputs += _stored(intent, stage)
    outputs = [data for data in stage.data_out if data.source is not None or data.egress is not None]
    if not stage.needs:
        inputs += [replace(data, egress=None) for data in intent.data if data.source is not None]
    if last:
        outputs += [DataSet(egress=data.egress) for data in intent.data if data.egress is not None]
    hours = stage.hours if stage.hours is not None else intent.model.hours
    moves = (Stage("", data_in=tuple(inputs), data_out=tuple(outputs), hours=hours),) if inputs or outputs else ()
    parameters = intent.model.parameters if resources.gpus is not None else None
    return replace(
        intent,
        resources=resources,
        budget=Budget(),
        constraints=_narrowed(intent.constraints, stage.constraints, sites),
        model=replace(intent.model, hours=hours, parameters=parameters),
        data=(),
        stages=moves,
    )


def _stored(intent: Intent, stage: Stage) -> Iterator[DataSet]:
    """Yield what a stage reads from the stores where the stages that it needs have written."""
    named = {data.source for data in stage.data_in}
    by_name = {each.name: each for each in intent.stages}
    for name in dict.fromkeys(stage.needs):
        if f"{STAGE_SCHEME}{name}" not in named:
            for data in by_name[name].data_out:
                if data.source is not None and data.source not in named:
                    yield replace(data, egress=None)


def _narrowed(common: Constraints, own: Constraints, sites: tuple[Place, ...]) -> Constraints:
    """Return the constraints of a stage: those of the intent, narrowed by its own."""
    ages = [each for each in (common.max_price_age_s, own.max_price_age_s) if each is not None]
    queries = [each for each in (common.where, own.where) if each is not None]
    return replace(
        common,
        providers=_providers(common.providers, own.providers),
        regions=_regions(common.regions, own.regions, sites),
        local_zones=own.local_zones or common.local_zones,
        max_carbon_g_per_hour=own.max_carbon_g_per_hour,
        max_price_age_s=min(ages, default=None),
        where=" and ".join(f"({each})" for each in queries) if len(queries) > 1 else next(iter(queries), None),
    )


def _providers(common: tuple[str, ...], own: tuple[str, ...]) -> tuple[str, ...]:
    if not common or not own:
        return own or common
    return tuple(each for each in own if each in common) or _nothing(common, own)


def _regions(common: tuple[str, ...], own: tuple[str, ...], sites: tuple[Place, ...]) -> tuple[str, ...]:
    """Return globs of the regions that match both; the stage's own where they lie within those of the intent."""
    if not common or not own:
        return own or common
    narrow = [place for place in sites if region_matches(own, *place)]
    both = [place for place in narrow if region_matches(common, *place)]
    if both == narrow:
        return own
    return tuple(dict.fromkeys(region_glob(region) for _, region in both)) or _nothing(common, own)


def _nothing(common: tuple[str, ...], own: tuple[str, ...]) -> tuple[str, ...]:
    """Return a name that nothing has and that says why."""
    return (f"{' or '.join(common)} and {' or '.join(own)}",)


def alone(intent: Intent, sites: Iterable[Place]) -> Intent:
    """Return an intent with one stage as that stage without a pipeline around it; its stage keeps only its data."""
    (stage,) = intent.stages
    (own,) = stage_intents(intent, sites)
    prefix = "stages[0]."
    nearer = {path.removeprefix(prefix): line for path, line in intent.positions if path.startswith(prefix)}
    return replace(
        own,
        budget=intent.budget,
        constraints=replace(own.constraints, max_carbon_g_per_hour=_least_carbon(intent, stage)),
        stages=tuple(replace(each, name=stage.name) for each in own.stages),
        positions=tuple({**dict(intent.positions), **nearer}.items()),
    )


def _least_carbon(intent: Intent, stage: Stage) -> Decimal | None:
    said: Sequence[Decimal | None] = (
        intent.constraints.max_carbon_g_per_hour,
        stage.constraints.max_carbon_g_per_hour,
    )
    return min((each for each in said if each is not None), default=None)
