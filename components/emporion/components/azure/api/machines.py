"""A stack's machines: the controller, and those of its scale sets."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from emporion.components.azure.api.rest import Body, Rest
from emporion.market.clouds import CloudNode

__all__ = ["COMPUTE", "nodes", "notices"]

COMPUTE = "2024-11-01"
_NETWORK = "2024-05-01"
_SET_NICS = "2018-10-01"
"""The version of the interface for a set's network interfaces, which later ones do not have."""
_STATES = {
    "PowerState/running": "running",
    "PowerState/starting": "pending",
    "PowerState/stopping": "stopping",
    "PowerState/deallocating": "stopping",
    "PowerState/stopped": "stopped",
    "PowerState/deallocated": "stopped",
}
_PROVISIONING = {"creating": "pending", "updating": "running", "deleting": "stopping"}
_FRACTION = re.compile(r"(?<=:\d\d)\.\d+")


def nodes(rest: Rest, stack: str, zones: Mapping[str, str]) -> Sequence[CloudNode]:
    """Return the machines of a stack (`project/stack`) in this region, by launch time. `zones`: logical -> physical."""
    found = [*_single(rest, stack, zones), *_of_sets(rest, stack, zones)]
    return sorted(found, key=lambda node: (node.launched_at or "", node.id))


def _ours(rest: Rest, body: Body, stack: str) -> bool:
    tags = body.get("tags") or {}
    return bool(tags.get("emporion-stack") == stack) and str(body.get("location")).lower() == rest.region


def _single(rest: Rest, stack: str, zones: Mapping[str, str]) -> Iterator[CloudNode]:
    path = f"{rest.subscription}/providers/Microsoft.Compute/virtualMachines"
    for body in rest.all(path, COMPUTE):
        if not _ours(rest, body, stack):
            continue
        properties = body["properties"]
        view = rest.get(f"{body['id']}/instanceView", COMPUTE) or {}
        (interface, *_) = (properties.get("networkProfile") or {}).get("networkInterfaces") or [{}]
        nic = rest.get(str(interface["id"]), _NETWORK) if interface.get("id") else None
        size = (properties.get("hardwareProfile") or {}).get("vmSize")
        yield _node(body, properties, view, size=size, address=_address(nic), zones=zones)


def _of_sets(rest: Rest, stack: str, zones: Mapping[str, str]) -> Iterator[CloudNode]:
    path = f"{rest.subscription}/providers/Microsoft.Compute/virtualMachineScaleSets"
    for body in rest.all(path, COMPUTE):
        if not _ours(rest, body, stack):
            continue
        profile = body["properties"].get("virtualMachineProfile") or {}
        addresses = {
            str(nic["properties"]["virtualMachine"]["id"]).lower(): _address(nic)
            for nic in rest.all(f"{body['id']}/networkInterfaces", _SET_NICS)
            if (nic.get("properties") or {}).get("virtualMachine")
        }
        for machine in rest.all(f"{body['id']}/virtualMachines", COMPUTE, **{"$expand": "instanceView"}):
            properties = {**profile, **machine["properties"]}
            view = properties.get("instanceView") or {}
            address = addresses.get(str(machine["id"]).lower())
            shown = {**machine, "tags": machine.get("tags") or body.get("tags")}
            size = (machine.get("sku") or body["sku"])["name"]
            yield _node(shown, properties, view, size=size, address=address, zones=zones)


def _node(
    body: Body, properties: Body, view: Body, *, size: object, address: str | None, zones: Mapping[str, str]
) -> CloudNode:
    spot = properties.get("priority") == "Spot"
    reserved = bool((properties.get("capacityReservation") or {}).get("capacityReservationGroup"))
    launched = properties.get("timeCreated")
    return CloudNode(
        id=str(body["id"]),
        pool=str((body.get("tags") or {}).get("emporion-pool", "")),
        state=_state(properties, view),
        zone=zones.get(str(next(iter(body.get("zones") or ()), ""))),
        instance_type=str(size),
        market="spot" if spot else "reserved" if reserved else "on_demand",
        private_ip=address,
        launched_at=_utc(str(launched)) if launched else None,
        image_id=_image(properties),
    )


def _state(properties: Body, view: Body) -> str:
    """Return the state: what the machine's provisioning does comes before whether it has power."""
    provisioning = _PROVISIONING.get(str(properties.get("provisioningState") or "").lower())
    if provisioning in ("pending", "stopping"):
        return provisioning
    codes = [str(status.get("code")) for status in view.get("statuses") or ()]
    return next((_STATES[code] for code in codes if code in _STATES), "pending")


def _address(nic: Body | None) -> str | None:
    for configuration in ((nic or {}).get("properties") or {}).get("ipConfigurations") or ():
        found = (configuration.get("properties") or {}).get("privateIPAddress")
        if found:
            return str(found)
    return None


def _image(properties: Body) -> str | None:
    reference: Mapping[str, Any] = (properties.get("storageProfile") or {}).get("imageReference") or {}
    if reference.get("id"):
        return str(reference["id"])
    parts = [reference.get(key) for key in ("publisher", "offer", "sku")]
    version = reference.get("exactVersion") or reference.get("version")
    return ":".join(map(str, [*parts, version])) if all(parts) and version else None


def _utc(text: str) -> str:
    """Return a time to the second, in UTC with a Z, as Azure gives it with a fraction and +00:00."""
    plain = _FRACTION.sub("", text)
    return plain.replace("+00:00", "Z") if plain.endswith(("Z", "+00:00")) else f"{plain}Z"


def notices(rest: Rest, node_id: str) -> Sequence[Mapping[str, str]]:
    """Return planned maintenance of a machine. Spot notices, 30 seconds before, reach the machine itself alone."""
    body = rest.get(f"{node_id}/instanceView", COMPUTE) or {}
    planned = body.get("maintenanceRedeployStatus") or {}
    start = planned.get("maintenanceWindowStartTime") or planned.get("preMaintenanceWindowStartTime")
    return [{"kind": "maintenance", "at": _utc(str(start))}] if start else []
