"""What lies between sites: modelled links, and measured ones that take their place.

A link is modelled as great-circle distance over fibre plus a constant, at an assumed bandwidth; within a region as one
constant. A region whose place is not known has links of unknown latency: a latency bound refuses them, the performance
model assumes the worst. What was measured (`emporion.market.observed`) overrides the model figure by figure.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from decimal import Decimal
from functools import lru_cache
from typing import NamedTuple

from emporion.market.figures import figure
from emporion.market.observed.links import MeasuredLink
from emporion.market.sites import region_info

__all__ = ["Link", "Links", "Site", "link"]


class Site(NamedTuple):
    """The smallest place where nodes share a fabric."""

    provider: str
    region: str
    zone: str | None

    def __str__(self) -> str:
        """Return `aws us-east-1 use1-az2`."""
        return " ".join(part for part in self if part)


Point = tuple[Decimal, Decimal]
"""Latitude and longitude in degrees."""


class Link(NamedTuple):
    """What joins two sites."""

    latency_ms: float | None
    """One way; None: a place is not known."""
    bandwidth_gbps: float | None
    """None: that of the machines' own network."""
    modelled: bool = True
    """Whether the latency is the model's; the bandwidth may be so beside a measured latency."""
    bandwidth_modelled: bool = True
    source: str | None = None
    """Who measured it, and how; None: modelled."""
    as_of: str | None = None


@lru_cache(maxsize=65536)
def link(one: Site, other: Site) -> Link:
    """Return the modelled link between two different sites."""
    if one[:2] == other[:2]:
        return Link(figure("zones_latency_ms"), None)
    return _over(_place(one), _place(other))


def _place(site: Site) -> Point | None:
    info = region_info(site.provider, site.region)
    return None if info is None or info.lat is None or info.lon is None else (info.lat, info.lon)


def _over(one: Point | None, other: Point | None) -> Link:
    """Return the modelled link between two places."""
    if one is None or other is None:
        return Link(None, figure("regions_gbps"))
    points = sorted((math.radians(latitude), math.radians(longitude)) for latitude, longitude in (one, other))
    km = _great_circle_km(*points)
    latency_ms = km * figure("route_factor") / figure("fibre_km_per_ms") + figure("regions_constant_ms")
    return Link(round(latency_ms, 1), figure("regions_gbps"))


def _great_circle_km(one: tuple[float, float], other: tuple[float, float]) -> float:
    """Return the haversine distance on a sphere of the earth's mean radius."""
    (lat1, lon1), (lat2, lon2) = one, other
    square = math.sin((lat2 - lat1) / 2) ** 2 + math.cos(lat1) * math.cos(lat2) * math.sin((lon2 - lon1) / 2) ** 2
    return 2 * 6371.0 * math.asin(math.sqrt(square))


_End = tuple[str, str, str | None]


class Links:
    """The links between all sites: looked up, never stored for every pair."""

    def __init__(self, measured: Iterable[MeasuredLink] = ()) -> None:
        """Take what was measured; without anything every link is the model's."""
        self._between: dict[tuple[_End, _End], MeasuredLink] = {}
        self._within: dict[tuple[_End, str], MeasuredLink] = {}
        for each in measured:
            if each.fabric is not None:
                self._within[each.ends[0], each.fabric] = each
            else:
                self._between[_pair(*each.ends)] = each
        self._known: dict[tuple[Site, Site], Link] = {}
        self._best: dict[bool, tuple[float, float | None]] = {}
        self.places: dict[tuple[str, str], Point] = {}
        """Where regions lie that only their own offers tell of (registered machines), by provider and region."""

    @property
    def modelled(self) -> bool:
        """Whether no link between sites was measured: those of two regions, and those within one, are all alike."""
        return not self._between

    def between(self, one: Site, other: Site) -> Link:
        """Return the link between two different sites; of several measurements the one that names more zones counts."""
        if not self._between and not self.places:
            return link(one, other)
        known = self._known.get((one, other))
        if known is None:
            known = self._known[one, other] = self._measured(one, other)
        return known

    def _measured(self, one: Site, other: Site) -> Link:
        modelled = self._modelled(one, other)
        regions = (_region(one), _region(other))
        for ends in ((one, other), (one, regions[1]), (regions[0], other), regions):
            found = self._between.get(_pair(*ends))
            if found is not None:
                gbps = found.bandwidth_gbps
                return Link(
                    found.latency_ms,
                    modelled.bandwidth_gbps if gbps is None else gbps,
                    modelled=False,
                    bandwidth_modelled=gbps is None,
                    source=found.source,
                    as_of=found.as_of,
                )
        return modelled

    def _modelled(self, one: Site, other: Site) -> Link:
        if one[:2] == other[:2] or (one[:2] not in self.places and other[:2] not in self.places):
            return link(one, other)
        return _over(*(self.places.get(site[:2]) or _place(site) for site in (one, other)))

    def within(self, site: Site, fabric: str | None) -> MeasuredLink | None:
        """Return the measured latency between nodes of one site over a fabric, None: it was not measured."""
        if fabric is None or not self._within:
            return None
        return self._within.get((site, fabric)) or self._within.get((_region(site), fabric))

    def measures_within(self, provider: str, region: str) -> bool:
        """Return whether anything was measured within sites of a region."""
        return any(end[:2] == (provider, region) for end, _ in self._within)

    def best(self, *, same_region: bool) -> tuple[float, float | None]:
        """Return a latency in ms and a bandwidth in Gb/s (None: no limit) that no link between two sites betters.

        `same_region`: between zones of one region, else between regions (where zones of one region are as good at most
        as what was tried first).
        """
        if same_region not in self._best:
            self._best[same_region] = self._find_best(same_region=same_region)
        return self._best[same_region]

    def _find_best(self, *, same_region: bool) -> tuple[float, float | None]:
        latency_ms = figure("zones_latency_ms" if same_region else "regions_constant_ms")
        gbps = None if same_region else figure("regions_gbps")
        for (one, other), each in self._between.items():
            if (one[:2] == other[:2]) == same_region:
                latency_ms = min(latency_ms, each.latency_ms)
                if gbps is not None and each.bandwidth_gbps is not None:
                    gbps = max(gbps, each.bandwidth_gbps)
        return latency_ms, gbps


def _pair(one: _End, other: _End) -> tuple[_End, _End]:
    """Return two ends in one order, whichever way round they were measured."""
    return (one, other) if _order(one) <= _order(other) else (other, one)


def _order(end: _End) -> tuple[str, str, str]:
    provider, region, zone = end
    return provider, region, zone or ""


def _region(site: Site) -> _End:
    return (site.provider, site.region, None)
