"""What is known of a node when versions are chosen for it. Everything may be unknown."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from emporion.images.tables import rows
from emporion.images.versions import Version, parse_driver, version
from emporion.market.errors import ExitCode, UserError
from emporion.market.gpu_names import resolve_gpu
from emporion.market.gpus import Gpu, gpu_info

__all__ = ["Architecture", "Node", "architecture", "gpus_named", "node_of", "sm"]


@dataclass(frozen=True, slots=True)
class Node:
    """One node as images see it; None and an empty tuple are unknown."""

    gpus: tuple[str, ...] = ()
    """Every id that the node's GPU may be; what runs must run on each of them."""
    driver: Version | None = None
    driver_text: str | None = None
    """The driver as it was written; set although `driver` is None where it is said to be unknown."""
    machine: str = "x86_64"
    """`x86_64` or `aarch64`."""

    @property
    def sms(self) -> tuple[Version, ...]:
        """The compute capabilities that the GPU may have, ascending."""
        return tuple(sorted({sm(gpu) for gpu in self.gpus}))

    @property
    def classes(self) -> frozenset[str]:
        """`datacenter`, `workstation`, `geforce`; empty where a GPU's class is in no list that was read."""
        found = {_column(gpu, "class") for gpu in self.gpus}
        return frozenset() if "" in found else frozenset(found)


def node_of(gpu: str | None, driver: str | None, machine: str | None = None) -> Node:
    """Return a node from what people write; a GPU that is on Arm machines alone says which machine it is.

    Raises: UserError E-GPU, E-GPU-VENDOR, E-DRIVER: when one of them cannot be read.
    """
    gpus = gpus_named(gpu) if gpu else ()
    told = {_column(one, "machine") for one in gpus} - {""}
    read = parse_driver(driver, "--driver") if driver is not None else None
    return Node(gpus, read, driver, machine or next(iter(told), "x86_64"))


def _column(gpu: str, name: str) -> str:
    return next((row[name] for row in rows("gpu_classes.csv") if row["gpu"] == gpu), "")


@dataclass(frozen=True, slots=True)
class Architecture:
    """What drivers ask of a GPU's architecture."""

    name: str
    min_driver: Version | None
    last_branch: int | None
    """The last branch of drivers that supports it; None: it is supported still."""
    fp8: bool


@cache
def _architectures() -> Mapping[str, Architecture]:
    return {
        row["architecture"]: Architecture(
            row["architecture"],
            version(row["min_driver"]) if row["min_driver"] else None,
            int(row["last_branch"]) if row["last_branch"] else None,
            row["fp8"] == "yes",
        )
        for row in rows("architectures.csv")
    }


def architecture(gpu: str) -> Architecture:
    """Return what is known of the architecture of a GPU id."""
    return _architectures()[gpu_info(gpu).architecture]


def sm(gpu: str) -> Version:
    """Return the compute capability of a GPU id that has one, as (8, 0)."""
    digits = (gpu_info(gpu).compute_capability or "").removeprefix("sm_")
    return int(digits[:-1]), int(digits[-1])


def gpus_named(name: str) -> tuple[str, ...]:
    """Return every id that a written GPU name may mean.

    Raises: UserError E-GPU: when there is none; E-GPU-VENDOR: when images for it cannot be made yet.
    """
    meant = resolve_gpu(name)
    if not meant.ids:
        raise UserError("E-GPU", f"{name} names no model", fix="write one, as a100 or h100-80gb-sxm")
    foreign = [gpu for gpu in map(gpu_info, meant.ids) if gpu.compute_capability is None]
    if foreign:
        raise _not_cuda(foreign[0])
    return meant.ids


def _not_cuda(gpu: Gpu) -> UserError:
    return UserError(
        "E-GPU-VENDOR",
        f"images for {gpu.id} cannot be made in this version: it is {gpu.vendor}'s, and recipes are for CUDA alone",
        fix="choose a GPU of nvidia, or bring an image of your own",
        exit_code=ExitCode.INFEASIBLE,
    )
