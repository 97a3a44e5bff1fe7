"""How old prices are."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from emporion.market.dates import moment
from emporion.market.offer import Offer

__all__ = ["age_s", "age_warnings"]

_OLD_S = 7 * 86_400
"""On-demand prices change a few times a year, spot prices within days (data/spot_history.csv)."""
_CLOCKS_S = 86_400
"""How far a date may lie ahead: sources write their own local day, and clocks differ."""


def age_s(as_of: str | None, now: datetime) -> float:
    """Return the age of a price in seconds; a date counts from its first instant.

    No date, or one that is still to come, says nothing: such a price is as old as can be.
    """
    if as_of is None:
        return float("inf")
    seconds = (now - moment(as_of)).total_seconds()
    return float("inf") if seconds < -_CLOCKS_S else seconds


def age_warnings(offers: Iterable[Offer], now: datetime) -> list[str]:
    """Return one warning for each provider and date of prices that are more than a week old."""
    old = {(offer.provider, offer.as_of or "") for offer in offers if age_s(offer.as_of, now) > _OLD_S}
    return [_warning(provider, as_of, now) for provider, as_of in sorted(old)]


def _warning(provider: str, as_of: str, now: datetime) -> str:
    if not as_of:
        return f"prices of {provider} bear no date and count as old"
    if moment(as_of) > now:
        return f"prices of {provider} are dated {as_of}, which is still to come, and count as old"
    return f"prices of {provider} are of {as_of}: check before you rely on them"
