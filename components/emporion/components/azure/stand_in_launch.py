"""How compute starts machines: one by one with an interface of their own, or as a scale set."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from emporion.components.azure.sizes import sizes
from emporion.components.azure.stand_in_machines import at
from emporion.components.azure.stand_in_references import NIC, RESERVATION, SUBNET
from emporion.market.stand_in import GroupLaunch, Launch, Making, Refusal, Row

__all__ = ["group", "instance", "machine_outputs", "reservation", "tag_inputs", "vcpus"]

Inputs = Mapping[str, Any]


def tag_inputs(inputs: Inputs) -> Mapping[str, str]:
    """Return a resource's tags."""
    tags = inputs.get("tags") or {}
    return {key: value for key, value in tags.items() if isinstance(value, str)} if isinstance(tags, Mapping) else {}


def vcpus(instance_type: str) -> int | None:
    """Return the vCPUs of a size, None for one that is not in the table."""
    known = sizes().get(instance_type)
    return known.vcpus if known else None


def reservation(making: Making) -> tuple[str, str, int]:
    """Return zone, size and machines of a capacity reservation."""
    return "", str(at(making.inputs, "sku.name")), int(at(making.inputs, "sku.capacity") or 0)


def _image(profile: object) -> str | None:
    reference = at(profile, "storageProfile.imageReference") or {}
    if reference.get("id"):
        return str(reference["id"])
    parts = [reference.get(key) for key in ("publisher", "offer", "sku", "version")]
    return ":".join(str(part) for part in parts) if all(parts) else None


def _subnet(making: Making, subnet_id: object) -> Row | Refusal:
    found = making.find(SUBNET, str(subnet_id))
    return found or Refusal("InvalidResourceReference", f"Resource {subnet_id} referenced by resource was not found.")


def instance(making: Making) -> Launch | Refusal:
    """Return the launch of one virtual machine."""
    inputs = making.inputs
    interfaces = at(inputs, "networkProfile.networkInterfaces") or []
    if not interfaces:
        return Refusal("InvalidParameter", "The property networkInterfaces must have at least one element.")
    nic = making.find(NIC, str(interfaces[0].get("id")))
    configurations = (nic.outputs.get("ipConfigurations") if nic else None) or [{}]
    subnet = _subnet(making, at(configurations[0], "subnet.id"))
    if isinstance(subnet, Refusal):
        return subnet
    size, image = at(inputs, "hardwareProfile.vmSize"), _image(inputs)
    refusal = _unusable(size, image)
    if refusal:
        return refusal
    fixed = configurations[0].get("privateIPAddress") or configurations[0].get("privateIpAddress")
    return Launch(
        instance_type=str(size),
        image_id=image,
        market="spot" if inputs.get("priority") == "Spot" else "on_demand",
        zone="",
        subnet_id=subnet.id,
        subnet_cidr=str(subnet.outputs["addressPrefix"]),
        addresses=1,
        tags=tag_inputs(inputs),
        fixed_addresses=(str(fixed),) if fixed else (),
    )


def _unusable(size: object, image: str | None) -> Refusal | None:
    """Return why a size cannot start or not with this image."""
    if sizes().get(str(size)) is None:
        return Refusal("InvalidParameter", f"The value {size} of parameter vmSize is invalid.")
    if image is None:
        return Refusal("InvalidParameter", "Required parameter 'imageReference' is missing (null).")
    return None


def group(making: Making) -> GroupLaunch | Refusal:
    """Return what a scale set wants."""
    inputs = making.inputs
    profile = inputs.get("virtualMachineProfile") or {}
    interfaces = at(profile, "networkProfile.networkInterfaceConfigurations") or [{}]
    configurations = interfaces[0].get("ipConfigurations") or [{}]
    subnet = _subnet(making, at(configurations[0], "subnet.id"))
    if isinstance(subnet, Refusal):
        return subnet
    size, image = at(inputs, "sku.name"), _image(profile)
    refusal = _unusable(size, image)
    if refusal:
        return refusal
    held = at(profile, "capacityReservation.capacityReservationGroup.id")
    reserved = _reservation(making, str(held), str(size)) if held else None
    launch = Launch(
        instance_type=str(size),
        image_id=image,
        market="spot" if profile.get("priority") == "Spot" else "on_demand",
        zone="",
        subnet_id=subnet.id,
        subnet_cidr=str(subnet.outputs["addressPrefix"]),
        addresses=1,
        tags=tag_inputs(inputs),
        reservation_id=reserved,
        inputs={
            "virtualMachineScaleSet": {"id": making.id},
            "hardwareProfile": {"vmSize": size},
            "resourceGroupName": inputs.get("resourceGroupName"),
            "tags": dict(tag_inputs(inputs)),
        },
    )
    return GroupLaunch(int(at(inputs, "sku.capacity") or 0), (launch,), wait=True)


def _reservation(making: Making, group_id: str, size: str) -> str:
    """Return the id of the reservation of a size in a group; the group's own id when it holds none."""
    name = group_id.rpartition("/")[2]
    for row in making.all(RESERVATION):
        if row.inputs.get("capacityReservationGroupName") == name and at(row.inputs, "sku.name") == size:
            return row.id
    return group_id


def machine_outputs(making: Making, launch: Launch, addresses: Sequence[str], launched_at: str) -> Mapping[str, Any]:
    """Return what compute says of a machine that runs; addresses are those of its interface."""
    del addresses
    return {
        "name": making.id.rpartition("/")[2],
        "vmId": making.hex(32, "vm"),
        "timeCreated": launched_at,
        "hardwareProfile": {"vmSize": launch.instance_type},
        "provisioningState": "Succeeded",
    }
