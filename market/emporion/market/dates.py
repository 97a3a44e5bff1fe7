"""Dates of sources, as an offers file writes them: a year, a month, a day, or a moment."""

from __future__ import annotations

import re
from datetime import UTC, datetime

__all__ = ["moment", "stamp"]

_FORMS = {10: "%Y-%m-%d", 7: "%Y-%m", 4: "%Y"}
"""How a date is written, by its length; anything longer is a moment of ISO 8601."""
_SHAPE = re.compile(r"\d{4}(-\d{2}(-\d{2}([T ]\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:?\d{2})?)?)?)?")


def moment(as_of: str) -> datetime:
    """Return the first instant of a date, in UTC where it names no offset.

    Raises: ValueError: when the text is not a date of the calendar.
    """
    if not _SHAPE.fullmatch(as_of):
        message = f"{as_of!r} is not a date"
        raise ValueError(message)
    form = _FORMS.get(len(as_of))
    told = datetime.fromisoformat(as_of) if form is None else datetime.strptime(as_of, form).replace(tzinfo=UTC)
    return told if told.tzinfo else told.replace(tzinfo=UTC)


def stamp(at: datetime) -> str:
    """Return a moment as the column `as_of` holds it: UTC, to the second."""
    return at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
