"""How what a killed create made is found: by the id that follows from its inputs.

Every name in a cluster carries its identity, or lies in a parent whose name does, so a thing of this id is ours; where
it has tags, they must say so too.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from string import Formatter
from typing import Any

from emporion.components.azure.api.rest import Body, Rest
from emporion.market.clouds import Pending

__all__ = ["FINDERS", "Finder"]

_GROUP = "/resourceGroups/{resourceGroupName}"
_NETWORK, _COMPUTE, _STORAGE = "2024-05-01", "2024-11-01", "2024-01-01"
_BLOBS = f"{_GROUP}/providers/Microsoft.Storage/storageAccounts/{{accountName}}/blobServices/default"
_GONE = frozenset({"deleting", "deleted"})

Inputs = Mapping[str, Any]


def _anything(_body: Body, _inputs: Inputs) -> bool:
    return True


@dataclass(frozen=True, slots=True)
class Finder:
    """Where one type lies."""

    path: str
    """Below the subscription, in terms of the inputs; a path that begins with an input stands by itself."""
    version: str
    same: Callable[[Body, Inputs], bool] = _anything
    """Whether what is there is as asked: a setting that is always there was perhaps not set."""

    def __call__(self, rest: Rest, pending: Pending) -> str | None:
        """Return the id as the state holds it, None when nothing was made."""
        fields = [name for _, name, _, _ in Formatter().parse(self.path) if name]
        if any(not pending.inputs.get(name) for name in fields):
            return None
        below = self.path.format(**{name: pending.inputs[name] for name in fields})
        path = below if self.path.startswith("{") else f"{rest.subscription}{below}"
        body = rest.get(path, self.version)
        if body is None or not self._ours(body, pending) or not self.same(body, pending.inputs):
            return None
        return str(body.get("id") or path)

    def _ours(self, body: Body, pending: Pending) -> bool:
        state = str((body.get("properties") or {}).get("provisioningState") or "").lower()
        tag = (body.get("tags") or {}).get("emporion-id", pending.emporion_id)
        return state not in _GONE and bool(tag == pending.emporion_id)


def _of(space: str, kind: str, named: str, version: str) -> Finder:
    return Finder(f"{_GROUP}/providers/{space}/{kind}/{{{named}}}", version)


def _versions_kept(body: Body, inputs: Inputs) -> bool:
    return (body.get("properties") or {}).get("isVersioningEnabled") is inputs.get("isVersioningEnabled")


def _days_kept(body: Body, inputs: Inputs) -> bool:
    days = (body.get("properties") or {}).get("immutabilityPeriodSinceCreationInDays")
    return bool(days == inputs.get("immutabilityPeriodSinceCreationInDays"))


FINDERS: Mapping[str, Finder] = {
    "azure-native:authorization:RoleAssignment": Finder(
        "{scope}/providers/Microsoft.Authorization/roleAssignments/{roleAssignmentName}", "2022-04-01"
    ),
    "azure-native:compute:CapacityReservation": Finder(
        f"{_GROUP}/providers/Microsoft.Compute/capacityReservationGroups/{{capacityReservationGroupName}}"
        "/capacityReservations/{capacityReservationName}",
        _COMPUTE,
    ),
    "azure-native:compute:CapacityReservationGroup": _of(
        "Microsoft.Compute", "capacityReservationGroups", "capacityReservationGroupName", _COMPUTE
    ),
    "azure-native:compute:ProximityPlacementGroup": _of(
        "Microsoft.Compute", "proximityPlacementGroups", "proximityPlacementGroupName", _COMPUTE
    ),
    "azure-native:compute:VirtualMachine": _of("Microsoft.Compute", "virtualMachines", "vmName", _COMPUTE),
    "azure-native:compute:VirtualMachineExtension": Finder(
        f"{_GROUP}/providers/Microsoft.Compute/virtualMachines/{{vmName}}/extensions/{{vmExtensionName}}", _COMPUTE
    ),
    "azure-native:compute:VirtualMachineScaleSet": _of(
        "Microsoft.Compute", "virtualMachineScaleSets", "vmScaleSetName", _COMPUTE
    ),
    "azure-native:keyvault:Vault": _of("Microsoft.KeyVault", "vaults", "vaultName", "2023-07-01"),
    "azure-native:managedidentity:UserAssignedIdentity": _of(
        "Microsoft.ManagedIdentity", "userAssignedIdentities", "resourceName", "2023-01-31"
    ),
    "azure-native:network:BastionHost": _of("Microsoft.Network", "bastionHosts", "bastionHostName", _NETWORK),
    "azure-native:network:NatGateway": _of("Microsoft.Network", "natGateways", "natGatewayName", _NETWORK),
    "azure-native:network:NetworkInterface": _of(
        "Microsoft.Network", "networkInterfaces", "networkInterfaceName", _NETWORK
    ),
    "azure-native:network:NetworkSecurityGroup": _of(
        "Microsoft.Network", "networkSecurityGroups", "networkSecurityGroupName", _NETWORK
    ),
    "azure-native:network:PublicIPAddress": _of(
        "Microsoft.Network", "publicIPAddresses", "publicIpAddressName", _NETWORK
    ),
    "azure-native:network:Subnet": Finder(
        f"{_GROUP}/providers/Microsoft.Network/virtualNetworks/{{virtualNetworkName}}/subnets/{{subnetName}}", _NETWORK
    ),
    "azure-native:network:VirtualNetwork": _of("Microsoft.Network", "virtualNetworks", "virtualNetworkName", _NETWORK),
    "azure-native:resources:ResourceGroup": Finder(_GROUP, "2024-03-01"),
    "azure-native:storage:BlobContainer": Finder(f"{_BLOBS}/containers/{{containerName}}", _STORAGE),
    "azure-native:storage:BlobContainerImmutabilityPolicy": Finder(
        f"{_BLOBS}/containers/{{containerName}}/immutabilityPolicies/{{immutabilityPolicyName}}", _STORAGE, _days_kept
    ),
    "azure-native:storage:BlobServiceProperties": Finder(_BLOBS, _STORAGE, _versions_kept),
    "azure-native:storage:StorageAccount": _of("Microsoft.Storage", "storageAccounts", "accountName", _STORAGE),
    "azure-native:storagecache:AmlFilesystem": _of(
        "Microsoft.StorageCache", "amlFilesystems", "amlFilesystemName", "2024-03-01"
    ),
}
"""Type token -> how to find what a killed create of it made."""
