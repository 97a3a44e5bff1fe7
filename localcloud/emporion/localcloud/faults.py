"""Faults of the world, as records that every process of it sees: what they strike, when, and how often.

A fault of calls waits for those that match its operation and type, lets `skip` of them pass and then strikes `times`
times. Calls are creates, updates, deletes and reads; previews and checks never count.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from emporion.localcloud.fault_kinds import KINDS
from emporion.localcloud.world import World

__all__ = [
    "ANY",
    "Fault",
    "Kill",
    "Phase",
    "Target",
    "active_faults",
    "add_fault",
    "clear_faults",
    "fail",
    "faults",
    "kill",
    "note_struck",
    "slow",
    "throttle",
]

ANY = "*"
UNTIL_CLEARED = 0
Phase = Literal["before_write", "after_write", "after_answer"]
Target = Literal["engine", "plugin"]
NAMES = (
    "seq",
    "kind",
    "provider",
    "region",
    "zone",
    "operation",
    "token",
    "instance_type",
    "market",
    "skip",
    "times",
    "starts_s",
    "ends_s",
    "detail",
)


@dataclass(frozen=True, slots=True)
class Kill:
    """Who dies, and when within the call."""

    target: Target
    phase: Phase


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault. `*` stands for every provider, region, zone, operation, type or market."""

    seq: int
    kind: str
    provider: str
    region: str
    zone: str
    operation: str
    token: str
    instance_type: str
    market: str
    skip: int
    times: int
    """Strikes that are left; 0 or less: it strikes until its end."""
    starts_s: float
    """Seconds since 1970 in the world's time."""
    ends_s: float | None
    detail: Mapping[str, Any]

    def is_for(self, **asked: str) -> bool:
        """Return whether it is about what is asked, by field."""
        return all(getattr(self, name) in (ANY, value) for name, value in asked.items())


def add_fault(
    world: World,
    kind: str,
    *,
    provider: str = ANY,
    region: str = ANY,
    zone: str = ANY,
    operation: str = ANY,
    token: str = ANY,
    instance_type: str = ANY,
    market: str = ANY,
    skip: int = 0,
    times: int | None = None,
    after_s: float = 0.0,
    for_s: float | None = None,
    detail: Mapping[str, Any] | None = None,
) -> int:
    """Add a fault and return its number. `times` None: as is usual for its kind; `kind` may be `kill` too.

    `after_s` and `for_s` count in the world's time. A fault that begins at once has begun ever since, but for
    interruptions: they are of the machines that run then.
    """
    strikes = times
    if strikes is None:
        strikes = 1 if kind == "kill" or KINDS[kind].once else UNTIL_CLEARED
    with world.transaction() as connection:
        now_s = world.time_s()
        starts_s = now_s + after_s if after_s or kind == "interruption" else 0.0
        ends_s = None if for_s is None else now_s + after_s + for_s
        cursor = connection.execute(
            "INSERT INTO faults (provider, kind, operation, token, skip, times, detail, region, zone, instance_type,"
            " market, starts_s, ends_s) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                provider,
                kind,
                operation,
                token,
                skip,
                strikes,
                json.dumps(dict(detail or {}), sort_keys=True),
                region,
                zone,
                instance_type,
                market,
                starts_s,
                ends_s,
            ),
        )
        return int(cursor.lastrowid or 0)


def faults(world: World) -> list[Fault]:
    """Return every fault, oldest first, also those that have not begun or have ended."""
    rows = world.query(f"SELECT {', '.join(NAMES)} FROM faults ORDER BY seq")  # noqa: S608 - the names stand above
    named = [dict(zip(NAMES, row, strict=True)) for row in rows]
    return [Fault(**{**row, "detail": json.loads(row["detail"])}) for row in named]


def active_faults(world: World, kinds: Sequence[str] | None = None) -> list[Fault]:
    """Return the faults that the world's time is in now, oldest first; `kinds` None: of every kind."""
    if not world.query("SELECT 1 FROM faults LIMIT 1"):
        return []
    now_s = world.time_s()
    return [
        fault
        for fault in faults(world)
        if (kinds is None or fault.kind in kinds)
        and fault.starts_s <= now_s
        and (fault.ends_s is None or now_s < fault.ends_s)
    ]


def note_struck(world: World, fault: Fault, strikes: int = 1) -> None:
    """Count strikes, or one call that was let pass; a fault that has struck for the last time is forgotten."""
    with world.transaction() as connection:
        if fault.skip > 0:
            connection.execute("UPDATE faults SET skip = skip - 1 WHERE seq = ?", (fault.seq,))
        elif 0 < fault.times <= strikes:
            connection.execute("DELETE FROM faults WHERE seq = ?", (fault.seq,))
        elif fault.times > 0:
            connection.execute("UPDATE faults SET times = times - ? WHERE seq = ?", (strikes, fault.seq))


def clear_faults(world: World, numbers: Sequence[int] | None = None) -> int:
    """Forget faults by number (None: all) and return how many there were."""
    with world.transaction() as connection:
        if numbers is None:
            return connection.execute("DELETE FROM faults").rowcount
        return sum(connection.execute("DELETE FROM faults WHERE seq = ?", (one,)).rowcount for one in numbers)


def throttle(world: World, calls: int, *, provider: str = ANY, operation: str = ANY, token: str = ANY) -> None:
    """Throttle the next `calls` attempts; the provider's own retries count."""
    add_fault(world, "throttle", provider=provider, operation=operation, token=token, times=calls)


def fail(
    world: World,
    code: str,
    text: str | None = None,
    *,
    provider: str = ANY,
    operation: str = ANY,
    token: str = ANY,
    skip: int = 0,
    times: int = 1,
) -> None:
    """Answer matching calls with the cloud's error `code`."""
    told = {"code": code, "text": text}
    add_fault(world, "error", provider=provider, operation=operation, token=token, skip=skip, times=times, detail=told)


def slow(
    world: World,
    delay_s: float,
    *,
    provider: str = ANY,
    operation: str = ANY,
    token: str = ANY,
    times: int = 1,
) -> None:
    """Make matching calls take `delay_s` seconds longer."""
    told = {"delay_s": delay_s}
    add_fault(world, "slow", provider=provider, operation=operation, token=token, times=times, detail=told)


def kill(
    world: World,
    target: Target,
    phase: Phase,
    call: int,
    *,
    provider: str = ANY,
    operation: str = ANY,
    token: str = ANY,
) -> None:
    """Kill -9 the engine or the plugin at the `call`-th matching call (1 is the next one), once."""
    told = {"target": target, "phase": phase}
    add_fault(world, "kill", provider=provider, operation=operation, token=token, skip=call - 1, detail=told)
