"""Reading the pinned placement as a program or another language hands it over."""

from __future__ import annotations

import pulumi

from emporion.market.errors import UserError
from emporion.market.pin import PinnedPlacement

__all__ = ["read_placement"]


def read_placement(data: object, *, stages: bool = False, where: str | None = None) -> PinnedPlacement:
    """Return the placement, which must be known before anything is made: it decides what is made.

    Without `stages` it is that of one cluster.
    Raises: UserError E-PIN: when it is not known yet, of another schema, incomplete, or without a pool.
    """
    if isinstance(data, pulumi.Output):
        raise UserError(
            "E-PIN",
            "the placement of a GpuCluster is the output of another resource, and it decides what is made",
            where,
            "give the placement itself, as emporion plan INTENT --pin STACK writes it",
        )
    placement = PinnedPlacement.from_json(_whole(data), where=where)
    if placement.stages and not stages:
        names = ", ".join(stage.name for stage in placement.stages)
        raise UserError(
            "E-PIN",
            f"a GpuCluster is one cluster, and this placement has one for each of its stages: {names}",
            where,
            "make a GpuCluster of each stage: stages[0].placement, …",
        )
    return placement


def _whole(data: object) -> object:
    """Return `data` with 2.0 as 2: a program in another language hands numbers over as doubles."""
    if isinstance(data, dict):
        return {key: _whole(value) for key, value in data.items()}
    if isinstance(data, (list, tuple)):
        return [_whole(value) for value in data]
    if isinstance(data, float) and data.is_integer():
        return int(data)
    return data
