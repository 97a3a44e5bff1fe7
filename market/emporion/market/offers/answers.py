"""Reading what a price source answers: the checks and the row that its adapters have in common."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal, InvalidOperation
from typing import Any

from emporion.market.errors import ExitCode, UserError
from emporion.market.offers.adapter import Row
from emporion.market.offers.document import REQUIRED
from emporion.market.units import plain

__all__ = ["amount", "listed", "mapping", "money", "odd", "row", "text"]

_MOST = Decimal(10) ** 12
_DIGITS = 9


def odd(source: str, what: str, fix: str = "try again later; the prices of the last refresh stay") -> UserError:
    """Return the error for an answer that is not what its source documents."""
    return UserError("E-ADAPTER", f"prices cannot be read: {source} {what}", source, fix, ExitCode.FAILED)


def money(value: object, source: str, what: str) -> Decimal:
    """Return an amount of a JSON answer, exactly as it was written.

    Raises: UserError E-ADAPTER: when it is no number, below 0, or above what anything costs or measures.
    """
    try:
        found = Decimal(str(value))
    except InvalidOperation:
        found = Decimal("NaN")
    if isinstance(value, bool) or not found.is_finite() or not 0 <= found <= _MOST:
        raise odd(source, f"gives {str(value)[:40]!r} as {what}")
    return found


def amount(value: object, source: str, what: str) -> Decimal | None:
    """Return an amount that may be missing; None: it is null.

    Raises: UserError E-ADAPTER: as `money`.
    """
    return None if value is None else money(value, source, what)


def mapping(value: object, source: str, what: str) -> Mapping[str, Any]:
    """Return a JSON object.

    Raises: UserError E-ADAPTER: when it is none.
    """
    if not isinstance(value, dict):
        raise odd(source, f"answers no {what}")
    return value


def listed(value: object, source: str, what: str) -> list[Mapping[str, Any]]:
    """Return a JSON list of objects.

    Raises: UserError E-ADAPTER: when it is none.
    """
    if not isinstance(value, list) or not all(isinstance(each, dict) for each in value):
        raise odd(source, f"answers no list of {what}")
    return value


def text(item: Mapping[str, Any], name: str, source: str) -> str:
    """Return a text of a JSON object.

    Raises: UserError E-ADAPTER: when it is missing, empty or none.
    """
    value = item.get(name)
    if not isinstance(value, str) or not value.strip():
        raise odd(source, f"answers an offer without {name}")
    return value.strip()


def row(
    *,
    provider: str,
    region: str,
    instance_type: str,
    gpu: str,
    gpu_count: int | Decimal,
    on_demand: Decimal | None,
    spot: Decimal | None,
    source: str,
    as_of: str,
    more: Mapping[str, str | Decimal | None] | None = None,
) -> Row:
    """Return a line of an offers file. Prices are USD per hour of the whole machine; None, in `more` too: unknown."""
    cells = dict.fromkeys(REQUIRED, "") | {
        "provider": provider,
        "region": region,
        "instance_type": instance_type,
        "gpu": gpu,
        "gpu_count": plain(Decimal(gpu_count)),
        "on_demand_usd_hr": _cell(on_demand),
        "spot_usd_hr": _cell(spot),
        "source": source,
        "as_of": as_of,
    }
    if spot is not None:
        cells |= {"spot_source": source, "spot_as_of": as_of}
    return cells | {name: _cell(value) for name, value in (more or {}).items()}


def _cell(value: str | Decimal | None) -> str:
    if isinstance(value, Decimal):
        return plain(round(value, _DIGITS))
    return value or ""
