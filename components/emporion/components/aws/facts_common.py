"""What the facts of all AWS resources have in common."""

from __future__ import annotations

from emporion.market.fact_source import Common
from emporion.market.fact_values import first, tags
from emporion.market.resources import UNKNOWN, Resource, Value, at

__all__ = ["common", "region"]


def region(resource: Resource) -> Value:
    """Return the region: the resource's own, its provider's, or that of its zone."""
    found = first(resource.get("region"), resource.provider.get("region"))
    zone = resource.get("availabilityZone")
    if found is None and isinstance(zone, str):
        return zone.rstrip("abcdefghijklmnopqrstuvwxyz") or UNKNOWN
    return UNKNOWN if found is None else found


def common(resource: Resource) -> Common:
    """Return the fields that a resource's facts share."""
    return Common(
        name=resource.name,
        urn=resource.urn,
        type=resource.type,
        provider="aws",
        region=region(resource),
        tags=tags(at(resource.provider, "defaultTags", "tags"), resource.get("tags")),
    )
