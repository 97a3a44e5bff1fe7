"""An offers file as a document, of any length: is it there, is it text, is it whole, has it the columns."""

from __future__ import annotations

import codecs
import csv
import io
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import BinaryIO

from emporion.market.errors import UserError, UserErrors, did_you_mean
from emporion.market.offers.columns import EXTRAS

__all__ = ["OPTIONAL", "PIECE", "REQUIRED", "Document", "open_offers", "pieces"]

PIECE = 1 << 20
"""Bytes that are read at once. A row that is longer than that is none."""
REQUIRED = (
    "provider", "region", "zone", "instance_type", "gpu", "gpu_count", "gpu_vram_gb", "vcpus", "ram_gb",
    "on_demand_usd_hr", "spot_usd_hr", "source", "as_of",
)  # fmt: skip
OPTIONAL = (
    "currency", "tier", "arch", "purchase", "mig", "advertised", "price_per_gpu", "price_per_instance",
    "on_demand_usd_month", "reserved_usd_hr", *EXTRAS,
)  # fmt: skip
"""`currency` names that of all prices of a row; a figure per month is one only where the column says so (730 hours)."""
_INSTEAD = ("price_per_gpu", "price_per_instance", "on_demand_usd_month")
"""What may stand in the place of on_demand_usd_hr."""
_ENCODINGS = {b"\xff\xfe": "UTF-16", b"\xfe\xff": "UTF-16", b"\x1f\x8b": "gzip", b"PK\x03\x04": "a zip archive"}


def _bad(path: str, what: str, fix: str | None = None, line: int | None = None) -> UserError:
    return UserError("E-OFFERS", f"offers file {what}", path if line is None else f"{path}:{line}", fix)


def open_offers(path: Path) -> BinaryIO:
    """Return an offers file, opened; a pipe will do.

    Raises: UserError E-OFFERS: when it does not exist or cannot be opened.
    """
    try:
        return path.open("rb")
    except FileNotFoundError:
        near = did_you_mean(path.name, _neighbours(path))
        fix = f"did you mean {near}" if near else "give the path of a CSV file of offers (docs/reference/offers.md)"
        raise _bad(str(path), "does not exist", fix) from None
    except IsADirectoryError:
        raise _bad(str(path), "is a folder", "give a CSV file") from None
    except (OSError, ValueError) as error:
        raise _unreadable(str(path), error) from None


def pieces(path: str, file: BinaryIO, size: int | None) -> Iterator[bytes]:
    """Yield the content of a file of `size` bytes, or of a stream to its end, in pieces of at most `PIECE` bytes.

    Raises: UserError E-OFFERS: when it cannot be read.
    """
    left = size
    while left is None or left > 0:
        try:
            piece = file.read(PIECE if left is None else min(PIECE, left))
        except OSError as error:
            raise _unreadable(path, error) from None
        if not piece:
            return
        if left is not None:
            left -= len(piece)
        yield piece


def _unreadable(path: str, error: OSError | ValueError) -> UserError:
    reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return _bad(path, f"cannot be read: {reason.lower()}")


def _neighbours(path: Path) -> set[str]:
    try:
        return {file.name for file in path.parent.iterdir()}
    except OSError:
        return set()


class Document:
    """The rows of an offers file, each with the number of its line; holds two pieces of it at most."""

    def __init__(self, path: str, content: Iterator[bytes]) -> None:
        """Read the header.

        Raises: UserError E-OFFERS: when it is not CSV in UTF-8, or a column is missing or unknown.
        """
        self.path = path
        self._whole = True
        """Whether what was read so far ends with a line."""
        self._yielded = 0
        """Rows that the CSV reader has given."""
        self._ahead: tuple[int, Sequence[str]] | None = None
        self._reader = csv.reader(self._text_lines(content), strict=True)
        self._lines = self._numbered()
        header = next(self._lines, (1, []))[1]
        self.columns = tuple(name.strip().lower() for name in header)
        self._check_columns()

    def _text_lines(self, content: Iterator[bytes]) -> Iterator[str]:
        """Yield the lines of the text as `csv` wants them, with their ends."""
        rest = ""
        yielded = -1
        for text in self._texts(content):
            if self._yielded == yielded:  # the whole piece before was one row and that has not ended
                raise self._endless()
            yielded = self._yielded
            self._whole = text.endswith(("\n", "\r"))
            cut = text.rfind("\n") + 1 or text.rfind("\r", 0, -1) + 1  # what follows a last \r may be its \n
            if cut:
                yield from io.StringIO(rest + text[:cut], newline="")
                rest = text[cut:]
            else:
                rest += text
        yield from io.StringIO(rest, newline="")

    def _texts(self, content: Iterator[bytes]) -> Iterator[str]:
        """Yield the text of each piece of content, checked to be text."""
        decoder = codecs.getincrementaldecoder("utf-8-sig")()
        lines = 0
        first = True
        for piece in content:
            if first:
                self._check_start(piece)
                first = False
            text = self._decoded(decoder, piece, lines)
            if "\0" in text:
                line = lines + text[: text.index("\0")].count("\n") + 1
                raise _bad(self.path, "is binary, not CSV", "save it as CSV, encoded as UTF-8", line)
            lines += piece.count(b"\n")
            if text:
                yield text
        if first:
            self._check_start(b"")
        self._decoded(decoder, b"", lines, last=True)

    def _check_start(self, piece: bytes) -> None:
        for magic, name in _ENCODINGS.items():
            if piece.startswith(magic):
                raise _bad(self.path, f"is {name}, not CSV in UTF-8", "save it as CSV, encoded as UTF-8")
        if not piece.strip():
            raise _bad(self.path, "is empty", f"the first line names the columns: {','.join(REQUIRED)}")

    def _decoded(self, decoder: codecs.IncrementalDecoder, piece: bytes, lines: int, *, last: bool = False) -> str:
        try:
            return decoder.decode(piece, last)
        except UnicodeDecodeError as error:
            line = lines + error.object[: error.start].count(b"\n") + 1
            raise _bad(self.path, "is not text in UTF-8", "save it as CSV, encoded as UTF-8", line) from None

    def _endless(self) -> UserError:
        what = f"is not CSV: a row is longer than {PIECE >> 20} MiB"
        return _bad(self.path, what, "check its quotes and line ends", self._reader.line_num + 1)

    def _check_columns(self) -> None:
        known = (*REQUIRED, *OPTIONAL)
        if not any(name in known for name in self.columns):
            raise self._no_table()
        errors = []
        missing = [name for name in REQUIRED if name not in self.columns]
        if any(name in self.columns for name in _INSTEAD):
            missing = [name for name in missing if name != "on_demand_usd_hr"]
        if missing:
            what = f"has no column {', '.join(missing)}"
            errors.append(_bad(self.path, what, f"columns: {','.join(REQUIRED)}", 1))
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

    def _numbered(self) -> Iterator[tuple[int, Sequence[str]]]:
        """Yield every row with the number of its first line, empty lines left out."""
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
            self._yielded += 1
            if row:
                yield line, row

    def rows(self) -> Iterator[tuple[int, Sequence[str]]]:
        """Yield every row after the header, empty lines left out.

        Raises: UserError E-OFFERS: when the text stops being CSV, or ends within a row.
        """
        count = len(self.columns)
        while True:
            found, self._ahead = self._ahead or next(self._lines, None), None
            if found is None:
                return
            if len(found[1]) < count and self._cut():
                raise self.truncated(found[0], f"{len(found[1])} of {count} fields")
            yield found

    def ends_within(self, reason: str) -> bool:
        """Return whether the row just given may be cut: no line end follows it, and its last cell is what is wrong.

        `reason` begins with the name of the column that it is about.
        """
        return reason.startswith(f"{self.columns[-1]} ") and self._cut()

    def _cut(self) -> bool:
        """Return whether the text ended with the row just given, and without a line end."""
        if self._ahead is None:
            self._ahead = next(self._lines, None)
        return self._ahead is None and not self._whole

    def truncated(self, line: int, why: str) -> UserError:
        """Return the error for a file that ends too early."""
        return _bad(self.path, f"is truncated: {why}", "fetch or export it again", line)
