"""A small CSV table of measurements, read strictly: every problem of the file at once, each with its line.

A measurement that is misread is worse than none, so nothing is skipped: one bad cell refuses the file.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from emporion.market.dates import moment
from emporion.market.errors import UserError, UserErrors, did_you_mean
from emporion.market.sites import zone_problem

__all__ = ["Row", "Sheet", "read_all"]

_Record = TypeVar("_Record")

_SHOWN = 40
"""Characters of a bad cell that a message shows."""
_LARGEST = 64 * 1024 * 1024
"""Bytes of a file of measurements, at most: one of links between all sites of the market has 5 MB."""


class Sheet:
    """The rows of one file, and what is wrong with them."""

    def __init__(self, path: Path, columns: Sequence[str], optional: Sequence[str] = ()) -> None:
        """Read the file and its header.

        Raises: UserError E-OBSERVED: when it is not there, is no CSV in UTF-8, or a column is missing or unknown.
        """
        self._path = path
        self._problems: list[UserError] = []
        reader = csv.reader(io.StringIO(self._text(), newline=""), strict=True)
        self._lines = self._read(reader)
        header = next(self._lines, (1, []))[1]
        self._columns = [name.strip().lower() for name in header]
        self._check(columns, optional)

    def _text(self) -> str:
        path = self._path
        try:
            with path.open("rb") as file:
                data = file.read(_LARGEST + 1)
        except FileNotFoundError:
            folder = path.parent
            near = did_you_mean(path.name, {each.name for each in folder.iterdir()}) if folder.is_dir() else None
            fix = f"did you mean {near}" if near else "give the path of a CSV file"
            raise self._error("does not exist", fix) from None
        except IsADirectoryError:
            raise self._error("is a folder", "give a CSV file") from None
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
            raise self._error(f"cannot be read: {reason.lower()}") from None
        if len(data) > _LARGEST:
            raise self._error(f"has more than {_LARGEST // 2**20} MiB", "one line per measured pair is enough")
        try:
            text = data.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            line = data[: error.start].count(b"\n") + 1
            raise self._error("is not text in UTF-8", "save it as CSV, encoded as UTF-8", line) from None
        if not text.strip():
            raise self._error("is empty", "the first line names the columns")
        if "\0" in text:
            raise self._error("is binary, not CSV", "save it as CSV, encoded as UTF-8")
        return text

    def _error(self, what: str, fix: str | None = None, line: int | None = None) -> UserError:
        return UserError("E-OBSERVED", f"file of measurements {what}", _place(self._path, line), fix)

    def _read(self, reader: Iterator[list[str]]) -> Iterator[tuple[int, list[str]]]:
        while True:
            line = reader.line_num + 1  # type: ignore[attr-defined]
            try:
                row = next(reader, None)
            except csv.Error as error:
                raise self._error(f"is not CSV: {error}", None, line) from None
            if row is None:
                return
            if any(cell.strip() for cell in row):
                yield line, row

    def _check(self, columns: Sequence[str], optional: Sequence[str]) -> None:
        known = (*columns, *optional)
        names = f"write as its first line: {','.join(known)}"
        if not any(name in known for name in self._columns):
            raise self._error("does not begin with the names of its columns", names, 1)
        missing = [name for name in columns if name not in self._columns]
        problems = (
            [self._error(f"has no column {', '.join(missing)}", f"columns: {','.join(known)}", 1)] if missing else []
        )
        for name in dict.fromkeys(self._columns):
            if name not in known:
                near = did_you_mean(name, known)
                fix = f"did you mean {near}" if near else f"known columns: {', '.join(known)}"
                problems.append(self._error(f"has the unknown column {name[:_SHOWN]!r}", fix, 1))
            elif self._columns.count(name) > 1:
                problems.append(self._error(f"has the column {name} twice", None, 1))
        if problems:
            raise UserErrors.of(problems)

    def rows(self) -> Iterator[Row]:
        """Yield every row that has as many cells as the header; one that has not is noted."""
        count = len(self._columns)
        for line, cells in self._lines:
            if len(cells) == count:
                yield Row(self, line, dict(zip(self._columns, map(str.strip, cells), strict=True)))
            else:
                self.note(line, f"has {len(cells)} cells where the first line names {count}")

    def note(self, line: int, what: str, fix: str | None = None) -> None:
        """Note a problem of one line."""
        self._problems.append(UserError("E-OBSERVED", f"measurement {what}", _place(self._path, line), fix))

    def finish(self) -> None:
        """Tell the problems that were noted.

        Raises: UserError E-OBSERVED: every problem of the file.
        """
        if self._problems:
            raise UserErrors.of(self._problems)


def read_all(
    sheet: Sheet, read: Callable[[Row], _Record], key: Callable[[_Record], object], twice: tuple[str, str]
) -> tuple[_Record, ...]:
    """Return the records of a table, in its order.

    `key` is equal for two records that say the same; `twice` is what is then wrong with the second one, before the
    line of the first, and what to do.

    Raises: UserError E-OBSERVED: with every problem of the file, each with its line.
    """
    found: list[_Record] = []
    seen: dict[object, int] = {}
    for row in sheet.rows():
        each = read(row)
        if row.bad:
            continue
        first = seen.setdefault(key(each), row.line)
        if first != row.line:
            row.problem(f"{twice[0]} {first}", twice[1])
            continue
        found.append(each)
    sheet.finish()
    return tuple(found)


def _place(path: Path, line: int | None) -> str:
    return str(path) if line is None else f"{path}:{line}"


@dataclass(slots=True)
class Row:
    """One line, its cells by column; a cell that cannot be read is noted and comes back as a value of its type."""

    _sheet: Sheet
    line: int
    _cells: Mapping[str, str]
    bad: bool = field(default=False)
    """Whether a cell of this row was noted: the row is then of no use."""

    def problem(self, what: str, fix: str | None = None) -> None:
        """Note what is wrong with this row."""
        self.bad = True
        self._sheet.note(self.line, what, fix)

    def text(self, column: str) -> str | None:
        """Return a cell's text; None: it is empty or the file has no such column."""
        return self._cells.get(column) or None

    def required(self, column: str) -> str:
        """Return the text of a cell that must not be empty."""
        text = self.text(column)
        if text is None:
            self.problem(f"has no {column}")
        return text or ""

    def place(self, prefix: str = "") -> tuple[str, str, str | None]:
        """Return the provider, region and zone of the columns with a prefix; zone None: anywhere in the region."""
        provider, region = self.required(f"{prefix}provider").lower(), self.required(f"{prefix}region")
        zone = self.text(f"{prefix}zone")
        problem = zone_problem(provider, zone) if zone is not None else None
        if problem is not None:
            self.problem(
                f"has the {prefix}zone {zone!r}: {problem}", "write the zone's id, as `emporion offers list` does"
            )
        return provider, region, zone

    def one_of(self, column: str, allowed: Sequence[str]) -> str | None:
        """Return a cell that is one of a few words, or None when it is empty."""
        text = self.text(column)
        if text is not None and text.lower() not in allowed:
            near = did_you_mean(text, list(allowed))
            self.problem(
                f"has the {column} {text[:_SHOWN]!r}",
                f"did you mean {near}" if near else f"one of {', '.join(allowed)}",
            )
            return None
        return text.lower() if text is not None else None

    def number(self, column: str, least: float, most: float, unit: str, *, whole: bool = False) -> float | None:
        """Return a number between two bounds, None when the cell is empty."""
        text = self.text(column)
        if text is None:
            return None
        try:
            value = float(text) if text.isascii() and "_" not in text else math.nan
        except ValueError:
            value = math.nan
        if math.isnan(value) or (whole and not value.is_integer()):
            kind = "whole number" if whole else "number"
            self.problem(f"has the {column} {text[:_SHOWN]!r}, which is no {kind}", f"write only the {kind} of {unit}")
            return None
        if not least <= value <= most:
            fix = f"a {column} lies between {least:g} and {most:g} {unit}"
            self.problem(f"has the {column} {text[:_SHOWN]}, which is out of range", fix)
            return None
        return value

    def date(self, column: str) -> str:
        """Return a date as an offers file writes it."""
        text = self.required(column)
        if text:
            try:
                moment(text)
            except ValueError:
                self.problem(f"has the {column} {text[:_SHOWN]!r}, which is no date", "2026-12-01 or 2026-12-01T05:30Z")
        return text
