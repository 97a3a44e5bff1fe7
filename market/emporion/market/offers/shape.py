"""What the machine of a row is: GPU model, count and memory, checked against what is known of its type."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from fnmatch import fnmatchcase
from functools import cache

from emporion.market.errors import UserError, did_you_mean
from emporion.market.gpu_names import GpuName, match_model, resolve_gpu
from emporion.market.gpus import all_gpus, gpu_info
from emporion.market.offer import Fabric, Nvlink
from emporion.market.tables import rows
from emporion.market.units import parse_memory, plain

__all__ = ["RowError", "Shape", "Topology", "read_shape", "topologies", "topology", "whole"]

_MAX_DEVICES = 4096
_SLICES_PER_GPU = 7
"""The most MIG instances that one GPU can be cut into (docs.nvidia.com/datacenter/tesla/mig-user-guide, read 2026)."""
_TOLERANCE = Decimal("0.15")
"""How far a printed memory may be from the nominal one: MiB counted as MB, GiB as GB, ECC held back."""
_ARCHS: Mapping[str, str] = {
    **dict.fromkeys(("", "x86_64", "x86", "x86-64", "amd64", "x64"), "x86_64"),
    **dict.fromkeys(("arm64", "aarch64", "arm"), "arm64"),
}


@dataclass(eq=False)
class RowError(Exception):
    """Why a row is refused."""

    reason: str


@dataclass(frozen=True, slots=True)
class Topology:
    """What data/instance_topology.csv knows of one machine type. None is unknown."""

    gpu: str
    gpu_count: int
    nvlink: Nvlink | None
    nvlink_gb_s_per_gpu: Decimal | None
    fabric: Fabric | None
    fabric_gbps: Decimal | None
    network_gbps: Decimal | None
    nics: int | None
    local_nvme_gb: Decimal | None
    source: str


@dataclass(frozen=True, slots=True)
class Shape:
    """The machine of a row; texts as they are stored."""

    gpu: str | None
    gpu_count: int
    devices: int
    """GPUs of the machine; `gpu_count` are MIG slices where it is cut."""
    vram_gb: str | None
    vram_mib: str | None
    vcpus: str | None
    ram_gb: str | None
    arch: str
    mig: str | None


@cache
def topologies() -> Mapping[tuple[str, str], Topology]:
    """Return what is known of machine types, by (provider, instance type)."""

    def number(text: str) -> Decimal | None:
        return Decimal(text) if text else None

    return {
        (row["provider"], row["instance_type"]): Topology(
            row["gpu"], int(row["gpu_count"]), Nvlink(row["nvlink"]) if row["nvlink"] else None,
            number(row["nvlink_gb_s_per_gpu"]), Fabric(row["fabric"]) if row["fabric"] else None,
            number(row["fabric_gbps"]), number(row["max_network_gbps"]), int(row["nics"]) if row["nics"] else None,
            number(row["local_nvme_gb"]), row["source"],
        )
        for row in rows("instance_topology.csv")
    }  # fmt: skip


def topology(provider: str, instance_type: str) -> Topology | None:
    """Return what is known of a machine type, or None."""
    return topologies().get((provider, instance_type))


def whole(text: str, name: str) -> int:
    """Return a whole number of at most 4096.

    Raises: RowError: when it is not one.
    """
    if not re.fullmatch(r"[0-9]{1,6}", text):
        what = "is negative" if text.startswith("-") else "is not a whole number"
        raise RowError(f"{name} {text[:40]!r} {what}")
    if int(text) > _MAX_DEVICES:
        raise RowError(f"{name} {text} is above {_MAX_DEVICES}")
    return int(text)


def read_shape(cells: Mapping[str, str]) -> Shape:
    """Return the machine of a row's cells.

    Raises: RowError: when they contradict each other or what is known of the type.
    """
    provider, instance_type = cells["provider"], cells["instance_type"]
    devices = whole(cells["gpu_count"], "gpu_count")
    if devices == 0 and cells["gpu"]:
        raise RowError(f"gpu {cells['gpu']!r} with gpu_count 0")
    vram_gb, vram_mib = _memory(cells["gpu_vram_gb"], "gpu_vram_gb")
    known = topology(provider, instance_type)
    gpu = None
    if devices:
        gpu = _model(cells["gpu"], devices, vram_gb, known, mig=bool(cells["mig"]))
        _check_type(known, gpu, devices, instance_type)
    if gpu is not None and not cells["mig"]:
        vram_gb, vram_mib = _nominal(gpu, vram_gb, vram_mib)
    count, slice_gb = _slices(cells, devices)
    if slice_gb is not None:
        vram_gb, vram_mib = slice_gb, None
    return Shape(
        gpu=gpu,
        gpu_count=count,
        devices=devices,
        vram_gb=None if vram_gb is None else plain(vram_gb),
        vram_mib=None if vram_mib is None else str(vram_mib),
        vcpus=_amount(cells["vcpus"], "vcpus"),
        ram_gb=_amount(re.sub(r"\s*gi?b$", "", cells["ram_gb"], flags=re.IGNORECASE), "ram_gb"),
        arch=_arch(cells["arch"], provider, instance_type),
        mig=cells["mig"].lower() or None,
    )


def _memory(text: str, name: str) -> tuple[Decimal | None, int | None]:
    """Return GB and, where the text says MiB or GiB, whole MiB; a bare number is GB."""
    if not text:
        return None, None
    if re.fullmatch(r"[0-9]+(\.[0-9]+)?", text) and len(text) <= len("1000000.000000"):
        size = Decimal(text)
        return (size, None) if size else (None, None)
    try:
        memory = parse_memory(text)
    except UserError as error:
        raise RowError(f"{name}: {error.what}") from None
    return memory.gb, memory.bytes >> 20 if memory.binary else None


@cache
def _named(text: str) -> GpuName | None:
    """Return what a name means, None for a maker without a model and for an unknown model.

    Raises: RowError: when a number in it cannot be read.
    """
    try:
        name = resolve_gpu(text)
    except UserError as error:
        if error.code == "E-GPU":
            return None
        raise RowError(f"gpu: {error.what}") from None
    return name if name.ids else None


@cache
def _matched(text: str, vram_gb: Decimal | None) -> str | None:
    return match_model(text, vram_gb)


def _model(text: str, devices: int, vram_gb: Decimal | None, known: Topology | None, *, mig: bool) -> str | None:
    """Return the GPU's id; a maker's name without a model is settled by the type, else it stays unknown."""
    name = _named(text) if text else None
    if name is None:
        return known.gpu if known is not None and (not text or _is_maker(text)) else None
    if name.count is not None and name.count.low != devices:
        raise RowError(f"gpu {text!r} names {name.count.low} devices, gpu_count is {devices}")
    exact = _matched(text, None if mig else vram_gb)
    return exact if exact is not None else _nearest(text, name.ids, vram_gb)


def _nearest(text: str, ids: tuple[str, ...], vram_gb: Decimal | None) -> str:
    """Return the variant whose nominal memory is nearest to the printed one (74 for an 80 GB part)."""
    if vram_gb is None:
        return ids[0]
    near = [gpu for gpu in ids if _distance(gpu, vram_gb) <= _TOLERANCE]
    if near:
        return min(near, key=lambda gpu: _distance(gpu, vram_gb))
    sizes = sorted({plain(size) for gpu in ids if (size := gpu_info(gpu).vram_gb) is not None})
    raise RowError(f"gpu {text!r} has {' or '.join(sizes)} GB, gpu_vram_gb is {plain(vram_gb)}")


def _distance(gpu: str, vram_gb: Decimal) -> Decimal:
    nominal = gpu_info(gpu).vram_gb
    return Decimal(0) if nominal is None else abs(vram_gb - nominal) / nominal


def _is_maker(text: str) -> bool:
    return text.lower() in {gpu.vendor for gpu in all_gpus()}


def _check_type(known: Topology | None, gpu: str | None, devices: int, instance_type: str) -> None:
    if known is None:
        return
    if known.gpu_count != devices:
        raise RowError(f"{instance_type} has {known.gpu_count} GPUs, gpu_count is {devices}")
    if gpu is not None and gpu != known.gpu:
        raise RowError(f"{instance_type} has {known.gpu}, not {gpu}")


def _nominal(gpu: str, vram_gb: Decimal | None, vram_mib: int | None) -> tuple[Decimal | None, int | None]:
    """Return the model's nominal memory and what drivers report of it."""
    info = gpu_info(gpu)
    if info.vram_gb is None:
        return vram_gb, vram_mib
    if vram_gb is not None and _distance(gpu, vram_gb) > _TOLERANCE:
        raise RowError(f"{gpu} has {plain(info.vram_gb)} GB, gpu_vram_gb is {plain(vram_gb)}")
    return info.vram_gb, vram_mib if vram_mib is not None else info.memory_mib


def _slices(cells: Mapping[str, str], devices: int) -> tuple[int, Decimal | None]:
    """Return how many devices the row offers and a slice's memory: MIG slices are not GPUs (cases/market.md 09)."""
    mig = cells["mig"].lower()
    advertised = whole(cells["advertised"], "advertised") if cells["advertised"] else None
    if not mig:
        if advertised is not None and advertised != devices:
            raise RowError(f"advertises {advertised} devices, gpu_count is {devices}: name the MIG profile")
        return devices, None
    match = re.fullmatch(r"([1-7])g\.([0-9]+)gb(?:\+[a-z.]+)?", mig)
    if match is None:
        raise RowError(f"mig {mig[:40]!r} is not a profile such as 1g.10gb")
    if devices == 0:
        raise RowError(f"mig {mig} on a machine without GPU")
    most = devices * (_SLICES_PER_GPU // int(match[1]))
    count = most if advertised is None else advertised
    if not 0 < count <= most:
        raise RowError(f"advertises {count} slices {mig}; {devices} GPUs hold at most {most}")
    return count, Decimal(match[2])


def _amount(text: str, name: str) -> str | None:
    if not text:
        return None
    if not re.fullmatch(r"[0-9]{1,7}(\.[0-9]{1,6})?", text):
        what = "is negative" if text.startswith("-") else "is not a number"
        raise RowError(f"{name} {text[:40]!r} {what}")
    value = Decimal(text)
    return plain(value) if value else None


def _arch(text: str, provider: str, instance_type: str) -> str:
    if not text:
        for row in rows("arch.csv"):
            if row["provider"] == provider and fnmatchcase(instance_type, row["instance_type"]):
                return row["arch"]
    arch = _ARCHS.get(text.lower())
    if arch is None:
        near = did_you_mean(text, set(_ARCHS) - {""})
        raise RowError(f"arch {text[:40]!r} is unknown" + (f", did you mean {near}" if near else ""))
    return arch
