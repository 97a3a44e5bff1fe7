"""Spot machines that the cloud takes back: when, with which notice, and for which pools at once.

Machines of one type in one zone are a pool and lose together: 92 % of interruptions that fall together do so within
3 minutes (Spot-and-Scoot, 2026). A pool's events are those of a Poisson process at the published rate, drawn hour by
hour from the seed, so that any moment can be asked for without the moments before it.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path

from emporion.localcloud.chance import unit
from emporion.localcloud.faults import Fault, faults, note_struck
from emporion.localcloud.meeting import in_zone
from emporion.localcloud.models import model, model_since_s
from emporion.localcloud.places import provider_of
from emporion.localcloud.world import Resource, World
from emporion.market.stability import pool_hazard
from emporion.market.stand_in import StandIn
from emporion.market.tables import read_rows

__all__ = ["Notice", "announce", "notice_of"]

HOUR_S = 3600
_NOTICES = Path(__file__).with_name("data") / "notices.csv"


@dataclass(frozen=True, slots=True)
class Notice:
    """How a cloud says that it takes a machine back."""

    kind: str
    lead_s: float
    in_api: bool
    """Whether its API tells of it; else the machine alone is told."""
    ended_kind: str | None
    """What the API says when the machine is gone; None: nothing."""


NO_NOTICE = Notice("", 0.0, in_api=False, ended_kind=None)


@cache
def notice_of(provider: str) -> Notice:
    """Return the notice of a provider; one without a row gives none."""
    for row in read_rows(_NOTICES):
        if row["provider"] == provider:
            return Notice(row["kind"], float(row["lead_s"]), row["in_api"] == "yes", row["ended_kind"] or None)
    return NO_NOTICE


@lru_cache(maxsize=1 << 16)
def _event_s(seed: str, pool: tuple[str, str, str, str], hour: int, per_hour: float) -> float | None:
    """Return the moment in an hour since 1970 at which a pool loses its machines, None: it does not."""
    if unit(seed, "interrupted", *pool, hour) >= -math.expm1(-per_hour):
        return None
    return (hour + unit(seed, "minute", *pool, hour)) * HOUR_S


def announce(world: World, rules: StandIn, region: str, until_s: float) -> bool:
    """Note the earliest interruption of the region's machines up to a moment that is not noted yet, if there is one.

    What is struck at the same moment is noted together.
    """
    waiting = _spot(world, rules, region)
    due: list[tuple[float, Resource, int | None]] = [
        (at_s, machine, None) for at_s, machine in _by_chance(world, rules, region, waiting, until_s)
    ]
    due += _by_fault(world, rules, region, waiting, until_s)
    if not due:
        return False
    first_s = min(at_s for at_s, _, _ in due)
    struck = {machine.seq: (machine, fault) for at_s, machine, fault in reversed(due) if at_s == first_s}
    lead_s = notice_of(provider_of(rules.plugin)).lead_s
    with world.transaction() as connection:
        for seq, (machine, _) in sorted(struck.items()):
            connection.execute(
                "INSERT INTO interruptions (plugin, region, machine, node, notice_s, ends_s) VALUES (?, ?, ?, ?, ?, ?)",
                (rules.plugin, region, seq, machine.id, first_s, first_s + lead_s),
            )
        strikes = Counter(fault for _, fault in struck.values())
        for fault in faults(world):
            if fault.seq in strikes:
                note_struck(world, fault, strikes[fault.seq])
    return True


def _spot(world: World, rules: StandIn, region: str) -> list[Resource]:
    """Return the spot machines of a region of which no interruption is noted, oldest first."""
    noted = {row[0] for row in world.query("SELECT machine FROM interruptions WHERE plugin = ?", rules.plugin)}
    return [
        machine
        for machine in world.resources(rules.plugin, rules.machine, region)
        if machine.facts["market"] == "spot" and machine.seq not in noted and "launched_s" in machine.facts
    ]


def _by_chance(
    world: World, rules: StandIn, region: str, waiting: Sequence[Resource], until_s: float
) -> Iterator[tuple[float, Resource]]:
    """Yield when the pools of machines are taken back, at most once for each machine."""
    if not waiting or model(world, "interruptions") == "none":
        return
    since_s = model_since_s(world, "interruptions")
    pools: dict[tuple[str, str, str], list[float]] = {}
    for machine in waiting:
        pool = (region, machine.facts["zone"], machine.facts["instance_type"])
        if pool not in pools:
            pools[pool] = _events_s(world.seed, rules, pool, (since_s, until_s))
        from_s = max(machine.facts["launched_s"], since_s)
        index = bisect_right(pools[pool], from_s)
        if index < len(pools[pool]):
            yield pools[pool][index], machine


def _events_s(seed: str, rules: StandIn, pool: tuple[str, str, str], between_s: tuple[float, float]) -> list[float]:
    """Return when a pool (region, zone, type) loses its machines, in the hours from one moment up to another."""
    region, _, instance_type = pool
    per_hour = pool_hazard(provider_of(rules.plugin), region, instance_type).per_day / 24
    hours = range(int(between_s[0] // HOUR_S), int(between_s[1] // HOUR_S) + 1)
    events = (_event_s(seed, (rules.plugin, *pool), hour, per_hour) for hour in hours)
    return [event_s for event_s in events if event_s is not None and event_s <= between_s[1]]


def _by_fault(
    world: World, rules: StandIn, region: str, waiting: Sequence[Resource], until_s: float
) -> Iterator[tuple[float, Resource, int]]:
    """Yield the machines that faults take back: of those that run when a fault begins, as many as it strikes."""
    for fault in faults(world):
        if fault.kind != "interruption" or fault.starts_s > until_s:
            continue
        struck = [
            machine
            for machine in waiting
            if machine.facts["launched_s"] <= fault.starts_s and _is_struck(rules, fault, region, machine)
        ]
        yield from ((fault.starts_s, machine, fault.seq) for machine in struck[: fault.times or None])


def _is_struck(rules: StandIn, fault: Fault, region: str, machine: Resource) -> bool:
    return (
        fault.is_for(provider=rules.plugin, region=region, instance_type=machine.facts["instance_type"])
        and in_zone(rules, fault, region, machine.facts["zone"])
        and fault.detail.get("node") in (None, machine.id)
    )
