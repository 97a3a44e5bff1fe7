"""Faults of the world: what a provider call meets instead of an easy life.

A fault waits for provider calls that match its operation and type, lets `skip` of them pass and then strikes `times`
times. Calls are creates, updates, deletes and reads; previews and checks never count.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Literal

from emporion.localcloud.world import World

__all__ = ["ANY", "Kill", "Meeting", "clear_faults", "fail", "kill", "meet", "slow", "throttle"]

ANY = "*"
Phase = Literal["before_write", "after_write", "after_answer"]
Target = Literal["engine", "plugin"]


@dataclass(frozen=True, slots=True)
class Kill:
    """Who dies, and when within the call."""

    target: Target
    phase: Phase


@dataclass(frozen=True, slots=True)
class Meeting:
    """What one attempt of a call meets."""

    delay_s: float = 0.0
    code: str | None = None
    """The cloud's error code."""
    text: str | None = None
    kill: Kill | None = None


def throttle(world: World, calls: int, *, provider: str = ANY, operation: str = ANY, token: str = ANY) -> None:
    """Throttle the next `calls` attempts; the provider's own retries count."""
    _add(world, "throttle", {}, provider=provider, operation=operation, token=token, times=calls)


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
    _add(
        world,
        "error",
        {"code": code, "text": text},
        provider=provider,
        operation=operation,
        token=token,
        skip=skip,
        times=times,
    )


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
    _add(world, "slow", {"delay_s": delay_s}, provider=provider, operation=operation, token=token, times=times)


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
    _add(
        world,
        "kill",
        {"target": target, "phase": phase},
        provider=provider,
        operation=operation,
        token=token,
        skip=call - 1,
    )


def clear_faults(world: World) -> None:
    """Forget all faults."""
    with world.transaction() as connection:
        connection.execute("DELETE FROM faults")


def meet(world: World, provider: str, operation: str, token: str, *, first_attempt: bool = True) -> Meeting:
    """Return what this attempt of a call meets, and count it.

    Kills, errors and delays see only the first attempt of a call; throttling sees every one.
    """
    delay_s, code, text, dies = 0.0, None, None, None
    if not world.query("SELECT 1 FROM faults LIMIT 1"):
        return Meeting()
    with world.transaction() as connection:
        rows = connection.execute(
            "SELECT seq, kind, skip, times, detail FROM faults WHERE provider IN ('*', ?) AND operation IN ('*', ?)"
            " AND token IN ('*', ?) ORDER BY seq",
            (provider, operation, token),
        ).fetchall()
        for seq, kind, skip, times, detail in rows:
            if kind != "throttle" and not first_attempt:
                continue
            if skip > 0:
                connection.execute("UPDATE faults SET skip = skip - 1 WHERE seq = ?", (seq,))
                continue
            told = json.loads(detail)
            if kind == "slow":
                delay_s += told["delay_s"]
            elif kind == "kill" and dies is None:
                dies = Kill(told["target"], told["phase"])
            elif kind in ("error", "throttle") and code is None:
                code, text = ("throttled", None) if kind == "throttle" else (told["code"], told["text"])
            else:
                continue  # one fault of a kind per attempt; this one waits for the next
            if times == 1:
                connection.execute("DELETE FROM faults WHERE seq = ?", (seq,))
            elif times > 1:  # 0 or less strikes until it is cleared
                connection.execute("UPDATE faults SET times = times - 1 WHERE seq = ?", (seq,))
    return Meeting(delay_s, code, text, dies)


def _add(
    world: World,
    kind: str,
    detail: dict[str, object],
    *,
    provider: str,
    operation: str,
    token: str,
    skip: int = 0,
    times: int = 1,
) -> None:
    with world.transaction() as connection:
        connection.execute(
            "INSERT INTO faults (provider, kind, operation, token, skip, times, detail) VALUES (?, ?, ?, ?, ?, ?, ?)",
            (provider, kind, operation, token, skip, times, json.dumps(detail)),
        )
