"""What a call, a launch or a look meets: the faults that are active now, in the words of the cloud."""

from __future__ import annotations

from dataclasses import dataclass, replace

from emporion.localcloud.fault_kinds import KINDS, OUTAGES
from emporion.localcloud.faults import Fault, Kill, active_faults, note_struck
from emporion.localcloud.world import Resource, World, iso_time
from emporion.market.stand_in import Launch, Refusal, StandIn

__all__ = [
    "Meeting",
    "Place",
    "control_plane",
    "hidden",
    "in_zone",
    "lag_s",
    "launch_fault",
    "meet",
    "reachable",
    "said",
]

TIMEOUT_S = 1.0
"""Until a client gives an attempt up. SDKs wait for up to a minute; a world on the real clock is not made to."""
LOST_CALLS = ("region-outage", "storage-outage")
CALL_KINDS = ("throttle", "server-error", "timeout", "slow", "lost-answer", "error", "kill", *LOST_CALLS)


@dataclass(frozen=True, slots=True)
class Place:
    """Where a call goes and what it does."""

    region: str
    operation: str
    """`create`, `read`, `update`, `delete` or `api`."""
    token: str
    service: str = ""
    """The service that answers, as it stands in its address: `ec2`."""


@dataclass(frozen=True, slots=True)
class Meeting:
    """What one attempt of a call meets."""

    delay_s: float = 0.0
    refusal: Refusal | None = None
    retried: bool = False
    """Whether clients try again after this refusal."""
    lost: bool = False
    """The cloud does what it is asked, and its answer never comes."""
    kill: Kill | None = None


def meet(world: World, rules: StandIn, place: Place, *, first_attempt: bool = True) -> Meeting:
    """Return what this attempt of a call meets, and count it.

    Kills, errors, delays and lost answers see only the first attempt of a call; what clients retry sees every one.
    """
    if not active_faults(world, CALL_KINDS):
        return Meeting()
    met = Meeting()
    with world.transaction():
        for fault in active_faults(world, CALL_KINDS):
            if not (_strikes(rules, place, fault) and (first_attempt or _is_retried(fault))):
                continue
            struck = met if fault.skip > 0 else _struck(rules, place, fault, met)
            if struck is None:
                continue  # one fault of a kind per attempt; this one waits for the next
            met = struck
            note_struck(world, fault)
    return met


def _is_retried(fault: Fault) -> bool:
    return fault.kind in KINDS and KINDS[fault.kind].retried


def _strikes(rules: StandIn, place: Place, fault: Fault) -> bool:
    plane = control_plane(rules, place.token)
    if fault.kind == "region-outage" and plane and place.operation == "read":
        return False  # AWS fault isolation boundaries (read 2026-12): a lost control plane stops changes, not use
    if fault.kind == "storage-outage" and not place.token.startswith(rules.storage or ("-",)):
        return False
    return fault.is_for(
        provider=rules.plugin, region=plane or place.region, operation=place.operation, token=place.token
    )


def control_plane(rules: StandIn, token: str) -> str | None:
    """Return the one region whose control plane changes things of a type in every region; None: each its own."""
    return next((region for prefix, region in rules.control_planes.items() if token.startswith(prefix)), None)


def _struck(rules: StandIn, place: Place, fault: Fault, met: Meeting) -> Meeting | None:
    """Return the meeting with one more fault in it, None when it has one of that kind already."""
    if fault.kind == "slow":
        return replace(met, delay_s=met.delay_s + fault.detail["delay_s"])
    if fault.kind == "kill":
        return replace(met, kill=Kill(fault.detail["target"], fault.detail["phase"])) if met.kill is None else None
    if fault.kind == "lost-answer":
        return None if met.lost or place.operation in ("read", "api") else replace(met, lost=True)
    if met.refusal is not None:
        return None
    if fault.kind == "error":
        code = fault.detail["code"]
        text = fault.detail.get("text") or f"the local cloud was asked to answer {code}"
        return replace(met, refusal=Refusal(code, text))
    kind = KINDS[fault.kind]
    delay_s = fault.detail.get("delay_s", TIMEOUT_S) if fault.kind == "timeout" else 0.0
    told = said(rules, str(kind.refusal), place)
    return replace(met, delay_s=met.delay_s + delay_s, refusal=told, retried=True)


def said(rules: StandIn, which: str, place: Place) -> Refusal:
    """Return one of the cloud's refusals of any call, filled in."""
    refusal = rules.refusals[which]
    return replace(refusal, text=refusal.text.format(region=place.region, service=place.service or rules.plugin))


def launch_fault(world: World, rules: StandIn, region: str, launch: Launch) -> str | None:
    """Return why the cloud starts no such machine now, by the key of its refusal."""
    for fault in active_faults(world, ("no-capacity", "quota", "zone-outage", "region-outage")):
        here = fault.is_for(
            provider=rules.plugin, region=region, instance_type=launch.instance_type, market=launch.market
        )
        if here and in_zone(rules, fault, region, launch.zone):
            spot = launch.market == "spot"
            if fault.kind == "quota":
                return "quota_spot" if spot and fault.market == "spot" else "quota"
            return "capacity_spot" if spot and "capacity_spot" in rules.refusals else "capacity"
    return None


def lag_s(world: World, rules: StandIn, region: str, token: str) -> float:
    """Return for how long something new is not seen by who asks for it."""
    delays = [
        float(fault.detail["delay_s"])
        for fault in active_faults(world, ("stale",))
        if fault.is_for(provider=rules.plugin, region=region, token=token)
    ]
    return max(delays, default=0.0)


def hidden(world: World, rules: StandIn, row: Resource) -> bool:
    """Return whether something exists but is not seen yet (eventual consistency)."""
    lag = lag_s(world, rules, row.region, row.token)
    return lag > 0 and row.created_at > iso_time(world.time_s() - lag)


def reachable(world: World, rules: StandIn, machine: Resource) -> bool:
    """Return whether a machine can be reached: its region, zone and network are there."""
    return not any(
        fault.is_for(provider=rules.plugin, region=machine.region)
        and in_zone(rules, fault, machine.region, machine.facts.get("zone", ""))
        for fault in active_faults(world, OUTAGES)
    )


def in_zone(rules: StandIn, fault: Fault, region: str, zone: str) -> bool:
    """Return whether a fault is about a zone (by its name), which it may call by its name or its id."""
    if fault.zone in ("*", zone):
        return True
    return rules.zones(region).get(fault.zone) == zone
