"""The normalised intent: what the user wants, validated, units settled; made by this package, read by all others."""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal
from enum import StrEnum
from typing import Literal

from emporion.market.units import Memory

__all__ = [
    "Access",
    "Budget",
    "Constraints",
    "DataSet",
    "FallbackRule",
    "Gpus",
    "Image",
    "Intent",
    "InterruptionRule",
    "Lifecycle",
    "MarketRule",
    "Memory",
    "Model",
    "Network",
    "Rdma",
    "Recovery",
    "Resources",
    "Stage",
    "Topology",
]


class Topology(StrEnum):
    """How the GPUs of a node must be joined."""

    NVLINK = "nvlink"
    PCIE = "pcie"
    ANY = "any"


class Rdma(StrEnum):
    """Whether nodes must be joined by an RDMA fabric."""

    REQUIRED = "required"
    PREFERRED = "preferred"
    NO = "no"


class MarketRule(StrEnum):
    """Which markets may serve the intent."""

    SPOT = "spot"
    ON_DEMAND = "on_demand"
    ANY = "any"


class FallbackRule(StrEnum):
    """What happens when spot capacity is gone: go on-demand, wait, or end."""

    ON_DEMAND = "true"
    PAUSE = "pause"
    NONE = "false"


class InterruptionRule(StrEnum):
    """What is replaced after an interruption."""

    REPLACE_NODE = "replace_node"
    REPLACE_POOL = "replace_pool"


@dataclass(frozen=True, slots=True)
class Gpus:
    """GPU wish: model, number, memory, topology."""

    types: tuple[str, ...]
    """Ids of gpus.csv that are acceptable, most preferred first; empty: any. A family is already expanded."""
    asked: tuple[str, ...]
    """The names as the user wrote them."""
    count_min: int
    count_max: int
    """Equal to `count_min` unless a range `a..b` was asked."""
    vendor: str | None = None
    min_vram: Memory | None = None
    min_total_vram: Memory | None = None
    topology: Topology = Topology.ANY
    mig: str | None = None
    share: bool = False
    allow_fraction: bool = False


@dataclass(frozen=True, slots=True)
class Network:
    """Network wish. `latency_ms` is one-way between any two nodes."""

    latency_ms: Decimal | None = None
    bandwidth_gbps: Decimal | None = None
    rdma: Rdma = Rdma.NO
    low_latency: bool = False
    """All nodes at one site joined by efa, infiniband, roce or tcpx; a single node always satisfies it."""


@dataclass(frozen=True, slots=True)
class Resources:
    """What one stage needs."""

    gpus: Gpus | None
    network: Network = field(default_factory=Network)
    nodes_min: int | None = None
    nodes_max: int | None = None
    cpus_min: int | None = None
    """Per node."""
    memory_min: Memory | None = None
    """Host memory per node."""
    storage: Memory | None = None
    storage_type: str | None = None
    """`lustre`, `nfs`, `object`, `local` or None."""


@dataclass(frozen=True, slots=True)
class Budget:
    """Ceilings in USD on the whole cluster's full chain; None: no ceiling. A per-GPU ceiling keeps its basis."""

    max_hourly_usd: Decimal | None = None
    max_hourly_usd_per_gpu: Decimal | None = None
    max_daily_usd: Decimal | None = None
    max_daily_usd_per_gpu: Decimal | None = None
    max_monthly_usd: Decimal | None = None
    max_monthly_usd_per_gpu: Decimal | None = None
    max_total_usd: Decimal | None = None
    max_total_usd_per_gpu: Decimal | None = None
    auto_scale: bool = False


@dataclass(frozen=True, slots=True)
class Lifecycle:
    """Spot, interruption and checkpoint rules."""

    market: MarketRule = MarketRule.ANY
    spot_fallback: FallbackRule = FallbackRule.NONE
    spot_max_price_usd_per_hour: Decimal | None = None
    """Per instance-hour; None: up to the on-demand price, as the clouds do."""
    spot_auto_renew: bool = False
    max_run_s: int | None = None
    checkpoint_interval_s: int | None = None
    """None: `auto`."""
    on_interruption: InterruptionRule = InterruptionRule.REPLACE_NODE


@dataclass(frozen=True, slots=True)
class DataSet:
    """Data that must reach the nodes, or leave them (`egress`)."""

    source: str | None = None
    size: Memory | None = None
    egress: Memory | None = None
    region: str | None = None


@dataclass(frozen=True, slots=True)
class Constraints:
    """Where and under which rules it may run. `regions` are globs over region names and regions.csv's areas."""

    providers: tuple[str, ...] = ()
    regions: tuple[str, ...] = ()
    local_zones: bool = False
    max_carbon_g_per_hour: Decimal | None = None
    max_price_age_s: int | None = None
    where: str | None = None
    """A query that every offer passes (emporion.market.query), normalised."""
    compliance: tuple[str, ...] = ()
    sandbox: str | None = None


@dataclass(frozen=True, slots=True)
class Recovery:
    """The recovery side of a drill."""

    mode: Literal["off", "warm", "cold"] = "off"
    providers: tuple[str, ...] = ()
    regions: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Model:
    """What is trained, for the performance and cost models."""

    parameters: int | None = None
    precision: str | None = None
    hours: Decimal | None = None


@dataclass(frozen=True, slots=True)
class Image:
    """The software on the nodes."""

    framework: str | None = None
    version: str | None = None
    ops: tuple[str, ...] = ()
    id: str | None = None
    """A machine image of the provider, given by the user; None: chosen when the plan is pinned."""
    arch: tuple[str, ...] = ()
    """Processors that the user's software is built for (`x86_64`, `arm64`); empty: any."""


@dataclass(frozen=True, slots=True)
class Access:
    """How people and tools reach the cluster."""

    nat: bool = True
    """False: no NAT gateway; interface endpoints instead, each priced."""
    object_lock_days: int | None = None
    """Retention of checkpoints in governance mode; None: no object lock."""
    reservation: str | None = None
    """Id of a capacity reservation or capacity block that the user owns."""
    capacity_block: bool = False


@dataclass(frozen=True, slots=True)
class Stage:
    """One step of a pipeline."""

    name: str
    needs: tuple[str, ...] = ()
    resources: Resources = field(default_factory=lambda: Resources(gpus=None))
    constraints: Constraints = field(default_factory=Constraints)
    data_in: tuple[DataSet, ...] = ()
    data_out: tuple[DataSet, ...] = ()
    hours: Decimal | None = None


@dataclass(frozen=True, slots=True)
class Intent:
    """What the user wants (DESIGN.md section 4)."""

    name: str
    resources: Resources
    budget: Budget = field(default_factory=Budget)
    lifecycle: Lifecycle = field(default_factory=Lifecycle)
    checkpoint_path: str | None = None
    data: tuple[DataSet, ...] = ()
    constraints: Constraints = field(default_factory=Constraints)
    recovery: Recovery = field(default_factory=Recovery)
    model: Model = field(default_factory=Model)
    stages: tuple[Stage, ...] = ()
    image: Image = field(default_factory=Image)
    scheduler: Literal["slurm", "none"] = "slurm"
    tags: tuple[tuple[str, str], ...] = ()
    access: Access = field(default_factory=Access)
    source: str | None = None
    """The file it came from, for messages."""
    positions: tuple[tuple[str, int], ...] = ()
    """(key path, line) pairs, so that later stages can point into the file (`resources.gpus` -> 5)."""
    flags: tuple[tuple[str, str], ...] = ()
    """(key path, flag) pairs of what the command line said: `resources.gpus` -> `--gpus`."""
    not_acted_on: tuple[str, ...] = ()
    """Keys accepted whose function does not exist yet."""

    def where(self, key: str) -> str:
        """Return `file:line  key` for a key path, or its flag; the nearest parent's for a key not given."""
        lines, flags = dict(self.positions), dict(self.flags)
        path = key
        while path and path not in lines and path not in flags:
            path = path.rpartition(".")[0]
        if path in flags:
            return flags[path]
        line = f":{lines[path]}" if path in lines else ""
        return f"{self.source}{line}  {key}" if self.source else key
