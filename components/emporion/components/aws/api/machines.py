"""A stack's machines, and what AWS says will happen to one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from emporion.components.aws.api.find import tags_of
from emporion.components.aws.api.session import Clients, pages
from emporion.market.clouds import CloudNode

__all__ = ["nodes", "notices"]

_STATES = {
    "pending": "pending",
    "running": "running",
    "shutting-down": "stopping",
    "stopping": "stopping",
    "stopped": "stopped",
}
"""EC2's state -> ours, of machines that are not yet gone."""
_MARKETS = {"spot": "spot", "capacity-block": "reserved"}
"""`InstanceLifecycle` -> market; it is absent on the others."""

_INTERRUPTED = {
    "marked-for-stop": "spot_interruption",
    "marked-for-termination": "spot_interruption",
    "instance-stopped-by-price": "spot_interrupted",
    "instance-stopped-no-capacity": "spot_interrupted",
    "instance-terminated-by-price": "spot_interrupted",
    "instance-terminated-no-capacity": "spot_interrupted",
    "instance-terminated-capacity-oversubscribed": "spot_interrupted",
    "instance-terminated-by-service": "spot_interrupted",
}
"""Status code of a spot request -> kind of notice (AWS EC2 user guide, "Spot request status codes", 2026-11)."""


def nodes(clients: Clients, stack: str, zone_ids: Mapping[str, str]) -> list[CloudNode]:
    """Return the machines whose `emporion-stack` tag is `stack`, by launch time and id; `zone_ids`: name -> id."""
    wanted = [
        {"Name": "tag:emporion-stack", "Values": [stack]},
        {"Name": "instance-state-name", "Values": sorted(_STATES)},
    ]
    reservations = pages(clients.ec2, "describe_instances", "Reservations", Filters=wanted)
    found = [_node(machine, zone_ids) for reservation in reservations for machine in reservation["Instances"]]
    return sorted(found, key=lambda node: (node.launched_at or "", node.id))


def _node(machine: Mapping[str, Any], zone_ids: Mapping[str, str]) -> CloudNode:
    zone_name = machine.get("Placement", {}).get("AvailabilityZone")
    lifecycle = machine.get("InstanceLifecycle")
    on_reservation = "reserved" if machine.get("CapacityReservationId") else "on_demand"
    return CloudNode(
        id=machine["InstanceId"],
        pool=tags_of(machine).get("emporion-pool", ""),
        state=_STATES[machine["State"]["Name"]],
        zone=zone_ids.get(zone_name) if zone_name else None,
        instance_type=machine["InstanceType"],
        market=_MARKETS.get(lifecycle or "", on_reservation),
        private_ip=machine.get("PrivateIpAddress"),
        launched_at=_utc(machine.get("LaunchTime")),
        image_id=machine.get("ImageId"),
    )


def notices(clients: Clients, node_id: str) -> Sequence[Mapping[str, str]]:
    """Return what AWS has announced for a machine: spot interruptions and scheduled events, by time.

    A rebalance recommendation is in no API: it comes to the cluster's queue and to the machine itself.
    """
    by_instance = [{"Name": "instance-id", "Values": [node_id]}]
    requests = pages(clients.ec2, "describe_spot_instance_requests", "SpotInstanceRequests", Filters=by_instance)
    found = [
        {"kind": _INTERRUPTED[request["Status"]["Code"]], "at": _utc(request["Status"].get("UpdateTime")) or ""}
        for request in requests
        if request.get("Status", {}).get("Code") in _INTERRUPTED
    ]
    statuses = pages(
        clients.ec2, "describe_instance_status", "InstanceStatuses", InstanceIds=[node_id], IncludeAllInstances=True
    )
    found += [
        {"kind": event["Code"].replace("-", "_"), "at": _utc(event.get("NotBefore")) or ""}
        for status in statuses
        for event in status.get("Events", ())
        if not event.get("Description", "").startswith("[Completed]")
    ]
    return sorted(found, key=lambda notice: (notice["at"], notice["kind"]))


def _utc(moment: datetime | None) -> str | None:
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ") if moment else None
