"""The layer of a cloud's fabric, and what the entrypoint decides on the node, from data/fabrics, efa and node_env."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from emporion.images.frameworks import Torch
from emporion.images.tables import rows
from emporion.images.versions import version
from emporion.market.gpus import gpu_info

__all__ = ["Efa", "Setting", "efa", "efa_warning", "fabric_of", "node_settings", "packages_of"]


@dataclass(frozen=True, slots=True)
class Efa:
    """One installer of AWS's fabric, with its plugin for NCCL."""

    installer: str
    plugin: str
    sha256: str
    tested_nccl: str | None


@dataclass(frozen=True, slots=True)
class Setting:
    """What the entrypoint does on a node that has a path and a number of GPUs."""

    path: str
    gpus_on_node: int | None
    action: str
    """`set` a variable, or `source` a script."""
    name: str
    value: str
    why: str


def fabric_of(cloud: str) -> str:
    """Return the fabric of a cloud that has a layer."""
    return next(row["fabric"] for row in rows("fabrics.csv") if row["cloud"] == cloud)


def packages_of(cloud: str) -> tuple[str, ...]:
    """Return the Debian packages that a cloud's fabric needs."""
    return tuple(next(row["packages"] for row in rows("fabrics.csv") if row["cloud"] == cloud).split())


@cache
def efa() -> Efa:
    """Return the newest installer whose plugin and checksum are both known."""
    known = [row for row in rows("efa.csv") if row["plugin"] and row["sha256"]]
    row = max(known, key=lambda one: version(one["installer"]))
    return Efa(row["installer"], row["plugin"], row["sha256"], row["tested_nccl"] or None)


def efa_warning(torch: Torch) -> str | None:
    """Return what is not known of a plugin with torch's NCCL, or None."""
    plugin = efa()
    if plugin.tested_nccl == torch.nccl:
        return None
    tested = plugin.tested_nccl or "none that is known"
    return f"aws-ofi-nccl {plugin.plugin} was tested with NCCL {tested}; torch {torch.text} brings {torch.nccl}"


def node_settings(cloud: str, gpus: tuple[str, ...]) -> tuple[Setting, ...]:
    """Return what the entrypoint of an image for these GPUs does on a cloud's nodes."""
    families = {gpu_info(gpu).family for gpu in gpus}
    return tuple(
        Setting(
            row["needs_path"],
            int(row["gpus_on_node"]) if row["gpus_on_node"] else None,
            row["action"],
            row["name"],
            row["value"],
            row["why"],
        )
        for row in rows("node_env.csv")
        if row["cloud"] == cloud and (not row["gpus"] or families & set(row["gpus"].split()))
    )
