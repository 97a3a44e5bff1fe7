"""The kinds of faults that a world can have, as a table: what each does and what may be said about it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

__all__ = ["FIELDS", "KINDS", "OUTAGES", "FaultKind", "Field"]


@dataclass(frozen=True, slots=True)
class Field:
    """One thing that can be said about a fault."""

    name: str
    what: str
    unit: str
    """`text`, `count` or `duration`: how it is written."""


@dataclass(frozen=True, slots=True)
class FaultKind:
    """One kind of fault."""

    name: str
    what: str
    needs: tuple[str, ...] = ()
    """Fields without which it says nothing."""
    takes: tuple[str, ...] = ()
    """Fields beside `needs` and the common ones."""
    once: bool = False
    """Whether it strikes one call unless told otherwise; else it lasts until its end or until it is cleared."""
    retried: bool = False
    """Whether clients try again: it strikes every attempt and not the first one alone."""
    refusal: str | None = None
    """What the cloud says, by its key in `StandIn.refusals`."""


def _table(*rows: Field | FaultKind) -> Mapping[str, Field | FaultKind]:
    return MappingProxyType({row.name: row for row in rows})


FIELDS: Mapping[str, Field] = _table(  # type: ignore[assignment]
    Field("provider", "the cloud, every one by default", "text"),
    Field("region", "the region, every one by default", "text"),
    Field("zone", "the zone by its id or name, every one by default", "text"),
    Field("operation", "create, read, update, delete, or api (what operations ask); every one by default", "text"),
    Field("type", "the type token (aws:ec2/vpc:Vpc), every one by default", "text"),
    Field("instance_type", "the machine's type, every one by default", "text"),
    Field("market", "on_demand, spot or capacity_block, every one by default", "text"),
    Field("times", "how many calls it strikes; 0: until its end", "count"),
    Field("skip", "how many calls it lets pass first", "count"),
    Field("delay", "how long it takes", "duration"),
    Field("code", "the cloud's error code", "text"),
    Field("text", "the cloud's words", "text"),
    Field("after", "when it begins, counted from now in the world's time", "duration"),
    Field("for", "how long it lasts in the world's time", "duration"),
)
COMMON = ("provider", "region", "after", "for")
_CALL = ("operation", "type", "times", "skip")
_LAUNCH = ("zone", "instance_type", "market")

KINDS: Mapping[str, FaultKind] = _table(  # type: ignore[assignment]
    FaultKind("throttle", "the cloud throttles calls", takes=_CALL, retried=True, refusal="throttled"),
    FaultKind("server-error", "the cloud fails inside (5xx)", takes=_CALL, retried=True, refusal="server_error"),
    FaultKind("timeout", "calls never reach the cloud", takes=(*_CALL, "delay"), retried=True, refusal="timeout"),
    FaultKind("slow", "calls take longer", needs=("delay",), takes=_CALL, once=True),
    FaultKind("lost-answer", "the cloud does it, but the answer never comes", takes=_CALL, once=True),
    FaultKind("stale", "what was made is not seen for a while", needs=("delay",), takes=("type",)),
    FaultKind("error", "the cloud answers an error code", needs=("code",), takes=(*_CALL, "text"), once=True),
    FaultKind("no-capacity", "the cloud has no machines left", takes=_LAUNCH),
    FaultKind("quota", "the account may start no more machines", takes=("instance_type", "market")),
    FaultKind("region-outage", "a region is lost", needs=("region",), retried=True, refusal="unavailable"),
    FaultKind("zone-outage", "a zone is lost: its machines, and launches in it", needs=("region", "zone")),
    FaultKind("network-outage", "machines of a region cannot be reached", needs=("region",), takes=("zone",)),
    FaultKind(
        "storage-outage", "object storage of a region is lost", needs=("region",), retried=True, refusal="unavailable"
    ),
)
OUTAGES = ("region-outage", "zone-outage", "network-outage")
"""Kinds under which machines cannot be reached."""
