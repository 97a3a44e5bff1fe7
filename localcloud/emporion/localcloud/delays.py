"""How long things take in the world's time: a draw by cloud and stage, the same for the same seed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import Any

from emporion.localcloud.chance import lognormal
from emporion.localcloud.models import model
from emporion.localcloud.places import provider_of
from emporion.localcloud.world import World
from emporion.market.tables import read_rows

__all__ = ["Phase", "phase", "quota_answer_s", "start_times"]

_DELAYS = Path(__file__).with_name("data") / "delays.csv"


class Phase(StrEnum):
    """How far a machine has come."""

    PENDING = "pending"
    """The cloud is making it."""
    BOOTING = "booting"
    BOOTSTRAPPING = "bootstrapping"
    READY = "ready"


@dataclass(frozen=True, slots=True)
class _Delay:
    median_s: float
    p95_s: float


@cache
def _delay(provider: str, stage: str) -> _Delay:
    rows = {row["provider"]: row for row in read_rows(_DELAYS) if row["stage"] == stage}
    row = rows.get(provider) or rows["*"]
    return _Delay(float(row["median_s"]), float(row["p95_s"]))


def start_times(world: World, plugin: str, key: str) -> dict[str, float]:
    """Return when a machine that starts now runs, has booted and is ready, seconds since 1970; empty: at once.

    `key` names who it is started for; the first, second, … of a name takes as long in every world of the same seed.
    """
    if model(world, "delays") == "none":
        return {}
    at_s, times = world.time_s(), {}
    key = f"{key}/{world.ordinal(key)}"
    for stage, name in (("create", "running_s"), ("boot", "booted_s"), ("bootstrap", "ready_s")):
        delay = _delay(provider_of(plugin), stage)
        at_s += lognormal(delay.median_s, delay.p95_s, world.seed, "delay", stage, key)
        times[name] = at_s
    return times


def phase(facts: Mapping[str, Any], now_s: float) -> Phase:
    """Return how far a machine has come, by what the world notes of it."""
    for name, before in (("running_s", Phase.PENDING), ("booted_s", Phase.BOOTING), ("ready_s", Phase.BOOTSTRAPPING)):
        if now_s < facts.get(name, 0.0):
            return before
    return Phase.READY


def quota_answer_s(world: World, plugin: str, key: str) -> float:
    """Return after how many seconds the cloud answers a request for quota."""
    if model(world, "delays") == "none":
        return 0.0
    delay = _delay(provider_of(plugin), "quota")
    return lognormal(delay.median_s, delay.p95_s, world.seed, "delay", "quota", key)
