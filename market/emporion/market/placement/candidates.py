"""What the search works on: candidates, compositions, placements found, and whole-number money.

Money is whole 1e-9 USD and rounded half up to 1e-4 USD once, at the end, for comparison.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import combinations
from typing import NamedTuple

from emporion.market.figures import figure
from emporion.market.graph import NANO, Kind, Links, Site
from emporion.market.performance import Joint
from emporion.market.placement.quotas import Limit

__all__ = ["STEP", "Candidate", "Found", "Tariff", "full_chain", "grams", "joint_of", "rounded", "usd"]

STEP = NANO // 10_000
"""The rounding step of a compared cost."""
_DAY_S = 86_400


class Candidate(NamedTuple):
    """An offer that passed every constraint on single offers."""

    price: int
    """1e-9 USD per machine-hour."""
    id: str
    number: int
    """Of the offer in the graph."""
    kind: Kind
    site: Site
    size: int
    carbon: int = 0
    """mgCO2e per machine-hour; 0 where carbon is not asked for."""
    limits: tuple[Limit, ...] = ()
    """The known quotas that its machines use up."""


class Found(NamedTuple):
    """A placement that the search found: candidates with how many machines of each, smallest id first."""

    parts: tuple[tuple[Candidate, int], ...]

    @property
    def nodes(self) -> int:
        """Machines in all."""
        return sum(count for _, count in self.parts)

    @property
    def carbon(self) -> int:
        """Of all machines, in mgCO2e per hour."""
        return sum(candidate.carbon * count for candidate, count in self.parts)

    def within(self, quotas: Sequence[int]) -> bool:
        """Return whether no known quota is exceeded."""
        used = [0] * len(quotas)
        for candidate, count in self.parts:
            for number, each in candidate.limits:
                used[number] += each * count
        return all(use <= limit for use, limit in zip(used, quotas, strict=True))


@dataclass(frozen=True, slots=True)
class Tariff:
    """What a placement costs besides its machines, and what it may cost."""

    overhead: Callable[[str, str, int], tuple[int, int | None]]
    """(provider, region, nodes there) -> (1e-9 USD per hour, its upper bound or None).

    More nodes never need less, and each further node no more than the one before: the search relies on it.
    """
    ceiling: Callable[[int], int | None]
    """GPUs -> the most that the judged cost may be, in 1e-9 USD per hour; None: no limit."""
    carbon: int | None = None
    """The most that a placement may emit, in mgCO2e per hour; None: no limit."""
    quotas: tuple[int, ...] = ()
    """The limit of each known quota."""


def full_chain(compute: int, loss_s: int, overhead: int) -> int:
    """Return the cost of machines worth `compute`, with the time paid for and lost to interruptions, and the rest."""
    return compute + overhead - (-compute * loss_s // _DAY_S)


def grams(milligrams: int) -> int:
    """Return an emission in whole grams, rounded up: the least whole ceiling that it keeps."""
    return -(-milligrams // 1000)


def rounded(nano: int) -> int:
    """Return a cost in whole 1e-4 USD, half up."""
    return (nano + STEP // 2) // STEP


def usd(steps: int) -> Decimal:
    """Return a compared cost, in whole 1e-4 USD, in USD."""
    return Decimal(steps) * STEP / NANO


def joint_of(sites: Sequence[Site], table: Links) -> Joint | None:
    """Return the worst link among sites, None for one site."""
    distinct = sorted(set(sites), key=str)
    if len(distinct) == 1:
        return None
    links = [table.between(one, other) for one, other in combinations(distinct, 2)]
    unknown = figure("regions_latency_ms_unknown")
    latency_ms = max(unknown if each.latency_ms is None else each.latency_ms for each in links)
    speeds = [each.bandwidth_gbps for each in links if each.bandwidth_gbps is not None]
    return Joint(latency_ms, min(speeds, default=None), len(distinct))
