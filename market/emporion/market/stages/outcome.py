"""What an intent with several stages comes to: solutions, what cannot be stood up, or why nothing serves."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal

from emporion.market.errors import UserError
from emporion.market.placement.model import Placement, Rejection, Relaxation
from emporion.market.placement.rejections import rejections
from emporion.market.stages.graph import GraphFront, StageGraph
from emporion.market.stages.infeasible import graph_error
from emporion.market.stages.labels import best_of
from emporion.market.stages.placements import Placements
from emporion.market.stages.relax import graph_relaxations

__all__ = ["StageOutcome", "critical_path_hours", "graph_rejections", "outcome"]


@dataclass(frozen=True)
class StageOutcome:
    """What a graph of stages comes to."""

    graph: StageGraph
    solutions: tuple[Placement, ...]
    """The front over placements each stage of which can be stood up by itself; over all when there is none."""
    others: tuple[Placement, ...]
    relaxations: tuple[Relaxation, ...]
    error: UserError | None
    epsilon: float
    warnings: tuple[str, ...]


def outcome(graph: StageGraph) -> StageOutcome:
    """Return what a graph comes to.

    Raises: UserError E-STAGES: as `solve`.
    """
    usable = graph.front(usable=True)
    every = usable if usable.points and usable.whole else graph.front()
    made = Placements(graph)
    first = usable if usable.points else every
    solutions = tuple(made.placement(each) for each in first.points)
    rest = every.points if usable.points and every is not usable else []
    others = tuple(made.placement(rest[at]) for at in _beside(usable, every)) if rest else ()
    changes = () if solutions else tuple(graph_relaxations(graph))
    epsilon = max(first.epsilon, every.epsilon)
    return StageOutcome(
        graph,
        solutions,
        others,
        changes,
        None if solutions else graph_error(graph, changes),
        epsilon,
        tuple(_warnings(graph, epsilon)),
    )


def _beside(usable: GraphFront, every: GraphFront) -> list[int]:
    """Return which points over everything no usable one equals or betters."""
    mine = len(usable.points)
    labels = [
        (each.vector.cost, -each.vector.throughput, each.vector.loss_s, each.vector.carbon, at)
        for at, each in enumerate([*usable.points, *every.points])
    ]
    return [label[-1] - mine for label in best_of(labels) if label[-1] >= mine]


def graph_rejections(graph: StageGraph, placements: Iterable[Placement]) -> tuple[Rejection, ...]:
    """Return every offer that no placement uses for a stage, counted by stage and first failing constraint."""
    used: dict[str, set[str]] = {name: set() for name in graph.names}
    for placement in placements:
        for pool in placement.pools:
            used[pool.stage or ""].add(pool.offer.id)
    found = [
        Rejection(f"{name}: {each.reason}", each.offers, each.example)
        for name, choice in zip(graph.names, graph.choices, strict=True)
        for each in rejections(choice, used[name])
    ]
    return tuple(sorted(found, key=lambda each: (-each.offers, each.reason)))


def _warnings(graph: StageGraph, epsilon: float) -> Iterable[str]:
    for edge in graph.edges:
        one, other = edge.names
        if edge.size_gb is None:
            yield f"{other} needs {one}: data_out of {one} does not say how much, the transfer is not estimated"
        elif edge.hours is None and edge.size_gb:
            yield f"{other} needs {one}: the transfer is no part of the cost an hour while {other} has no hours"
    if epsilon:
        yield (
            f"too many placements for an exact front: every one left out has one shown that is no dearer and within "
            f"{epsilon * 100:.2g} % of it in speed and lost time"
        )


def critical_path_hours(graph: StageGraph) -> Decimal | None:
    """Return how long the stages take when each begins after those it needs; None: some hours are unknown."""
    ends: dict[str, Decimal] = {}
    hours = dict(zip(graph.names, graph.hours, strict=True))
    needs = {stage.name: stage.needs for stage in graph.intent.stages}

    def end(name: str) -> Decimal | None:
        if name not in ends:
            before = [end(each) for each in needs[name]]
            own = hours[name]
            if own is None or None in before:
                return None
            ends[name] = own + max((each for each in before if each is not None), default=Decimal(0))
        return ends[name]

    found = [end(name) for name in graph.names]
    return None if None in found else max(each for each in found if each is not None)
