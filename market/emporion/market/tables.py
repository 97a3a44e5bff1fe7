"""The small tables of data/: read once per process, typed by whoever asks."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from functools import cache
from pathlib import Path

__all__ = ["DATA", "read_rows", "rows"]

DATA = Path(__file__).with_name("data")


def rows(name: str) -> tuple[Mapping[str, str], ...]:
    """Return the rows of one bundled CSV file as column -> text; an empty text is unknown."""
    return read_rows(DATA / name)


@cache
def read_rows(path: Path) -> tuple[Mapping[str, str], ...]:
    """Return the rows of a room's own CSV file, read once per process."""
    with path.open(encoding="utf-8", newline="") as file:
        return tuple(csv.DictReader(file))
