"""Which offers of AWS this version can stand up. Imported by planning: no Pulumi here."""

from __future__ import annotations

from emporion.components.aws.instance_types import instance_types
from emporion.market.offer import Offer

__all__ = ["is_local_zone", "not_deployable"]

# The images of `images.py` carry NVIDIA's open kernel modules, which need Turing or newer
# (docs.nvidia.com/datacenter/tesla/driver-installation-guide, kernel modules, read 2026-08).
_NEEDS_ANOTHER_DRIVER = {"p3": "V100", "p3dn": "V100"}


def is_local_zone(zone_id: str) -> bool:
    """Return whether a zone id (`use1-atl2-az1`) is that of a Local Zone, which has fewer services than others."""
    return zone_id.count("-") > 1


def not_deployable(offer: Offer) -> str | None:
    """Return why the offer cannot be stood up, None when it can."""
    family = offer.instance_type.partition(".")[0]
    if family in _NEEDS_ANOTHER_DRIVER:
        return f"the node image's driver does not support {_NEEDS_ANOTHER_DRIVER[family]}"
    if offer.instance_type not in instance_types():
        return f"the network interfaces of {offer.instance_type} are not known to this version"
    if offer.zone and is_local_zone(offer.zone):
        return f"{offer.zone} is an AWS Local Zone: allow it with constraints.local_zones: true"
    return None
