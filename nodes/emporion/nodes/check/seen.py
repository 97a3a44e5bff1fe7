"""What a probe sees of a node, and the seam through which it is asked. None is unknown, everywhere."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

__all__ = ["Attributes", "GpuSeen", "Measured", "NodeSeen", "Probe", "ProbeFault"]


class ProbeFault(Exception):  # noqa: N818 - it is the node's fault, not an error of ours
    """The node's driver cannot be asked at all; carries what, and what to do."""

    def __init__(self, kind: str, what: str, fix: str) -> None:
        """Keep the parts beside the sentence."""
        super().__init__(what)
        self.kind = kind
        self.what = what
        self.fix = fix


@dataclass(frozen=True)
class Attributes:
    """What one source says that a GPU is."""

    name: str | None = None
    compute_capability: tuple[int, int] | None = None
    sms: int | None = None
    bus_bits: int | None = None
    l2_mb: float | None = None
    memory_mib: int | None = None
    pci_id: str | None = None
    """Four hex digits, of the maker's device."""


@dataclass(frozen=True)
class GpuSeen:
    """One GPU as the driver's management library tells of it."""

    index: int
    uuid: str | None = None
    lost: bool = False
    mig: bool = False
    nvml: Attributes = field(default_factory=Attributes)
    cuda: Attributes = field(default_factory=Attributes)
    """What CUDA says, which a fake of the management library does not change."""
    temperature_c: int | None = None
    slowdown_c: int | None = None
    throttle_bits: int | None = None
    power_limit_w: float | None = None
    power_default_w: float | None = None
    busy_percent: int | None = None
    memory_free_mib: int | None = None
    ecc_on: bool | None = None
    ecc_uncorrected: int | None = None
    """Since the driver was loaded."""
    remap_pending: bool | None = None
    remap_failed: bool | None = None
    pcie_width: int | None = None
    pcie_width_max: int | None = None
    pcie_replays: int | None = None
    nvlinks_up: int | None = None
    """0, with none down: the board has no NVLink."""
    nvlinks_down: int | None = None
    nvlink_errors: int | None = None
    faults: dict[str, str] = field(default_factory=dict)
    """Calls that failed for another reason than that the board has no such thing."""


@dataclass(frozen=True)
class NodeSeen:
    """A node as the driver tells of it."""

    driver: str | None
    gpus: tuple[GpuSeen, ...]


@dataclass(frozen=True)
class Measured:
    """What a GPU did under load; None was not measured."""

    how: str
    copy_gb_s: float | None = None
    """Bytes read and written per second, within the GPU."""
    gemm_tflops: float | None = None
    """Half precision, through tensor cores."""
    sms: int | None = None
    """Multiprocessors that ran a block, as the blocks themselves say."""
    correct: bool | None = None
    error: str | None = None
    """Why nothing could run; set when all of the others are None."""
    xids: tuple[int, ...] = ()
    """Critical errors that the driver told of while it ran."""


class Probe(Protocol):
    """How a node is looked at."""

    def look(self) -> NodeSeen:
        """Return what is seen now. Raises: ProbeFault: when the driver cannot be asked."""

    def load(self, index: int, seconds: float) -> Measured:
        """Put load on one GPU for at most about some seconds, and return what it did; never raises."""
