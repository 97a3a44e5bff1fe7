"""The on-demand price of an instance type in the AWS Price List: the one Linux line among its many relatives.

One type in one region has a line per operating system, licence, preinstalled software, tenancy and kind of capacity
(used, unused reservation, capacity block), each with terms of its own. `FILTERS` asks for the plain one, and each line
that comes back is looked at again: a filter that AWS does not know would let all through.

https://docs.aws.amazon.com/awsaccountbilling/latest/aboutv2/using-price-list-query-api.html (read 2026-12-01)
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from emporion.components.price_rows import money, odd
from emporion.market.dates import moment

__all__ = ["FILTERS", "SOURCE", "ListPrice", "on_demand_prices"]

SOURCE = "AWS Price List API"

FILTERS: Mapping[str, str] = {
    "operatingSystem": "Linux",
    "tenancy": "Shared",
    "preInstalledSw": "NA",
    "capacitystatus": "Used",
    "licenseModel": "No License required",
    "marketoption": "OnDemand",
}
"""Attribute -> its value on the plain Linux line."""
_OPERATION = "RunInstances"
"""The billing code of plain Linux; Windows, RHEL, SUSE and SQL Server append one of theirs (`RunInstances:0002`)."""
_PLACES = ("AWS Region", "AWS Local Zone")
_HOURS = ("Hrs", "Hours")


@dataclass(frozen=True, slots=True)
class ListPrice:
    """An on-demand price per instance-hour."""

    amount: Decimal
    currency: str
    since: datetime


def on_demand_prices(
    lines: Iterable[str], now: datetime, where: Mapping[str, str] | None = None
) -> dict[tuple[str, str], ListPrice]:
    """Return (region or Local Zone group, instance type) -> price, of the JSON texts of `PriceList`.

    Of several in force the newest counts, then the dearer. `where`: more attributes that a line must have.

    Raises: UserError E-ADAPTER: when a line is not JSON or lacks what every line has.
    """
    found: dict[tuple[str, str], ListPrice] = {}
    for text in lines:
        attributes, terms = _product(text)
        if not _is_plain(attributes, {**FILTERS, **(where or {})}):
            continue
        key = (attributes["regionCode"], attributes["instanceType"])
        for term in terms:
            price = _term(term, now, key[1])
            known = found.get(key)
            if price is not None and (known is None or (known.since, known.amount) < (price.since, price.amount)):
                found[key] = price
    return found


def _product(text: str) -> tuple[Mapping[str, str], list[Mapping[str, Any]]]:
    """Return the attributes of a line and its on-demand terms."""
    try:
        line = json.loads(text)
        attributes, terms = line["product"]["attributes"], list(line["terms"].get("OnDemand", {}).values())
        whole = isinstance(attributes["regionCode"], str) and isinstance(attributes["instanceType"], str)
    except (ValueError, KeyError, TypeError, AttributeError):
        whole, attributes, terms = False, {}, []
    if not whole or not all(isinstance(term, dict) for term in terms):
        raise odd(SOURCE, f"answers a line that is not a product: {text[:60]!r}")
    return attributes, terms


def _is_plain(attributes: Mapping[str, str], wanted: Mapping[str, str]) -> bool:
    if attributes.get("locationType", "AWS Region") not in _PLACES:
        return False
    if attributes.get("operation", _OPERATION) != _OPERATION:
        return False
    return all(attributes.get(name, value) == value for name, value in wanted.items())


def _term(term: Mapping[str, object], now: datetime, instance_type: str) -> ListPrice | None:
    """Return the hourly price of a term in force, or None."""
    dimensions = term.get("priceDimensions")
    if not isinstance(dimensions, dict) or not all(isinstance(each, dict) for each in dimensions.values()):
        raise odd(SOURCE, f"answers {instance_type} with a term without prices")
    try:
        since = moment(str(term.get("effectiveDate"))).astimezone(UTC)
    except ValueError:
        raise odd(SOURCE, f"gives {str(term.get('effectiveDate'))[:40]!r} as a date") from None
    if since > now:
        return None
    hourly = [price for dimension in dimensions.values() if (price := _hourly(dimension, since)) is not None]
    return max(hourly, key=lambda price: price.amount, default=None)


def _hourly(dimension: Mapping[str, object], since: datetime) -> ListPrice | None:
    amounts = dimension.get("pricePerUnit")
    if str(dimension.get("unit")) not in _HOURS or not isinstance(amounts, dict) or not amounts:
        return None
    currency = "USD" if "USD" in amounts else min(amounts)
    return ListPrice(money(amounts[currency], SOURCE, "pricePerUnit"), currency, since)
