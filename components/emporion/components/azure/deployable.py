"""Which offers of Azure this version can stand up. Imported by planning: no Pulumi here."""

from __future__ import annotations

from emporion.components.azure.sizes import sizes
from emporion.market.offer import Offer

__all__ = ["not_deployable"]


def not_deployable(offer: Offer) -> str | None:
    """Return why the offer cannot be stood up, None when it can."""
    size = sizes().get(offer.instance_type)
    if size is None:
        return f"what a launch of {offer.instance_type} needs is not known to this version"
    return size.refused
