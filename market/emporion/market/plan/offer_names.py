"""Which offer a user means: its id, or any parts of it that only one offer has."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from emporion.market.errors import UserError, did_you_mean
from emporion.market.offer import Offer
from emporion.market.offers import Catalogue
from emporion.market.units import shown

__all__ = ["find_offer"]

_LISTED = 6


def find_offer(name: str, offers: Sequence[Offer], catalogue: Catalogue) -> Offer:
    """Return the offer that a name means.

    A name is an id, or parts of one in any order (`p4d.24xlarge`, `gcp/a2-highgpu-8g`, `aws/us-east-1/spot`)
    when one offer alone has them; case does not matter. `offers`, those of an intent, come before the rest of the
    catalogue.

    Raises: UserError E-OFFER: when no offer or several have this name, with the nearest or the cheapest ones.
    """
    for some in (offers, catalogue.offers):
        exact = next((offer for offer in some if offer.id == name), None)
        if exact is not None:
            return exact
        found = _matching(name, some)
        if len(found) == 1:
            return found[0]
        if found:
            raise UserError(
                "E-OFFER",
                f"{len(found)} offers match {shown(name)}",
                "--explain",
                f"one of {_listed(found)}",
            )
    raise UserError("E-OFFER", f"no offer is called {shown(name)}", "--explain", _nearest(name, offers, catalogue))


def _matching(name: str, offers: Iterable[Offer]) -> list[Offer]:
    """Return the offers whose ids have all parts of a name."""
    parts = {part for part in name.lower().split("/") if part}
    return [offer for offer in offers if parts and parts <= set(offer.id.lower().split("/"))]


def _listed(found: Sequence[Offer]) -> str:
    cheapest = sorted(found, key=lambda offer: (offer.usd_per_hour, offer.id))
    more = f" … and {len(found) - _LISTED} more" if len(found) > _LISTED else ""
    return ", ".join(offer.id for offer in cheapest[:_LISTED]) + more


def _nearest(name: str, offers: Sequence[Offer], catalogue: Catalogue) -> str:
    """Return the nearest ids: those with the nearest instance type, else the nearest id of the intent's offers."""
    wanted = [part for part in name.split("/") if part]
    types = {offer.instance_type for offer in catalogue.offers}
    for part in sorted(wanted, key=len, reverse=True):
        near = part if part in types else did_you_mean(part, types)
        if near is not None:
            same = [offer for offer in (*offers, *catalogue.offers) if offer.instance_type == near]
            whole = did_you_mean(name, {offer.id for offer in same}) if len(wanted) > 1 else None
            return f"did you mean {whole or near}"
    return "`emporion offers list` shows the offers"
