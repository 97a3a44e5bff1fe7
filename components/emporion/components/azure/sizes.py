"""What Azure's machine sizes are made of, as far as a launch depends on it (data/sizes.csv)."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

__all__ = ["SET_LIMIT", "Size", "sizes"]

SET_LIMIT = 100
"""Machines in one single placement group, the reach of InfiniBand (MSC virtual-machine-scale-sets-placement-groups.md,
2026-11); 300 only after a request to Azure's support."""


@dataclass(frozen=True, slots=True)
class Size:
    """One row of the table."""

    name: str
    arch: str
    """`x86_64` or `arm64`."""
    vcpus: int
    gpus: int
    nvme_gb: int
    """Local NVMe disks in GB, all together; 0: none."""
    infiniband: bool
    refused: str | None
    """Why this version cannot stand it up; None: it can."""


@cache
def sizes() -> Mapping[str, Size]:
    """Return the sizes of the table, by name."""
    text = files("emporion.components.azure").joinpath("data/sizes.csv").read_text(encoding="utf-8")
    rows = csv.DictReader(line for line in text.splitlines() if not line.startswith("#"))
    return {
        row["size"]: Size(
            name=row["size"],
            arch=row["arch"],
            vcpus=int(row["vcpus"]),
            gpus=int(row["gpus"]),
            nvme_gb=int(row["nvme_gb"]),
            infiniband=row["infiniband"] == "yes",
            refused=row["refused"] or None,
        )
        for row in rows
    }
