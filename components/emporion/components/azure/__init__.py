"""Microsoft Azure: everything that Emporion knows of this cloud."""

from __future__ import annotations

from emporion.components.azure.access import shell_command
from emporion.components.azure.deployable import not_deployable
from emporion.components.azure.errors import ERRORS
from emporion.market.clouds import Cloud

__all__ = ["CLOUD"]

CLOUD = Cloud(
    name="azure",
    plugin="azure-native",
    sdk="pulumi_azure_native",
    extra="azure",
    default_region="eastus",
    cluster="emporion.components.azure.cluster:AzureCluster",
    api="emporion.components.azure.api:open_api",
    stand_in="emporion.components.azure.stand_in:STAND_IN",
    errors=ERRORS,
    not_deployable=not_deployable,
    shell_command=shell_command,
    region_env=("ARM_LOCATION",),
)
