"""The kinds of faults that a world can have, as a table: what each does and what may be said about it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from emporion.market.errors import UserError
from emporion.market.intent.keys import Key
from emporion.market.intent.readers import choice
from emporion.market.units import parse_duration, shown

__all__ = ["COMMON", "FIELDS", "KINDS", "OUTAGES", "FaultKind", "words"]


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


def _count(text: str) -> int:
    if not re.fullmatch(r"[0-9]{1,9}", text.strip()):
        raise UserError("E-COUNT", f"{shown(text)} is not a whole number of 0 or more", fix="write times: 3")
    return int(text)


def words(text: str) -> str:
    """Return text as it is, without the blanks around it."""
    return text.strip()


FIELDS = (
    Key("provider", "The cloud.", words, "aws", default="*"),
    Key("region", "The region.", words, "us-east-1", default="*"),
    Key("zone", "The zone, by its id or name.", words, "use1-az1", default="*"),
    Key(
        "operation",
        "What the call does; `api`: what operations ask.",
        choice("create", "read", "update", "delete", "api", "*"),
        "create",
        default="*",
    ),
    Key("type", "The type token.", words, "aws:ec2/vpc:Vpc", default="*"),
    Key("instance_type", "The machine's type.", words, "p5.48xlarge", default="*"),
    Key(
        "market", "How the machine is bought.", choice("on_demand", "spot", "capacity_block", "*"), "spot", default="*"
    ),
    Key("node", "The machine's id.", words, "i-0123456789abcdef0"),
    Key("times", "How many calls or machines it strikes; 0: all.", _count, "3"),
    Key("skip", "How many calls it lets pass first.", _count, "2", default="0"),
    Key("delay", "How long that takes, in the world's time.", parse_duration, "20s"),
    Key("code", "The cloud's error code.", words, "UnauthorizedOperation"),
    Key("text", "The cloud's words.", words, "You are not authorized"),
    Key("after", "When it begins, from now on in the world's time.", parse_duration, "5m"),
    Key("for", "How long it lasts in the world's time; until it is cleared by default.", parse_duration, "1h"),
)
"""What can be said about a fault, and how it is read."""
COMMON = ("provider", "region", "after", "for")
_CALL = ("operation", "type", "times", "skip")
_LAUNCH = ("zone", "instance_type", "market")

_ROWS = (
    FaultKind("throttle", "the cloud throttles calls", takes=_CALL, retried=True, refusal="throttled"),
    FaultKind("server-error", "the cloud fails inside (5xx)", takes=_CALL, retried=True, refusal="server_error"),
    FaultKind("timeout", "calls never reach the cloud", takes=(*_CALL, "delay"), retried=True, refusal="timeout"),
    FaultKind("slow", "calls take longer", needs=("delay",), takes=_CALL, once=True),
    FaultKind("lost-answer", "the cloud does it, but the answer never comes", takes=_CALL, once=True),
    FaultKind("stale", "what was made is not seen for a while", needs=("delay",), takes=("type",)),
    FaultKind("error", "the cloud answers an error code", needs=("code",), takes=(*_CALL, "text"), once=True),
    FaultKind("no-capacity", "the cloud has no machines left", takes=_LAUNCH),
    FaultKind(
        "interruption",
        "spot machines that run then are taken back",
        takes=("zone", "instance_type", "node", "times"),
        once=True,
    ),
    FaultKind("quota", "the account may start no more machines", takes=("instance_type", "market")),
    FaultKind("region-outage", "a region is lost", needs=("region",), retried=True, refusal="unavailable"),
    FaultKind("zone-outage", "a zone is lost: its machines, and launches in it", needs=("region", "zone")),
    FaultKind("network-outage", "machines of a region cannot be reached", needs=("region",), takes=("zone",)),
    FaultKind(
        "storage-outage", "object storage of a region is lost", needs=("region",), retried=True, refusal="unavailable"
    ),
)
KINDS: Mapping[str, FaultKind] = {row.name: row for row in _ROWS}
OUTAGES = ("region-outage", "zone-outage", "network-outage")
"""Kinds under which machines cannot be reached."""
