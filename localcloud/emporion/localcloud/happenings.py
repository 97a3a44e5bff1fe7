"""What comes to pass in a world while nobody looks: interruptions end machines, requests for quota are answered.

No process of the world runs on its own. Whoever looks at a region first lets everything happen that was due, each thing
at its own moment, so that a clock that was stepped by a day finds the day's interruptions and what groups made of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from emporion.localcloud.capacity import set_quota
from emporion.localcloud.interruptions import announce, notice_of
from emporion.localcloud.machines import end_machine
from emporion.localcloud.models import model
from emporion.localcloud.places import provider_of
from emporion.localcloud.world import World, iso_time
from emporion.market.stand_in import StandIn

__all__ = ["come_to_pass", "node_notices", "told_notices"]


def come_to_pass(world: World, rules: StandIn, region: str) -> None:
    """Let everything happen in a region that is due by now in the world's time."""
    if not _may_happen(world):
        return
    with world.transaction():
        now_s = world.time_s()
        _answer_requests(world, now_s)
        while True:
            end = _next_end(world, rules, region, now_s)
            if announce(world, rules, region, end.ends_s if end else now_s):
                continue  # it may end a machine before that one
            if end is None:
                return
            _end(world, rules, region, end)


@dataclass(frozen=True, slots=True)
class _End:
    seq: int
    machine: int
    node: str
    ends_s: float


def _next_end(world: World, rules: StandIn, region: str, now_s: float) -> _End | None:
    rows = world.query(
        "SELECT seq, machine, node, ends_s FROM interruptions WHERE plugin = ? AND region = ? AND NOT done"
        " AND ends_s <= ? ORDER BY ends_s, seq LIMIT 1",
        rules.plugin,
        region,
        now_s,
    )
    return _End(*rows[0]) if rows else None


def _end(world: World, rules: StandIn, region: str, end: _End) -> None:
    """End an interrupted machine at its moment, unless it is gone already."""
    with world.at(end.ends_s), world.transaction() as connection:
        connection.execute("UPDATE interruptions SET done = 1 WHERE seq = ?", (end.seq,))
        row = world.resource(rules.plugin, region, rules.machine, end.node)
        if row is not None and row.seq == end.machine:
            end_machine(world, rules, row)


def _may_happen(world: World) -> bool:
    if model(world, "interruptions") != "none":
        return True
    ((some,),) = world.query(
        "SELECT EXISTS (SELECT 1 FROM faults WHERE kind = 'interruption')"
        " OR EXISTS (SELECT 1 FROM interruptions WHERE NOT done) OR EXISTS (SELECT 1 FROM quota_requests)"
    )
    return bool(some)


def _answer_requests(world: World, now_s: float) -> None:
    answered = world.query(
        "SELECT seq, plugin, region, instance_type, market, machines FROM quota_requests WHERE answer_s <= ?"
        " ORDER BY answer_s, seq",
        now_s,
    )
    for seq, plugin, region, instance_type, market, machines in answered:
        set_quota(world, plugin, region, instance_type, machines, market=market)
        with world.transaction() as connection:
            connection.execute("DELETE FROM quota_requests WHERE seq = ?", (seq,))


def told_notices(world: World, rules: StandIn, node: str) -> Sequence[Mapping[str, str]]:
    """Return what the cloud's API tells of a machine by now, by time: `kind`, `at` (UTC, ISO 8601)."""
    notice = notice_of(provider_of(rules.plugin))
    told = [(str(at), str(kind)) for kind, at in world.query("SELECT kind, at FROM notices WHERE node = ?", node)]
    if notice.in_api:
        for notice_s, ends_s, done in _interruptions(world, rules, node):
            told.append((iso_time(notice_s), notice.kind))
            if done and notice.ended_kind:
                told.append((iso_time(ends_s), notice.ended_kind))
    return [{"kind": kind, "at": at} for at, kind in sorted(told)]


def node_notices(world: World, rules: StandIn, node: str) -> Sequence[Mapping[str, str]]:
    """Return what a machine itself is told by now of its end: `kind`, `at` (when it is told), `ends`."""
    kind = notice_of(provider_of(rules.plugin)).kind
    return [
        {"kind": kind, "at": iso_time(notice_s), "ends": iso_time(ends_s)}
        for notice_s, ends_s, _ in _interruptions(world, rules, node)
        if kind and notice_s < ends_s
    ]


def _interruptions(world: World, rules: StandIn, node: str) -> list[tuple[float, float, int]]:
    return [
        (float(notice_s), float(ends_s), int(done))
        for notice_s, ends_s, done in world.query(
            "SELECT notice_s, ends_s, done FROM interruptions WHERE plugin = ? AND node = ? AND notice_s <= ?"
            " ORDER BY notice_s",
            rules.plugin,
            node,
            world.time_s(),
        )
    ]
