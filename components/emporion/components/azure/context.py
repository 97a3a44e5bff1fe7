"""What every part of an Azure cluster is built from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pulumi

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
    subscription: str
    tenant: str
    group: pulumi.Input[str] = ""
    """Name of the resource group that holds everything of the cluster."""

    @property
    def region(self) -> str:
        """The region of the placement."""
        return self.placement.region

    def child(self, suffix: str) -> str:
        """Return the logical name of a child."""
        return f"{self.name}-{suffix}"

    def id(self, resource: type[pulumi.Resource], suffix: str) -> str:
        """Return the `emporion-id` of a child."""
        return self.names.id(resource, self.child(suffix))

    def tags(self, resource: type[pulumi.Resource], suffix: str, pool: str | None = None) -> dict[str, str]:
        """Return a child's tags."""
        return self.names.tags(resource, self.child(suffix), pool)

    def physical(self, resource: type[pulumi.Resource], suffix: str, limit: int) -> str:
        """Return a child's name in the cloud."""
        return self.names.physical(resource, self.child(suffix), limit)

    def options(self, **more: Any) -> pulumi.ResourceOptions:  # noqa: ANN401 - what ResourceOptions takes
        """Return options for a child: its parent, and with it the parent's provider.

        Every name is the child's key in the cloud, so the old one goes before a new one comes.
        """
        return pulumi.ResourceOptions(parent=self.parent, delete_before_replace=True, **more)
