"""Readings of machine types at a place: what the resource graph shows and no model uses."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from emporion.market.observed.table import Row, Sheet, read_all

__all__ = ["NODE_COLUMNS", "NodeReading", "read_nodes"]

NODE_COLUMNS = ("provider", "region", "zone", "instance_type", "source", "as_of")
_OPTIONAL = ("storage_iops", "temperature_c", "spot_placement_score")
_IOPS = (1.0, 100_000_000.0)
_CELSIUS = (-40.0, 150.0)
_SCORE = (1, 10)


@dataclass(frozen=True, slots=True)
class NodeReading:
    """What was read of one machine type at one place; None: not read."""

    provider: str
    region: str
    zone: str | None
    """None: anywhere in the region."""
    instance_type: str
    storage_iops: float | None
    """Of the scratch storage, reads and writes together."""
    temperature_c: float | None
    """Of the hottest GPU under load."""
    spot_placement_score: int | None
    """As AWS tells it, 1 to 10: shown, never converted to a rate, because no rate is promised with it."""
    source: str
    as_of: str


def read_nodes(path: Path) -> tuple[NodeReading, ...]:
    """Return the readings of a file, in its order.

    Raises: UserError E-OBSERVED: with every problem of the file, each with its line.
    """
    twice = ("reads the same machine as line", "keep one of them")
    return read_all(Sheet(path, NODE_COLUMNS, _OPTIONAL), _reading, _machine, twice)


def _machine(each: NodeReading) -> object:
    return each.provider, each.region, each.zone, each.instance_type


def _reading(row: Row) -> NodeReading:
    score = row.number("spot_placement_score", *_SCORE, "points", whole=True)
    return NodeReading(
        *row.place(),
        row.required("instance_type"),
        row.number("storage_iops", *_IOPS, "IOPS"),
        row.number("temperature_c", *_CELSIUS, "°C"),
        None if score is None else int(score),
        row.required("source"),
        row.date("as_of"),
    )
