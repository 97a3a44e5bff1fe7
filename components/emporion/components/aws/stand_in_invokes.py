"""Functions of the provider that the stand-in answers."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from datetime import date
from typing import Any

from emporion.components.aws.images import IMAGES
from emporion.components.aws.stand_in_zones import REGIONS, zones
from emporion.market.stand_in import ImageTemplate, Invoke, Making

__all__ = ["IMAGE_TEMPLATES", "INVOKES", "image_id"]

_PUBLISHED = date(2026, 11, 15)
"""When the world's first images were published: a made-up day, like the images."""


def image_id(region: str, name: str) -> str:
    """Return the id of a published image: like AWS's, another one in every region."""
    return "ami-" + hashlib.sha256(f"{region}/{name}".encode()).hexdigest()[:17]


def _image_name(pattern: str) -> str:
    return pattern.replace("????????", f"{_PUBLISHED:%Y%m%d}").replace("*", f"{_PUBLISHED:%Y%m%d}")


IMAGE_TEMPLATES = tuple(
    ImageTemplate(purpose, arch, _image_name(query.name), f"{_PUBLISHED:%Y-%m-%d}T00:00:00.000Z")
    for (purpose, arch), query in sorted(IMAGES.items())
)


def _caller(making: Making) -> Mapping[str, Any]:
    user = f"arn:aws:iam::{making.account}:user/emporion-local"
    return {"accountId": making.account, "arn": user, "userId": "AIDALOCALCLOUDEMPORIO", "id": making.account}


def _region(making: Making) -> Mapping[str, Any]:
    region = str(making.inputs.get("region") or making.inputs.get("name") or making.region)
    return {
        "region": region,
        "name": region,
        "id": region,
        "endpoint": f"ec2.{region}.amazonaws.com",
        "description": "the local cloud",
    }


def _regions(making: Making) -> Mapping[str, Any]:
    return {"names": list(REGIONS), "id": "aws", "region": making.region}


def _partition(making: Making) -> Mapping[str, Any]:
    del making
    return {"partition": "aws", "id": "aws", "dnsSuffix": "amazonaws.com", "reverseDnsPrefix": "com.amazonaws"}


def _zones(making: Making) -> Mapping[str, Any]:
    region = str(making.inputs.get("region") or making.region)
    found = zones(region)
    for condition in making.inputs.get("filters") or ():
        wanted = set(condition.get("values") or ())
        by = {"zone-id": lambda pair: pair[0], "zone-name": lambda pair: pair[1]}.get(str(condition.get("name")))
        if by:
            found = {zone_id: name for zone_id, name in found.items() if by((zone_id, name)) in wanted}
    hidden = set(making.inputs.get("excludeZoneIds") or ()) | set(making.inputs.get("excludeNames") or ())
    pairs = sorted((name, zone_id) for zone_id, name in found.items() if not {name, zone_id} & hidden)
    return {
        "names": [name for name, _ in pairs],
        "zoneIds": [zone_id for _, zone_id in pairs],
        "groupNames": [region],
        "id": region,
        "region": region,
    }


def _zone(making: Making) -> Mapping[str, Any] | str:
    region = str(making.inputs.get("region") or making.region)
    for zone_id, name in zones(region).items():
        if making.inputs.get("zoneId", zone_id) == zone_id and making.inputs.get("name", name) == name:
            local = name.count("-") > 2  # noqa: PLR2004 - us-east-1-atl-2a is a local zone
            return {
                "id": zone_id,
                "zoneId": zone_id,
                "name": name,
                "nameSuffix": name.removeprefix(region),
                "region": region,
                "state": "available",
                "zoneType": "local-zone" if local else "availability-zone",
                "groupName": region,
                "groupLongName": region,
                "networkBorderGroup": region,
                "optInStatus": "opt-in-not-required",
                "parentZoneId": "",
                "parentZoneName": "",
            }
    asked = making.inputs.get("zoneId") or making.inputs.get("name")
    return f"reading EC2 Availability Zone: api error InvalidParameterValue: Invalid availability zone: [{asked}]"


INVOKES: Mapping[str, Invoke] = {
    "aws:index/getAvailabilityZone:getAvailabilityZone": _zone,
    "aws:index/getAvailabilityZones:getAvailabilityZones": _zones,
    "aws:index/getCallerIdentity:getCallerIdentity": _caller,
    "aws:index/getPartition:getPartition": _partition,
    "aws:index/getRegion:getRegion": _region,
    "aws:index/getRegions:getRegions": _regions,
}
