"""The smallest changes that make an infeasible graph of stages feasible, as `placement/relax.py` finds them for one.

A key that stages share (one of the intent's own constraints) gives way for all of them at once; a stage's own key for
that stage alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import ROUND_UP, Decimal
from functools import partial

from emporion.market.budget import Ceiling
from emporion.market.intent.model import Budget, Intent
from emporion.market.placement.candidates import usd
from emporion.market.placement.knobs import Knob, knobs
from emporion.market.placement.model import Relaxation
from emporion.market.placement.smallest import smallest_sets
from emporion.market.stages.graph import StageGraph
from emporion.market.stages.views import own_key
from emporion.market.units import format_carbon

__all__ = ["graph_relaxations"]

_CENT = Decimal("0.01")


@dataclass(frozen=True)
class _Way:
    """One key that can give way."""

    key: str
    before: str
    after: str
    open: Callable[[StageGraph], StageGraph]
    steps: Callable[[StageGraph], Iterator[tuple[StageGraph, str]]]
    """Given the graph without it: changed graphs with their text, least change first."""


def graph_relaxations(graph: StageGraph) -> list[Relaxation]:
    """Return the smallest changes, cheapest first; none when no change of these keys helps."""
    ways = [*_budgets(graph), *_carbon(graph), *_stage_keys(graph)]

    def serves(keys: frozenset[int]) -> bool:
        return _cheapest(_opened(graph, [ways[key] for key in sorted(keys)])) is not None

    sets = smallest_sets(len(ways), serves)
    found = [each for keys in sets for each in _relaxed(graph, [ways[key] for key in keys])]
    return sorted(found, key=lambda each: (each.total_usd_per_hour, each.change))


def _cheapest(graph: StageGraph) -> Decimal | None:
    """Return the cost per hour of the cheapest placement within the budget, None without any."""
    points = graph.front(by_cost=True).points
    return usd(min(each.vector.cost for each in points)) if points else None


def _opened(graph: StageGraph, ways: Iterable[_Way]) -> StageGraph:
    for way in ways:
        graph = way.open(graph)
    return graph


def _relaxed(graph: StageGraph, some: Sequence[_Way]) -> Iterator[Relaxation]:
    """Yield the relaxation of exactly these keys, if it serves: each is set to its least change in turn."""
    changed = _opened(graph, some)
    if _cheapest(changed) is None:
        return
    texts = []
    for way in some:
        least = next(((each, text) for each, text in way.steps(changed) if _cheapest(each) is not None), None)
        changed, text = least or (changed, way.after)
        texts.append(text)
    total = _cheapest(changed)
    if total is not None:
        yield Relaxation(
            " + ".join(way.key for way in some), "; ".join(way.before for way in some), "; ".join(texts), total
        )


# The budget


def _budgets(graph: StageGraph) -> Iterator[_Way]:
    for ceiling in graph.limits(graph.intent.budget):
        yield _Way(
            f"cost_control.{ceiling.key}",
            ceiling.text,
            "no limit",
            partial(_budget, field=ceiling.field, amount=None),
            partial(_raised, ceiling=ceiling),
        )


def _budget(graph: StageGraph, field: str, amount: Decimal | None) -> StageGraph:
    budget: Budget = replace(graph.intent.budget, **{field: amount})  # type: ignore[arg-type]
    return graph.with_views(graph.views, replace(graph.intent, budget=budget))


def _raised(opened: StageGraph, ceiling: Ceiling) -> Iterator[tuple[StageGraph, str]]:
    """Offer the least ceiling, in whole cents, under which something can be placed."""
    least = opened.least(ceiling)
    if least is not None:
        amount = least.quantize(_CENT, ROUND_UP)
        yield _budget(opened, ceiling.field, amount), ceiling.write(amount)


def _carbon(graph: StageGraph) -> Iterator[_Way]:
    most = graph.intent.constraints.max_carbon_g_per_hour
    if most is not None:
        yield _Way(
            "constraints.max_carbon",
            format_carbon(most),
            "no limit",
            lambda opened: _emitting(opened, None),
            _least_carbon,
        )


def _emitting(graph: StageGraph, grams: int | None) -> StageGraph:
    most = None if grams is None else Decimal(grams)
    constraints = replace(graph.intent.constraints, max_carbon_g_per_hour=most)
    return graph.with_views(graph.views, replace(graph.intent, constraints=constraints))


def _least_carbon(opened: StageGraph) -> Iterator[tuple[StageGraph, str]]:
    least = min((each.vector.carbon for each in opened.front(by_cost=True).points), default=None)
    if least is not None:
        yield _emitting(opened, least), format_carbon(Decimal(least))


# What stages ask for


def _stage_keys(graph: StageGraph) -> Iterator[_Way]:
    shared: dict[str, list[tuple[int, Knob]]] = {}
    for number, view in enumerate(graph.views):
        for knob in knobs(view):
            shared.setdefault(own_key(graph.intent, number, knob.key), []).append((number, knob))
    for key, several in shared.items():
        first = several[0][1]
        yield _Way(key, first.before, first.after, _opener(several), _stepper(several))


def _opener(several: Sequence[tuple[int, Knob]]) -> Callable[[StageGraph], StageGraph]:
    def open_all(graph: StageGraph) -> StageGraph:
        views = list(graph.views)
        for number, knob in several:
            views[number] = knob.open(views[number])
        return graph.with_views(views)

    return open_all


def _stepper(several: Sequence[tuple[int, Knob]]) -> Callable[[StageGraph], Iterator[tuple[StageGraph, str]]]:
    def steps(opened: StageGraph) -> Iterator[tuple[StageGraph, str]]:
        if len(several) == 1:
            ((number, knob),) = several
            for view, text in knob.steps(opened.views[number], opened.choices[number]):
                yield _with(opened, {number: view}), text
            return
        changes = {
            number: next(knob.steps(opened.views[number], opened.choices[number]), None) for number, knob in several
        }
        if any(change is None for change in changes.values()):
            return
        for field in ("providers", "regions"):
            if several[0][1].key == f"constraints.{field}":
                yield _joined(opened, field, [change[0] for change in changes.values() if change], list(changes))

    return steps


def _joined(
    opened: StageGraph, field: str, changed: Sequence[Intent], numbers: Sequence[int]
) -> tuple[StageGraph, str]:
    """Return the graph with everything that each stage needs on a list that they share."""
    names = tuple(dict.fromkeys(name for view in changed for name in getattr(view.constraints, field)))
    views = {
        number: replace(view, constraints=replace(view.constraints, **{field: names}))  # type: ignore[arg-type]
        for number, view in zip(numbers, changed, strict=True)
    }
    return _with(opened, views), ", ".join(names)


def _with(graph: StageGraph, views: dict[int, Intent]) -> StageGraph:
    return graph.with_views([views.get(number, view) for number, view in enumerate(graph.views)])
