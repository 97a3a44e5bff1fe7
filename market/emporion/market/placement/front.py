"""A Pareto front over rounded vectors: lower cost, higher throughput, fewer lost seconds, less carbon.

Costs are whole 1e-4 USD, losses whole seconds, carbon whole grams an hour (0 throughout where it is not asked),
throughputs numbers of four significant digits, so that equal means equal. Of equal vectors the one with the smallest
key stays: its offer ids, one for each node, sorted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, NamedTuple, TypeVar

__all__ = ["Front", "Key", "Vector", "dominates", "four_digits"]

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


@dataclass(frozen=True, slots=True)
class Front(Generic[Item]):
    """The undominated items, cheapest first."""

    points: Sequence[tuple[Vector, Key, Item]]
