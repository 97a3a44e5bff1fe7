"""Clusters as Pulumi components, one folder per cloud. Pulumi is imported only when a component is asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from emporion.components.cluster import GpuCluster, GpuClusterArgs

__all__ = ["GpuCluster", "GpuClusterArgs"]


def __getattr__(name: str) -> object:
    """Return a component class, imported at its first use: planning reads this package's data without Pulumi."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from emporion.components import cluster  # noqa: PLC0415 - planning must not load Pulumi

    found: object = getattr(cluster, name)
    return found
