"""Every field that a query can name, once: what it is, its kind, and where it stands in an offer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal

from emporion.market.ages import age_s
from emporion.market.gpus import label_of
from emporion.market.offer import Fabric, Market, Nvlink, Offer
from emporion.market.query.kinds import Kind, gpu, label, number, packages, text, version
from emporion.market.sites import region_info

__all__ = ["FIELDS", "HINTS", "Field"]


@dataclass(frozen=True, slots=True)
class Field:
    """One field of an offer."""

    name: str
    doc: str
    kind: Kind
    of: Callable[[Offer, datetime], object]
    """Returns what the offer says; None: that is not known."""
    scope: str = "machine"
    """What decides it: `place` (provider, region, zone), `machine`, or `offer`: price and all else."""


def _software(name: str) -> Callable[[Offer, datetime], object]:
    return lambda offer, _now: getattr(offer.software, name, None)


def _region(offer: Offer, _now: datetime) -> object:
    info = region_info(offer.provider, offer.region)
    return (offer.region, info.area) if info is not None and info.area else offer.region


def _gpu(offer: Offer, _now: datetime) -> str | None:
    """Return the model; "" is that of a machine without GPUs, which is known to have none."""
    return offer.gpu if offer.gpu_count else ""


def _vram_gb(offer: Offer, _now: datetime) -> Decimal | None:
    return offer.gpu_vram_gb if offer.gpu_count else Decimal(0)


def _age(offer: Offer, now: datetime) -> object:
    seconds = age_s(offer.as_of, now)
    return None if seconds == float("inf") else Decimal(max(int(seconds), 0))


_ALL = (
    Field("provider", "who rents it", text("aws"), lambda offer, _: offer.provider, "place"),
    Field("region", "the region, or its area", text("us-*"), _region, "place"),
    Field("zone", "the zone's id", text("use1-az1"), lambda offer, _: offer.zone, "place"),
    Field("type", "machine type", text("p4d.24xlarge"), lambda offer, _: offer.instance_type),
    Field("tier", "tier of the offer", text("secure"), lambda offer, _: offer.tier or ""),
    Field(
        "market", "how it is sold", text("spot", tuple(each.value for each in Market)),
        lambda offer, _: offer.market.value
    ),
    Field("gpu", "model of its GPUs; a family covers its variants", gpu(), _gpu),
    Field(
        "label",
        "capability label: model and memory of its GPUs",
        label(),
        lambda offer, now: label_of(offer.gpu) if offer.gpu else _gpu(offer, now),
    ),
    Field("gpus", "GPUs of one machine", number("", "8"), lambda offer, _: Decimal(offer.gpu_count)),
    Field("vram_gb", "nominal memory of one GPU, in GB", number("gb", "80gb"), _vram_gb),
    Field("vcpus", "virtual CPUs of one machine", number("", "96"), lambda offer, _: offer.vcpus),
    Field("ram_gb", "memory of one machine, in GB", number("gb", "512gb"), lambda offer, _: offer.ram_gb),
    Field(
        "arch", "processor", text("x86_64", ("x86_64", "arm64")), lambda offer, _: offer.arch
    ),
    Field(
        "nvlink", "how its GPUs are joined", text("nvswitch", tuple(each.value for each in Nvlink)),
        lambda offer, _: offer.nvlink.value if offer.nvlink else None,
    ),
    Field(
        "fabric", "network between machines", text("efa", tuple(each.value for each in Fabric)),
        lambda offer, _: offer.fabric.value if offer.fabric else None,
    ),
    Field("fabric_gbps", "bandwidth of the fabric, in Gbit/s", number("gbps", "400gbps"),
        lambda offer, _: offer.fabric_gbps),
    Field(
        "network_gbps", "bandwidth of the network, in Gbit/s", number("gbps", "25gbps"),
        lambda offer, _: offer.network_gbps,
    ),
    Field("usd_per_hour", "price of one machine, in USD an hour", number("usd", "$12.50"),
        lambda offer, _: offer.usd_per_hour, "offer"),
    Field("usd_per_gpu_hour", "price of one GPU, in USD an hour", number("usd", "$2.50"),
        lambda offer, _: offer.usd_per_gpu_hour, "offer"),
    Field("age", "age of the price", number("s", "7d"), _age),
    Field("source", "where the price comes from", text("*spot*"), lambda offer, _: offer.source or None, "offer"),
    Field("cuda", "version of CUDA", version("12.1"), _software("cuda")),
    Field("driver", "version of the GPU's driver", version("550.54"), _software("driver")),
    Field("os", "operating system", text("ubuntu-22.04"), _software("os")),
    Field("preinstalled", "software that is there", packages(), _software("preinstalled")),
    Field("sla", "promised availability, in per cent", number("%", "99.5%"), _software("sla_percent")),
)  # fmt: skip
FIELDS: Mapping[str, Field] = {field.name: field for field in _ALL}
"""Every field by name, in the order of the reference."""
HINTS: Mapping[str, str] = {
    **dict.fromkeys(("price", "cost", "usd", "hourly", "usd_hr", "price_per_hour"), "usd_per_hour"),
    **dict.fromkeys(("price_per_gpu", "usd_per_gpu"), "usd_per_gpu_hour"),
    **dict.fromkeys(("vram", "gpu_vram_gb", "gpu_memory"), "vram_gb"),
    **dict.fromkeys(("ram", "memory", "mem"), "ram_gb"),
    **dict.fromkeys(("gpu_count", "count", "gpus_per_node"), "gpus"),
    **dict.fromkeys(("instance_type", "machine"), "type"),
    **dict.fromkeys(("cpus", "cores"), "vcpus"),
    **dict.fromkeys(("model", "gpu_type"), "gpu"),
    **dict.fromkeys(("cloud", "vendor"), "provider"),
    **dict.fromkeys(("packages", "software", "installed"), "preinstalled"),
    **dict.fromkeys(("sla_percent", "availability", "uptime"), "sla"),
    "bandwidth": "network_gbps",
}
"""What people write for a field whose name is too far from it for a guess by letters."""
