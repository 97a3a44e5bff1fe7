"""What the facts of all Azure resources have in common."""

from __future__ import annotations

from emporion.market.fact_source import Common
from emporion.market.fact_values import tags
from emporion.market.resources import UNKNOWN, Resource

__all__ = ["common"]


def common(resource: Resource) -> Common:
    """Return the fields that a resource's facts share."""
    location = resource.get("location")
    region = location.replace(" ", "").lower() if isinstance(location, str) else UNKNOWN
    return Common(
        name=resource.name,
        urn=resource.urn,
        type=resource.type,
        provider="azure",
        region=region,
        tags=tags(resource.get("tags")),
    )
