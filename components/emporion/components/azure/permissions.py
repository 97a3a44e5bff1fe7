"""Which operations each command uses on a real subscription: no more, and none with a wildcard.

A type's operations are those of its URL (azure-native sends GET, PUT and DELETE to it, and nothing else), and the
`action` of what it is joined to (learn.microsoft.com, resource provider operations, 2026-11). SECURITY.md is checked
against this table.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import chain

__all__ = ["COMMANDS", "DATA", "FINDS", "LOOKS", "RIGHTS", "Rights", "operations"]


@dataclass(frozen=True, slots=True)
class Rights:
    """The operations of one resource type's life."""

    read: tuple[str, ...]
    change: tuple[str, ...]
    """Create and update."""
    remove: tuple[str, ...]


def _of(kind: str, *joined: str) -> Rights:
    return Rights((f"{kind}/read",), (f"{kind}/write", *joined), (f"{kind}/delete",))


_NETWORK, _COMPUTE, _STORAGE = "Microsoft.Network", "Microsoft.Compute", "Microsoft.Storage/storageAccounts"
_SUBNET = f"{_NETWORK}/virtualNetworks/subnets/join/action"
_IDENTITY = "Microsoft.ManagedIdentity/userAssignedIdentities"
_CONTAINERS = f"{_STORAGE}/blobServices/containers"
_HELD = f"{_COMPUTE}/capacityReservationGroups"

RIGHTS: Mapping[str, Rights] = {
    "azure-native:authorization:RoleAssignment": _of("Microsoft.Authorization/roleAssignments"),
    "azure-native:compute:CapacityReservation": _of(f"{_HELD}/capacityReservations"),
    "azure-native:compute:CapacityReservationGroup": _of(_HELD),
    "azure-native:compute:ProximityPlacementGroup": _of(f"{_COMPUTE}/proximityPlacementGroups"),
    "azure-native:compute:VirtualMachine": _of(
        f"{_COMPUTE}/virtualMachines", f"{_NETWORK}/networkInterfaces/join/action", f"{_IDENTITY}/assign/action"
    ),
    "azure-native:compute:VirtualMachineExtension": _of(f"{_COMPUTE}/virtualMachines/extensions"),
    "azure-native:compute:VirtualMachineScaleSet": _of(
        f"{_COMPUTE}/virtualMachineScaleSets", f"{_HELD}/deploy/action", f"{_IDENTITY}/assign/action", _SUBNET
    ),
    "azure-native:keyvault:Vault": _of(
        "Microsoft.KeyVault/vaults", f"{_NETWORK}/virtualNetworks/subnets/joinViaServiceEndpoint/action"
    ),
    "azure-native:managedidentity:UserAssignedIdentity": _of(_IDENTITY),
    "azure-native:network:BastionHost": _of(
        f"{_NETWORK}/bastionHosts", f"{_NETWORK}/publicIPAddresses/join/action", _SUBNET
    ),
    "azure-native:network:NatGateway": _of(f"{_NETWORK}/natGateways", f"{_NETWORK}/publicIPAddresses/join/action"),
    "azure-native:network:NetworkInterface": _of(f"{_NETWORK}/networkInterfaces", _SUBNET),
    "azure-native:network:NetworkSecurityGroup": _of(f"{_NETWORK}/networkSecurityGroups"),
    "azure-native:network:PublicIPAddress": _of(f"{_NETWORK}/publicIPAddresses"),
    "azure-native:network:Subnet": _of(
        f"{_NETWORK}/virtualNetworks/subnets",
        f"{_NETWORK}/natGateways/join/action",
        f"{_NETWORK}/networkSecurityGroups/join/action",
    ),
    "azure-native:network:VirtualNetwork": _of(f"{_NETWORK}/virtualNetworks"),
    "azure-native:resources:ResourceGroup": _of("Microsoft.Resources/subscriptions/resourceGroups"),
    "azure-native:storage:BlobContainer": _of(_CONTAINERS),
    "azure-native:storage:BlobContainerImmutabilityPolicy": _of(f"{_CONTAINERS}/immutabilityPolicies"),
    "azure-native:storage:BlobServiceProperties": Rights(
        (f"{_STORAGE}/blobServices/read",), (f"{_STORAGE}/blobServices/write",), ()
    ),
    "azure-native:storage:StorageAccount": _of(_STORAGE),
    "azure-native:storagecache:AmlFilesystem": _of("Microsoft.StorageCache/amlFilesystems", _SUBNET),
}
"""Type token -> the operations of its life, for every type that a cluster is made of."""

_MACHINES, _SETS = f"{_COMPUTE}/virtualMachines", f"{_COMPUTE}/virtualMachineScaleSets"

LOOKS: Mapping[str, tuple[str, ...]] = {
    "account": ("Microsoft.Resources/subscriptions/read",),
    "holds_data": (),
    "image": (f"{_COMPUTE}/locations/publishers/artifacttypes/offers/skus/versions/read",),
    "nodes": (
        f"{_MACHINES}/instanceView/read",
        f"{_MACHINES}/read",
        f"{_NETWORK}/networkInterfaces/read",
        f"{_SETS}/networkInterfaces/read",
        f"{_SETS}/read",
        f"{_SETS}/virtualMachines/read",
        "Microsoft.Resources/subscriptions/locations/read",
    ),
    "notices": (f"{_MACHINES}/instanceView/read", f"{_SETS}/virtualMachines/instanceView/read"),
    "quota": (f"{_COMPUTE}/locations/usages/read", f"{_COMPUTE}/skus/read"),
    "terminate": (f"{_MACHINES}/delete", f"{_SETS}/virtualMachines/delete"),
    "zones": ("Microsoft.Resources/subscriptions/locations/read",),
}
"""Method of the API -> the operations it uses."""

DATA = (f"{_CONTAINERS}/blobs/read",)
"""The one operation on data (`dataActions` of a role): `down` looks whether the store is empty."""


def _sorted(*groups: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(sorted(set(chain.from_iterable(groups))))


FINDS = _sorted(*(rights.read for rights in RIGHTS.values()))
"""What the finders use: they ask for a thing by its id, as the provider does."""
_CHANGE = _sorted(*(rights.change for rights in RIGHTS.values()))
_REMOVE = _sorted(*(rights.remove for rights in RIGHTS.values()))
_PIN = _sorted(LOOKS["image"], LOOKS["quota"])
_ENTER = (f"{_NETWORK}/bastionHosts/read",)

COMMANDS: Mapping[str, tuple[str, ...]] = {
    "plan": _PIN,
    "preview": _PIN,
    "up": _sorted(_PIN, FINDS, _CHANGE, _REMOVE, LOOKS["nodes"]),
    "refresh": FINDS,
    "recover": FINDS,
    "status": _sorted(LOOKS["nodes"], LOOKS["notices"]),
    "ssh": _sorted(LOOKS["nodes"], _ENTER),
    "down": _sorted(FINDS, _REMOVE, LOOKS["nodes"]),
}
"""Command -> the operations it uses on a real subscription, sorted. `plan` uses them only to pin to a real stack."""


def operations(command: str) -> tuple[str, ...]:
    """Return the sorted operations of a command; none of a command that asks no cloud."""
    return COMMANDS.get(command, ())
