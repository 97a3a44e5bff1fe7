"""Azure's list prices: the Retail Prices API, public and without a key.

The API is a list of *meters*. One machine type in one region has many: Linux and Windows, regular, spot and low
priority, consumption, DevTest and reservation, some of them out of force. Only hourly consumption meters of a plain
virtual machine are prices of ours, and of several in force the newest counts.

https://learn.microsoft.com/rest/api/cost-management/retail-prices/azure-retail-prices (read 2026-12-01)
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from emporion.components.price_rows import PriceRow, cpu_types, known_types, money, odd, stamp
from emporion.market.dates import moment
from emporion.market.offers.adapter import Adapter, Ask, Row

__all__ = ["ADAPTER"]

_log = logging.getLogger(__name__)

_SOURCE = "Azure Retail Prices API"
_URL = "https://prices.azure.com/api/retail/prices"
_VERSION = "2023-01-01-preview"
_VM = "serviceName eq 'Virtual Machines' and priceType eq 'Consumption'"
_GPU_TYPES = "contains(armSkuName, 'Standard_N')"
"""Azure's GPU families are N (NC, ND, NG, NV); `contains` and `eq` are the filters that the API documents."""
_HOUR = "1 Hour"
_OTHER_PRODUCTS = ("windows", "cloud services", "dedicated host")
"""Words of a product's name that make it another product than a Linux machine."""
_SPOT = re.compile(r"\bspot\b", re.IGNORECASE)
_NOT_LINUX_PRICE = re.compile(r"\blow priority\b|\bpromo\b|\bexpired\b", re.IGNORECASE)
"""Low priority is the forerunner of spot for Batch alone, at another price."""
_MOST_PAGES = 2000


@dataclass(frozen=True, slots=True)
class _Meter:
    """One price in force. The greatest counts: the newest, the primary one, then the dearer."""

    since: datetime
    primary: bool
    price: Decimal
    meter: str

    def order(self) -> tuple[datetime, bool, Decimal, str]:
        return self.since, self.primary, self.price, self.meter


def _fetch(ask: Ask) -> Iterator[Row]:
    chosen: dict[tuple[str, str, str], _Meter] = {}
    currencies: set[str] = set()
    wanted = " or ".join(f"armSkuName eq '{name}'" for name in cpu_types("azure"))
    done = 0
    for asked in (_GPU_TYPES, f"({wanted})"):
        for page in _pages(ask, f"{_VM} and {asked}"):
            for item in page:
                _take(item, ask.now, chosen, currencies)
            done += 1
            ask.progress("pages of meters", done, None)
    if len(currencies) > 1:
        raise odd(_SOURCE, f"answers in several currencies: {', '.join(sorted(currencies))}")
    if not chosen:
        raise odd(_SOURCE, "names no price of a virtual machine")
    yield from _rows(chosen, next(iter(currencies)), stamp(ask.now))


def _pages(ask: Ask, condition: str) -> Iterator[list[Mapping[str, Any]]]:
    """Yield the items of each page.

    Raises: UserError E-ADAPTER: when a page is cut, leads elsewhere or back, or there are more than 2,000.
    """
    params: Mapping[str, str] | None = {"api-version": _VERSION, "$filter": condition}
    url, seen = _URL, set[str]()
    while len(seen) < _MOST_PAGES:
        seen.add(url)
        body = ask.get(url, params=params).body
        items = body.get("Items") if isinstance(body, dict) else None
        if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
            raise odd(_SOURCE, "answers a page without items")
        if body.get("Count", len(items)) != len(items):
            raise odd(_SOURCE, f"answers a partial page: {len(items)} of {body['Count']} items")
        yield items
        following = body.get("NextPageLink")
        if not following:
            return
        url, params = str(following).replace(":443/", "/", 1), None
        if not url.startswith(f"{_URL}?") or url in seen:
            raise odd(_SOURCE, f"names {url[:80]!r} as the next page")
    raise odd(_SOURCE, f"answers more than {_MOST_PAGES} pages")


def _take(
    item: Mapping[str, Any], now: datetime, chosen: dict[tuple[str, str, str], _Meter], currencies: set[str]
) -> None:
    """Keep the meter when it is a price of ours and newer than the one that is known."""
    market = _market(item)
    if market is None:
        return
    price = money(item.get("retailPrice"), _SOURCE, "retailPrice")
    since = _date(item.get("effectiveStartDate"))
    until = item.get("effectiveEndDate")
    if since > now or (until and _date(until) <= now):
        return
    currencies.add(_text(item, "currencyCode").upper())
    meter = _Meter(since, item.get("isPrimaryMeterRegion") is not False, price, str(item.get("meterId")))
    key = (_text(item, "armRegionName"), _text(item, "armSkuName"), market)
    if key not in chosen or chosen[key].order() < meter.order():
        chosen[key] = meter


def _market(item: Mapping[str, Any]) -> str | None:
    """Return the market whose Linux price the meter is, or None: it is another price, or one of no region."""
    if item.get("type") != "Consumption" or item.get("unitOfMeasure") != _HOUR:
        return None
    if not item.get("armSkuName") or not item.get("armRegionName") or item.get("tierMinimumUnits"):
        return None
    product = _text(item, "productName").lower()
    names = f"{_text(item, 'meterName')} / {_text(item, 'skuName')}"
    if any(word in product for word in _OTHER_PRODUCTS) or "windows" in names.lower():
        return None
    if _NOT_LINUX_PRICE.search(names):
        return None
    return "spot" if _SPOT.search(names) else "on_demand"


def _text(item: Mapping[str, Any], name: str) -> str:
    value = item.get(name)
    if not isinstance(value, str):
        raise odd(_SOURCE, f"answers an item without {name}")
    return value


def _date(value: object) -> datetime:
    try:
        return moment(str(value)).astimezone(UTC)
    except ValueError:
        raise odd(_SOURCE, f"gives {str(value)[:40]!r} as a date") from None


def _rows(chosen: Mapping[tuple[str, str, str], _Meter], currency: str, as_of: str) -> Iterator[Row]:
    types = known_types("azure")
    unknown: set[str] = set()
    for region, name in sorted({(region, name) for region, name, _ in chosen}):
        about = types.get(name)
        if about is None:
            # The API tells neither GPUs nor memory: a machine that no table of ours describes is no offer.
            unknown.add(name)
            continue
        prices = {market: chosen.get((region, name, market)) for market in ("on_demand", "spot")}
        amounts = {market: None if meter is None else meter.price for market, meter in prices.items()}
        yield PriceRow(
            "azure", region, "", name, about, amounts["on_demand"], amounts["spot"], _SOURCE, as_of, currency
        ).cells()
    if unknown:
        _log.warning(
            "provider=azure left_out=%d reason=%r types=%s",
            len(unknown),
            "the price list does not say what they consist of",
            ",".join(sorted(unknown)),
        )


ADAPTER = Adapter(provider="azure", extra="azure", source=_SOURCE, needs=(), fetch=_fetch)
"""The adapter, as the entry point names it."""
