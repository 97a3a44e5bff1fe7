"""What every part of an AWS cluster is built from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pulumi

from emporion.components.aws.deployable import is_local_zone
from emporion.components.names import Names
from emporion.market.pin import PinnedPlacement

__all__ = ["Context"]


@dataclass(frozen=True, slots=True)
class Context:
    """One cluster under construction."""

    name: str
    """The component's logical name; the children's begin with it."""
    names: Names
    parent: pulumi.Resource
    placement: PinnedPlacement
    account: str
    zones: Mapping[str, str]
    """Zone id -> this account's zone name, sorted."""
    delete_data: bool
    """Whether stores may be deleted with what is in them."""

    @property
    def region(self) -> str:
        """The region of the placement."""
        return self.placement.region

    def zone_name(self, zone: str | None) -> str:
        """Return this account's name of a zone id; of the first zone of the region itself when the offer names none."""
        return self.zones[zone or self._regular[0]]

    def regular_zone(self, zone: str | None) -> str:
        """Return the name of a zone with all services: `zone`'s, or that of the first such zone for a Local Zone."""
        return self.zones[zone if zone and not is_local_zone(zone) else self._regular[0]]

    @property
    def _regular(self) -> list[str]:
        return [zone for zone in self.zones if not is_local_zone(zone)]

    @property
    def partition(self) -> str:
        """The first part of ARNs after `arn:`."""
        if self.region.startswith("us-gov-"):
            return "aws-us-gov"
        return "aws-cn" if self.region.startswith("cn-") else "aws"

    def arn(self, service: str, rest: str) -> str:
        """Return the ARN of something in this account and region."""
        return f"arn:{self.partition}:{service}:{self.region}:{self.account}:{rest}"

    def child(self, suffix: str) -> str:
        """Return the logical name of a child."""
        return f"{self.name}-{suffix}"

    def tags(self, resource: type[pulumi.Resource], suffix: str, pool: str | None = None) -> dict[str, str]:
        """Return a child's tags."""
        return self.names.tags(resource, self.child(suffix), pool)

    def physical(self, resource: type[pulumi.Resource], suffix: str, limit: int) -> str:
        """Return a child's name in the cloud."""
        return self.names.physical(resource, self.child(suffix), limit)

    def options(self, **more: Any) -> pulumi.ResourceOptions:  # noqa: ANN401 - what ResourceOptions takes
        """Return options for a child: its parent, and with it the parent's provider."""
        return pulumi.ResourceOptions(parent=self.parent, **more)

    def named(self, **more: Any) -> pulumi.ResourceOptions:  # noqa: ANN401 - likewise
        """Return options for a child whose name is its key in the cloud: the old one goes before the new one comes."""
        return self.options(delete_before_replace=True, **more)
