"""Who moves the world's clock: set, step, rate, and calls that have to wait. Time only goes forward."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from emporion.localcloud.clock import REAL, Mode
from emporion.localcloud.world import World, iso_time
from emporion.market.errors import UserError
from emporion.market.units import shown

__all__ = [
    "CLOCK_SCHEMA",
    "MAX_RATE",
    "clock_status",
    "follow_real",
    "move_to",
    "read_moment",
    "set_rate",
    "step",
    "wait",
]

CLOCK_SCHEMA = "emporion.clock/1"
MAX_RATE = 1_000_000.0
"""A day in 0.09 s: above it two looks at the clock are a month apart."""
LATEST_S = 32_503_680_000.0  # the year 3000: beyond it dates of a scenario are a slip


def clock_status(world: World) -> dict[str, Any]:
    """Return the world's time and how it goes (`emporion.clock/1`)."""
    real_s, clock = world.clock(), world.virtual_clock()
    return {
        "schema": CLOCK_SCHEMA,
        "now": iso_time(clock.at(real_s)),
        "mode": clock.mode.value,
        "rate": clock.rate,
        "ahead_s": round(clock.ahead_s(real_s), 3),
    }


def move_to(world: World, moment_s: float) -> None:
    """Set the world's time (seconds since 1970); it goes on at the rate that it has.

    Raises: UserError E-CLOCK: when that moment is past, or after the year 3000.
    """
    if not moment_s <= LATEST_S:
        raise UserError("E-CLOCK", "the year 3000 is as far as the world's time goes", None, "give an earlier moment")
    with world.transaction():
        real_s, clock = world.clock(), world.virtual_clock()
        now_s = clock.at(real_s)
        if moment_s < now_s:
            raise UserError(
                "E-CLOCK",
                f"{iso_time(moment_s)} is past: the world's time is {iso_time(now_s)}, and it only goes forward",
                None,
                "give a later moment, or start over: emporion local reset",
            )
        world.set_virtual_clock(clock.moved(real_s, moment_s))


def step(world: World, seconds: float) -> None:
    """Move the world's time on by some seconds.

    Raises: UserError E-CLOCK: when they are negative, or lead beyond the year 3000.
    """
    with world.transaction():
        move_to(world, world.time_s() + seconds)


def set_rate(world: World, rate: float) -> None:
    """Let the world's time go at `rate` seconds per second from now on; 0: it stands still (stepped).

    Raises: UserError E-CLOCK: when the rate is negative, above `MAX_RATE` or no number.
    """
    if not (math.isfinite(rate) and 0 <= rate <= MAX_RATE):
        raise UserError(
            "E-CLOCK",
            f"the world's time cannot go at {rate:g} seconds a second",
            None,
            f"a rate from 0 (it stands still) to {MAX_RATE:.0f}; 1 is the real speed",
        )
    with world.transaction():
        real_s, clock = world.clock(), world.virtual_clock()
        world.set_virtual_clock(clock.moved(real_s, clock.at(real_s), rate))


def follow_real(world: World) -> None:
    """Let the world's time be this machine's again.

    Raises: UserError E-CLOCK: when it is ahead of it, since it only goes forward.
    """
    with world.transaction():
        ahead_s = world.virtual_clock().ahead_s(world.clock())
        if ahead_s > 0:
            raise UserError(
                "E-CLOCK",
                f"the world's time is {ahead_s:.0f} s ahead of this machine's, and it only goes forward",
                None,
                "emporion local clock rate 1 goes on at the real speed; emporion local reset starts over",
            )
        world.set_virtual_clock(REAL)


def wait(world: World, seconds: float, sleep: Callable[[float], None] = time.sleep) -> None:
    """Let `seconds` of the world's time pass for one caller.

    Where the time stands still, waiting moves it: callers that wait side by side wait together, not in turn.
    """
    if seconds <= 0:
        return
    until_s = world.time_s() + seconds
    clock = world.virtual_clock()
    if clock.mode is Mode.STEPPED:
        with world.transaction():
            real_s, clock = world.clock(), world.virtual_clock()
            if clock.at(real_s) < until_s:
                world.set_virtual_clock(clock.moved(real_s, until_s))
    else:
        sleep(seconds / clock.rate)


def read_moment(text: str) -> float:
    """Return a moment, ISO 8601 (UTC where it names no zone), as seconds since 1970.

    Raises: UserError E-CLOCK: when it is none.
    """
    try:
        moment = datetime.fromisoformat(text.strip())
    except ValueError:
        raise UserError(
            "E-CLOCK",
            f"{shown(text)} is not a moment",
            None,
            "write it as 2026-12-01T12:00:00Z; `real` is this machine's clock",
        ) from None
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
