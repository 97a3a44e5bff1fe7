"""What the facts of all Google Cloud resources have in common."""

from __future__ import annotations

from emporion.market.fact_source import Common
from emporion.market.fact_values import first, tags
from emporion.market.resources import UNKNOWN, Resource, Value, at

__all__ = ["common", "region"]


def region(resource: Resource) -> Value:
    """Return the region: the resource's own, that of its zone or location, or its provider's."""
    zone = first(resource.get("zone"), resource.get("location"), resource.provider.get("zone"))
    of_zone = UNKNOWN if zone is UNKNOWN else _of_zone(zone)
    found = first(resource.get("region"), of_zone, resource.provider.get("region"))
    return UNKNOWN if found is None else found


def _of_zone(zone: Value) -> str | None:
    """Return the region of a zone or of a location; multi-regions such as `US` stay what they are."""
    if not isinstance(zone, str):
        return None
    parts = zone.rpartition("/")[2].split("-")
    return "-".join(parts[:2]).lower()


def common(resource: Resource) -> Common:
    """Return the fields that a resource's facts share; labels are its tags."""
    labels = first(resource.get("labels"), resource.get("resourceLabels"), resource.get("userLabels"))
    return Common(
        name=resource.name,
        urn=resource.urn,
        type=resource.type,
        provider="gcp",
        region=region(resource),
        tags=tags(at(resource.provider, "defaultLabels"), labels),
    )
