"""One thing that can be rented: the row that every provider's offers become."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum

__all__ = ["Fabric", "Market", "Nvlink", "Offer", "Software"]


class Market(StrEnum):
    """How an offer is sold."""

    ON_DEMAND = "on_demand"
    SPOT = "spot"
    RESERVED = "reserved"


class Nvlink(StrEnum):
    """How the GPUs of one machine are joined (data/instance_topology.csv, column nvlink)."""

    NONE = "none"
    BRIDGE = "bridge"
    MESH = "mesh"
    NVSWITCH = "nvswitch"
    XGMI = "xgmi"
    ICI = "ici"


class Fabric(StrEnum):
    """The network between machines (data/instance_topology.csv, column fabric)."""

    EFA = "efa"
    ROCE = "roce"
    INFINIBAND = "infiniband"
    TCPX = "tcpx"
    ETHERNET = "ethernet"

    @property
    def rdma(self) -> bool:
        """Whether `low-latency` accepts it."""
        return self is not Fabric.ETHERNET


@dataclass(frozen=True, slots=True)
class Software:
    """What a source says of a machine's software and service level; None is unknown."""

    cuda: str | None = None
    driver: str | None = None
    os: str | None = None
    preinstalled: tuple[str, ...] | None = None
    """`nccl`, `pytorch==2.1.0`; sorted."""
    sla_percent: Decimal | None = None
    """Promised availability."""


@dataclass(frozen=True, slots=True)
class Offer:
    """A machine type at a site in one market, with its price.

    Prices are USD per instance-hour (all GPUs together), Linux, no commitment. `None` is unknown. One catalogue row
    becomes one offer for each market in which it has a price.
    """

    id: str
    """`provider/region[/zone]/instance_type[@tier]/market`: what is compared, printed and pinned."""
    provider: str
    region: str
    zone: str | None
    """The zone id (`use1-az1`), never an account's zone name."""
    instance_type: str
    market: Market
    usd_per_hour: Decimal
    gpu: str | None
    """The id of gpus.csv; None: a CPU machine, or a model the source does not tell (then `gpu_count` is above 0)."""
    gpu_count: int
    gpu_vram_gb: Decimal | None
    """Nominal memory of one GPU in GB (10^9 bytes); for a MIG slice that of the slice."""
    vcpus: Decimal | None
    ram_gb: Decimal | None
    """As the provider prints it (GiB for aws and azure)."""
    source: str
    as_of: str | None
    """Date of the source, `YYYY-MM-DD` or coarser; None counts as old."""
    gpu_vram_mib: int | None = None
    """What the driver reports, where known; a strict unit (GiB, MiB) is compared with this."""
    nvlink: Nvlink | None = None
    nvlink_gb_s_per_gpu: Decimal | None = None
    fabric: Fabric | None = None
    fabric_gbps: Decimal | None = None
    network_gbps: Decimal | None = None
    on_demand_usd_per_hour: Decimal | None = None
    """The on-demand price of the same row, for comparison and for worst cases of spot."""
    tier: str | None = None
    arch: str = "x86_64"
    mig: str | None = None
    """The MIG profile when `gpu_count` counts slices (`1g.10gb`)."""
    currency_note: str | None = None
    """How a foreign price was converted, with rate and date."""
    warnings: tuple[str, ...] = ()
    software: Software | None = None
    place: tuple[Decimal, Decimal] | None = None
    """Latitude and longitude of its region in degrees, where the source itself says so."""

    @property
    def usd_per_gpu_hour(self) -> Decimal | None:
        """The price per GPU; None: it has none."""
        return self.usd_per_hour / self.gpu_count if self.gpu_count else None

    @property
    def between_gbps(self) -> Decimal | None:
        """The bandwidth between such machines: that of the fabric, else of their network."""
        return self.network_gbps if self.fabric_gbps is None else self.fabric_gbps
