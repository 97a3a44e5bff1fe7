"""Amazon Web Services: everything that Emporion knows of this cloud."""

from __future__ import annotations

from emporion.components.aws.access import shell_command
from emporion.components.aws.deployable import not_deployable
from emporion.components.aws.errors import ERRORS
from emporion.market.clouds import Cloud

__all__ = ["CLOUD"]

CLOUD = Cloud(
    name="aws",
    plugin="aws",
    sdk="pulumi_aws",
    extra="aws",
    default_region="us-east-1",
    cluster="emporion.components.aws.cluster:AwsCluster",
    api="emporion.components.aws.api:open_api",
    stand_in="emporion.components.aws.stand_in:STAND_IN",
    errors=ERRORS,
    not_deployable=not_deployable,
    shell_command=shell_command,
    shell_tools=("session-manager-plugin",),
    region_env=("AWS_REGION", "AWS_DEFAULT_REGION"),
)
