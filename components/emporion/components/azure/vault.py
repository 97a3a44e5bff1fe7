"""Where the scheduler's key lies: a vault of the cluster. The controller makes the key; Pulumi never sees it."""

from __future__ import annotations

import hashlib

import pulumi
from pulumi_azure_native import keyvault, managedidentity

from emporion.components.azure.context import Context
from emporion.components.azure.network import Network

__all__ = ["SECRET", "build", "vault_name"]

SECRET = "munge"  # noqa: S105 - the secret's name
KEPT_DAYS = 7
"""A deleted vault keeps its name for so long, the shortest time that Azure takes."""


def vault_name(principal_id: str) -> str:
    """Return the vault's name: 3 to 24 letters, digits and dashes, unique in all of Azure.

    It follows from the controller's principal, which is another one each time a cluster is made: the name of a deleted
    vault is taken for a week, and `up` after `down` must not have to wait for it.
    """
    return f"em-{hashlib.sha256(principal_id.encode()).hexdigest()[:20]}"


def build(context: Context, controller: managedidentity.UserAssignedIdentity, network: Network) -> keyvault.Vault:
    """Make the vault, which answers the nodes' subnet alone and takes roles instead of access policies."""
    return keyvault.Vault(
        context.child("vault"),
        resource_group_name=context.group,
        vault_name=controller.principal_id.apply(vault_name),
        location=context.region,
        properties=keyvault.VaultPropertiesArgs(
            tenant_id=context.tenant,
            sku=keyvault.SkuArgs(family="A", name=keyvault.SkuName.STANDARD),
            enable_rbac_authorization=True,
            enable_soft_delete=True,
            soft_delete_retention_in_days=KEPT_DAYS,
            network_acls=keyvault.NetworkRuleSetArgs(
                default_action="Deny",
                bypass="None",
                virtual_network_rules=[keyvault.VirtualNetworkRuleArgs(id=network.nodes.id)],
            ),
        ),
        tags=context.tags(keyvault.Vault, "vault"),
        opts=context.options(),
    )


def secret_scope(vault: keyvault.Vault) -> pulumi.Output[str]:
    """Return the scope of a role on the one secret."""
    return pulumi.Output.format("{0}/secrets/{1}", vault.id, SECRET)
