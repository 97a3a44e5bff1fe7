"""What the prices of a row are: read strictly, converted, checked for sense, and only for the ways it is sold."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal
from functools import cache

from emporion.market.cost_lines import HOURS_PER_MONTH
from emporion.market.errors import did_you_mean
from emporion.market.money import Rate, currency_code
from emporion.market.offers.shape import RowError, Shape
from emporion.market.tables import rows
from emporion.market.units import plain

__all__ = ["MARKETS", "ON_PREMISES", "Prices", "read_prices", "spot_is_dearer"]

MARKETS = ("on_demand", "spot", "reserved")
_PURCHASE: Mapping[str, str | None] = {
    **dict.fromkeys(("on_demand", "on-demand", "ondemand"), "on_demand"),
    **dict.fromkeys(("spot", "preemptible", "interruptible"), "spot"),
    **dict.fromkeys(("reserved", "reservation", "committed"), "reserved"),
    **dict.fromkeys(("flex", "flex_start", "flex-start", "queued", "capacity_block", "capacity-block", "dws"), None),
}
"""Ways of selling -> market; None: a queue or a block, which no market of ours is."""
ON_PREMISES = "onprem"
"""The provider of machines that the user owns: a price of 0 is a statement there, everywhere else a missing one."""
_ROUNDING = Decimal("1.0001")
_MICRO = Decimal("0.000001")
_PRICE = re.compile(r"\$?\s*([0-9]{1,9}(?:\.[0-9]{1,12})?)")
_FACTOR = 40
"""A price per GPU is implausible above 40 times, or below a 40th, of the median on-demand price of that model in the
bundled snapshot. That catches cents for dollars (100) and months for hours (730); the snapshot spans 1/22 to 5.5."""
_ANY_GPU = (Decimal("0.005"), Decimal(500))
"""The plausible range per hour of a GPU whose model is unknown or not in the snapshot."""
_ANY_VCPU = (Decimal("0.0005"), Decimal(5))
_ANY_MACHINE = (Decimal("0.0005"), Decimal(5000))


@dataclass(frozen=True, slots=True)
class Prices:
    """The prices of a row by market, in USD per instance-hour as texts, with what was said against them."""

    sold: Mapping[str, str]
    listed_on_demand: str | None
    currency_note: str | None
    problems: tuple[tuple[str, str], ...]
    """(kind, reason): `unpriced`, `quarantined`, `unsold`, `refused` (no rate), `warning`."""


@cache
def _reference() -> Mapping[str, Decimal]:
    """Return the median on-demand price per GPU-hour of each model (spot where it has no other) in the snapshot."""
    on_demand: dict[str, list[Decimal]] = {}
    spot: dict[str, list[Decimal]] = {}
    for row in rows("offers.csv"):
        for found, column in ((on_demand, "on_demand_usd_hr"), (spot, "spot_usd_hr")):
            if row[column]:
                found.setdefault(row["gpu"], []).append(Decimal(row[column]) / int(row["gpu_count"]))
    return {gpu: _median(prices) for gpu, prices in (spot | on_demand).items()}


def _median(prices: list[Decimal]) -> Decimal:
    """Return the median; the module `statistics` would cost each command 8 ms to load."""
    ordered = sorted(prices)
    middle = len(ordered) // 2
    return ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2


def _plausible(shape: Shape) -> tuple[Decimal, Decimal]:
    """Return the lowest and the highest price per instance-hour that is believed."""
    if shape.devices == 0:
        low, high = _ANY_VCPU if shape.vcpus else _ANY_MACHINE
        scale = Decimal(shape.vcpus or 1)
        return low * scale, high * scale
    reference = _reference().get(shape.gpu or "")
    if reference is None:
        low, high = _ANY_GPU
    else:
        low, high = reference / _FACTOR, reference * _FACTOR
    return low * shape.devices, high * shape.devices


def read_prices(cells: Mapping[str, str], shape: Shape, rates: Mapping[str, Rate]) -> Prices:
    """Return the prices of a row's cells.

    Raises: RowError: when one cannot be read, or two say different things.
    """
    problems: list[tuple[str, str]] = []
    found = {
        "on_demand": _on_demand(cells, shape),
        "spot": _read(cells["spot_usd_hr"], "spot_usd_hr"),
        "reserved": _read(cells["reserved_usd_hr"], "reserved_usd_hr"),
    }
    currency = currency_code(cells["currency"]) or "USD"
    note = None
    if currency != "USD":
        found, note = _converted(found, currency, rates, problems)
    sold: dict[str, Decimal] = {}
    for market, price in found.items():
        if price is None:
            continue
        if price == 0 and cells["provider"] != ON_PREMISES:
            problems.append(("unpriced", f"{market} price is 0"))
        elif price and (doubt := _doubt(price, shape, market)):
            problems.append(("quarantined", doubt))
        else:
            sold[market] = price
    listed = sold.get("on_demand")
    for market in [market for market in sold if market not in _ways(cells["purchase"])]:
        problems.append(("unsold", f"listed, but not sold {market.replace('_', '-')}: only {cells['purchase']}"))
        del sold[market]
    if "spot" in sold and listed is not None and spot_is_dearer(sold["spot"], listed):
        problems.append(("warning", f"spot {plain(sold['spot'])} is dearer than on-demand {plain(listed)}"))
    if not any(found.values()) and not sold and not problems:
        problems.append(("unpriced", "no price"))
    return Prices(
        {market: plain(price) for market, price in sold.items()},
        None if listed is None else plain(listed),
        note,
        tuple(problems),
    )


def spot_is_dearer(spot: Decimal, on_demand: Decimal) -> bool:
    """Return whether spot costs more than on-demand by more than its rounding to four decimals."""
    return spot > on_demand * _ROUNDING


def _read(text: str, name: str) -> Decimal | None:
    if not text:
        return None
    match = _PRICE.fullmatch(text)
    if match is None:
        if re.fullmatch(r"\$?\s*-\s*\$?[0-9.]+", text):
            raise RowError(f"{name} {text[:40]!r} is negative")
        raise RowError(f"{name} {text[:40]!r} is not a plain price in USD per hour")
    return Decimal(match[1])


def _on_demand(cells: Mapping[str, str], shape: Shape) -> Decimal | None:
    """Return the on-demand price per instance-hour; several columns must say the same (cases/market.md 25)."""
    hourly = _read(cells["on_demand_usd_hr"], "on_demand_usd_hr")
    if not (cells["price_per_gpu"] or cells["price_per_instance"] or cells["on_demand_usd_month"]):
        return hourly
    per_gpu = _read(cells["price_per_gpu"], "price_per_gpu")
    if per_gpu is not None and shape.devices == 0:
        raise RowError("price_per_gpu on a machine without GPU")
    per_month = _read(cells["on_demand_usd_month"], "on_demand_usd_month")
    said = {
        "on_demand_usd_hr": hourly,
        "price_per_instance": _read(cells["price_per_instance"], "price_per_instance"),
        "price_per_gpu": None if per_gpu is None else per_gpu * shape.devices,
        "on_demand_usd_month": None if per_month is None else _per_hour(per_month),
    }
    values = {name: price for name, price in said.items() if price is not None}
    if len(set(values.values())) > 1:
        parts = " and ".join(f"{name} gives {plain(price)}" for name, price in values.items())
        raise RowError(f"prices contradict each other: {parts} USD per instance-hour")
    return next(iter(values.values()), None)


def _per_hour(per_month: Decimal) -> Decimal:
    return (per_month / HOURS_PER_MONTH).quantize(_MICRO, ROUND_HALF_UP)


def _converted(
    found: Mapping[str, Decimal | None],
    currency: str,
    rates: Mapping[str, Rate],
    problems: list[tuple[str, str]],
) -> tuple[dict[str, Decimal | None], str | None]:
    rate = rates.get(currency)
    if rate is None:
        problems.append(("refused", f"no rate for {currency[:12]}"))
        return dict.fromkeys(found, None), None
    note = f"converted from {currency} at {plain(rate.usd)} USD ({rate.as_of or 'undated rate'})"
    return {market: None if price is None else price * rate.usd for market, price in found.items()}, note


def _doubt(price: Decimal, shape: Shape, market: str) -> str | None:
    low, high = _plausible(shape)
    if low <= price <= high or (shape.mig and price <= high):
        return None
    what = shape.gpu or ("a machine without GPU" if shape.devices == 0 else "a GPU of unknown model")
    return f"{market} price {plain(price)} is implausible for {max(shape.devices, 1)} x {what}"


@cache
def _ways(purchase: str) -> frozenset[str]:
    """Return the markets in which a row is sold; an empty column: in each in which it has a price.

    Raises: RowError: when a way is unknown.
    """
    words = [word for word in re.split(r"[\s,;|+]+", purchase.lower()) if word]
    if not words:
        return frozenset(MARKETS)
    for word in words:
        if word not in _PURCHASE:
            near = did_you_mean(word, set(_PURCHASE))
            raise RowError(f"purchase {word[:40]!r} is unknown" + (f", did you mean {near}" if near else ""))
    return frozenset(market for word in words if (market := _PURCHASE[word]))
