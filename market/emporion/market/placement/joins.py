"""What joins the nodes of a placement, as a plan tells it."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

from emporion.market.figures import figure
from emporion.market.graph import Links, Site
from emporion.market.offer import Fabric, Offer
from emporion.market.placement.model import SiteLink

__all__ = ["site_links"]


def site_links(
    offers: Sequence[Offer], counts: Sequence[int], sites: Sequence[Site], table: Links
) -> tuple[SiteLink, ...]:
    """Return the fabric of each site with several nodes, then what joins the sites."""
    found = []
    distinct = sorted(set(sites), key=str)
    for site in distinct:
        there = [(o, n) for o, n, at in zip(offers, counts, sites, strict=True) if at == site]
        if sum(count for _, count in there) > 1:
            found.append(_fabric([offer for offer, _ in there], site, table))
    for one, other in combinations(distinct, 2):
        link = table.between(one, other)
        found.append(
            SiteLink(
                (one, other), None, link.latency_ms, link.bandwidth_gbps, modelled=link.modelled,
                bandwidth_modelled=link.bandwidth_modelled, source=link.source, as_of=link.as_of,
            )
        )  # fmt: skip
    return tuple(found)


def _fabric(offers: Sequence[Offer], site: Site, table: Links) -> SiteLink:
    fabrics = {offer.fabric for offer in offers}
    fabric = fabrics.pop() if len(fabrics) == 1 else Fabric.ETHERNET
    speeds = [offer.between_gbps for offer in offers]
    known = [float(speed) for speed in speeds if speed is not None]
    rdma = fabric is not None and fabric.rdma
    modelled_ms = figure("rdma_latency_ms" if rdma else "ethernet_latency_ms")
    measured = table.within(site, fabric.value if fabric else None)
    return SiteLink(
        (site,),
        fabric.value if fabric else None,
        modelled_ms if measured is None else measured.latency_ms,
        min(known) if len(known) == len(speeds) else None,
        modelled=measured is None,
        bandwidth_modelled=False,
        source=measured.source if measured else None,
        as_of=measured.as_of if measured else None,
    )
