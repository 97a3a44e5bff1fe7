"""What Google Cloud asks for the parts of a machine: the SKUs of the Cloud Billing Catalog, and sums of them.

A machine has no price of its own. It is billed as cores, memory, GPUs and bundled local SSD, each by a SKU of the same
region and the same way of selling; a sum never mixes two of either (data/price_components.csv says which SKUs).
The catalog holds many relatives of a SKU (commitments, DWS, calendar mode, sole tenancy, custom shapes): a part is
known by its whole description and by nothing less.
"""

from __future__ import annotations

import csv
import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from decimal import Decimal
from fnmatch import fnmatchcase
from functools import cache
from importlib.resources import files
from typing import Any

from emporion.components.price_rows import money, odd
from emporion.market.dates import moment

__all__ = ["LOCAL_SSD", "SOURCE", "Amounts", "Components", "PriceList", "components_of"]

_log = logging.getLogger(__name__)

SOURCE = "Cloud Billing Catalog API"
LOCAL_SSD = "SSD backed Local Storage"
_HOURS_PER_MONTH = 730
_NANO = Decimal("0.000000001")
_SPOT_PREFIX = "Spot Preemptible "
_SPOT_SUFFIX = " attached to Spot Preemptible VMs"
_MARKETS = {"OnDemand": "on_demand", "Preemptible": "spot"}
_GB_PER_GIB = Decimal(2**30) / 10**9
_PER_HOUR = {
    "h": Decimal(1),
    "GiBy.h": Decimal(1),
    "GBy.h": _GB_PER_GIB,
    "GiBy.mo": 1 / Decimal(_HOURS_PER_MONTH),
    "GBy.mo": _GB_PER_GIB / _HOURS_PER_MONTH,
}
"""Usage unit -> what its price is times this, for a piece or a GiB and an hour."""


@dataclass(frozen=True, slots=True)
class Components:
    """How machine types of a name are billed: one row of data/price_components.csv."""

    instance_type: str
    core: str | None
    """None: the other SKUs hold it."""
    ram: str | None
    gpu: tuple[str, ...]
    """Descriptions of one and the same part; empty: no GPU."""
    ssd: bool
    cores: Decimal | None
    attached: str | None
    listed_as: str | None
    purchase: str


@dataclass(frozen=True, slots=True)
class Amounts:
    """What a machine consists of."""

    cores: Decimal
    ram_gib: Decimal
    devices: int
    """GPUs, or chips of a TPU."""
    ssd_gib: int


@cache
def _table() -> tuple[Components, ...]:
    text = files("emporion.components.gcp").joinpath("data/price_components.csv").read_text(encoding="utf-8")
    rows = csv.DictReader(line for line in text.splitlines() if not line.startswith("#"))
    return tuple(
        Components(
            row["instance_type"],
            row["core"] or None,
            row["ram"] or None,
            tuple(name.strip() for name in row["gpu"].split(";") if name.strip()),
            row["ssd"] == "yes",
            Decimal(row["cores"]) if row["cores"] else None,
            row["attached"] or None,
            row["listed_as"] or None,
            row["purchase"],
        )
        for row in rows
    )


@cache
def components_of(instance_type: str) -> Components | None:
    """Return how a machine type is billed, or None: its SKUs are not known."""
    return next((row for row in _table() if fnmatchcase(instance_type, row.instance_type)), None)


@cache
def _wanted() -> frozenset[str]:
    return frozenset({LOCAL_SSD, *(name for row in _table() for name in (row.core, row.ram, *row.gpu) if name)})


@dataclass(frozen=True, slots=True)
class _Rate:
    since: datetime
    per_hour: Decimal


@dataclass(slots=True)
class PriceList:
    """The rates that count, by part, region and market."""

    now: datetime
    currency: str | None = None
    _rates: dict[tuple[str, str, str], _Rate] = field(default_factory=dict)
    _units: set[str] = field(default_factory=set)

    def take(self, skus: Iterable[Mapping[str, Any]]) -> None:
        """Take the SKUs of one page.

        Raises: UserError E-ADAPTER: when one that counts is not as documented, or its currency is another.
        """
        for sku in skus:
            part, spot = _part(str(sku.get("description", "")))
            category = sku.get("category")
            usage = str(category.get("usageType")) if isinstance(category, dict) else ""
            if part not in _wanted() or usage not in _MARKETS:
                continue
            rate = self._rate(sku, part)
            if rate is None:
                continue
            # The catalog lists some spot SKUs (A4) as OnDemand: the description is right.
            market = "spot" if spot else _MARKETS[usage]
            regions = sku.get("serviceRegions")
            if not isinstance(regions, list):
                raise odd(SOURCE, f"answers {part!r} without regions")
            for region in regions:
                self._keep((part, str(region), market), rate)

    def __len__(self) -> int:
        """Return how many rates there are."""
        return len(self._rates)

    def _keep(self, key: tuple[str, str, str], rate: _Rate) -> None:
        """Keep the newest; of equally old ones the dearer, whatever their order."""
        known = self._rates.get(key)
        if known is None or (known.since, known.per_hour) < (rate.since, rate.per_hour):
            self._rates[key] = rate

    def _rate(self, sku: Mapping[str, Any], part: str) -> _Rate | None:
        infos = sku.get("pricingInfo")
        if not isinstance(infos, list) or not all(isinstance(info, dict) for info in infos):
            raise odd(SOURCE, f"answers {part!r} without a price")
        dated = [(_date(info.get("effectiveTime")), info.get("pricingExpression")) for info in infos]
        in_force = [found for found in dated if found[0] <= self.now]
        if not in_force:
            return None
        since, expression = max(in_force, key=lambda found: found[0])
        if not isinstance(expression, dict):
            raise odd(SOURCE, f"answers {part!r} without a price")
        unit = str(expression.get("usageUnit"))
        if unit not in _PER_HOUR:
            if unit not in self._units:
                self._units.add(unit)
                _log.warning("provider=gcp part=%r left_out=unit unit=%r", part, unit)
            return None
        price = self._price(expression.get("tieredRates"), part)
        return None if price is None else _Rate(since, price * _PER_HOUR[unit])

    def _price(self, tiers: object, part: str) -> Decimal | None:
        """Return the price of the first tier that costs something: a free tier is one allowance for the account."""
        if not isinstance(tiers, list) or not all(isinstance(tier, dict) for tier in tiers):
            raise odd(SOURCE, f"answers {part!r} without rates")
        for tier in sorted(tiers, key=lambda tier: money(tier.get("startUsageAmount", 0), SOURCE, "startUsageAmount")):
            price = tier.get("unitPrice")
            if not isinstance(price, dict):
                raise odd(SOURCE, f"answers {part!r} without a unit price")
            amount = money(price.get("units") or 0, SOURCE, "units")
            amount += money(price.get("nanos") or 0, SOURCE, "nanos") * _NANO
            if amount:
                currency = str(price.get("currencyCode") or "USD").upper()
                if self.currency not in (None, currency):
                    raise odd(SOURCE, f"answers in several currencies: {self.currency}, {currency}")
                self.currency = currency
                return amount
        return None

    def per_hour(self, billed: Components, amounts: Amounts, region: str, market: str) -> Decimal | None:
        """Return what a machine costs an hour in a region and market, or None: a part has no price there."""
        cores = amounts.cores if billed.cores is None else billed.cores
        parts: list[tuple[tuple[str, ...], Decimal | int]] = []
        if billed.core is not None:
            parts.append(((billed.core,), cores))
        if billed.ram is not None:
            parts.append(((billed.ram,), amounts.ram_gib))
        if billed.gpu:
            parts.append((billed.gpu, amounts.devices))
        if billed.ssd:
            parts.append(((LOCAL_SSD,), amounts.ssd_gib))
        total = Decimal(0)
        for names, quantity in parts:
            rates = [rate for name in names if (rate := self._rates.get((name, region, market))) is not None]
            if not rates or not quantity:
                return None
            total += max(rates, key=lambda rate: (rate.since, rate.per_hour)).per_hour * quantity
        return total


def _part(description: str) -> tuple[str, bool]:
    """Return the part that a SKU is of, and whether its description says spot."""
    text = description.removeprefix(_SPOT_PREFIX)
    part, running, _ = text.partition(" running in ")
    if not running and text.startswith(LOCAL_SSD):
        part, _, _ = text.partition(" in ")
    whole = part.removesuffix(_SPOT_SUFFIX)
    return whole, text != description or whole != part


def _date(value: object) -> datetime:
    try:
        return moment(str(value)).astimezone(UTC)
    except ValueError:
        raise odd(SOURCE, f"gives {str(value)[:40]!r} as a date") from None
