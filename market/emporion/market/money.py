"""Money as people write it: `$2.80/gpu/hr`, `$16/hr`, `$500`, `16 USD`, read exactly into USD.

Other currencies end here: what one unit is worth comes as an argument (`--rate EUR=1.10`), never from a table of ours,
which would be wrong the day after (cases/market.md 23).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date
from decimal import Decimal

from emporion.market.errors import UserError, UserErrors
from emporion.market.units import parse_number, plain, shown

__all__ = ["Money", "Rate", "currency_code", "money_text", "parse_money", "parse_rates"]

_SYMBOLS: Mapping[str, str] = {"$": "USD", "€": "EUR", "£": "GBP", "¥": "JPY", "₹": "INR", "US$": "USD"}
_PERIODS: Mapping[str, str] = {
    **dict.fromkeys(("h", "hr", "hour", "hourly"), "hour"),
    **dict.fromkeys(("d", "day", "daily"), "day"),
    **dict.fromkeys(("mo", "mon", "month", "monthly"), "month"),
}
_AMOUNT = re.compile(r"(-?)(US\$|[$€£¥₹]|[A-Za-z]{3}(?![A-Za-z]))?\s*(-?[0-9][0-9.,_]*)\s*([A-Za-z]{3})?")
_NOT_FINITE = re.compile(r"[-+$]?\.?(nan|inf|infinity)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Money:
    """An amount in USD with its basis."""

    usd: Decimal
    per_gpu: bool = False
    period: str | None = None
    """`hour`, `day`, `month`, or None: not said."""


@dataclass(frozen=True, slots=True)
class Rate:
    """What one unit of a currency is worth."""

    usd: Decimal
    as_of: str | None = None
    """The day of the rate, YYYY-MM-DD."""


def currency_code(name: str) -> str:
    """Return the code of a currency that is written as its code or its sign: `eur` and `€` are `EUR`."""
    return _SYMBOLS.get(name, name.upper())


def parse_rates(texts: Iterable[str], today: date) -> dict[str, Rate]:
    """Return rates by currency, read from `EUR=1.10` (of `today`) or `EUR=1.10@2026-11-30`: USD for one unit.

    Raises: UserError: all problems at once; E-CURRENCY: when a text is no rate; E-NUMBER, E-RANGE: as `parse_number`;
    E-CONTRADICTION: when a currency has two rates.
    """
    found: dict[str, Rate] = {}
    problems: list[UserError] = []
    for text in texts:
        try:
            currency, rate = _rate(text, today)
            if found.setdefault(currency, rate) != rate:
                raise UserError("E-CONTRADICTION", f"{currency} has two rates", fix="keep one of them")  # noqa: TRY301
        except UserError as error:
            error.where = "--rate"
            problems.append(error)
    if problems:
        raise UserErrors.of(problems)
    return found


_RATE = "write what one unit is worth in USD, as EUR=1.10 or EUR=1.10@2026-11-30"


def _rate(text: str, today: date) -> tuple[str, Rate]:
    name, equals, rest = (part.strip() for part in text.partition("="))
    currency = currency_code(name)
    number, at, day = (part.strip() for part in rest.partition("@"))
    if not equals or re.fullmatch(r"[A-Z]{3}", currency) is None:
        raise UserError("E-CURRENCY", f"{shown(text)} is not the rate of a currency", fix=_RATE)
    if currency == "USD":
        raise UserError("E-CURRENCY", f"{shown(text)}: USD is what rates are given in", fix=_RATE)
    try:
        as_of = date.fromisoformat(day) if at else today
    except ValueError:
        raise UserError("E-CURRENCY", f"{shown(day)} is not a day", fix=_RATE) from None
    if as_of > today:
        raise UserError("E-CURRENCY", f"{shown(day)} is still to come", fix=_RATE)
    return currency, Rate(parse_number(number), as_of.isoformat())


def parse_money(text: str, rates: Mapping[str, Rate] | None = None) -> Money:
    """Return an amount of money in USD; a bare number is USD.

    `rates` by currency; without the currency's rate the amount is refused.

    Raises: UserError E-NUMBER, E-RANGE: as `parse_number`; E-MONEY: when the text is not an amount or its basis is
    unknown; E-CURRENCY: when the currency has no rate.
    """
    amount, *basis = [part.strip() for part in text.strip().split("/")]
    per_gpu, period = False, None
    for part in basis:
        word = part.lower()
        if word in ("gpu", "gpus") and not per_gpu and period is None:
            per_gpu = True
        elif word in _PERIODS and period is None:
            period = _PERIODS[word]
        else:
            raise UserError("E-MONEY", f"{shown(text)} has the unknown basis {shown(part)}", fix=_EXAMPLE)
    value, currency = _amount(amount, text)
    if currency != "USD":
        rate = (rates or {}).get(currency)
        if rate is None:
            raise UserError(
                "E-CURRENCY",
                f"no rate for {currency} in {shown(text)}",
                fix=f"write the amount in USD, or say the rate: emporion plan --rate {currency}=…",
            )
        value *= rate.usd
    return Money(value, per_gpu, period)


_EXAMPLE = "write $16/hr for the whole cluster, $2.80/gpu/hr per GPU, or $500"


def _amount(amount: str, text: str) -> tuple[Decimal, str]:
    if _NOT_FINITE.fullmatch(amount):
        raise UserError("E-RANGE", f"{shown(text)} is not a finite amount", fix=_EXAMPLE)
    match = _AMOUNT.fullmatch(amount)
    if match is None:
        raise UserError("E-MONEY", f"{shown(text)} is not an amount of money", fix=_EXAMPLE)
    sign, before, number, after = match.groups()
    named = [currency_code(name) for name in (before, after) if name]
    if len(set(named)) > 1:
        raise UserError("E-CURRENCY", f"{shown(text)} names two currencies", fix=_EXAMPLE)
    return parse_number(sign + number), named[0] if named else "USD"


def money_text(usd: Decimal) -> str:
    """Return USD as a decimal string with at least two decimals, equal for equal amounts."""
    whole, _, cents = plain(usd).partition(".")
    return f"{whole}.{cents.ljust(2, '0')}"
