"""Where checkpoints and data live: a storage account with one container, and a Lustre file system when asked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pulumi
from pulumi_azure_native import storage

from emporion.components.azure.context import Context
from emporion.components.azure.plan import CHECKPOINTS, storage_account_name

__all__ = ["Store", "build_store"]

DELETED_KEPT_DAYS = 7
"""For so long a deleted or overwritten blob can be restored."""


@dataclass(frozen=True, slots=True)
class Store:
    """The cluster's storage account."""

    account: storage.StorageAccount
    container: storage.BlobContainer
    name: str
    """The account's name, known before it exists."""
    ready: Sequence[pulumi.Resource]
    """What must be set before anything is written to it."""

    @property
    def uri(self) -> str:
        """Where checkpoints go."""
        return f"https://{self.name}.blob.core.windows.net/{CHECKPOINTS}"


def build_store(context: Context) -> Store:
    """Make the account and its container: no anonymous access, no account keys, TLS 1.2, every version kept a while."""
    name = storage_account_name(context.id(storage.StorageAccount, "store"))
    account = storage.StorageAccount(
        context.child("store"),
        resource_group_name=context.group,
        account_name=name,
        location=context.region,
        kind=storage.Kind.STORAGE_V2,
        sku=storage.SkuArgs(name=storage.SkuName.STANDARD_LRS),
        access_tier=storage.AccessTier.HOT,
        minimum_tls_version=storage.MinimumTlsVersion.TLS1_2,
        enable_https_traffic_only=True,
        allow_blob_public_access=False,
        allow_shared_key_access=False,
        allow_cross_tenant_replication=False,
        is_hns_enabled=False,
        tags=context.tags(storage.StorageAccount, "store"),
        opts=context.options(),
    )
    settings = storage.BlobServiceProperties(
        context.child("store-settings"),
        resource_group_name=context.group,
        account_name=account.name,
        blob_services_name="default",
        is_versioning_enabled=True,
        delete_retention_policy=storage.DeleteRetentionPolicyArgs(enabled=True, days=DELETED_KEPT_DAYS),
        container_delete_retention_policy=storage.DeleteRetentionPolicyArgs(enabled=True, days=DELETED_KEPT_DAYS),
        opts=context.options(),
    )
    container = storage.BlobContainer(
        context.child("checkpoints"),
        resource_group_name=context.group,
        account_name=account.name,
        container_name=CHECKPOINTS,
        public_access=storage.PublicAccess.NONE,
        opts=context.options(depends_on=[settings]),
    )
    ready: list[pulumi.Resource] = [settings, container]
    days = context.placement.storage.object_lock_days
    if days:
        ready.append(
            storage.BlobContainerImmutabilityPolicy(
                context.child("checkpoints-lock"),
                resource_group_name=context.group,
                account_name=account.name,
                container_name=container.name,
                immutability_policy_name="default",
                immutability_period_since_creation_in_days=days,
                # Never locked: a locked one cannot be taken back by anybody before its days are over.
                allow_protected_append_writes=True,
                opts=context.options(),
            )
        )
    return Store(account, container, name, ready)
