"""Storage accounts, containers, disks and file systems of Azure as neutral facts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from emporion.components.azure.facts_common import common
from emporion.market.fact_source import Reader
from emporion.market.fact_values import either, of, truth
from emporion.market.facts import Bucket, Disk, Fact, FileSystem
from emporion.market.resources import UNKNOWN, Others, Resource, Value, at

__all__ = ["STORAGE"]

NO_TLS = {"TLS1_0", "TLS1_1"}
CONTAINER = "azure-native:storage:BlobContainer"
SERVICE = "azure-native:storage:BlobServiceProperties"
LIFECYCLE = "azure-native:storage:ManagementPolicy"
IMMUTABILITY = "azure-native:storage:BlobContainerImmutabilityPolicy"
LOCK = "azure-native:authorization:ManagementLockByScope"


def _account(resource: Resource, others: Others | None) -> Iterator[Fact]:
    tls = either(resource.get("minimumTlsVersion"), "TLS1_0")
    https = of(resource.get("enableHttpsTrafficOnly"), lambda only: only is None or truth(only))
    settings = _of(resource, others, SERVICE)
    yield Bucket(
        **common(resource),
        # Unset, the API's version decides: what is not closed off counts as open.
        private=of(resource.get("allowBlobPublicAccess"), lambda public: public is not None and not truth(public)),
        encrypted=True,  # every account is (learn.microsoft.com, storage-service-encryption)
        own_key=of(
            resource.get("encryption", "keySource"), lambda source: str(source).lower() == "microsoft.keyvault"
        ),
        tls_only=UNKNOWN if UNKNOWN in (tls, https) else https is True and tls not in NO_TLS,
        locked=UNKNOWN if others is None else bool(_of(resource, others, IMMUTABILITY)) or bool(
            resource.get("immutableStorageWithVersioning")
        ),
        versioned=UNKNOWN if others is None else any(one.get("isVersioningEnabled") is True for one in settings),
        expires=UNKNOWN if others is None else bool(_of(resource, others, LIFECYCLE)),
        protected=resource.protect if others is None else resource.protect or bool(others.of(resource, LOCK, "scope")),
        shared_keys=of(resource.get("allowSharedKeyAccess"), lambda allowed: allowed is None or truth(allowed)),
    )  # fmt: skip


def _of(account: Resource, others: Others | None, kind: str) -> list[Resource]:
    return [] if others is None else others.of(account, kind, "accountName", "accountName")


def _container(resource: Resource, _others: Others | None) -> Iterator[Fact]:
    """Yield a container that anybody may read; the rest of what it is, its account decides."""
    public = of(resource.get("publicAccess"), lambda access: access not in (None, "None"))
    if public is not False:
        yield Bucket(
            **common(resource),
            private=UNKNOWN if public is UNKNOWN else False,
            encrypted=True,
            own_key=True,
            tls_only=True,
            locked=False,
            versioned=True,
            expires=True,
            protected=True,
            shared_keys=False,
        )


def _disk(resource: Resource, _others: Others | None) -> Iterator[Fact]:
    yield Disk(**common(resource), encrypted=True, own_key=own_key(resource.get("encryption", "diskEncryptionSetId")))


def own_key(key: Value) -> bool:
    """Return whether a key is named, known or not."""
    return key is not None


def _lustre(resource: Resource, _others: Others | None) -> Iterator[Fact]:
    yield FileSystem(
        **common(resource),
        encrypted=True,  # learn.microsoft.com, Azure Managed Lustre, encryption at rest
        own_key=own_key(at(resource.inputs, "encryptionSettings", "keyEncryptionKey")),
        # Lustre's own traffic is not encrypted by the service; it stays in the virtual network.
        encrypted_in_transit=UNKNOWN,
    )


STORAGE: Mapping[str, Reader] = {
    "azure-native:storage:StorageAccount": _account,
    CONTAINER: _container,
    "azure-native:compute:Disk": _disk,
    "azure-native:storagecache:AmlFilesystem": _lustre,
}
