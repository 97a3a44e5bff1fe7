"""What a best-first search has accepted so far, asked whether it dominates what comes next.

Items come in the order of cost, so everything accepted is at most as dear as what is asked about: only throughput, loss
and carbon are left to compare. Without carbon that is a staircase (the more loss, the more throughput), searched in
logarithmic time. With it the accepted stand by throughput in short blocks, and a block without one that loses and emits
little enough is passed over.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from operator import attrgetter

from emporion.market.placement.front import Vector

__all__ = ["Blocks", "Staircase"]

_BLOCK = 48
"""Vectors in a block at most."""


class Staircase:
    """The undominated (throughput, loss) of the accepted vectors, each with its least cost; carbon is 0."""

    def __init__(self) -> None:
        """Accept nothing yet."""
        self._losses: list[int] = []
        self._points: list[Vector] = []
        """By loss, and so by throughput."""

    def beats(self, cost: int, throughput: float, loss_s: int, _carbon: int) -> bool:
        """Return whether something accepted dominates every vector that is in nothing better than this."""
        step = bisect_right(self._losses, loss_s) - 1
        if step < 0:
            return False
        best = self._points[step]
        if best[1] != throughput:
            return best[1] > throughput
        return best[2] < loss_s or best[0] < cost

    def add(self, vector: Vector) -> None:
        """Accept a vector that nothing accepted dominates or equals, at least as dear as all before."""
        start = bisect_left(self._losses, vector.loss_s)
        end = start
        while end < len(self._points) and self._points[end].throughput <= vector.throughput:
            end += 1
        self._losses[start:end] = [vector.loss_s]
        self._points[start:end] = [vector]


class _Block:
    """Some accepted vectors, by throughput."""

    def __init__(self, points: list[Vector]) -> None:
        self.points = points
        self.fastest = points[-1].throughput
        self.least_loss_s = min([point.loss_s for point in points])
        self.least_carbon = min([point.carbon for point in points])


class Blocks:
    """All accepted vectors, by throughput."""

    def __init__(self) -> None:
        """Accept nothing yet."""
        self._blocks: list[_Block] = []

    def beats(self, cost: int, throughput: float, loss_s: int, carbon: int) -> bool:
        """Return whether something accepted dominates every vector that is in nothing better than this."""
        for block in reversed(self._blocks):
            if block.fastest < throughput:
                return False
            if block.least_loss_s > loss_s or block.least_carbon > carbon:
                continue
            for least, fast, lost, grams in block.points:
                if lost <= loss_s and grams <= carbon and fast >= throughput:
                    return least < cost or fast > throughput or lost < loss_s or grams < carbon
        return False

    def add(self, vector: Vector) -> None:
        """Accept a vector that nothing accepted dominates or equals, at least as dear as all before."""
        place = bisect_left(self._blocks, vector.throughput, key=attrgetter("fastest"))
        if place == len(self._blocks):
            if not place:
                self._blocks.append(_Block([vector]))
                return
            place -= 1
        points = self._blocks[place].points
        points.insert(bisect_left(points, vector.throughput, key=attrgetter("throughput")), vector)
        half = len(points) // 2
        parts = [points] if len(points) <= _BLOCK else [points[:half], points[half:]]
        self._blocks[place : place + 1] = [_Block(part) for part in parts]
