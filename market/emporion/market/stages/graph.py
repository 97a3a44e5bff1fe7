"""An intent with stages against one catalogue: a choice per stage, the needs between them, and the front over all."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from math import lcm
from typing import NamedTuple

from emporion.market.budget import Ceiling, ceilings
from emporion.market.graph import NANO
from emporion.market.intent.model import Budget, Intent
from emporion.market.offers import Catalogue
from emporion.market.placement.candidates import rounded
from emporion.market.placement.choose import Choice, Terms, choose
from emporion.market.placement.front import Vector
from emporion.market.stages.labels import Label, Labels, Layout, Merger, best_of
from emporion.market.stages.options import Option, StageOptions
from emporion.market.stages.solve import Fronts, solve
from emporion.market.stages.tolls import Edge, Tolls, groups_of
from emporion.market.stages.views import Need, needs_between, stage_intents

__all__ = ["GraphFront", "Picked", "StageGraph", "stage_graph"]

TermsOf = Callable[[Intent], Terms]


class Picked(NamedTuple):
    """One point of a front: what it is compared by, and an option for each stage."""

    vector: Vector
    options: tuple[Option, ...]
    judged: int
    """What a budget per hour is judged by, in 1e-9 USD; the cost itself where no budget asks."""
    run_judged: Fraction | None
    """The same for the run, in USD."""


class GraphFront(NamedTuple):
    """A front and how far from exact it is."""

    points: list[Picked]
    epsilon: float
    """0: exact."""


@dataclass(frozen=True)
class StageGraph:
    """The stages of one intent, each with its choice."""

    intent: Intent
    views: tuple[Intent, ...]
    """Each stage as an intent of its own."""
    choices: tuple[Choice, ...]
    needs: tuple[Need, ...]
    carbon: bool

    @property
    def names(self) -> tuple[str, ...]:
        """The stages' names, in the order of the intent."""
        return tuple(stage.name for stage in self.intent.stages)

    @cached_property
    def hours(self) -> tuple[Decimal | None, ...]:
        """The hours of each stage."""
        return tuple(view.model.hours for view in self.views)

    @cached_property
    def _scale(self) -> int:
        """What makes whole numbers of all hours."""
        return lcm(*(Fraction(hours).denominator for hours in self.hours if hours is not None), 1)

    @cached_property
    def edges(self) -> tuple[Edge, ...]:
        """What goes from stage to stage."""
        return tuple(
            Edge(
                need.producer,
                need.consumer,
                (self.names[need.producer], self.names[need.consumer]),
                need.size_gb,
                self.hours[need.consumer],
                self._whole(self.hours[need.consumer]),
            )
            for need in self.needs
            if not need.stored
        )

    def _whole(self, hours: Decimal | None) -> int:
        return 0 if hours is None else int(Fraction(hours) * self._scale)

    def limits(self, budget: Budget) -> list[Ceiling]:
        """Return the ceilings of a budget that can be judged."""
        run = None if None in self.hours else sum((hours for hours in self.hours if hours is not None), Decimal(0))
        return [each for each in ceilings(budget, run) if each.hours is not None]

    def front(self, *, usable: bool = False, by_cost: bool = False, budget: Budget | None = None) -> GraphFront:
        """Return the front over all stages, within a budget (None: the intent's).

        `usable`: every stage of offers that a component can stand up. `by_cost`: compared by what a budget and a
        ceiling on carbon ask alone, so that the cheapest is in it.
        """
        limits = self.limits(self.intent.budget if budget is None else budget)
        judged = [each for each in limits if each.key != "max_total"]
        layout = Layout(
            carbon=self.carbon,
            judged=bool(judged),
            gpus=any(each.per_gpu for each in limits),
            run=len(judged) < len(limits),
        )
        options = self._options(layout, usable=usable, by_cost=by_cost)
        return self._solved(options, layout, limits)

    def _options(self, layout: Layout, *, usable: bool, by_cost: bool) -> list[list[Option]]:
        """Return the options of each stage at all places, smallest ids first; equal stages are worked out once."""
        known: dict[Intent, list[Option]] = {}
        found = []
        for choice, hours in zip(self.choices, self.hours, strict=True):
            alike = replace(choice.intent, name="", positions=())
            if alike not in known:
                stage = StageOptions(choice, layout, usable, by_cost, self._whole(hours))
                options = [each for place in stage.at_places().values() for each in place]
                known[alike] = sorted(options, key=lambda each: (each.ids, each.place))
            found.append(known[alike])
        return found

    def _solved(self, options: Sequence[list[Option]], layout: Layout, limits: Sequence[Ceiling]) -> GraphFront:
        if not all(options):
            return GraphFront([], 0.0)
        weights = [1]
        for each in reversed(options[1:]):
            weights.insert(0, weights[0] * len(each))
        fronts: list[Fronts] = []
        for each, weight in zip(options, weights, strict=True):
            by_place: Fronts = {}
            for rank, option in enumerate(each):
                by_place.setdefault(option.place, []).append((*option.label, rank * weight))
            fronts.append(by_place)
        merger = Merger()
        tolls = Tolls(layout, *groups_of({place for by_place in fronts for place in by_place}))
        labels = solve(fronts, self.edges, tolls, merger)
        allowed = [label for label in labels if self._keeps(layout.read(label), label, limits)]
        points = []
        for label in _compared(allowed, layout):
            picked = tuple(each[label[-1] // weight % len(each)] for each, weight in zip(options, weights, strict=True))
            points.append(self._picked(label, layout, picked))
        return GraphFront(points, merger.epsilon)

    def _keeps(self, held: dict[str, int], label: Label, limits: Sequence[Ceiling]) -> bool:
        """Return whether a label is within every ceiling."""
        most = self.intent.constraints.max_carbon_g_per_hour
        if most is not None and held.get("carbon", 0) > most:
            return False
        return all(self._seen(each, held, label) <= _limit(each, -held.get("gpus", 0)) for each in limits)

    def _seen(self, ceiling: Ceiling, held: dict[str, int], label: Label) -> Fraction:
        """Return what a ceiling is compared with, in USD."""
        if ceiling.key == "max_total":
            return Fraction(held["run"], NANO * self._scale)
        return Fraction(held["judged"], NANO) * Fraction(ceiling.hours or 1)

    def _picked(self, label: Label, layout: Layout, options: tuple[Option, ...]) -> Picked:
        held = layout.read(label)
        run = Fraction(held["run"], NANO * self._scale) if "run" in held else None
        return Picked(_vector(label, held), options, held.get("judged", int(label[0])), run)


def _limit(ceiling: Ceiling, gpus: int) -> Fraction:
    """Return a ceiling for this many GPUs; one per GPU is no limit without any."""
    if ceiling.per_gpu and not gpus:
        return Fraction(10**30)
    return Fraction(ceiling.usd) * (gpus if ceiling.per_gpu else 1)


def _vector(label: Label, held: dict[str, int]) -> Vector:
    speed = label[1]
    throughput = 0.0 if speed == float("-inf") else -speed
    return Vector(rounded(label[0]), throughput, label[2], held.get("carbon", 0))


def _compared(labels: Iterable[Label], layout: Layout) -> Labels:
    """Return the front over what is compared, costs rounded; of equal ones the smallest key stays."""
    by_key = {label[-1]: label for label in labels}
    carbon = 1 if layout.carbon else 0
    short = [(rounded(one[0]), *one[1 : 3 + carbon], one[-1]) for one in by_key.values()]
    return [by_key[one[-1]] for one in best_of(short)]


def stage_graph(intent: Intent, catalogue: Catalogue, terms_of: TermsOf, *, carbon: bool = False) -> StageGraph:
    """Return the stages of an intent with their choices; nothing is searched yet."""
    views = stage_intents(intent, catalogue.sites)
    asked = carbon or any(each.constraints.max_carbon_g_per_hour is not None for each in (intent, *views))
    choices = tuple(choose(view, catalogue, replace(terms_of(view), carbon=asked)) for view in views)
    return StageGraph(intent, views, choices, needs_between(intent), asked)
