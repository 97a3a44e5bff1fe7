"""The front over many stages side by side between the same two: `prepare`, any number of trainings, `compare`.

Each stage in the middle stands with the first of the two, or with the last, or elsewhere. For two places of the ends
the middles have nothing to do with each other, so their fronts are just put together; and a place of an end at which no
middle gains anything by standing there too is like every other such place of its group. The work grows with the pairs
of places that differ, and only evenly with the number of middles.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from operator import add
from typing import NamedTuple

from emporion.market.stages.fold import Fold
from emporion.market.stages.labels import Label, Labels, front_of, moved, useful
from emporion.market.stages.tolls import Edge
from emporion.market.stages.views import Place

__all__ = ["Bundle", "ends_of"]


def ends_of(beside: dict[int, set[int]]) -> tuple[int, int] | None:
    """Return the two stages that all others stand between, with no other neighbours; None: there are no such two."""
    for one in sorted(beside):
        for other in sorted(beside):
            if one < other and all(beside[each] == {one, other} for each in beside if each not in {one, other}):
                return one, other
    return None


class _End(NamedTuple):
    """A place of an end with what middles gain there, or all places of a group where none gains anything."""

    labels: Labels
    near: tuple[Labels, ...]
    """For each middle what it comes to at this very place; empty: nothing worth standing there."""


@dataclass
class Bundle:
    """Stages between two ends."""

    graph: Fold
    first: int
    last: int
    middles: Sequence[int]
    _elsewhere: dict[tuple[int, int, int], Labels] = field(default_factory=dict)
    _groups: dict[int, dict[int, Labels]] = field(default_factory=dict)

    def front(self) -> Labels:
        """Return the front."""
        group = self.graph.tolls.group
        groups = [sorted({group[place] for place in self.graph.fronts[end]}) for end in (self.first, self.last)]
        found: Labels = []
        for place in sorted(self.graph.fronts[self.first]):
            if place in self.graph.fronts[self.last]:
                found = front_of([*found, *self._together(place)])
        for one in groups[0]:
            for other in groups[1]:
                toll = self._direct(one, other)
                if toll is None:
                    continue
                lasts = self._ends(self.last, one, other)
                for first in self._ends(self.first, one, other):
                    for last in lasts:
                        labels = moved(self.graph.merger.together(first.labels, last.labels), toll)
                        choices = [
                            front_of([*self._away(number, one, other), *first.near[number], *last.near[number]])
                            for number in range(len(self.middles))
                        ]
                        found = front_of([*found, *self._met(labels, choices, found)])
        return self.graph.merger.front(found)

    def _together(self, place: Place) -> Labels:
        """Return what comes of both ends at one place."""
        fronts, group = self.graph.fronts, self.graph.tolls.group[place]
        labels = self.graph.merger.together(fronts[self.first][place], fronts[self.last][place])
        choices = [
            front_of([*fronts[middle].get(place, []), *self._away(number, group, group)])
            for number, middle in enumerate(self.middles)
        ]
        return self._met(labels, choices, [])

    def _met(self, labels: Labels, choices: Sequence[Labels], known: Labels) -> Labels:
        """Return labels with one choice of each middle, without what stays behind `known` whatever is chosen."""
        if not labels or not all(choices):
            return []
        bar = [(*one[:-1], _LAST) for one in known]
        ahead = [self.graph.tolls.nothing]
        for choice in reversed(choices):
            ahead.insert(0, _met(ahead[0], (*map(min, zip(*choice, strict=True)),)))
        for number, choice in enumerate(choices):
            labels = self._hopeful(labels, ahead[number], bar)
            labels = self.graph.merger.front(self.graph.merger.together(labels, choice))
        return labels

    def _hopeful(self, labels: Labels, ahead: Label, bar: Labels) -> Labels:
        """Return the labels that are not behind the bar even with the best of everything that follows."""
        if not bar:
            return labels
        by_key = {one[-1]: one for one in labels}
        raised = [(*_met(one, ahead)[:-1], one[-1]) for one in labels]
        return [by_key[one[-1]] for one in useful(raised, bar)]

    def _ends(self, end: int, one: int, other: int) -> list[_End]:
        """Return the places of an end in its group, the first end in group `one` and the last in `other`."""
        own = one if end == self.first else other
        plain: Labels = []
        found = []
        for place, labels in sorted(self.graph.fronts[end].items()):
            if self.graph.tolls.group[place] == own:
                near = tuple(self._near(number, place, end, one, other) for number in range(len(self.middles)))
                if any(near):
                    found.append(_End(labels, near))
                else:
                    plain += labels
        return [*found, _End(front_of(plain), tuple([] for _ in self.middles))] if plain else found

    def _near(self, number: int, place: Place, end: int, one: int, other: int) -> Labels:
        """Return what a middle comes to at the place of an end, as far as that is better than elsewhere."""
        middle = self.middles[number]
        labels = self.graph.fronts[middle].get(place)
        toll = (
            self._toll(middle, self.last, one, other)
            if end == self.first
            else self._toll(middle, self.first, other, one)
        )
        if not labels or toll is None:
            return []
        away = self._away(number, one, other)
        return [label for label in useful(moved(labels, toll), away) if label not in away]

    def _away(self, number: int, one: int, other: int) -> Labels:
        """Return the front of a middle at any place of its own."""
        key = (number, one, other)
        if key not in self._elsewhere:
            middle = self.middles[number]
            found: Labels = []
            for own, labels in self._by_group(middle).items():
                there, back = self._toll(middle, self.first, own, one), self._toll(middle, self.last, own, other)
                if there is not None and back is not None:
                    found += moved(moved(labels, there), back)
            self._elsewhere[key] = front_of(found)
        return self._elsewhere[key]

    def _by_group(self, middle: int) -> dict[int, Labels]:
        if middle not in self._groups:
            self._groups[middle] = self.graph.by_group(self.graph.fronts[middle])
        return self._groups[middle]

    def _toll(self, middle: int, end: int, own: int, theirs: int) -> Label | None:
        """Return what a middle in a group and an end in another pay together."""
        return self._tolls_of(self.graph.edges_of(middle), middle, end, own, theirs)

    def _direct(self, one: int, other: int) -> Label | None:
        return self._tolls_of(self.graph.edges_of(self.first), self.first, self.last, one, other)

    def _tolls_of(self, edges: Iterable[Edge], stage: int, end: int, own: int, theirs: int) -> Label | None:
        """Return the tolls of the edges between two stages in two groups; None: not two places."""
        whole = self.graph.tolls.nothing
        for edge in edges:
            if {edge.producer, edge.consumer} == {stage, end}:
                ends = (own, theirs) if edge.producer == stage else (theirs, own)
                toll = self.graph.tolls.between(edge, *ends)
                if toll is None:
                    return None
                whole = moved([whole], toll)[0]
        return whole


def _met(one: Label, other: Label) -> Label:
    """Return two labels together."""
    return (one[0] + other[0], max(one[1], other[1]), *map(add, one[2:], other[2:]))


_LAST = 1 << 4096
"""A key after every other: it decides for nothing."""
