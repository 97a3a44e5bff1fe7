"""The compact form of a catalogue: one column per fact, each a list of its distinct texts and a code per row.

A catalogue of 60,000 rows holds a few thousand distinct texts. Kept like this it is written and read in milliseconds,
and most rows never become an `Offer`: a filter is decided once per distinct value, then looked up per row.
"""

from __future__ import annotations

import json
import sys
from array import array
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass, field
from hashlib import blake2b
from typing import BinaryIO

__all__ = ["COLUMNS", "EXTRAS", "Column", "RowNote", "Table", "TableBuilder", "decode", "write"]

EXTRAS = (
    "spot_source", "spot_as_of", "cuda", "driver", "os", "preinstalled", "sla_percent", "nvlink",
    "nvlink_gb_s_per_gpu", "fabric", "fabric_gbps", "network_gbps", "lat", "lon",
)  # fmt: skip
"""Facts that most files leave out; where they do, they cost next to nothing."""
COLUMNS = (
    "provider", "region", "zone", "instance_type", "gpu", "gpu_count", "gpu_vram_gb", "gpu_vram_mib", "vcpus", "ram_gb",
    "on_demand", "spot", "reserved", "listed_on_demand", "source", "as_of", "tier", "arch", "mig", "currency_note",
    "distinct", *EXTRAS,
)  # fmt: skip
"""`on_demand`, `spot`, `reserved` are prices at which the machine is sold; `listed_on_demand` is for comparison.
`distinct` tells rows apart whose provider, site, type and tier are equal (vast names two boards alike)."""

_MAGIC = b"EMPORION CATALOGUE 2\n"
_DIGEST = 32
_LENGTH = 8
_WIDTHS = (("B", 1 << 8), ("H", 1 << 16), ("I", 1 << 32))
"""Types of code, narrowest first, and how many distinct texts each tells apart."""
_CHUNK = 4096
"""Rows that are coded at once: column by column is four times faster than row by row."""
_NOTES_KEPT = 1000
"""Notes of one kind that are kept word for word; of a stream of bad rows the rest is only counted."""


@dataclass(frozen=True, slots=True)
class Column:
    """One fact of all rows; text None is unknown."""

    texts: tuple[str | None, ...]
    codes: Sequence[int]


@dataclass(frozen=True, slots=True)
class RowNote:
    """What the import says about one row of the file."""

    kind: str
    """`refused`, `quarantined` (implausible price), `unpriced`, `unsold` (listed, not sold that way), `warning`."""
    row: int
    """The line of the file; the header is line 1."""
    what: str
    reason: str
    gpu: str | None = None
    file: str | None = None
    """The file, where a catalogue is made of several."""

    def __str__(self) -> str:
        """Return one line for people."""
        line = f"line {self.row}: {self.what}: {self.reason}"
        return f"{self.file} {line}" if self.file else line


@dataclass(frozen=True, slots=True)
class Table:
    """A validated catalogue before any offer is made of it."""

    rows: int
    columns: dict[str, Column]
    notes: tuple[RowNote, ...] = ()
    more_notes: Mapping[str, int] = field(default_factory=dict)
    """How many notes of a kind there are beyond those in `notes`."""


@dataclass(slots=True)
class _Coder:
    """A column that grows: codes as narrow as its distinct texts allow."""

    seen: dict[str | None, int] = field(default_factory=dict)
    codes: array[int] = field(default_factory=lambda: array("B"))

    def extend(self, values: tuple[str | None, ...]) -> None:
        seen = self.seen
        if values.count(values[0]) == len(values):
            fresh = [seen.setdefault(values[0], len(seen))] * len(values)
        else:
            fresh = [seen.setdefault(value, len(seen)) for value in values]
        kind = next(kind for kind, most in _WIDTHS if len(seen) <= most)
        if kind != self.codes.typecode:
            self.codes = array(kind, self.codes)
        self.codes.fromlist(fresh)


@dataclass(slots=True)
class TableBuilder:
    """Collects validated rows in the compact form, so that what it keeps of a row is a few bytes."""

    notes: list[RowNote] = field(default_factory=list)
    file: str | None = None
    """What notes call the file that is being read."""
    _noted: dict[str, int] = field(default_factory=dict)
    _done: int = 0
    _waiting: list[tuple[str | None, ...]] = field(default_factory=list)
    _coders: list[_Coder] = field(default_factory=lambda: [_Coder() for _ in COLUMNS])

    @property
    def rows(self) -> int:
        """How many rows there are."""
        return self._done + len(self._waiting)

    def add(self, values: tuple[str | None, ...]) -> None:
        """Append one row, its values in the order of `COLUMNS`."""
        self._waiting.append(values)
        if len(self._waiting) == _CHUNK:
            self._flush()

    def holds(self, number: int, values: tuple[str | None, ...], columns: Sequence[int]) -> bool:
        """Return whether the row that was added as `number` has these values in some columns."""
        if number >= self._done:
            row = self._waiting[number - self._done]
            return all(row[column] == values[column] for column in columns)
        for column in columns:
            coder = self._coders[column]
            if coder.seen.get(values[column]) != coder.codes[number]:
                return False
        return True

    def note(self, kind: str, row: int, what: str, reason: str, gpu: str | None = None) -> None:
        """Take a note up; of many of a kind only the first thousand are kept, the rest is counted."""
        count = self._noted[kind] = self._noted.get(kind, 0) + 1
        if count <= _NOTES_KEPT:
            self.notes.append(RowNote(kind, row, what, reason, gpu, self.file))

    def table(self) -> Table:
        """Return what was collected."""
        self._flush()
        columns = {
            name: Column(tuple(coder.seen), coder.codes) for name, coder in zip(COLUMNS, self._coders, strict=True)
        }
        more = {kind: count - _NOTES_KEPT for kind, count in sorted(self._noted.items()) if count > _NOTES_KEPT}
        return Table(self._done, columns, tuple(self.notes), more)

    def _flush(self) -> None:
        if not self._waiting:
            return
        for coder, values in zip(self._coders, zip(*self._waiting, strict=True), strict=True):
            coder.extend(values)
        self._done += len(self._waiting)
        self._waiting.clear()


def write(file: BinaryIO, table: Table, key: str) -> None:
    """Write the table under the key of what it was made from; equal tables give equal bytes.

    Piece by piece: a large catalogue is not copied as a whole. `file` can be sought in.
    """
    digest = blake2b(digest_size=_DIGEST)
    file.write(_MAGIC + bytes(_DIGEST))
    for piece in _pieces(table, key):
        digest.update(piece)
        file.write(piece)
    file.seek(len(_MAGIC))
    file.write(digest.digest())


def _pieces(table: Table, key: str) -> Iterator[bytes]:
    header = {
        "key": key,
        "rows": table.rows,
        "texts": {name: column.texts for name, column in table.columns.items()},
        "kinds": "".join(_array(table.columns[name].codes).typecode for name in COLUMNS),
        "notes": [astuple(note) for note in table.notes],
        "more_notes": table.more_notes,
    }
    head = json.dumps(header, ensure_ascii=False, separators=(",", ":")).encode()
    yield len(head).to_bytes(_LENGTH, "little")
    yield head
    for name in COLUMNS:
        yield _little_endian(_array(table.columns[name].codes)).tobytes()


def decode(data: bytes, key: str) -> Table | None:
    """Return the table, or None when `data` is damaged, of another version, or made from something else."""
    start = len(_MAGIC) + _DIGEST
    payload = memoryview(data)[start:]
    if not data.startswith(_MAGIC) or blake2b(payload, digest_size=_DIGEST).digest() != data[len(_MAGIC) : start]:
        return None
    size = int.from_bytes(payload[:_LENGTH], "little")
    header = json.loads(bytes(payload[_LENGTH : _LENGTH + size]))
    if header["key"] != key or list(header["texts"]) != list(COLUMNS):
        return None
    rows = header["rows"]
    place = _LENGTH + size
    columns = {}
    for name, kind in zip(COLUMNS, header["kinds"], strict=True):
        codes = array(kind)
        width = codes.itemsize * rows
        codes.frombytes(payload[place : place + width])
        place += width
        columns[name] = Column(tuple(header["texts"][name]), _little_endian(codes))
    return Table(rows, columns, tuple(RowNote(*note) for note in header["notes"]), header["more_notes"])


def _array(codes: Sequence[int]) -> array[int]:
    return codes if isinstance(codes, array) else array("I", codes)


def _little_endian(codes: array[int]) -> array[int]:
    """Return codes in the byte order of a file, or of a file in that of the machine."""
    if sys.byteorder == "little":
        return codes
    turned = array(codes.typecode, codes)
    turned.byteswap()
    return turned
