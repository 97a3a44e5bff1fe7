"""Observed interruptions of spot pools: how long machines were up, and how often they were taken away."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from emporion.market.observed.table import Row, Sheet, read_all
from emporion.market.offer import Offer

__all__ = ["SPOT_COLUMNS", "Exposure", "SpotEvents", "SpotRecord", "read_spot_events"]

SPOT_COLUMNS = ("provider", "region", "zone", "instance_type", "up_hours", "interruptions", "source", "as_of")
_UP_HOURS = (0.001, 10_000_000.0)
_INTERRUPTIONS = (0, 10_000_000)


@dataclass(frozen=True, slots=True)
class SpotRecord:
    """What was seen of one pool in one span of time."""

    provider: str
    region: str
    zone: str | None
    """None: anywhere in the region."""
    instance_type: str
    up_hours: float
    """How long the *pool* was held, however many machines it had: they go together."""
    interruptions: int
    source: str
    as_of: str


class Exposure(NamedTuple):
    """The sum of all that was seen of a pool."""

    up_hours: float
    interruptions: int


class SpotEvents:
    """What was observed, by pool."""

    def __init__(self, records: Iterable[SpotRecord] = ()) -> None:
        """Take the records."""
        self._pools: dict[tuple[str, str, str], list[SpotRecord]] = {}
        for each in records:
            self._pools.setdefault((each.provider, each.region, each.instance_type), []).append(each)
        self._regions = {key[:2] for key in self._pools}

    def at(self, provider: str, region: str) -> bool:
        """Return whether anything was seen in a region."""
        return (provider, region) in self._regions

    def exposure(self, offer: Offer) -> Exposure | None:
        """Return what was seen of an offer's pool, None: nothing.

        An offer in a zone takes the records of its zone and those that name none; one without a zone takes all of its
        region.
        """
        records = [
            each
            for each in self._pools.get((offer.provider, offer.region, offer.instance_type), ())
            if offer.zone is None or each.zone in {None, offer.zone}
        ]
        if not records:
            return None
        return Exposure(sum(each.up_hours for each in records), sum(each.interruptions for each in records))


def read_spot_events(path: Path) -> tuple[SpotRecord, ...]:
    """Return the records of a file of observed interruptions, in its order.

    Raises: UserError E-OBSERVED: with every problem of the file, each with its line.
    """
    twice = ("says the same as line", "keep one of them: each line is counted")
    return read_all(Sheet(path, SPOT_COLUMNS), _record, lambda each: each, twice)


def _record(row: Row) -> SpotRecord:
    up_hours = row.number("up_hours", *_UP_HOURS, "hours")
    interruptions = row.number("interruptions", *_INTERRUPTIONS, "interruptions", whole=True)
    for column in ("up_hours", "interruptions"):
        row.required(column)
    return SpotRecord(
        *row.place(),
        row.required("instance_type"),
        up_hours or 0.0,
        int(interruptions or 0),
        row.required("source"),
        row.date("as_of"),
    )
