"""What EC2's instance types are made of, as far as a launch depends on it: data/instance_types.csv, with its source."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Literal

__all__ = ["InstanceType", "instance_types"]


@dataclass(frozen=True, slots=True)
class InstanceType:
    """One row of the table."""

    name: str
    arch: str
    """`x86_64` or `arm64`."""
    vcpus: int
    gpus: int
    nvme_gb: int
    """Instance store in GB, all disks together; 0: none."""
    network_cards: int
    interfaces_per_card: int
    """The smallest number over the cards."""
    efa_interfaces: int
    """0: no EFA."""
    first_efa_card: int | None
    efa_layout: Literal["efa", "efa-only"] | None
    """How EFA interfaces are spread, see `nics.py`; None: no EFA."""
    cluster_placement: bool
    capacity_block: bool
    spot: bool


@cache
def instance_types() -> Mapping[str, InstanceType]:
    """Return the types that can be launched, by name."""
    text = files("emporion.components.aws").joinpath("data/instance_types.csv").read_text(encoding="utf-8")
    rows = csv.DictReader(line for line in text.splitlines() if not line.startswith("#"))
    return {row["instance_type"]: _read(row) for row in rows}


def _read(row: dict[str, str]) -> InstanceType:
    layouts: dict[str, Literal["efa", "efa-only"] | None] = {"": None, "efa": "efa", "efa-only": "efa-only"}
    return InstanceType(
        name=row["instance_type"],
        arch=row["arch"],
        vcpus=int(row["vcpus"]),
        gpus=int(row["gpus"]),
        nvme_gb=int(row["nvme_gb"]),
        network_cards=int(row["network_cards"]),
        interfaces_per_card=int(row["interfaces_per_card"]),
        efa_interfaces=int(row["efa_interfaces"]),
        first_efa_card=int(row["first_efa_card"]) if row["first_efa_card"] else None,
        efa_layout=layouts[row["efa_layout"]],
        cluster_placement=row["cluster_placement"] == "yes",
        capacity_block=row["capacity_block"] == "yes",
        spot=row["spot"] == "yes",
    )
