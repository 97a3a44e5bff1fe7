"""A Pareto front over rounded vectors: lower cost, higher throughput, fewer lost seconds, less carbon.

Costs are whole 1e-4 USD, losses whole seconds, carbon whole grams an hour (0 throughout where it is not asked),
throughputs numbers of four significant digits, so that equal means equal. Of equal vectors the one with the smallest
key stays: its offer ids, one for each node, sorted.
"""

from __future__ import annotations

from bisect import insort
from dataclasses import dataclass, field
from typing import Generic, NamedTuple, TypeVar

__all__ = ["Front", "Vector", "dominates", "four_digits"]

Key = tuple[str, ...]
Item = TypeVar("Item")


class Vector(NamedTuple):
    """What placements are compared by."""

    cost: int
    """Full chain in 1e-4 USD per hour."""
    throughput: float
    loss_s: int
    carbon: int = 0
    """gCO2e per hour; 0 when carbon is no objective."""


def dominates(one: Vector, other: Vector) -> bool:
    """Return whether `one` is at least as good in everything and better in something."""
    return one[0] <= other[0] and one[1] >= other[1] and one[2] <= other[2] and one[3] <= other[3] and one != other


def four_digits(value: float) -> float:
    """Return a throughput rounded to four significant digits."""
    return float(f"{value:.4g}")


@dataclass(slots=True)
class Front(Generic[Item]):
    """The undominated items so far, cheapest first."""

    points: list[tuple[Vector, Key, Item]] = field(default_factory=list)
    _last: Vector | None = None
    """What dominated last; it mostly dominates the next as well."""

    def offer(self, vector: Vector, key: Key, item: Item) -> bool:
        """Take an item in unless another is as good; drop those it dominates. Return whether it was taken."""
        for other, other_key, _ in self.points:
            if other.cost > vector.cost:
                break
            if dominates(other, vector) or (other == vector and other_key <= key):
                return False
        kept = [point for point in self.points if point[0] != vector and not dominates(vector, point[0])]
        insort(kept, (vector, key, item), key=_order)
        self.points = kept
        self._last = None
        return True

    def beats(self, cost: int, throughput: float, loss_s: int, carbon: int = 0) -> bool:
        """Return whether something dominates a vector no worse than this in anything."""
        last = self._last
        if last is not None and _beats(last, cost, throughput, loss_s, carbon):
            return True
        for other, _, _ in self.points:
            if other[0] > cost:
                return False
            if _beats(other, cost, throughput, loss_s, carbon):
                self._last = other
                return True
        return False


def _beats(one: Vector, cost: int, throughput: float, loss_s: int, carbon: int) -> bool:
    return (
        one[0] <= cost
        and one[1] >= throughput
        and one[2] <= loss_s
        and one[3] <= carbon
        and (one[0] < cost or one[1] > throughput or one[2] < loss_s or one[3] < carbon)
    )


def _order(point: tuple[Vector, Key, object]) -> tuple[int, float, int, int, Key]:
    vector, key, _ = point
    return (vector.cost, -vector.throughput, vector.loss_s, vector.carbon, key)
