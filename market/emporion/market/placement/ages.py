"""How old prices are."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime

from emporion.market.offer import Offer

__all__ = ["age_s", "age_warnings"]

_FORMS = {10: "%Y-%m-%d", 7: "%Y-%m", 4: "%Y"}
"""How a date is written, by its length."""
_OLD_S = 7 * 86_400
"""On-demand prices change a few times a year, spot prices within days (data/spot_history.csv)."""


def age_s(as_of: str | None, now: datetime) -> float:
    """Return the age of a price in seconds; a date counts from its first instant, no date is as old as can be."""
    if as_of is None:
        return float("inf")
    form = _FORMS.get(len(as_of))
    told = datetime.fromisoformat(as_of) if form is None else datetime.strptime(as_of, form).replace(tzinfo=UTC)
    return (now - (told if told.tzinfo else told.replace(tzinfo=UTC))).total_seconds()


def age_warnings(offers: Iterable[Offer], now: datetime) -> list[str]:
    """Return one warning for each provider and date of prices that are more than a week old."""
    old = {(offer.provider, offer.as_of or "") for offer in offers if age_s(offer.as_of, now) > _OLD_S}
    return [
        f"prices of {provider} are of {as_of}: check before you rely on them"
        if as_of
        else f"prices of {provider} bear no date and count as old"
        for provider, as_of in sorted(old)
    ]
