"""Where offers stand and what lies between: sites, areas, links, and the resource graph that a search walks.

A link between sites is modelled, never measured here: great-circle distance over fibre plus a constant. A region whose
place is not known has links of unknown latency; a latency bound refuses them, the performance model assumes the worst.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from typing import NamedTuple

from emporion.market.offer import Offer
from emporion.market.performance import Machine, machine
from emporion.market.placement.figures import figure
from emporion.market.sites import region_info
from emporion.market.stability import Hazard, hazard

__all__ = ["NANO", "Kind", "Link", "ResourceGraph", "Site", "link", "nano"]


class Site(NamedTuple):
    """The smallest place where nodes share a fabric."""

    provider: str
    region: str
    zone: str | None

    def __str__(self) -> str:
        """Return `aws us-east-1 use1-az2`."""
        return " ".join(part for part in self if part)


class Link(NamedTuple):
    """What joins two sites; modelled."""

    latency_ms: float | None
    """One way; None: a place is not known."""
    bandwidth_gbps: float | None
    """None: that of the machines' own network."""


@dataclass(frozen=True, eq=False, slots=True)
class Kind:
    """Offers that no model can tell apart except by price and place. One graph has one object of each."""

    machine: Machine
    hazard: Hazard
    vram_bytes: int
    """Of the whole machine, nominal; 0 where it is not known."""


@lru_cache(maxsize=65536)
def link(one: Site, other: Site) -> Link:
    """Return the modelled link between two different sites."""
    if one[:2] == other[:2]:
        return Link(figure("zones_latency_ms"), None)
    places = [region_info(site.provider, site.region) for site in (one, other)]
    points = [
        (math.radians(place.lat), math.radians(place.lon))
        for place in places
        if place and place.lat is not None and place.lon is not None
    ]
    if len(points) < 2:  # noqa: PLR2004 - a link has two ends
        return Link(None, figure("regions_gbps"))
    km = _great_circle_km(*sorted(points))
    latency_ms = km * figure("route_factor") / figure("fibre_km_per_ms") + figure("regions_constant_ms")
    return Link(round(latency_ms, 1), figure("regions_gbps"))


def _great_circle_km(one: tuple[float, float], other: tuple[float, float]) -> float:
    """Return the haversine distance on a sphere of the earth's mean radius."""
    (lat1, lon1), (lat2, lon2) = one, other
    square = math.sin((lat2 - lat1) / 2) ** 2 + math.cos(lat1) * math.cos(lat2) * math.sin((lon2 - lon1) / 2) ** 2
    return 2 * 6371.0 * math.asin(math.sqrt(square))


NANO = 1_000_000_000


def nano(usd: Decimal) -> int:
    """Return USD in whole 1e-9 USD, rounded up."""
    return -int(-usd * NANO // 1)


class ResourceGraph:
    """The offers of one catalogue in columns, with everything that no intent changes worked out once.

    `specs[i]` and `sites[i]` number the distinct machines and places of `offers[i]`: a constraint that looks only at
    the machine, or only at the place, is asked once for each.
    """

    def __init__(self, offers: Iterable[Offer]) -> None:
        self.offers: Sequence[Offer] = offers if isinstance(offers, tuple) else tuple(offers)
        self.spec_offers: list[Offer] = []
        """One offer of each spec."""
        self.site_list: list[Site] = []
        self.site_offers: list[Offer] = []
        """One offer at each site."""
        self.kind_list: list[Kind] = []
        self.specs: list[int] = []
        self.sites: list[int] = []
        self.kinds: list[int] = []
        self.prices: list[int] = []
        """In 1e-9 USD per machine-hour."""
        self._build()

    def _build(self) -> None:
        specs: dict[tuple[object, ...], int] = {}
        sites: dict[Site, int] = {}
        kinds: dict[tuple[object, ...], int] = {}
        kind_of: dict[tuple[int, str], int] = {}
        for offer in self.offers:
            spec = specs.setdefault(_spec(offer), len(specs))
            if spec == len(self.spec_offers):
                self.spec_offers.append(offer)
            site = Site(offer.provider, offer.region, offer.zone)
            number = sites.setdefault(site, len(sites))
            if number == len(self.site_list):
                self.site_list.append(site)
                self.site_offers.append(offer)
            kind = kind_of.get((spec, offer.region))
            if kind is None:
                looks = (machine(offer), hazard(offer), _vram_bytes(offer))
                kind = kinds.setdefault(looks, len(kinds))
                kind_of[spec, offer.region] = kind
                if kind == len(self.kind_list):
                    self.kind_list.append(Kind(*looks))
            self.specs.append(spec)
            self.sites.append(number)
            self.kinds.append(kind)
            self.prices.append(nano(offer.usd_per_hour))


def _spec(offer: Offer) -> tuple[object, ...]:
    """Return everything of an offer that constraints and models look at, except its place and price."""
    return (
        offer.provider, offer.instance_type, offer.market, offer.gpu, offer.gpu_count, offer.gpu_vram_gb,
        offer.gpu_vram_mib, offer.vcpus, offer.ram_gb, offer.nvlink, offer.nvlink_gb_s_per_gpu, offer.fabric,
        offer.fabric_gbps, offer.network_gbps, offer.tier, offer.arch, offer.mig, offer.as_of, offer.software,
    )  # fmt: skip


def _vram_bytes(offer: Offer) -> int:
    return int(offer.gpu_vram_gb * 10**9) * offer.gpu_count if offer.gpu_vram_gb is not None else 0
