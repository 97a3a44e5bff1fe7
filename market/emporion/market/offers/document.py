"""An offers file as a document: is it there, is it text, is it whole, has it the columns."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from pathlib import Path

from emporion.market.errors import UserError, UserErrors, did_you_mean

__all__ = ["OPTIONAL", "REQUIRED", "Document", "read_bytes"]

REQUIRED = (
    "provider", "region", "zone", "instance_type", "gpu", "gpu_count", "gpu_vram_gb", "vcpus", "ram_gb",
    "on_demand_usd_hr", "spot_usd_hr", "source", "as_of",
)  # fmt: skip
OPTIONAL = (
    "currency", "tier", "arch", "purchase", "mig", "advertised", "price_per_gpu", "price_per_instance",
    "on_demand_usd_month", "reserved_usd_hr",
)  # fmt: skip
"""`currency` names that of all prices of a row; a figure per month is one only where the column says so (730 hours)."""
_INSTEAD = ("price_per_gpu", "price_per_instance", "on_demand_usd_month")
"""What may stand in the place of on_demand_usd_hr."""
_ENCODINGS = {b"\xff\xfe": "UTF-16", b"\xfe\xff": "UTF-16", b"\x1f\x8b": "gzip", b"PK\x03\x04": "a zip archive"}


def _bad(path: str, what: str, fix: str | None = None, line: int | None = None) -> UserError:
    return UserError("E-OFFERS", f"offers file {what}", path if line is None else f"{path}:{line}", fix)


def read_bytes(path: Path) -> bytes:
    """Return the content of an offers file.

    Raises: UserError E-OFFERS: when it does not exist, cannot be read or is empty.
    """
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        near = did_you_mean(path.name, _neighbours(path))
        raise _bad(str(path), "does not exist", f"did you mean {near}" if near else None) from None
    except IsADirectoryError:
        raise _bad(str(path), "is a folder", "give a CSV file") from None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise _bad(str(path), f"cannot be read: {reason.lower()}") from None
    if not data.strip():
        raise _bad(str(path), "is empty", f"the first line names the columns: {','.join(REQUIRED)}")
    return data


def _neighbours(path: Path) -> set[str]:
    try:
        return {file.name for file in path.parent.iterdir()}
    except OSError:
        return set()


class Document:
    """The rows of an offers file, each with the number of its line."""

    def __init__(self, path: str, data: bytes) -> None:
        """Read the header.

        Raises: UserError E-OFFERS: when it is not CSV in UTF-8, or a column is missing or unknown.
        """
        self.path = path
        text = self._content = self._text(data)
        self._whole = text.endswith(("\n", "\r"))
        self._reader = csv.reader(io.StringIO(text, newline=""), strict=True)
        header = next(self._lines(), (1, []))[1]
        self.columns = tuple(name.strip().lower() for name in header)
        self._check_columns()

    def _text(self, data: bytes) -> str:
        for magic, name in _ENCODINGS.items():
            if data.startswith(magic):
                raise _bad(self.path, f"is {name}, not CSV in UTF-8", "save it as CSV, encoded as UTF-8")
        try:
            text = data.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            line = data[: error.start].count(b"\n") + 1
            raise _bad(self.path, "is not text in UTF-8", "save it as CSV, encoded as UTF-8", line) from None
        if "\0" in text:
            line = text[: text.index("\0")].count("\n") + 1
            raise _bad(self.path, "is binary, not CSV", "save it as CSV, encoded as UTF-8", line)
        return text

    def _check_columns(self) -> None:
        known = (*REQUIRED, *OPTIONAL)
        if not any(name in known for name in self.columns):
            raise self._no_table()
        errors = []
        missing = [name for name in REQUIRED if name not in self.columns]
        if any(name in self.columns for name in _INSTEAD):
            missing = [name for name in missing if name != "on_demand_usd_hr"]
        errors += [_bad(self.path, f"has no column {name}", f"columns: {','.join(REQUIRED)}", 1) for name in missing]
        for name in self.columns:
            if name not in known:
                near = did_you_mean(name, known)
                fix = f"did you mean {near}" if near else f"known columns: {', '.join(known)}"
                errors.append(_bad(self.path, f"has the unknown column {name[:40]!r}", fix, 1))
        twice = sorted({name for name in self.columns if self.columns.count(name) > 1})
        errors += [_bad(self.path, f"has the column {name[:40]!r} twice", None, 1) for name in twice]
        if errors:
            raise UserErrors.of(errors)

    def _no_table(self) -> UserError:
        """Return the error for a first line without a single column of ours."""
        head = self.columns[0] if self.columns else ""
        for separator, name in ((";", "semicolons"), ("\t", "tabs"), ("|", "bars")):
            if any(part.strip() in REQUIRED for part in head.split(separator)):
                return _bad(self.path, f"is separated by {name}, not by commas", "save it with commas", 1)
        names = ",".join(REQUIRED)
        return _bad(self.path, "does not begin with the names of its columns", f"write as its first line: {names}", 1)

    def _lines(self) -> Iterator[tuple[int, Sequence[str]]]:
        while True:
            line = self._reader.line_num + 1
            try:
                row = next(self._reader, None)
            except csv.Error as error:
                if "unexpected end" in str(error):
                    raise self.truncated(line, "a quoted field is not closed") from None
                raise _bad(self.path, f"is not CSV: {error}", None, line) from None
            if row is None:
                return
            if row:
                yield line, row

    def rows(self) -> Iterator[tuple[int, Sequence[str]]]:
        """Yield every row after the header, empty lines left out.

        Raises: UserError E-OFFERS: when the text stops being CSV, or ends within a row.
        """
        count = len(self.columns)
        for line, row in self._lines():
            if len(row) < count and not self._whole and self._at_end():
                raise self.truncated(line, f"{len(row)} of {count} fields")
            yield line, row

    def ends_within(self, line: int, reason: str) -> bool:
        """Return whether `line` may be cut: it is the last one, has no line end, and its last cell is what is wrong.

        `reason` begins with the name of the column that it is about.
        """
        if self._whole or not reason.startswith(f"{self.columns[-1]} "):
            return False
        return line >= sum(1 for _ in io.StringIO(self._content, newline=""))

    def _at_end(self) -> bool:
        ahead = next(self._reader, None)
        return ahead is None

    def truncated(self, line: int, why: str) -> UserError:
        """Return the error for a file that ends too early."""
        return _bad(self.path, f"is truncated: {why}", "fetch or export it again", line)
