"""The shared file system. Its price is not published, so a plan counts it as unknown."""

from __future__ import annotations

from dataclasses import dataclass

import pulumi
from pulumi_azure_native import storagecache

from emporion.components.azure.context import Context
from emporion.components.azure.network import Network
from emporion.components.azure.plan import lustre_sku, lustre_tib

__all__ = ["ZONE", "Lustre", "build"]

ZONE = "1"
"""Azure asks for the logical zone of a file system; nodes of a region without a wish of their own lie anywhere."""


@dataclass(frozen=True, slots=True)
class Lustre:
    """The file system."""

    resource: storagecache.AmlFilesystem
    address: pulumi.Output[str]
    """Of its management server, known only once it exists."""


def build(context: Context, network: Network) -> Lustre:
    """Make the file system in its own subnet."""
    if network.lustre is None:
        message = "a file system needs its subnet"
        raise ValueError(message)
    made = storagecache.AmlFilesystem(
        context.child("lustre"),
        resource_group_name=context.group,
        aml_filesystem_name=context.physical(storagecache.AmlFilesystem, "lustre", 80),
        location=context.region,
        sku=storagecache.SkuNameArgs(name=lustre_sku(context.placement.storage)),
        storage_capacity_ti_b=float(lustre_tib(context.placement.storage)),
        filesystem_subnet=network.lustre.id,
        zones=[ZONE],
        maintenance_window=storagecache.AmlFilesystemMaintenanceWindowArgs(
            day_of_week=storagecache.MaintenanceDayOfWeekType.SUNDAY, time_of_day_utc="03:00"
        ),
        tags=context.tags(storagecache.AmlFilesystem, "lustre"),
        opts=context.options(),
    )
    return Lustre(made, made.client_info.apply(lambda info: info.mgs_address))
