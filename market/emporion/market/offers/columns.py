"""The compact form of a catalogue: one column per fact, each a list of its distinct texts and a code per row.

A catalogue of 60,000 rows holds a few thousand distinct texts. Kept like this it is written and read in milliseconds,
and most rows never become an `Offer`: a filter is decided once per distinct value, then looked up per row.
"""

from __future__ import annotations

import json
import sys
from array import array
from collections.abc import Iterable, Sequence
from dataclasses import astuple, dataclass, field
from hashlib import blake2b

__all__ = ["COLUMNS", "Column", "RowNote", "Table", "TableBuilder", "decode", "encode"]

COLUMNS = (
    "provider", "region", "zone", "instance_type", "gpu", "gpu_count", "gpu_vram_gb", "gpu_vram_mib", "vcpus", "ram_gb",
    "on_demand", "spot", "reserved", "listed_on_demand", "source", "as_of", "tier", "arch", "mig", "currency_note",
    "distinct",
)  # fmt: skip
"""`on_demand`, `spot`, `reserved` are prices at which the machine is sold; `listed_on_demand` is for comparison.
`distinct` tells rows apart whose provider, site, type and tier are equal (vast names two boards alike)."""

_MAGIC = b"EMPORION CATALOGUE 1\n"
_DIGEST = 32
_LENGTH = 8


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

    def __str__(self) -> str:
        """Return one line for people."""
        return f"line {self.row}: {self.what}: {self.reason}"


@dataclass(frozen=True, slots=True)
class Table:
    """A validated catalogue before any offer is made of it."""

    rows: int
    columns: dict[str, Column]
    notes: tuple[RowNote, ...] = ()


@dataclass(slots=True)
class TableBuilder:
    """Collects validated rows."""

    notes: list[RowNote] = field(default_factory=list)
    _rows: list[tuple[str | None, ...]] = field(default_factory=list)

    @property
    def rows(self) -> int:
        """How many rows there are."""
        return len(self._rows)

    def add(self, values: tuple[str | None, ...]) -> None:
        """Append one row, its values in the order of `COLUMNS`."""
        self._rows.append(values)

    def table(self) -> Table:
        """Return what was collected."""
        every = zip(*self._rows, strict=True) if self._rows else iter([()] * len(COLUMNS))
        columns = {name: _coded(values) for name, values in zip(COLUMNS, every, strict=True)}
        return Table(self.rows, columns, tuple(self.notes))


def _coded(values: Iterable[str | None]) -> Column:
    seen: dict[str | None, int] = {}
    codes = array("I", [seen.setdefault(value, len(seen)) for value in values])
    return Column(tuple(seen), codes)


def encode(table: Table, key: str) -> bytes:
    """Return the table as bytes, under the key of what it was made from; equal tables give equal bytes."""
    header = {
        "key": key,
        "rows": table.rows,
        "texts": {name: column.texts for name, column in table.columns.items()},
        "notes": [astuple(note) for note in table.notes],
    }
    head = json.dumps(header, ensure_ascii=False, separators=(",", ":")).encode()
    body = b"".join(_little_endian(table.columns[name].codes) for name in COLUMNS)
    payload = len(head).to_bytes(_LENGTH, "little") + head + body
    return _MAGIC + blake2b(payload, digest_size=_DIGEST).digest() + payload


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
    width = array("I").itemsize * rows
    body = payload[_LENGTH + size :]
    columns = {}
    for index, name in enumerate(COLUMNS):
        codes = array("I")
        codes.frombytes(body[index * width : (index + 1) * width])
        if sys.byteorder == "big":
            codes.byteswap()
        columns[name] = Column(tuple(header["texts"][name]), codes)
    return Table(rows, columns, tuple(RowNote(*note) for note in header["notes"]))


def _little_endian(codes: Sequence[int]) -> bytes:
    copy = array("I", codes)
    if sys.byteorder == "big":
        copy.byteswap()
    return copy.tobytes()
