"""When a pinned plan is stale: the prices it rests on are older than the intent allows, or than a week.

A pin never goes bad by itself: the stack stays what it is. Only the money that was agreed to may have moved.
"""

from __future__ import annotations

import math
from datetime import datetime
from typing import Any

from emporion.market.ages import age_s
from emporion.market.dates import moment
from emporion.market.pin import PinnedPlacement

__all__ = ["pricing", "pricing_age_s", "pricing_as_of", "stale_note"]

_DAY_S = 86_400
_WEEK_S = 7 * _DAY_S


def pricing_as_of(pinned: PinnedPlacement) -> str | None:
    """Return the date of the oldest price among the pinned machines; None: one bears no date."""
    lines = [line for _, each in pinned.clusters for line in each.cost_lines[: len(each.pools)]]
    dates = [line.get("as_of") for line in lines] or [pinned.catalogue_as_of]
    known = [str(date) for date in dates if _is_date(date)]
    return min(known) if len(known) == len(dates) else None


def _is_date(text: object) -> bool:
    """Return whether a pin's date can be read; it lies in a file that people edit."""
    try:
        moment(str(text or ""))
    except ValueError:
        return False
    return True


def pricing_age_s(pinned: PinnedPlacement, now: datetime) -> float:
    """Return how old the oldest price of the pinned machines is, in seconds; without a date it is as old as can be."""
    return age_s(pricing_as_of(pinned), now)


def pricing(pinned: PinnedPlacement, now: datetime) -> dict[str, Any]:
    """Return how old a pin's prices are, as JSON: `as_of`, `age_days` (null: undated), `stale` (a sentence or null)."""
    seconds = pricing_age_s(pinned, now)
    days = None if math.isinf(seconds) else round(seconds / _DAY_S, 1)
    return {"as_of": pricing_as_of(pinned), "age_days": days, "stale": stale_note(pinned, now)}


def stale_note(pinned: PinnedPlacement, now: datetime) -> str | None:
    """Return that the pinned prices are older than `constraints.max_price_age`, or than 7 days; None: they are not."""
    constraints = pinned.intent.get("constraints")
    asked = constraints.get("max_price_age_s") if isinstance(constraints, dict) else None
    most_s = asked if type(asked) is int else _WEEK_S
    if pricing_age_s(pinned, now) <= most_s:
        return None
    as_of = pricing_as_of(pinned)
    dated = f"prices of {as_of}" if as_of else "prices without a date"
    return f"pricing older than {_text(most_s)}: pinned {pinned.planned_at[:10]} with {dated}"


def _text(seconds: int) -> str:
    for unit, size in (("day", _DAY_S), ("hour", 3600), ("minute", 60)):
        if seconds % size == 0 and seconds >= size:
            count = seconds // size
            return f"{count} {unit}" + ("s" if count != 1 else "")
    return f"{seconds} seconds"
