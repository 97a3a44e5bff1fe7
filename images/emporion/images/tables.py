"""The tables of data/: what works with what, each row with its source and date."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from emporion.market.tables import read_rows

__all__ = ["rows"]

_DATA = Path(__file__).with_name("data")


def rows(name: str) -> tuple[Mapping[str, str], ...]:
    """Return the rows of one table as column -> text; an empty text is unknown."""
    return read_rows(_DATA / name)
