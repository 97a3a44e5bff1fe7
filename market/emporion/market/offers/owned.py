"""What a machine costs an hour that its user owns: bought once, fed with power, housed by the month."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import ROUND_CEILING, Decimal
from typing import Any

from emporion.market.cost_lines import HOURS_PER_MONTH
from emporion.market.errors import UserError
from emporion.market.intent.keys import Key, Section
from emporion.market.intent.readers import whole
from emporion.market.money import Rate, money_text, parse_money
from emporion.market.units import parse_number, plain, shown

__all__ = ["OWNED", "Owned", "owned", "owned_problems"]

_MICRO = Decimal("0.000001")


@dataclass(frozen=True, slots=True)
class Owned:
    """The cost of one machine of one's own."""

    purchase_usd: Decimal
    months: int
    """Over which the purchase is spread, in every hour of them, used or not."""
    power_kw: Decimal = Decimal(0)
    """Drawn on average, cooling included."""
    usd_per_kwh: Decimal = Decimal(0)
    hosting_usd_per_month: Decimal = Decimal(0)

    @property
    def usd_per_hour(self) -> Decimal:
        """The hourly cost, to 1e-6 USD, rounded up."""
        monthly = self.purchase_usd / self.months + self.hosting_usd_per_month
        return (monthly / HOURS_PER_MONTH + self.power_kw * self.usd_per_kwh).quantize(_MICRO, ROUND_CEILING)

    def __str__(self) -> str:
        """Return how the hourly cost comes about."""
        parts = [f"${money_text(self.purchase_usd)} over {self.months} months"]
        if self.power_kw:
            parts.append(f"{plain(self.power_kw)} kW at ${money_text(self.usd_per_kwh)}/kWh")
        if self.hosting_usd_per_month:
            parts.append(f"${money_text(self.hosting_usd_per_month)}/month for hosting")
        return f"owned: {', '.join(parts)}"


def _purchase(text: str, rates: Mapping[str, Rate]) -> Decimal:
    money = parse_money(text, rates)
    if money.per_gpu or money.period is not None:
        raise UserError("E-MONEY", f"{shown(text)} is not an amount paid once", fix="write purchase: $180000")
    return money.usd


def _hosting(text: str, rates: Mapping[str, Rate]) -> Decimal:
    money = parse_money(text, rates)
    if money.per_gpu or money.period != "month":
        raise UserError("E-MONEY", f"{shown(text)} is not per month", fix="write hosting: $900/month")
    return money.usd


def _energy(text: str, rates: Mapping[str, Rate]) -> Decimal:
    match = re.fullmatch(r"(.+?)\s*/\s*kwh", text.strip(), re.IGNORECASE)
    if match is None:
        raise UserError("E-UNIT", f"{shown(text)} is not a price per kWh", fix="write energy: $0.15/kWh")
    return parse_money(match[1], rates).usd


def _power(text: str) -> Decimal:
    match = re.fullmatch(r"([^a-z\s]*)\s*(k?w)", text.strip(), re.IGNORECASE)
    if match is None:
        raise UserError("E-UNIT", f"{shown(text)} is not a power in kW or W", fix="write power: 6.5kW")
    return parse_number(match[1]) / (1 if match[2].lower() == "kw" else 1000)


OWNED = Section(
    "owned",
    "What it costs to own the machine, in place of `price`.",
    (
        Key("purchase", "Paid once for one machine.", _purchase, "$180000", money=True),
        Key("months", "Months over which the purchase is spread.", whole, "48"),
        Key("power", "Power drawn on average, cooling included.", _power, "6.5kW"),
        Key("energy", "Price of energy.", _energy, "$0.15/kWh", money=True),
        Key("hosting", "Space, network and hands, per month.", _hosting, "$900/month", money=True),
    ),
)


def owned_problems(given: set[str]) -> Iterator[UserError]:
    """Yield what is missing among the keys of an `OWNED` section."""
    for key, beside, example in (
        ("purchase", None, "$180000"), ("months", None, "48"), ("energy", "power", "$0.15/kWh"),
        ("power", "energy", "6.5kW"),
    ):  # fmt: skip
        if key not in given and (beside is None or beside in given):
            because = f" beside {beside}" if beside else ""
            yield UserError("E-MISSING", f"owned needs {key}{because}", fix=f"write {key}: {example}")


def owned(values: Mapping[str, Any]) -> Owned:
    """Return the cost of the values of an `OWNED` section that misses nothing."""
    return Owned(
        values["purchase"], values["months"], values.get("power", Decimal(0)), values.get("energy", Decimal(0)),
        values.get("hosting", Decimal(0)),
    )  # fmt: skip
