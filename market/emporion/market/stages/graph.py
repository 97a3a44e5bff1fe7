"""An intent with stages against one catalogue: a choice per stage, the needs between them, and the front over all."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
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


class GraphFront(NamedTuple):
    """A front and how far from exact it is."""

    points: list[Picked]
    epsilon: float
    """0: exact."""
    whole: bool = True
    """Whether nothing was left out for want of a component."""


@dataclass(frozen=True)
class StageGraph:
    """The stages of one intent, each with its choice."""

    intent: Intent
    views: tuple[Intent, ...]
    """Each stage as an intent of its own."""
    choices: tuple[Choice, ...]
    needs: tuple[Need, ...]
    carbon: bool
    catalogue: Catalogue
    terms_of: TermsOf
    memo: dict[object, tuple[list[Option], bool]] = field(default_factory=dict)
    """The options of a stage, and whether all offers that pass can be stood up, by everything they depend on."""

    def with_views(self, views: Sequence[Intent], intent: Intent | None = None) -> StageGraph:
        """Return the graph with other stage intents, perhaps another budget; what is equal is not searched again."""
        choices = tuple(
            old if view is before else choose(view, self.catalogue, replace(self.terms_of(view), carbon=self.carbon))
            for view, before, old in zip(views, self.views, self.choices, strict=True)
        )
        return replace(self, intent=intent or self.intent, views=tuple(views), choices=choices)

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

        `usable`: every stage of offers that a component can stand up. `by_cost`: compared by cost alone (and carbon,
        where there is a ceiling on it), so that the cheapest is in it.
        """
        limits = self.limits(self.intent.budget if budget is None else budget)
        found = self._search(limits, limits, usable=usable, by_cost=by_cost)
        points = [found.picked(label) for label in found.compared()]
        return GraphFront(points, found.epsilon, found.whole)

    def serves(self, number: int) -> bool:
        """Return whether anything serves a stage by itself, whatever it costs."""
        options, _ = self._options(self.choices[number], Layout(carbon=self.carbon), 0, usable=False, by_cost=True)
        return bool(options)

    def least(self, ceiling: Ceiling) -> Decimal | None:
        """Return the least that a ceiling must be for something to keep it and the intent's budget, in USD."""
        found = self._search(self.limits(self.intent.budget), [ceiling], usable=False, by_cost=True)
        needed = []
        for label in found.labels:
            held = found.layout.read(label)
            gpus = -held.get("gpus", 0)
            if not ceiling.per_gpu or gpus:
                needed.append(self._seen(ceiling, held) / (gpus if ceiling.per_gpu else 1))
        return None if not needed else _upwards(min(needed))

    def _search(self, limits: Sequence[Ceiling], measured: Sequence[Ceiling], *, usable: bool, by_cost: bool) -> _Found:
        """Return everything within `limits`, with the numbers that they and `measured` are judged by."""
        every = [*limits, *measured]
        layout = Layout(
            carbon=self.carbon,
            judged=any(each.key != "max_total" for each in every),
            gpus=any(each.per_gpu for each in every),
            run=any(each.key == "max_total" for each in every),
        )
        found: dict[int, list[Option]] = {}
        whole = True
        for number in sorted(range(len(self.choices)), key=lambda each: len(self.choices[each].graph.offers)):
            choice, hours = self.choices[number], self._whole(self.hours[number])
            found[number], complete = self._options(choice, layout, hours, usable=usable, by_cost=by_cost)
            whole = whole and complete
            if not found[number]:
                return _Found([], layout, [], [], 0.0, whole)
        options = [found[number] for number in range(len(self.choices))]
        weights = [1]
        for each in reversed(options[1:]):
            weights.insert(0, weights[0] * len(each))
        fronts: list[Fronts] = []
        for each, weight in zip(options, weights, strict=True):
            by_place: Fronts = {}
            for rank, option in enumerate(each):
                by_place.setdefault(option.place, []).append((*option.label, rank * weight))
            fronts.append(by_place)
        merger, where = Merger(), self.intent.where("stages")
        tolls = Tolls(layout, *groups_of({place for by_place in fronts for place in by_place}))
        labels = [
            label
            for label in solve(fronts, self.edges, tolls, merger, where)
            if self._keeps(layout.read(label), limits)
        ]
        return _Found(labels, layout, options, weights, merger.epsilon, whole)

    def _keeps(self, held: dict[str, int], limits: Sequence[Ceiling]) -> bool:
        """Return whether the numbers of a label are within every ceiling."""
        most = self.intent.constraints.max_carbon_g_per_hour
        if most is not None and held.get("carbon", 0) > most:
            return False
        return all(self._seen(each, held) <= _limit(each, -held.get("gpus", 0)) for each in limits)

    def _seen(self, ceiling: Ceiling, held: dict[str, int]) -> Fraction:
        """Return what a ceiling is compared with, in USD."""
        if ceiling.key == "max_total":
            return Fraction(held["run"], NANO * self._scale)
        return Fraction(held["judged"], NANO) * Fraction(ceiling.hours or 1)

    def _options(
        self, choice: Choice, layout: Layout, hours: int, *, usable: bool, by_cost: bool
    ) -> tuple[list[Option], bool]:
        """Return the options of a stage at all places, smallest ids first."""
        alike = replace(choice.intent, name="", positions=(), not_acted_on=())
        key = (alike, layout, hours if layout.run else 0, usable, by_cost)
        if key not in self.memo:
            stage = StageOptions(choice, layout, usable, by_cost, hours)
            options = [each for place in stage.at_places().values() for each in place]
            self.memo[key] = (sorted(options, key=lambda each: (each.ids, each.place)), stage.whole)
        return self.memo[key]


@dataclass(frozen=True)
class _Found:
    """Labels within a budget, with what is needed to read them."""

    labels: Labels
    layout: Layout
    options: Sequence[list[Option]]
    weights: Sequence[int]
    epsilon: float
    whole: bool

    def compared(self) -> Labels:
        """Return the front over what is compared, costs rounded, cheapest first; of equal ones the smallest key."""
        by_key = {label[-1]: label for label in self.labels}
        numbers = 4 if self.layout.carbon else 3
        short = [(rounded(one[0]), *one[1:numbers], one[-1]) for one in by_key.values()]
        return [by_key[one[-1]] for one in best_of(short)]

    def picked(self, label: Label) -> Picked:
        """Return a label as a point of a front."""
        speed = label[1]
        throughput = 0.0 if speed == float("-inf") else -speed
        vector = Vector(rounded(label[0]), throughput, label[2], self.layout.read(label).get("carbon", 0))
        return Picked(
            vector,
            tuple(
                each[label[-1] // weight % len(each)] for each, weight in zip(self.options, self.weights, strict=True)
            ),
        )


def _limit(ceiling: Ceiling, gpus: int) -> Fraction:
    """Return a ceiling for this many GPUs; one per GPU is no limit without any."""
    if ceiling.per_gpu and not gpus:
        return Fraction(10**30)
    return Fraction(ceiling.usd) * (gpus if ceiling.per_gpu else 1)


def _upwards(usd: Fraction) -> Decimal:
    """Return an amount as a decimal to 1e-9 USD, never below it."""
    return Decimal(-(-usd.numerator * NANO // usd.denominator)) / NANO


def stage_graph(intent: Intent, catalogue: Catalogue, terms_of: TermsOf, *, carbon: bool = False) -> StageGraph:
    """Return the stages of an intent with their choices; nothing is searched yet."""
    views = stage_intents(intent, catalogue.sites)
    asked = carbon or any(each.constraints.max_carbon_g_per_hour is not None for each in (intent, *views))
    choices = tuple(choose(view, catalogue, replace(terms_of(view), carbon=asked)) for view in views)
    return StageGraph(intent, views, choices, needs_between(intent), asked, catalogue, terms_of)
