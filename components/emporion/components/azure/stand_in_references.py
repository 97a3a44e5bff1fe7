"""What Azure's stand-in rules share: type tokens, ids, and the rules that what is named exists."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from emporion.market.stand_in import Compute, InUse, Reference, Refusal, TypeRule

__all__ = [
    "ACCOUNT", "BASTION", "CONTAINER", "EXTENSION", "GROUP", "IDENTITY", "LUSTRE", "NAT", "NIC", "POLICY", "PROXIMITY",
    "PUBLIC_IP", "RESERVATION", "RESERVATIONS", "ROLE", "RULES", "SET", "SETTINGS", "SUBNET", "VAULT", "VM", "VNET",
    "by_id", "by_name", "exists", "in_group", "in_use",
]  # fmt: skip

GROUP = "azure-native:resources:ResourceGroup"
VNET, SUBNET = "azure-native:network:VirtualNetwork", "azure-native:network:Subnet"
RULES, NIC = "azure-native:network:NetworkSecurityGroup", "azure-native:network:NetworkInterface"
PUBLIC_IP, NAT = "azure-native:network:PublicIPAddress", "azure-native:network:NatGateway"
BASTION, VAULT = "azure-native:network:BastionHost", "azure-native:keyvault:Vault"
IDENTITY = "azure-native:managedidentity:UserAssignedIdentity"
ROLE = "azure-native:authorization:RoleAssignment"
VM, SET = "azure-native:compute:VirtualMachine", "azure-native:compute:VirtualMachineScaleSet"
EXTENSION = "azure-native:compute:VirtualMachineExtension"
PROXIMITY = "azure-native:compute:ProximityPlacementGroup"
RESERVATIONS = "azure-native:compute:CapacityReservationGroup"
RESERVATION = "azure-native:compute:CapacityReservation"
ACCOUNT, SETTINGS = "azure-native:storage:StorageAccount", "azure-native:storage:BlobServiceProperties"
CONTAINER = "azure-native:storage:BlobContainer"
POLICY = "azure-native:storage:BlobContainerImmutabilityPolicy"
LUSTRE = "azure-native:storagecache:AmlFilesystem"


def by_id(path: str, *tokens: str) -> Reference:
    """Return the rule that the thing with this id exists."""
    return Reference(path, tokens, "InvalidResourceReference", "Resource {value} referenced by resource was not found.")


def by_name(path: str, token: str, code: str) -> Reference:
    """Return the rule that the parent with this name exists."""
    return Reference(path, (token,), code, "The resource '{value}' was not found.", key="name")


def in_use(token: str, path: str, code: str, key: str = "id") -> InUse:
    """Return the rule that something blocks a delete."""
    return InUse(token, path, code, "{id} is in use by {user} and cannot be deleted.", key=key)


def exists() -> Refusal:
    """Return how the provider, which looks before it writes, refuses a second create."""
    return Refusal("ResourceAlreadyExists", "cannot create already existing resource '{id}'", 409)


def in_group(
    arm: str,
    named: str,
    *,
    below: str = "",
    outputs: Mapping[str, str | Compute] | None = None,
    replace: tuple[str, ...] = (),
    references: tuple[Reference, ...] = (),
    **more: Any,  # noqa: ANN401 - fields of TypeRule
) -> TypeRule:
    """Return the rule of something in a resource group: `arm` is its type there, `named` the input with its name.

    `below`: the path between the group's providers and it, when it is a child (`…/virtualNetworks/{name}/subnets`).
    The URL's parts always replace (pulumi-azure-native provider/pkg/gen/replacement.go), and so does the location.
    """
    space, _, last = arm.partition("/")
    path = below or f"{space}/{last}"
    parts = {part for part in ("virtualNetworkName", "accountName", "containerName", "vmName") if f"{{{part}}}" in path}
    if "{capacityReservationGroupName}" in path:
        parts.add("capacityReservationGroupName")
    return TypeRule(
        arm,
        f"{space}:{last}",
        more.pop("id", None)
        or f"/subscriptions/{{account}}/resourceGroups/{{resourceGroupName}}/providers/{path}/{{{named}}}",
        outputs={"name": f"{{{named}}}", "type": arm, "provisioningState": "Succeeded", **(outputs or {})},
        named=named,
        replace=frozenset({"resourceGroupName", "location", named, *parts, *replace}),
        references=(by_name("resourceGroupName", GROUP, "ResourceGroupNotFound"), *references),
        exists=more.pop("exists", exists()),
        **more,
    )
