"""Stand-in rules of machines and scale sets. Shapes: facts/clusters.md section 5.3, with its sources."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Mapping
from typing import Any

from emporion.components.azure.bootstrap import CUSTOM_DATA_LIMIT
from emporion.components.azure.sizes import SET_LIMIT, sizes
from emporion.components.azure.stand_in_network import SET_SUBNET
from emporion.components.azure.stand_in_references import (
    EXTENSION,
    IDENTITY,
    NIC,
    PROXIMITY,
    RESERVATION,
    RESERVATIONS,
    SET,
    SUBNET,
    VM,
    by_id,
    by_name,
    in_group,
    in_use,
)
from emporion.market.stand_in import Making, Refusal, TypeRule, Validate

__all__ = ["MACHINES", "at"]

_VM_ID = "/subscriptions/{account}/resourceGroups/{group}/providers/Microsoft.Compute/virtualMachines/{name}"
_MACHINE_NAME = re.compile(r"(?=.{1,64}$)[A-Za-z0-9](?:[A-Za-z0-9_.-]*[A-Za-z0-9_])?")
_LONGEST_PREFIX = 58


def at(value: object, path: str) -> Any:  # noqa: ANN401 - JSON
    """Return what lies at a dotted path of maps, None when there is nothing."""
    for step in path.split("."):
        value = value.get(step) if isinstance(value, Mapping) else None
    return value


def _machine_id(making: Making) -> str:
    """Return a machine's id: its own, or its number in its scale set, which counts up and is never given again."""
    group = at(making.inputs, "virtualMachineScaleSet.id")
    if group is None:
        inputs = making.inputs
        return _VM_ID.format(
            account=making.account, group=inputs.get("resourceGroupName") or "", name=inputs.get("vmName") or ""
        )
    taken = [row.id.rpartition("/")[2] for row in making.all(VM) if row.id.startswith(f"{group}/")]
    return f"{group}/virtualMachines/{max((int(number) for number in taken), default=-1) + 1}"


def _identity(making: Making) -> dict[str, Any]:
    """Return the identity as Azure gives it back: the list of ids has become a map (facts/clusters.md 4.0)."""
    given = making.inputs.get("identity") or {}
    used = given.get("userAssignedIdentities") or []
    found: dict[str, Any] = {"type": given.get("type")}
    if "SystemAssigned" in str(given.get("type")):
        found |= {"principalId": making.hex(32, "principal"), "tenantId": making.hex(32, "tenant")}
    rows = {one: making.find(IDENTITY, one) for one in used}
    found["userAssignedIdentities"] = {
        one: {key: row.outputs.get(key) for key in ("clientId", "principalId")} if row else {}
        for one, row in rows.items()
    }
    return found


def _frozen(*paths: str) -> Validate:
    """Return a check that these inputs stay as they were made: Azure changes them on nothing that exists."""

    def check(making: Making) -> Refusal | None:
        for path in paths:
            before, now = at(making.old, path), at(making.inputs, path)
            if making.old and before != now:
                return Refusal("PropertyChangeNotAllowed", f"Changing property '{path}' is not allowed.", 409)
        return None

    return check


def _custom_data(path: str) -> Validate:
    """Return a check of the size of custom data, in bytes before encoding."""

    def check(making: Making) -> Refusal | None:
        text = at(making.inputs, path)
        if not isinstance(text, str):
            return None
        try:
            size = len(base64.b64decode(text, validate=True))
        except binascii.Error:
            return Refusal("InvalidParameter", "Custom data in OSProfile must be in Base64 encoding.")
        if size > CUSTOM_DATA_LIMIT:
            return Refusal("InvalidParameter", f"Custom data in OSProfile must not exceed {CUSTOM_DATA_LIMIT} bytes.")
        return None

    return check


def _login(profile: str) -> Validate:
    """Return a check that Linux has a key or a password."""

    def check(making: Making) -> Refusal | None:
        os_profile = at(making.inputs, profile) or {}
        keys = at(os_profile, "linuxConfiguration.ssh.publicKeys") or []
        if not keys and not os_profile.get("adminPassword"):
            return Refusal(
                "InvalidParameter", "Authentication using either SSH or by user name and password is needed."
            )
        return None

    return check


def _spot(profile: str) -> Validate:
    """Return a check of priority, eviction policy and ceiling (MSC error-codes-spot.md)."""

    def check(making: Making) -> Refusal | None:
        at_path = f"{profile}." if profile else ""
        spot = at(making.inputs, f"{at_path}priority") == "Spot"
        price = at(making.inputs, f"{at_path}billingProfile.maxPrice")
        if at(making.inputs, f"{at_path}evictionPolicy") and not spot:
            return Refusal(
                "EvictionPolicyCanBeSetOnlyOnAzureSpotVirtualMachines",
                "Eviction policy can be set only on Azure Spot Virtual Machines.",
            )
        if price is not None and (not spot or price == 0 or (price < 0 and price != -1)):
            return Refusal("MaxPriceValueInvalid", "The max price must be -1 or a price above 0 on a spot machine.")
        return None

    return check


def _name(path: str) -> Validate:
    """Return a check of a machine's name."""

    def check(making: Making) -> Refusal | None:
        if not _MACHINE_NAME.fullmatch(str(making.inputs.get(path))):
            return Refusal("InvalidParameter", f"{making.inputs.get(path)} is not a valid name of a virtual machine.")
        return None

    return check


def _set_shape(making: Making) -> Refusal | None:
    """Refuse a set that cannot be: too many in one placement group, or one with a reservation."""
    single = making.inputs.get("singlePlacementGroup")
    capacity = at(making.inputs, "sku.capacity") or 0
    if single is not False and capacity > SET_LIMIT:
        return Refusal(
            "InvalidParameter", f"A single placement group takes {SET_LIMIT} machines, {capacity:g} are asked."
        )
    if single is not False and at(making.inputs, "virtualMachineProfile.capacityReservation"):
        return Refusal("BadRequest", "A capacity reservation needs singlePlacementGroup to be false.")
    if making.old and making.old.get("singlePlacementGroup") is False and single is True:
        return Refusal("PropertyChangeNotAllowed", "Changing singlePlacementGroup from false to true is not allowed.")
    if len(str(at(making.inputs, "virtualMachineProfile.osProfile.computerNamePrefix") or "")) > _LONGEST_PREFIX:
        return Refusal("InvalidParameter", f"computerNamePrefix takes {_LONGEST_PREFIX} characters.")
    size = sizes().get(str(at(making.inputs, "sku.name")))
    if size is None:
        return Refusal("InvalidParameter", f"The size {at(making.inputs, 'sku.name')} is not known.")
    return None


MACHINES: Mapping[str, TypeRule] = {
    SET: in_group(
        "Microsoft.Compute/virtualMachineScaleSets",
        "vmScaleSetName",
        name_limit=64,
        kind="group",
        outputs={"uniqueId": "{uuid}", "timeCreated": "2026-12-01T00:00:00Z"},
        echo={"identity": _identity},
        replace=("zones", "orchestrationMode"),
        references=(
            by_id(SET_SUBNET, SUBNET),
            by_id("identity.userAssignedIdentities", IDENTITY),
            by_id("proximityPlacementGroup.id", PROXIMITY),
        ),
        validate=(
            _set_shape,
            _login("virtualMachineProfile.osProfile"),
            _spot("virtualMachineProfile"),
            _custom_data("virtualMachineProfile.osProfile.customData"),
            _name("vmScaleSetName"),
            _frozen(
                "virtualMachineProfile.priority",
                "virtualMachineProfile.evictionPolicy",
                "virtualMachineProfile.osProfile.computerNamePrefix",
                "virtualMachineProfile.osProfile.adminUsername",
                "virtualMachineProfile.capacityReservation",
                "platformFaultDomainCount",
                "plan",
            ),
        ),
    ),
    VM: in_group(
        "Microsoft.Compute/virtualMachines",
        "vmName",
        id=_machine_id,
        name_limit=64,
        kind="machine",
        outputs={"vmId": "{uuid}", "timeCreated": "2026-12-01T00:00:00Z"},
        echo={"identity": _identity},
        replace=("zones",),
        references=(
            by_id("networkProfile.networkInterfaces.id", NIC),
            by_id("identity.userAssignedIdentities", IDENTITY),
            by_id("proximityPlacementGroup.id", PROXIMITY),
        ),
        validate=(
            _login("osProfile"),
            _spot(""),
            _custom_data("osProfile.customData"),
            _name("vmName"),
            _frozen("osProfile", "storageProfile.imageReference", "priority", "plan"),
        ),
        gone_with=((EXTENSION, "vmName"),),
    ),
    EXTENSION: in_group(
        "Microsoft.Compute/virtualMachines/extensions",
        "vmExtensionName",
        below="Microsoft.Compute/virtualMachines/{vmName}/extensions",
        references=(by_name("vmName", VM, "ParentResourceNotFound"),),
    ),
    PROXIMITY: in_group(
        "Microsoft.Compute/proximityPlacementGroups",
        "proximityPlacementGroupName",
        name_limit=80,
        replace=("zones",),
        in_use=(
            in_use(SET, "proximityPlacementGroup.id", "InUseProximityPlacementGroupCannotBeDeleted"),
            in_use(VM, "proximityPlacementGroup.id", "InUseProximityPlacementGroupCannotBeDeleted"),
        ),
    ),
    RESERVATIONS: in_group(
        "Microsoft.Compute/capacityReservationGroups",
        "capacityReservationGroupName",
        name_limit=80,
        replace=("zones",),
        in_use=(
            in_use(RESERVATION, "capacityReservationGroupName", "CannotDeleteResource", key="name"),
            in_use(SET, "virtualMachineProfile.capacityReservation.capacityReservationGroup.id", "OperationNotAllowed"),
        ),
    ),
    RESERVATION: in_group(
        "Microsoft.Compute/capacityReservationGroups/capacityReservations",
        "capacityReservationName",
        below="Microsoft.Compute/capacityReservationGroups/{capacityReservationGroupName}/capacityReservations",
        name_limit=80,
        kind="reservation",
        outputs={"reservationId": "{uuid}", "provisioningTime": "2026-12-01T00:00:00Z"},
        replace=("zones", "sku.name"),
        references=(by_name("capacityReservationGroupName", RESERVATIONS, "ParentResourceNotFound"),),
    ),
}
