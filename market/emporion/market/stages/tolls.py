"""What needs cost between places: few different tolls, however many places there are.

Places fall into groups that no rate tells apart: every place of a group pays the same to every place of another group,
and the same to every other place of its own. Within one place nothing is charged.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from decimal import Decimal
from functools import lru_cache
from typing import Any

from emporion.market.cost_lines import CostLine
from emporion.market.graph import nano
from emporion.market.prices import Band, price_book
from emporion.market.stages.labels import Label, Layout
from emporion.market.stages.views import Place
from emporion.market.transfer import between_stages

__all__ = ["Edge", "Groups", "Tolls", "groups_of"]

_Rate = tuple[Band, ...] | None
_Class = tuple[str, str, str | None]
Groups = dict[Place, int]


@dataclass(frozen=True, slots=True, eq=False)
class Edge:
    """One need as the optimiser sees it: two stages by number."""

    producer: int
    consumer: int
    names: tuple[str, str]
    size_gb: Decimal | None
    hours: Decimal | None
    """Of the stage that reads."""
    scale: int = 0
    """Those hours as a whole number, for the cost of the run."""

    def line(self, start: Place, to: Place) -> CostLine:
        """Return the cost line between two places."""
        return between_stages(f"data from {self.names[0]}", self.names[1], self.size_gb, (start, to), self.hours)


def groups_of(places: Iterable[Place]) -> tuple[Groups, list[Place], list[Place | None]]:
    """Return the group of each place, one place of each group, and a second one where a group has several."""
    book = price_book()
    classes: dict[_Class, list[Place]] = {}
    for place in sorted(places):
        classes.setdefault(book.egress_class(*place), []).append(place)
    merged = _merged(tuple((each[0], each[1] if len(each) > 1 else None) for each in classes.values()))
    found: Groups = {}
    firsts: list[Place] = []
    seconds: list[Place | None] = []
    for number, members in zip(merged, classes.values(), strict=True):
        if number == len(firsts):
            firsts.append(members[0])
            seconds.append(members[1] if len(members) > 1 else None)
        elif seconds[number] is None:
            seconds[number] = members[0]
        found.update(dict.fromkeys(members, number))
    return found, firsts, seconds


@lru_cache(maxsize=65536)
def _rate(start: Place, to: Place) -> _Rate:
    found = price_book().egress(*start, to)
    return None if found is None else found.bands


@lru_cache(maxsize=16)
def _merged(classes: tuple[tuple[Place, Place | None], ...]) -> list[int]:
    """Return the group of each class, numbered as they come: classes with equal rates to all others merge."""
    names = range(len(classes))
    known: dict[_Rate, int] = {}
    rates = [
        [known.setdefault(_rate(classes[a][0], classes[b][0]), len(known)) if a != b else -1 for b in names]
        for a in names
    ]
    inner = [-1 if second is None else known.setdefault(_rate(first, second), len(known)) for first, second in classes]
    groups: list[int] = []
    heads: list[int] = []
    within: list[int] = []
    for one in names:
        for number, head in enumerate(heads):
            joint = rates[one][head]
            if (
                joint == rates[head][one]
                and within[number] in {-1, joint}
                and inner[one] in {-1, joint}
                and all(
                    rates[one][other] == rates[head][other] and rates[other][one] == rates[other][head]
                    for other in names
                    if other not in {one, head}
                )
            ):
                groups.append(number)
                within[number] = joint
                break
        else:
            groups.append(len(heads))
            heads.append(one)
            within.append(inner[one])
    return groups


@dataclass
class Tolls:
    """What edges cost between groups, as labels."""

    layout: Layout
    group: Groups
    firsts: list[Place]
    seconds: list[Place | None]
    _known: dict[tuple[Edge, int, int], Label | None] = field(default_factory=dict)
    _by_rate: dict[tuple[Edge, _Rate], Label] = field(default_factory=dict)
    _mores: dict[tuple[Edge, int, int, bool], Label] = field(default_factory=dict)
    _extremes: dict[tuple[bool, Edge, int | None, int | None], Label] = field(default_factory=dict)

    def between(self, edge: Edge, start: int, to: int) -> Label | None:
        """Return what an edge costs from a group to a group, between different places; None: there are no such two."""
        key = (edge, start, to)
        if key not in self._known:
            ends = (self.firsts[start], self.firsts[to] if start != to else self.seconds[to])
            self._known[key] = None if ends[1] is None else self._toll(edge, ends[0], ends[1])
        return self._known[key]

    def _toll(self, edge: Edge, start: Place, to: Place) -> Label:
        """Return what an edge costs between two places, as a label without a key."""
        rate = _rate(start, to)
        found = self._by_rate.get((edge, rate))
        if found is None:
            found = self._by_rate[edge, rate] = self._label(edge, edge.line(start, to))
        return found

    def _label(self, edge: Edge, line: CostLine) -> Label:
        cost = 0 if line.usd_per_hour is None else nano(line.usd_per_hour)
        judged = cost if line.upper_usd_per_hour is None else nano(line.upper_usd_per_hour)
        return (cost, float("-inf"), 0, *self.layout.rest(judged=judged, hours=edge.scale), 0)

    @property
    def nothing(self) -> Label:
        """The toll within one place."""
        return (0, float("-inf"), 0, *self.layout.rest(), 0)

    def idle(self, edge: Edge) -> bool:
        """Return whether an edge costs nothing wherever its stages stand."""
        return not edge.size_gb or not any(any(toll[3:]) or toll[0] for toll in self._every(edge, None, None))

    def most(self, edge: Edge, start: int | None = None, to: int | None = None) -> Label:
        """Return the most that an edge costs in each number, from a group or to a group."""
        return self._extreme(max, edge, start, to)

    def least(self, edge: Edge, start: int | None = None, to: int | None = None) -> Label:
        """Return the least that an edge costs in each number between different places, from a group or to a group."""
        return self._extreme(min, edge, start, to)

    def more(self, edge: Edge, group: int, instead: int, *, begins: bool) -> Label:
        """Return the most that an edge can cost more in each number when its end here moves from a group to another.

        `begins`: the end that moves is where it begins. The other end may stand anywhere but at the same place.
        """
        key = (edge, group, instead, begins)
        if key not in self._mores:
            found = []
            for other in range(len(self.firsts)):
                now = self.between(edge, group, other) if begins else self.between(edge, other, group)
                then = self.between(edge, instead, other) if begins else self.between(edge, other, instead)
                if now is not None:
                    then = then or self.nothing
                    found.append((then[0] - now[0], then[1], *(b - a for a, b in zip(now[2:], then[2:], strict=True))))
            self._mores[key] = tuple([max(numbers) for numbers in zip(*found, strict=True)]) or self.nothing
        return self._mores[key]

    def _extreme(self, pick: Callable[..., Any], edge: Edge, start: int | None, to: int | None) -> Label:
        key = (pick is max, edge, start, to)
        if key not in self._extremes:
            found = self._every(edge, start, to)
            self._extremes[key] = tuple([pick(numbers) for numbers in zip(*found, strict=True)]) or self.nothing
        return self._extremes[key]

    def _every(self, edge: Edge, start: int | None, to: int | None) -> list[Label]:
        every = range(len(self.firsts))
        return [
            toll
            for a in (every if start is None else (start,))
            for b in (every if to is None else (to,))
            if (toll := self.between(edge, a, b)) is not None
        ]
