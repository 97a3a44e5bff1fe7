"""The resource graph that a search walks: offers at sites, and the links between the sites.

Nothing is stored for every pair of sites: a link is worked out when it is looked at (docs/adr/0011-graph-is-arrays.md).
`nodes()` and `links()` show the graph with every attribute that is known (docs/explanation/resource-graph.md).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import combinations

from emporion.market.graph_view import GraphLink, GraphNode, link_view, node_view, within_view
from emporion.market.links import Link, Links, Site, link
from emporion.market.observed import NOTHING, Observed
from emporion.market.offer import Offer
from emporion.market.performance import Machine, machine
from emporion.market.stability import Hazard, hazard

__all__ = ["NANO", "GraphLink", "GraphNode", "Kind", "Link", "Links", "ResourceGraph", "Site", "link", "nano"]


@dataclass(frozen=True, eq=False, slots=True)
class Kind:
    """Offers that no model can tell apart except by price and place. One graph has one object of each."""

    machine: Machine
    hazard: Hazard
    vram_bytes: int
    """Of the whole machine, nominal; 0 where it is not known."""


NANO = 1_000_000_000


def nano(usd: Decimal) -> int:
    """Return USD in whole 1e-9 USD, rounded up."""
    return -int(-usd * NANO // 1)


class ResourceGraph:
    """The offers of one catalogue in columns, with everything that no intent changes worked out once.

    `specs[i]` and `sites[i]` number the distinct machines and places of `offers[i]`: a constraint that looks only at
    the machine, or only at the place, is asked once for each.
    """

    def __init__(self, offers: Iterable[Offer], observed: Observed = NOTHING) -> None:
        """Give the machines, places and kinds numbers; what was observed takes the place of what is modelled."""
        self.observed = observed
        self.link_table = Links(observed.links)
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
        kind_of: dict[tuple[int, str | int], int] = {}
        for offer in self.offers:
            spec = specs.setdefault(_spec(offer), len(specs))
            if spec == len(self.spec_offers):
                self.spec_offers.append(offer)
            site = Site(offer.provider, offer.region, offer.zone)
            number = sites.setdefault(site, len(sites))
            if number == len(self.site_list):
                self.site_list.append(site)
                self.site_offers.append(offer)
                if offer.place is not None:
                    self.link_table.places[offer.provider, offer.region] = offer.place
            place = number if self._differs(offer) else offer.region
            kind = kind_of.get((spec, place))
            if kind is None:
                looks = (self._machine(offer, site), hazard(offer, self.observed.spot_events), _vram_bytes(offer))
                kind = kinds.setdefault(looks, len(kinds))
                kind_of[spec, place] = kind
                if kind == len(self.kind_list):
                    self.kind_list.append(Kind(*looks))
            self.specs.append(spec)
            self.sites.append(number)
            self.kinds.append(kind)
            self.prices.append(nano(offer.usd_per_hour))

    def _differs(self, offer: Offer) -> bool:
        """Return whether something was observed by which one zone of the offer's region may differ from the others."""
        observed = self.observed
        if observed is NOTHING:
            return False
        provider, region = offer.provider, offer.region
        return observed.spot_events.at(provider, region) or self.link_table.measures_within(provider, region)

    def _machine(self, offer: Offer, site: Site) -> Machine:
        found = machine(offer)
        measured = self.link_table.within(site, found.fabric)
        return found if measured is None else found._replace(hop_ms=measured.latency_ms)

    def link(self, one: Site, other: Site) -> Link:
        """Return what joins two different sites, measured where it was."""
        return self.link_table.between(one, other)

    def nodes(self) -> Iterator[GraphNode]:
        """Yield every offer as a node with its attributes, in the order of the offers."""
        for offer in self.offers:
            yield node_view(offer, self.observed)

    def links(self) -> Iterator[GraphLink]:
        """Yield the fabrics within each site, then the link between every two sites, in the order of the sites.

        Of 200 sites these are 19,900 links; they are worked out one by one.
        """
        fabrics: dict[Site, set[str]] = {site: set() for site in self.site_list}
        for offer, number in zip(self.offers, self.sites, strict=True):
            if offer.fabric is not None:
                fabrics[self.site_list[number]].add(offer.fabric.value)
        for site, names in fabrics.items():
            for name in sorted(names):
                yield within_view(site, name, self.link_table)
        for one, other in combinations(self.site_list, 2):
            yield link_view(one, other, self.link_table)


def _spec(offer: Offer) -> tuple[object, ...]:
    """Return everything of an offer that constraints and models look at, except its place and price."""
    return (
        offer.provider, offer.instance_type, offer.market, offer.gpu, offer.gpu_count, offer.gpu_vram_gb,
        offer.gpu_vram_mib, offer.vcpus, offer.ram_gb, offer.nvlink, offer.nvlink_gb_s_per_gpu, offer.fabric,
        offer.fabric_gbps, offer.network_gbps, offer.tier, offer.arch, offer.mig, offer.as_of, offer.software,
    )  # fmt: skip


def _vram_bytes(offer: Offer) -> int:
    return int(offer.gpu_vram_gb * 10**9) * offer.gpu_count if offer.gpu_vram_gb is not None else 0
