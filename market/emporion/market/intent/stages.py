"""Stages of an intent: what each takes over from the intent, and whether they can follow one another at all."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from emporion.market.errors import UserError, did_you_mean
from emporion.market.intent.model import DataSet, Intent, Network, Resources, Stage
from emporion.market.units import shown

__all__ = ["STAGE_SCHEME", "asks_for_nothing", "producer_of", "resources_of", "stage_problems"]

STAGE_SCHEME = "stage://"
"""`data_in: [{source: stage://tokenise, size: 40gb}]`: how much a stage reads of what another wrote."""
_MACHINES = ("gpus", "nodes_min", "nodes_max", "cpus_min", "memory_min")

Problem = tuple[str, UserError]
"""Key path and what is wrong there."""


def producer_of(data: DataSet) -> str | None:
    """Return the stage that data comes from, None when it comes from elsewhere."""
    source = data.source or ""
    return source.removeprefix(STAGE_SCHEME).strip("/") if source.startswith(STAGE_SCHEME) else None


def resources_of(intent: Intent, stage: Stage) -> Resources:
    """Return what a stage asks for.

    One that names GPUs, nodes, CPUs or memory is described by those alone; one that names none of them takes those of
    the intent. Storage is taken over by itself, the network by stages with GPUs.
    """
    common, own = intent.resources, stage.resources
    named = any(getattr(own, name) is not None for name in _MACHINES)
    machines = own if named else common
    network = own.network if own.network != Network() or machines.gpus is None else common.network
    return Resources(
        **{name: getattr(machines, name) for name in _MACHINES},
        network=network,
        storage=own.storage if own.storage is not None else common.storage,
        storage_type=own.storage_type if own.storage_type is not None else common.storage_type,
    )


def asks_for_nothing(resources: Resources) -> bool:
    """Return whether nothing says which machines are wanted."""
    return resources.gpus is None and resources.cpus_min is None and resources.memory_min is None


def stage_problems(intent: Intent) -> Iterator[Problem]:
    """Yield what is wrong with the stages of an intent: their names, their needs, and where their data come from."""
    names = [stage.name for stage in intent.stages]
    for index, stage in enumerate(intent.stages):
        path = f"stages[{index}]"
        if stage.name in names[:index]:
            what = f"two stages are called {shown(stage.name)}"
            yield f"{path}.name", UserError("E-DUPLICATE", what, fix="rename one")
        for need in stage.needs:
            if need == stage.name:
                what = f"stage {shown(need)} needs itself"
                yield f"{path}.needs", UserError("E-CONTRADICTION", what, fix="take it out of its needs")
            elif need not in names:
                yield f"{path}.needs", _unknown(f"no stage is called {shown(need)}", need, names)
        yield from _data(stage, path)
    yield from _circle(intent)


def _unknown(what: str, seen: str, names: list[str]) -> UserError:
    near = did_you_mean(seen, names)
    return UserError("E-VALUE", what, fix=f"did you mean {near}" if near else f"stages are {', '.join(names)}")


def _data(stage: Stage, path: str) -> Iterator[Problem]:
    for index, data in enumerate(stage.data_in):
        name = producer_of(data)
        if name is not None and name not in stage.needs:
            what = f"stage {shown(stage.name)} reads from {shown(name)}, which is none of its needs"
            near = did_you_mean(name, stage.needs)
            fix = f"did you mean {near}" if near else f"write needs: [{', '.join((*stage.needs, name))}]"
            yield f"{path}.data_in[{index}].source", UserError("E-VALUE", what, fix=fix)


def _circle(intent: Intent) -> Iterator[Problem]:
    """Yield the first circle of stages that wait for each other, at the needs of its first stage."""
    needs = {stage.name: [need for need in stage.needs if need != stage.name] for stage in intent.stages}
    left = _waiting(needs)
    if left:
        name = next(stage.name for stage in intent.stages if stage.name in left)
        way = [name]
        while True:
            following = next(need for need in needs[way[-1]] if need in left)
            if following in way:
                way = [*way[way.index(following) :], following]
                break
            way.append(following)
        first = next(index for index, stage in enumerate(intent.stages) if stage.name in way)
        at = way.index(intent.stages[first].name)
        way = [*way[at:-1], *way[:at], way[at]]
        what = f"stages wait for each other: {' -> '.join(way)}"
        yield f"stages[{first}].needs", UserError("E-CONTRADICTION", what, fix="take one need out")


def _waiting(needs: Mapping[str, list[str]]) -> set[str]:
    """Return the stages that can never begin; none when they have an order."""
    left = {name: {need for need in wanted if need in needs} for name, wanted in needs.items()}
    while left:
        ready = {name for name, wanted in left.items() if not wanted & left.keys()}
        if not ready:
            return set(left)
        left = {name: wanted for name, wanted in left.items() if name not in ready}
    return set()
