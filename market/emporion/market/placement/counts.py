"""How many machines of given sizes serve a demand, and what any range of these divisions has at least and at most."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from operator import mul
from typing import NamedTuple

from emporion.market.placement.demand import Demand, divisions

__all__ = ["Counts", "Span", "counted", "counts_of"]


class Span(NamedTuple):
    """Bounds on the divisions of a range."""

    least: tuple[int, ...]
    """The fewest machines of each size."""
    most: tuple[int, ...]
    """The most."""
    fewest_nodes: int
    most_nodes: int
    most_total: int
    """Of what the machines count together."""
    most_used: int
    """Of that, what the demand uses."""


class Counts:
    """The divisions of a demand among machines of some sizes, in a fixed order."""

    def __init__(self, demand: Demand, sizes: tuple[int, ...]) -> None:
        """Work out every division; one tuple of counts each."""
        self.sizes = sizes
        self.low = demand.low
        self._used = demand.used
        self.each = [counts for counts in divisions(demand, sizes) if demand.node_problem(sum(counts)) is None]
        self._spans: dict[tuple[int, int], Span] = {}

    def span(self, start: int, end: int) -> Span:
        """Return the bounds of `each[start:end]`, not empty."""
        found = self._spans.get((start, end))
        if found is None:
            found = self._spans[start, end] = self._bounds(self.each[start:end])
        return found

    def _bounds(self, some: Sequence[tuple[int, ...]]) -> Span:
        nodes = [sum(counts) for counts in some]
        columns = list(zip(*some, strict=True))
        totals = [sum(map(mul, self.sizes, counts)) for counts in some]
        return Span(
            tuple([min(column) for column in columns]),
            tuple([max(column) for column in columns]),
            min(nodes),
            max(nodes),
            max(totals),
            max(map(self._used, totals)),
        )

    def floor(self, prices: Sequence[int], span: Span) -> int:
        """Return the least that any division of a range can be worth, each machine at its price.

        The fewest of each, then what is missing from the cheapest per size, in fractions, up to the most of each.
        """
        sizes = self.sizes
        worth, rest = 0, self.low
        for price, size, least in zip(prices, sizes, span.least, strict=True):
            worth += price * least
            rest -= size * least
        order = range(len(sizes)) if rest > 0 else ()
        for slot in sorted(order, key=lambda each: prices[each] / sizes[each]):
            take = min(rest, sizes[slot] * (span.most[slot] - span.least[slot]))
            worth += prices[slot] * take // sizes[slot]
            rest -= take
        return worth


def counted(demand: Demand) -> Demand:
    """Return a demand without what does not bear on the counts, so that equal counts are worked out once."""
    return replace(
        demand, max_pools=0, total_vram_bytes=0, latency_ms=None, bandwidth_gbps=None, fabric=False, alone=False
    )


@lru_cache(maxsize=512)
def counts_of(demand: Demand, sizes: tuple[int, ...]) -> Counts:
    """Return the divisions of a `counted` demand among machines of these sizes."""
    return Counts(demand, sizes)
