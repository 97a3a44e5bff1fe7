"""Machines of the world: started one by one or by a group, within capacity, quota, reservations and subnets."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Any

from emporion.localcloud.capacity import ANY, machine_limit, quota_limit
from emporion.localcloud.delays import start_times
from emporion.localcloud.making import Maker
from emporion.localcloud.meeting import launch_fault
from emporion.localcloud.world import Resource, World
from emporion.market.stand_in import Launch, Refusal, StandIn

__all__ = ["end_machine", "reserve", "settle_group", "settle_groups", "start"]

RESERVED_FIRST = 4  # the network, the router, DNS and one spare address (EC2 user guide, subnet sizing, read 2026-12)
KEPT_FOR_FIXED = 16  # AWS picks at random; the world leaves the low addresses to those that programs choose themselves


def start(
    world: World, rules: StandIn, maker: Maker, launch: Launch, owner: str | None = None
) -> dict[str, Any] | Refusal:
    """Return what the world notes of a machine that starts now (`Resource.facts`), or why it cannot start.

    `owner`: the id of the group that starts it; None: a program does.
    """
    refusal = (
        _struck(world, rules, maker.region, launch)
        or _over_quota(world, rules, maker.region, launch)
        or _no_room(world, rules, maker.region, launch)
    )
    if refusal:
        return refusal
    addresses = _addresses(launch, world.resources(rules.plugin, rules.machine, maker.region))
    if addresses is None:
        return _told(rules, "addresses", launch)
    return {
        "zone": launch.zone,
        "instance_type": launch.instance_type,
        "market": launch.market,
        "image_id": launch.image_id,
        "subnet_id": launch.subnet_id,
        "reservation_id": launch.reservation_id,
        "tags": dict(launch.tags),
        "placement_group": launch.placement_group,
        "addresses": addresses,
        "state": "running",
        "launched_s": world.time_s(),
        **start_times(world, rules.plugin, f"{rules.plugin}/{maker.region}/{owner or maker.name}"),
    }


def reserve(world: World, rules: StandIn, maker: Maker) -> Refusal | None:
    """Return why a reservation cannot be made where it wants to be, or None when it can."""
    zone, instance_type, machines = rules.reservation(maker)
    launch = Launch(instance_type, None, "on_demand", zone, "", "", 0, {})
    return _struck(world, rules, maker.region, launch) or _no_room(
        world, rules, maker.region, launch, machines=machines
    )


def settle_group(world: World, rules: StandIn, maker: Maker, seq: int) -> list[str]:
    """Bring a group to the number of machines that it wants; return why some could not start (none: it is complete)."""
    wanted = rules.group(maker)
    if isinstance(wanted, Refusal):
        return [rules.shortfall(maker.id, wanted)]
    members = world.resources(rules.plugin, rules.machine, owner=seq)
    version = wanted.launches[0].inputs if wanted.launches else {}
    if wanted.renew:
        old = [member for member in members if member.facts["version"] != version.get("launchTemplate")]
        for member in old:
            world.remove(member.seq)
        members = [member for member in members if member not in old]
    for member in members[wanted.desired :]:
        world.remove(member.seq)
    failures: list[str] = []
    for index in range(len(members), wanted.desired):
        launch = wanted.launches[index % len(wanted.launches)]
        failure = _start_member(world, rules, maker, seq, launch)
        if failure:
            failures.append(rules.shortfall(maker.id, failure))
            break  # the group tries again later; one reason is enough
    return failures if wanted.wait else []


def _start_member(world: World, rules: StandIn, maker: Maker, seq: int, launch: Launch) -> Refusal | None:
    member = Maker(world, rules, rules.machine, maker.name, maker.region, launch.inputs, world.next_seed())
    facts = start(world, rules, member, launch, maker.id)
    if isinstance(facts, Refusal):
        return facts
    member.id = member.make_id(rules.types[rules.machine].id)
    outputs = {**launch.inputs, **rules.machine_outputs(member, launch, facts["addresses"], world.now())}
    world.insert(
        provider=rules.plugin,
        scope=maker.region,
        region=maker.region,
        token=rules.machine,
        resource_id=member.id,
        inputs=launch.inputs,
        outputs=outputs,
        facts={**facts, "version": launch.inputs.get("launchTemplate")},
        owner=seq,
        project=maker.project,
        stack=maker.stack,
    )
    return None


def settle_groups(world: World, rules: StandIn, region: str) -> None:
    """Let every group of a region try again, as the cloud's do all the time: called before machines are looked at."""
    tokens = [token for token, rule in rules.types.items() if rule.kind == "group"]
    with world.transaction():
        for token in tokens:
            for group in world.resources(rules.plugin, token, region):
                settle_group(world, rules, Maker.of(world, rules, group), group.seq)


def end_machine(world: World, rules: StandIn, machine: Resource) -> None:
    """End one machine; the group that made it starts another one at once, where there is room."""
    with world.transaction():
        world.remove(machine.seq)
        settle_groups(world, rules, machine.region)


def _struck(world: World, rules: StandIn, region: str, launch: Launch) -> Refusal | None:
    """Return what a fault of the world says to a launch."""
    which = launch_fault(world, rules, region, launch)
    if which is None:
        return None
    running = world.resources(rules.plugin, rules.machine, region)
    used = sum(_is(one, launch.instance_type) for one in running)
    return _told(rules, which, launch, limit=used * (rules.vcpus(launch.instance_type) or 1))


def _over_quota(world: World, rules: StandIn, region: str, launch: Launch) -> Refusal | None:
    running = world.resources(rules.plugin, rules.machine, region)
    limit = quota_limit(world, rules.plugin, region, launch.instance_type, launch.market)
    if limit is None:
        return None
    machines, market = limit
    used = sum(_is(one, launch.instance_type) and market in (ANY, one.facts["market"]) for one in running)
    if used < machines:
        return None
    which = "quota_spot" if launch.market == "spot" and market != ANY else "quota"
    return _told(rules, which, launch, limit=machines * (rules.vcpus(launch.instance_type) or 1))


def _no_room(world: World, rules: StandIn, region: str, launch: Launch, *, machines: int = 1) -> Refusal | None:
    running = world.resources(rules.plugin, rules.machine, region)
    reservations = [
        (row, rules.reservation(Maker.of(world, rules, row)))
        for token, rule in rules.types.items()
        if rule.kind == "reservation"
        for row in world.resources(rules.plugin, token, region)
    ]
    if launch.reservation_id is not None:
        for row, (_, _, count) in reservations:
            if row.id == launch.reservation_id:
                used = sum(one.facts.get("reservation_id") == row.id for one in running)
                return None if used < count else _told(rules, "reservation", launch)
        return _told(rules, "no_reservation", launch)
    zone_ids = {name: zone_id for zone_id, name in rules.zones(region).items()}
    here = (launch.zone, zone_ids.get(launch.zone, ""))
    limit = machine_limit(world, rules.plugin, region, here, launch.instance_type)
    if limit is None:
        return None
    total, counted = limit
    over_region = counted == ANY
    used = sum(
        _is(one, launch.instance_type)
        and (over_region or one.facts["zone"] == launch.zone)
        and not one.facts.get("reservation_id")
        for one in running
    )
    held = sum(
        count
        for _, (zone, kind, count) in reservations
        if kind == launch.instance_type and (over_region or zone == launch.zone)
    )
    which = "capacity_spot" if launch.market == "spot" and "capacity_spot" in rules.refusals else "capacity"
    return None if used + held + machines <= total else _told(rules, which, launch)


def _is(machine: Resource, instance_type: str) -> bool:
    return machine.facts.get("instance_type") == instance_type


def _addresses(launch: Launch, running: list[Resource]) -> list[str] | None:
    """Return free private addresses of the subnet, or None when it has too few."""
    taken = {
        address
        for machine in running
        if machine.facts.get("subnet_id") == launch.subnet_id
        for address in machine.facts["addresses"]
    }
    wanted = [address for address in launch.fixed_addresses if address not in taken]
    if len(wanted) < len(launch.fixed_addresses):
        return None
    hosts = list(ipaddress.ip_network(launch.subnet_cidr)) if launch.subnet_cidr else []
    usable = hosts[RESERVED_FIRST:-1]
    low, high = usable[:KEPT_FOR_FIXED], usable[KEPT_FOR_FIXED:]
    for host in [*high, *low]:
        if len(wanted) >= launch.addresses:
            break
        if str(host) not in taken and str(host) not in wanted:
            wanted.append(str(host))
    return wanted if len(wanted) >= launch.addresses else None


def _told(rules: StandIn, which: str, launch: Launch, **more: object) -> Refusal:
    refusal = rules.refusals[which]
    values: Mapping[str, object] = {**asdict(replace(launch, inputs={}, tags={})), **more}
    return replace(refusal, text=refusal.text.format(**values))
