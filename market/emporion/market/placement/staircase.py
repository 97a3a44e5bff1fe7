"""What a best-first search has accepted so far, asked whether it dominates what comes next.

Items come in the order of cost, so everything accepted is at most as dear as what is asked about: only throughput, loss
and carbon are left to compare. Without carbon that is a staircase (the more loss, the more throughput), searched in
logarithmic time; with it the undominated triples are walked through, the last that served first.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right

from emporion.market.placement.front import Vector

__all__ = ["Staircase"]


class Staircase:
    """The undominated (throughput, loss, carbon) of the accepted vectors, each with its least cost."""

    def __init__(self, *, carbon: bool) -> None:
        """`carbon`: whether vectors differ in it."""
        self._carbon = carbon
        self._losses: list[int] = []
        self._points: list[Vector] = []
        """By loss, and so by throughput, unless carbon is compared."""

    def beats(self, cost: int, throughput: float, loss_s: int, carbon: int) -> bool:
        """Return whether something accepted dominates every vector that is in nothing better than this."""
        if self._carbon:
            return self._walk(cost, throughput, loss_s, carbon)
        step = bisect_right(self._losses, loss_s) - 1
        if step < 0:
            return False
        best = self._points[step]
        if best[1] != throughput:
            return best[1] > throughput
        return best[2] < loss_s or best[0] < cost

    def _walk(self, cost: int, throughput: float, loss_s: int, carbon: int) -> bool:
        points = self._points
        for place, (least, fast, lost, grams) in enumerate(points):
            if fast >= throughput and lost <= loss_s and grams <= carbon:
                if least < cost or fast > throughput or lost < loss_s or grams < carbon:
                    if place:
                        points[place - 1], points[place] = points[place], points[place - 1]
                    return True
                return False
        return False

    def add(self, vector: Vector) -> None:
        """Accept a vector that nothing accepted dominates or equals, at most as cheap as all before."""
        if self._carbon:
            _, fast, lost, grams = vector
            self._points = [each for each in self._points if each[1] > fast or each[2] < lost or each[3] < grams]
            self._points.append(vector)
            return
        start = bisect_left(self._losses, vector.loss_s)
        end = start
        while end < len(self._points) and self._points[end].throughput <= vector.throughput:
            end += 1
        self._losses[start:end] = [vector.loss_s]
        self._points[start:end] = [vector]
