"""The resource graph as one looks at it: nodes and links with every attribute that is known."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from functools import cache

from emporion.market.figures import figure
from emporion.market.gpus import gpu_info
from emporion.market.links import Links, Site
from emporion.market.observed import Observed
from emporion.market.offer import Fabric, Offer
from emporion.market.prices import price_book
from emporion.market.sites import is_local_zone, region_info

__all__ = ["GraphLink", "GraphNode", "link_view", "node_view", "within_view"]


@dataclass(frozen=True, slots=True)
class GraphNode:
    """One offer as a node of the graph. None is unknown."""

    offer: str
    """Its id."""
    provider: str
    region: str
    zone: str | None
    area: str | None
    """`us-east`: what globs of an intent may name beside the region."""
    lat: Decimal | None
    lon: Decimal | None
    instance_type: str
    market: str
    usd_per_hour: Decimal
    gpu: str | None
    gpus: int
    vram_gb: Decimal | None
    """Nominal, of one GPU."""
    nvlink: str | None
    """How its GPUs are joined; None: not known."""
    nvlink_gb_s: Decimal | None
    """Per GPU, both directions together."""
    fabric: str | None
    """The network between such machines."""
    fabric_gbps: Decimal | None
    """Of the fabric, else of the machine's network."""
    power_w: Decimal | None
    """What its GPUs may draw together; the rest of the machine is not known."""
    grid_gco2_kwh: Decimal | None
    storage_iops: float | None
    """Of the scratch storage; only from a reading."""
    temperature_c: float | None
    """Of the hottest GPU under load; only from a reading."""
    spot_placement_score: int | None
    """As AWS told it, 1 to 10; only from a reading, and shown only."""
    labels: frozenset[str]
    """What it can be called by: GPU id and family, `nvlink`, `rdma`, fabric, architecture, tier, `local-zone`."""

    @property
    def site(self) -> Site:
        """Where it stands."""
        return Site(self.provider, self.region, self.zone)


@dataclass(frozen=True, slots=True)
class GraphLink:
    """A fabric within one site, or what joins two. None is unknown."""

    ends: tuple[Site, Site]
    """Equal for a fabric within a site."""
    fabric: str | None
    """The fabric within a site; None between sites."""
    latency_ms: float | None
    """One way."""
    bandwidth_gbps: float | None
    """Between two machines; None: that of the machines' own network."""
    usd_per_gb: Decimal | None
    """Traffic from the first end to the second, in the first paid band of a month's volume."""
    usd_per_gb_back: Decimal | None
    """Traffic from the second end to the first."""
    modelled: bool
    """Whether the latency is modelled instead of measured."""
    bandwidth_modelled: bool
    source: str | None
    """Who measured it; None: modelled."""
    as_of: str | None


def node_view(offer: Offer, observed: Observed) -> GraphNode:
    """Return an offer as a node."""
    info = region_info(offer.provider, offer.region)
    reading = observed.reading(offer)
    watts = gpu_info(offer.gpu).tdp_w if offer.gpu else None
    return GraphNode(
        offer=offer.id,
        provider=offer.provider,
        region=offer.region,
        zone=offer.zone,
        area=info.area if info else None,
        lat=info.lat if info else None,
        lon=info.lon if info else None,
        instance_type=offer.instance_type,
        market=offer.market.value,
        usd_per_hour=offer.usd_per_hour,
        gpu=offer.gpu,
        gpus=offer.gpu_count,
        vram_gb=offer.gpu_vram_gb,
        nvlink=offer.nvlink.value if offer.nvlink else None,
        nvlink_gb_s=offer.nvlink_gb_s_per_gpu,
        fabric=offer.fabric.value if offer.fabric else None,
        fabric_gbps=offer.between_gbps,
        power_w=None if watts is None or offer.mig else watts * offer.gpu_count,
        grid_gco2_kwh=info.grid_gco2_kwh if info else None,
        storage_iops=reading.storage_iops if reading else None,
        temperature_c=reading.temperature_c if reading else None,
        spot_placement_score=reading.spot_placement_score if reading else None,
        labels=_labels(offer),
    )


def _labels(offer: Offer) -> frozenset[str]:
    labels = {offer.arch, offer.gpu, gpu_info(offer.gpu).family if offer.gpu else None, offer.tier}
    if offer.fabric is not None:
        labels |= {offer.fabric.value, "rdma" if offer.fabric.rdma else None}
    if offer.nvlink_gb_s_per_gpu:
        labels.add("nvlink")
    if is_local_zone(offer.provider, offer.zone):
        labels.add("local-zone")
    return frozenset(label for label in labels if label)


def within_view(site: Site, fabric: str, table: Links) -> GraphLink:
    """Return a fabric within a site; its bandwidth is that of the machines."""
    measured = table.within(site, fabric)
    modelled_ms = figure("rdma_latency_ms" if Fabric(fabric).rdma else "ethernet_latency_ms")
    return GraphLink(
        (site, site), fabric, modelled_ms if measured is None else measured.latency_ms, None, None, None,
        modelled=measured is None, bandwidth_modelled=False,
        source=measured.source if measured else None, as_of=measured.as_of if measured else None,
    )  # fmt: skip


def link_view(one: Site, other: Site, table: Links) -> GraphLink:
    """Return what joins two different sites."""
    found = table.between(one, other)
    return GraphLink(
        (one, other), None, found.latency_ms, found.bandwidth_gbps,
        _usd_per_gb(one, other), _usd_per_gb(other, one),
        modelled=found.modelled, bandwidth_modelled=found.bandwidth_modelled, source=found.source, as_of=found.as_of,
    )  # fmt: skip


def _usd_per_gb(here: Site, there: Site) -> Decimal | None:
    return _region_usd_per_gb(here[:2], there[:2])


@cache
def _region_usd_per_gb(here: tuple[str, str], there: tuple[str, str]) -> Decimal | None:
    rate = price_book().between_zones(*here) if here == there else price_book().egress(*here, there)
    return None if rate is None else rate.first_usd_per_gb
