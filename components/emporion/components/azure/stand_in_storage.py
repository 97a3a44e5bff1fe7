"""Stand-in rules of storage, vaults, identities and roles. Shapes: facts/clusters.md section 5.3, with its sources."""

from __future__ import annotations

import re
from collections.abc import Mapping

from emporion.components.azure.plan import LUSTRE_SKUS
from emporion.components.azure.stand_in_references import (
    ACCOUNT,
    CONTAINER,
    IDENTITY,
    LUSTRE,
    POLICY,
    ROLE,
    SETTINGS,
    SUBNET,
    VAULT,
    by_id,
    by_name,
    in_group,
    in_use,
)
from emporion.market.stand_in import Making, Refusal, TypeRule

__all__ = ["STORAGE"]

_ACCOUNT_NAME = re.compile(r"[a-z0-9]{3,24}")
_CONTAINER_NAME = re.compile(r"(?!.*--)[a-z0-9][a-z0-9-]{1,61}[a-z0-9]|\$(?:root|web|logs)")
_VAULT_NAME = re.compile(r"(?!.*--)[A-Za-z][A-Za-z0-9-]{1,22}[A-Za-z0-9]")
_GUID = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_DEFINITION = re.compile(r"/(?:.*/)?providers/Microsoft\.Authorization/roleDefinitions/[0-9a-fA-F-]{36}")
_IN_ACCOUNT = "Microsoft.Storage/storageAccounts/{accountName}/blobServices"
_RETENTION = (7, 90)


def _account_name(making: Making) -> Refusal | None:
    """Refuse a name that storage does not take."""
    if not _ACCOUNT_NAME.fullmatch(str(making.inputs.get("accountName"))):
        return Refusal("AccountNameInvalid", f"{making.inputs.get('accountName')} is not a valid storage account name.")
    return None


def _container_name(making: Making) -> Refusal | None:
    """Refuse a name that blob containers do not take."""
    if not _CONTAINER_NAME.fullmatch(str(making.inputs.get("containerName"))):
        return Refusal("InvalidResourceName", "The specified resource name contains invalid characters.")
    return None


def _public_container(making: Making) -> Refusal | None:
    """Refuse a public container in an account that allows none."""
    account = making.find_by(ACCOUNT, "name", making.inputs.get("accountName"))
    public = making.inputs.get("publicAccess") not in (None, "None")
    if public and account is not None and account.outputs.get("allowBlobPublicAccess") is False:
        return Refusal("PublicAccessNotPermitted", "Public access is not permitted on this storage account.", 409)
    return None


def _endpoints(making: Making) -> dict[str, str]:
    name = making.inputs["accountName"]
    return {kind: f"https://{name}.{kind}.core.windows.net/" for kind in ("blob", "dfs", "file", "queue", "table")}


def _vault(making: Making) -> Refusal | None:
    """Refuse a name or a time of keeping that Key Vault does not take."""
    if not _VAULT_NAME.fullmatch(str(making.inputs.get("vaultName"))):
        return Refusal("VaultNameNotValid", f"The vault name '{making.inputs.get('vaultName')}' is invalid.")
    kept = (making.inputs.get("properties") or {}).get("softDeleteRetentionInDays")
    if isinstance(kept, (int, float)) and not _RETENTION[0] <= kept <= _RETENTION[1]:
        return Refusal("BadRequest", "The property softDeleteRetentionInDays must be between 7 and 90.")
    return None


def _vault_properties(making: Making) -> dict[str, object]:
    """Return the properties as Azure gives them back: with the vault's address."""
    given = dict(making.inputs.get("properties") or {})
    name = making.inputs.get("vaultName")
    return {**given, "vaultUri": f"https://{name}.vault.azure.net/", "provisioningState": "Succeeded"}


def _assignment(making: Making) -> Refusal | None:
    """Refuse a name that is no GUID, a definition that is no id, and a principal that nobody has heard of."""
    if not _GUID.fullmatch(str(making.inputs.get("roleAssignmentName"))):
        return Refusal("InvalidRoleAssignmentId", "The role assignment ID is not valid. It must be a GUID.")
    if not _DEFINITION.fullmatch(str(making.inputs.get("roleDefinitionId"))):
        return Refusal("RoleDefinitionDoesNotExist", "The specified role definition does not exist.")
    known = making.find_by(IDENTITY, "principalId", making.inputs.get("principalId"))
    if known is None and making.inputs.get("principalType") is None:
        return Refusal("PrincipalNotFound", f"Principal {making.inputs.get('principalId')} does not exist.")
    return None


def _lustre(making: Making) -> Refusal | None:
    """Refuse a size that the SKU is not sold in (terraform-provider-azurerm internal/services/storagecache)."""
    sku = (making.inputs.get("sku") or {}).get("name")
    step = {name: step for step, name in LUSTRE_SKUS.values()}.get(str(sku))
    size = making.inputs.get("storageCapacityTiB")
    if step is None:
        return Refusal("InvalidParameter", f"SKU {sku} is not a SKU of Azure Managed Lustre.")
    if not isinstance(size, (int, float)) or size <= 0 or size % step:
        return Refusal("InvalidParameter", f"A storage capacity of {size} TiB is not a multiple of {step} TiB.")
    return None


STORAGE: Mapping[str, TypeRule] = {
    ACCOUNT: in_group(
        "Microsoft.Storage/storageAccounts",
        "accountName",
        name_limit=24,
        name_lower=True,
        is_global=True,
        unique=("accountName",),
        exists=Refusal("StorageAccountAlreadyTaken", "The storage account named {accountName} is already taken.", 409),
        outputs={
            "primaryEndpoints": _endpoints,
            "primaryLocation": "{location}",
            "statusOfPrimary": "available",
            "creationTime": "2026-12-01T00:00:00Z",
        },
        replace=("isHnsEnabled", "enableNfsV3", "immutableStorageWithVersioning", "dnsEndpointType"),
        validate=(_account_name,),
    ),
    SETTINGS: in_group(
        "Microsoft.Storage/storageAccounts/blobServices",
        "blobServicesName",
        below=_IN_ACCOUNT,
        references=(by_name("accountName", ACCOUNT, "ResourceNotFound"),),
        put=True,
    ),
    CONTAINER: in_group(
        "Microsoft.Storage/storageAccounts/blobServices/containers",
        "containerName",
        below=f"{_IN_ACCOUNT}/default/containers",
        name_limit=63,
        outputs={
            "etag": '"0x{hex15}"',
            "hasImmutabilityPolicy": lambda _: False,
            "hasLegalHold": lambda _: False,
            "lastModifiedTime": "2026-12-01T00:00:00Z",
        },
        references=(by_name("accountName", ACCOUNT, "ResourceNotFound"),),
        validate=(_container_name, _public_container),
        in_use=(in_use(POLICY, "containerName", "ContainerProtectedFromDeletion", key="name"),),
    ),
    POLICY: in_group(
        "Microsoft.Storage/storageAccounts/blobServices/containers/immutabilityPolicies",
        "immutabilityPolicyName",
        below=f"{_IN_ACCOUNT}/default/containers/{{containerName}}/immutabilityPolicies",
        outputs={"etag": '"{hex16}"', "state": "Unlocked"},
        references=(
            by_name("accountName", ACCOUNT, "ResourceNotFound"),
            by_name("containerName", CONTAINER, "ContainerNotFound"),
        ),
        put=True,
    ),
    VAULT: in_group(
        "Microsoft.KeyVault/vaults",
        "vaultName",
        name_limit=24,
        is_global=True,
        unique=("vaultName",),
        exists=Refusal("VaultAlreadyExists", "The vault name '{vaultName}' is already in use.", 409),
        echo={"properties": _vault_properties},
        references=(by_id("properties.networkAcls.virtualNetworkRules.id", SUBNET),),
        validate=(_vault,),
    ),
    IDENTITY: in_group(
        "Microsoft.ManagedIdentity/userAssignedIdentities",
        "resourceName",
        name_limit=128,
        outputs={
            "principalId": "{uuid}",
            "clientId": lambda making: _guid(making.hex(32, "client")),
            "tenantId": lambda making: _guid(making.hex(32, "tenant")),
        },
    ),
    ROLE: TypeRule(
        "Microsoft.Authorization/roleAssignments",
        "Microsoft.Authorization:roleAssignments",
        "{scope}/providers/Microsoft.Authorization/roleAssignments/{roleAssignmentName}",
        outputs={
            "name": "{roleAssignmentName}",
            "type": "Microsoft.Authorization/roleAssignments",
            "createdOn": "2026-12-01T00:00:00Z",
        },
        named="roleAssignmentName",
        replace=frozenset({"scope", "roleAssignmentName", "principalId", "roleDefinitionId", "principalType"}),
        unique=("scope", "principalId", "roleDefinitionId"),
        exists=Refusal("RoleAssignmentExists", "The role assignment already exists.", 409),
        validate=(_assignment,),
    ),
    LUSTRE: in_group(
        "Microsoft.StorageCache/amlFilesystems",
        "amlFilesystemName",
        name_limit=80,
        outputs={
            "clientInfo": lambda _: {
                "mgsAddress": "10.0.252.4",
                "lustreVersion": "2.15.3",
                "mountCommand": "mount -t lustre -o noatime,flock 10.0.252.4@tcp:/lustrefs /lustrefs",
                "containerStorageInterface": {"storageClass": "", "persistentVolume": "", "persistentVolumeClaim": ""},
            },
            "health": lambda _: {"state": "Available", "statusCode": "", "statusDescription": ""},
            "throughputProvisionedMBps": lambda _: 2000,
        },
        replace=("sku", "storageCapacityTiB", "filesystemSubnet", "zones"),
        references=(by_id("filesystemSubnet", SUBNET),),
        validate=(_lustre,),
    ),
}


def _guid(digits: str) -> str:
    return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:32]))
