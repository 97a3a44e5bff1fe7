"""Measured links: one-way latency, and bandwidth where it was measured too."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from emporion.market.observed.table import Row, Sheet, read_all
from emporion.market.offer import Fabric

__all__ = ["LINK_COLUMNS", "MeasuredLink", "read_links"]

LINK_COLUMNS = (
    "from_provider", "from_region", "from_zone", "to_provider", "to_region", "to_zone", "latency_ms", "source", "as_of",
)  # fmt: skip
_OPTIONAL = ("bandwidth_gbps", "fabric")
_LATENCY_MS = (0.0001, 10_000.0)
"""The least is a tenth of a microsecond: no network is faster, so anything below is another unit."""
_BANDWIDTH_GBPS = (0.001, 100_000.0)
_FABRICS = tuple(each.value for each in Fabric)

_End = tuple[str, str, str | None]


@dataclass(frozen=True, slots=True)
class MeasuredLink:
    """One measurement; it holds in both directions."""

    ends: tuple[_End, _End]
    """(provider, region, zone) of both; zone None: anywhere in the region."""
    latency_ms: float
    """One way: half of a round trip."""
    bandwidth_gbps: float | None
    """Of one machine to another; None: not measured."""
    fabric: str | None
    """Set when nodes of one site were measured: the fabric between them. Both ends are equal then."""
    source: str
    as_of: str


def read_links(path: Path) -> tuple[MeasuredLink, ...]:
    """Return the links of a file of measurements, in its order.

    Raises: UserError E-OBSERVED: with every problem of the file, each with its line.
    """
    twice = ("measures the same link as line", "keep one of them")
    return read_all(Sheet(path, LINK_COLUMNS, _OPTIONAL), _measured, _both_ways, twice)


def _both_ways(each: MeasuredLink) -> object:
    return frozenset(each.ends), each.fabric


def _measured(row: Row) -> MeasuredLink:
    ends = (row.place("from_"), row.place("to_"))
    latency_ms = row.number("latency_ms", *_LATENCY_MS, "ms")
    if latency_ms is None and row.text("latency_ms") is None:
        row.problem("has no latency_ms")
    bandwidth_gbps = row.number("bandwidth_gbps", *_BANDWIDTH_GBPS, "Gb/s")
    fabric = row.one_of("fabric", _FABRICS)
    if row.text("fabric") is not None:
        if ends[0] != ends[1]:
            row.problem("names a fabric, but its ends are two places", "leave fabric empty between sites")
        if bandwidth_gbps is not None:
            row.problem("has a bandwidth_gbps within a site", "leave it empty: it depends on the machine, not the site")
    elif ends[0] == ends[1] and ends[0][2] is not None:
        row.problem("has the same place at both ends", "name the fabric (efa, ethernet, …) that was measured there")
    return MeasuredLink(ends, latency_ms or 0.0, bandwidth_gbps, fabric, row.required("source"), row.date("as_of"))
