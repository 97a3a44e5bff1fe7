"""Labels: what some stages at some places come to, as plain tuples of numbers, and fronts of them.

    (cost, -throughput, loss, …, key)

All but the key is minimised. `cost` is whole 1e-9 USD an hour; throughput is that of the slowest stage with GPUs, so
two labels meet in the larger number; everything after it adds up. Which numbers stand between loss and key says
`Layout`. The key is one whole number that holds every stage's choice : of choices that agree elsewhere the
smaller key has the smaller offer ids, and the key of two labels together is the sum of theirs.

A label is dropped for another that is no worse in every number and either cheaper by a whole rounding step or not
larger in its key. Adding the same to both keeps that, so whatever is dropped early cannot come into the rounded front,
not even as a tie.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from dataclasses import dataclass, field
from operator import add, le
from typing import Any

from emporion.market.placement.candidates import STEP

__all__ = ["Label", "Labels", "Layout", "Merger", "best_of", "front_of", "moved", "useful"]

Label = tuple[Any, ...]
Labels = list[Label]

_PLAIN = 4
"""Cost, throughput, loss and key: a label without anything more."""


@dataclass(frozen=True, slots=True)
class Layout:
    """What a label holds between loss and key, in this order; what no objective and no ceiling needs is left out."""

    carbon: bool = False
    """gCO2e per hour."""
    judged: bool = False
    """What a budget per hour is judged by, in 1e-9 USD."""
    gpus: bool = False
    """Minus the number of GPUs, for ceilings per GPU."""
    run: bool = False
    """What a budget for the run is judged by, in 1e-9 USD times the scale of the hours."""

    def rest(self, *, carbon: int = 0, judged: int = 0, gpus: int = 0, hours: int = 0) -> tuple[int, ...]:
        """Return the numbers between loss and key; `hours` is a whole number on a scale of the caller's."""
        values = ((self.carbon, carbon), (self.judged, judged), (self.gpus, -gpus), (self.run, judged * hours))
        return tuple([value for held, value in values if held])

    def read(self, label: Label) -> dict[str, int]:
        """Return the numbers between loss and key by their names."""
        names = [name for name in ("carbon", "judged", "gpus", "run") if getattr(self, name)]
        return dict(zip(names, label[3:-1], strict=True))


def moved(labels: Iterable[Label], toll: Label) -> Labels:
    """Return labels with a toll (a label itself, its key 0) added."""
    cost = toll[0]
    if len(toll) == _PLAIN:
        return [(one[0] + cost, *one[1:]) for one in labels] if cost else list(labels)
    more = toll[3:]
    return [(one[0] + cost, one[1], one[2], *map(add, one[3:], more)) for one in labels]


@dataclass(slots=True)
class Merger:
    """Fronts of labels, and how far they are from exact once there are too many labels."""

    most: int = 10_000
    """Above so many labels a front is thinned."""
    thinned: list[float] = field(default_factory=list)
    """The relative step of each thinning on the way so far."""

    @property
    def epsilon(self) -> float:
        """How much worse than an exact front this one may be in any number, relative; 0: it is exact."""
        factor = 1.0
        for step in self.thinned:
            factor *= 1 + step
        return factor - 1

    def together(self, ones: Labels, others: Labels) -> Labels:
        """Return the front of every label of one list with every label of the other."""
        if not ones or not others:
            return []
        if len(others) > len(ones):
            ones, others = others, ones
        if len(ones[0]) == _PLAIN:
            met = [(a + e, max(f, b), c + g, d + h) for e, f, g, h in others for a, b, c, d in ones]
        else:
            met = [
                (one[0] + other[0], max(other[1], one[1]), *map(add, one[2:], other[2:]))
                for other in others
                for one in ones
            ]
        return self.front(met) if len(others) > 1 else met

    def front(self, labels: Labels) -> Labels:
        """Return the labels that no other drops, cheapest first."""
        if len(labels) < 2:  # noqa: PLR2004 - nothing to compare
            return labels
        kept = front_of(labels)
        return self._thin(kept) if len(kept) > self.most else kept

    def _thin(self, labels: Labels) -> Labels:
        """Return at most `most` labels, so that each one left out has one no worse by more than the step."""
        step = 1e-4
        while True:
            found = _thinned(labels, step)
            if len(found) <= self.most:
                self.thinned.append(step)
                return found
            step *= 2


def front_of(labels: Labels) -> Labels:
    """Return the labels that no other drops, cheapest first."""
    return _plain_front(labels) if labels and len(labels[0]) == _PLAIN else _wide_front(labels)


def best_of(labels: Labels) -> Labels:
    """Return the labels that no other equals or betters in every number but the key, the smallest key of equal ones."""
    kept: Labels = []
    speeds: list[float] = []
    losses: list[int] = []
    for label in sorted(labels):
        if len(label) == _PLAIN:
            at = bisect_right(speeds, label[1])
            if at and losses[at - 1] <= label[2]:
                continue
            _settle(speeds, losses, label)
        elif any(all(map(le, other[1:-1], label[1:-1])) for other in kept):
            continue
        kept.append(label)
    return kept


def _thinned(labels: Labels, step: float) -> Labels:
    """Return the cheapest label of each cell of a grid whose cells reach `step` in every number but the cost."""
    width = math.log1p(step)
    cells: dict[tuple[tuple[int, int], ...], Label] = {}
    for one in labels:  # cheapest first
        cells.setdefault(tuple([_cell(number, width) for number in one[1:-1]]), one)
    return list(cells.values())


def _cell(number: float, width: float) -> tuple[int, int]:
    """Return a number's sign and cell; numbers of one cell differ by less than its width, as logarithms."""
    if not number or math.isinf(number):
        return 0, int(number != 0)
    return (1 if number > 0 else -1), math.floor(math.log(abs(number)) / width)


def _plain_front(labels: Labels) -> Labels:
    """Return the front of labels of cost, throughput, loss and key."""
    kept: Labels = []
    recent: Labels = []
    """Kept labels that are not cheaper by a step: the key decides against them."""
    speeds: list[float] = []
    losses: list[int] = []
    """The best of all others kept: as throughput falls, the least loss at that throughput or more."""
    for label in sorted(labels):
        cost, speed, loss, key = label
        while recent and recent[0][0] <= cost - STEP:
            _settle(speeds, losses, recent.pop(0))
        at = bisect_right(speeds, speed)
        if at and losses[at - 1] <= loss:
            continue
        for other in recent:
            if other[1] <= speed and other[2] <= loss and other[3] <= key:
                break
        else:
            kept.append(label)
            recent.append(label)
    return kept


def _settle(speeds: list[float], losses: list[int], label: Label) -> None:
    """Take a label into the staircase of (minus throughput rising, loss falling)."""
    speed, loss = label[1], label[2]
    at = bisect_right(speeds, speed)
    if at and losses[at - 1] <= loss:
        return
    at = bisect_left(speeds, speed)
    end = at
    while end < len(speeds) and losses[end] >= loss:
        end += 1
    speeds[at:end] = [speed]
    losses[at:end] = [loss]


def _wide_front(labels: Labels) -> Labels:
    """Return the front of labels with more numbers."""
    kept: Labels = []
    for label in sorted(labels):
        cost, key, numbers = label[0], label[-1], label[1:-1]
        for other in kept:
            if (other[-1] <= key or other[0] <= cost - STEP) and all(map(le, other[1:-1], numbers)):
                break
        else:
            kept.append(label)
    return kept


def useful(labels: Labels, bar: Labels) -> Labels:
    """Return the labels that nothing in `bar` drops, cheapest first; what is in it by its own key does not drop itself.

    `bar` holds labels, cheapest first, with the most added that their choice may cost beside another: what stays behind
    even so has no use for its place.
    """
    if not bar or not labels:
        return labels
    if len(labels[0]) == _PLAIN:
        return _plain_useful(labels, bar)
    costs = [one[0] for one in bar]
    found = []
    for label in sorted(labels):
        cost, key, numbers = label[0], label[-1], label[1:-1]
        for other in bar[: bisect_right(costs, cost)]:
            if (other[0] <= cost - STEP or other[-1] < key) and all(map(le, other[1:-1], numbers)):
                break
        else:
            found.append(label)
    return found


def _plain_useful(labels: Labels, bar: Labels) -> Labels:
    found: Labels = []
    speeds: list[float] = []
    losses: list[int] = []
    settled = near = 0
    """How much of the bar is cheaper by a step, and how much is no dearer."""
    for label in sorted(labels):
        cost, speed, loss, key = label
        while settled < len(bar) and bar[settled][0] <= cost - STEP:
            _settle(speeds, losses, bar[settled])
            settled += 1
        at = bisect_right(speeds, speed)
        if at and losses[at - 1] <= loss:
            continue
        near = max(near, settled)
        while near < len(bar) and bar[near][0] <= cost:
            near += 1
        for other in bar[settled:near]:
            if other[1] <= speed and other[2] <= loss and other[3] < key:
                break
        else:
            found.append(label)
    return found
