"""Which machine types Google Cloud has in which zone: asked of Compute Engine, or, without a login, as bundled."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

from emporion.components.gcp.price_list import Amounts, Components, components_of
from emporion.components.price_rows import KnownType, known_types, money, odd
from emporion.market.offers.shape import topology
from emporion.market.tables import rows
from emporion.market.units import plain

__all__ = ["SOURCE", "Machine", "bundled_machines", "listed_machines"]

_log = logging.getLogger(__name__)

SOURCE = "Compute Engine API"
_DISK_GIB = 375
"""One local SSD partition of the machine types here (Compute Engine documentation, read 2026-11-30)."""
_GB_PER_GIB = Decimal(2**30) / 10**9
_GONE = ("OBSOLETE", "DELETED")
_PART_OF_A_GPU = re.compile(r"\b1/[0-9]+\b")
"""As in the description `Graphics Optimized: 1/8 NVIDIA RTX PRO 6000 GPU`; the accelerators count 1 all the same."""


@dataclass(frozen=True, slots=True)
class Machine:
    """A machine type in one zone."""

    region: str
    zone: str
    """Empty: not known."""
    instance_type: str
    about: KnownType
    amounts: Amounts
    billed: Components
    arch: str


def bundled_machines() -> Iterator[Machine]:
    """Yield every machine of the bundled snapshot, for an asker who may read prices only."""
    for table in ("offers.csv", "cpu_offers.csv"):
        for row in rows(table):
            billed = components_of(row["instance_type"]) if row["provider"] == "gcp" else None
            if billed is None:
                continue
            name, about = row["instance_type"], known_types("gcp")[row["instance_type"]]
            shape = topology("gcp", name)
            disk_gb = (shape.local_nvme_gb if shape else None) or Decimal(0)
            disks = round(disk_gb / _GB_PER_GIB / _DISK_GIB)
            amounts = Amounts(Decimal(about.vcpus or 0), Decimal(about.ram_gb or 0), about.gpu_count, disks * _DISK_GIB)
            yield Machine(row["region"], row["zone"], name, about, amounts, billed, "")


def listed_machines(types: Iterable[Mapping[str, Any]], accelerators: Iterable[Mapping[str, Any]]) -> Iterator[Machine]:
    """Yield the machines of the items of machineTypes and acceleratorTypes.

    Raises: UserError E-ADAPTER: when an item is not as documented.
    """
    beside = {(_place(item), _text(item, "name")) for item in accelerators}
    listed_as = {billed.listed_as: billed for billed in _listed_elsewhere()}
    unknown: set[str] = set()
    for item in types:
        name, zone = _text(item, "name"), _place(item)
        state = item.get("deprecated")
        if isinstance(state, dict) and state.get("state") in _GONE:
            continue
        billed = listed_as.get(name) or components_of(name)
        if billed is None or _PART_OF_A_GPU.search(str(item.get("description", ""))):
            if item.get("accelerators"):
                unknown.add(name)
            continue
        if billed.attached is None or (zone, billed.attached) in beside:
            yield _machine(item, zone, name, billed)
    if unknown:
        _log.warning(
            "provider=gcp left_out=%d reason='part of a GPU, or unknown SKUs' types=%s",
            len(unknown),
            ",".join(sorted(unknown)),
        )


def _listed_elsewhere() -> Iterator[Components]:
    for name in known_types("gcp"):
        billed = components_of(name)
        if billed is not None and billed.listed_as:
            yield billed


def _machine(item: Mapping[str, Any], zone: str, name: str, billed: Components) -> Machine:
    region = zone.rpartition("-")[0]
    if billed.listed_as:  # a TPU goes by its own name, and its SKU is a chip-hour
        about = known_types("gcp")[billed.instance_type]
        amounts = Amounts(Decimal(0), Decimal(0), about.gpu_count, 0)
        return Machine(region, zone, billed.instance_type, about, amounts, billed, "")
    cores = money(item.get("guestCpus"), SOURCE, "guestCpus")
    ram_gib = money(item.get("memoryMb"), SOURCE, "memoryMb") / 1024
    bundled = item.get("bundledLocalSsds")
    disks = int(money(bundled.get("partitionCount", 0), SOURCE, "partitionCount")) if isinstance(bundled, dict) else 0
    about = replace(_devices(item, name, billed), vcpus=plain(cores), ram_gb=plain(ram_gib))
    amounts = Amounts(cores, ram_gib, about.gpu_count, disks * _DISK_GIB)
    arch = {"ARM64": "arm64", "X86_64": "x86_64"}.get(str(item.get("architecture")), "")
    return Machine(region, zone, name, about, amounts, billed, arch)


def _devices(item: Mapping[str, Any], name: str, billed: Components) -> KnownType:
    """Return model and count of the GPUs: the count is the API's, the model ours where the type is known."""
    known = known_types("gcp").get(name)
    if billed.attached and known is not None:
        return known
    found = item.get("accelerators") or []
    if not isinstance(found, list) or len(found) > 1 or not all(isinstance(entry, dict) for entry in found):
        raise odd(SOURCE, f"answers {name} with accelerators that are no list of one")
    if not found:
        return KnownType("", 0, "", "", "")
    count = int(money(found[0].get("guestAcceleratorCount"), SOURCE, "guestAcceleratorCount"))
    model = _text(found[0], "guestAcceleratorType")
    if known is not None and known.gpu:
        return KnownType(known.gpu, count, known.gpu_vram_gb, "", "")
    return KnownType(model, count, "", "", "")


def _place(item: Mapping[str, Any]) -> str:
    """Return the name of an item's zone; some answers hold the zone's address."""
    return _text(item, "zone").rpartition("/")[2]


def _text(item: Mapping[str, Any], name: str) -> str:
    value = item.get(name)
    if not isinstance(value, str) or not value:
        raise odd(SOURCE, f"answers an item without {name}")
    return value
