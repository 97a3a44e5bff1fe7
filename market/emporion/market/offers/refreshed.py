"""What a refresh keeps: one offers file for each provider, and beside it how the last refresh went.

`EMPORION_HOME/offers/<provider>.csv` is read like any other offers file; `<provider>.status.json` only informs.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from emporion.market.errors import UserError
from emporion.market.files import write_whole
from emporion.market.money import Rate
from emporion.market.offers.adapter import Row
from emporion.market.offers.catalogue import Catalogue, OfferFilter
from emporion.market.offers.columns import Table
from emporion.market.offers.document import OPTIONAL, REQUIRED, Document
from emporion.market.offers.importer import Importer
from emporion.market.offers.load import load_csv

__all__ = ["Checked", "Known", "Status", "check_rows", "count", "keep", "known_offers", "read_status", "write_status"]

_SCHEMA = "emporion.refresh-status/1"
_NOTES_KEPT = 100
_BREAK = "\x1f"


@dataclass(frozen=True, slots=True)
class Known:
    """What there is of one provider's offers."""

    gpu_offers: int
    cpu_offers: int
    as_of: str | None
    """The newest date of a price; None: there is none."""
    refreshed: bool
    """Whether it comes from a refresh; else from the bundled snapshot."""
    damaged: UserError | None = None
    """Why a refreshed file cannot be used; plans say the same."""

    @property
    def offers(self) -> int:
        """All of them; a machine that is sold in two ways is two offers."""
        return self.gpu_offers + self.cpu_offers


@dataclass(frozen=True, slots=True)
class Checked:
    """Rows of an adapter as the import takes them."""

    text: str
    """The offers file, without the rows that were refused."""
    rows: int
    found: Known
    refused: int
    notes: tuple[str, ...]
    """One line for each of the first notes of the import."""


@dataclass(frozen=True, slots=True)
class Status:
    """How the last refresh of a provider went."""

    provider: str
    tried_at: str
    """When, UTC."""
    refreshed_at: str | None
    """When the prices that are kept were fetched; None: never."""
    rows: int
    refused: int
    notes: tuple[str, ...]
    last_error: str | None
    """Why the last try failed; None: it did not."""


def count(catalogue: Catalogue, provider: str, *, refreshed: bool) -> Known:
    """Return what a catalogue has of a provider."""
    offers = catalogue.find_offers(OfferFilter(providers=frozenset({provider})))
    gpu_offers = sum(offer.gpu_count > 0 for offer in offers)
    newest = max((offer.as_of for offer in offers if offer.as_of), default=None)
    return Known(gpu_offers, len(offers) - gpu_offers, newest, refreshed)


def known_offers(folder: Path, provider: str, bundled: Catalogue, rates: Mapping[str, Rate]) -> Known:
    """Return what is kept of a provider: what was refreshed, else what is bundled."""
    path = _file(folder, provider)
    if not path.is_file():
        return count(bundled, provider, refreshed=False)
    try:
        return count(load_csv(path, rates=rates), provider, refreshed=True)
    except UserError as error:
        return Known(0, 0, None, refreshed=True, damaged=error)


def check_rows(rows: Iterable[Row], provider: str, rates: Mapping[str, Rate]) -> Checked:
    """Return an adapter's rows as the offers file that they become, after the import that every file goes through.

    Raises: UserError E-OFFERS: when there is no row, or not a single one can be used.
    """
    lines = _lines(list(rows))
    importer = Importer(rates)
    importer.take(Document(f"the answer of {provider}", iter(["".join(lines).encode()])), only=provider)
    table = importer.builder.table()
    refused = {note.row for note in table.notes if note.kind == "refused"}
    good = [line for number, line in enumerate(lines, 1) if number not in refused]
    catalogue = Catalogue(table, "", provider)
    told = tuple(str(note) for note in table.notes[:_NOTES_KEPT])
    return Checked(
        "".join(good), len(good) - 1, count(catalogue, provider, refreshed=True), _all_notes(table, "refused"), told
    )


def _all_notes(table: Table, kind: str) -> int:
    return sum(note.kind == kind for note in table.notes) + table.more_notes.get(kind, 0)


def _lines(rows: list[Row]) -> list[str]:
    """Return the lines of an offers file, header first; none spans two lines."""
    columns = [*REQUIRED, *(name for name in OPTIONAL if any(row.get(name) for row in rows))]
    found = []
    for cells in (columns, *([_one_line(row.get(name, "")) for name in columns] for row in rows)):
        line = io.StringIO()
        csv.writer(line, lineterminator="\n").writerow(cells)
        found.append(line.getvalue())
    return found


def _one_line(cell: str) -> str:
    """Return a cell without line ends; in a name they stay what the import refuses, a control character.

    Half a character, which JSON can hold and a file cannot, becomes a question mark.
    """
    return cell.strip().replace("\r", _BREAK).replace("\n", _BREAK).encode(errors="replace").decode()


def keep(folder: Path, provider: str, checked: Checked) -> Path:
    """Put new prices in the place of the old ones, whole or not at all, and return their file."""
    path = _file(folder, provider)
    folder.mkdir(parents=True, exist_ok=True)
    write_whole(path, checked.text)
    return path


def read_status(folder: Path, provider: str) -> Status | None:
    """Return how the last refresh of a provider went; None: there was none, or its file is damaged."""
    try:
        told = json.loads(_status_file(folder, provider).read_text(encoding="utf-8"))
        if told.pop("schema") != _SCHEMA:
            return None
        return Status(**{**told, "notes": tuple(told["notes"])})
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


def write_status(folder: Path, status: Status) -> None:
    """Note how the refresh of a provider went."""
    document = {"schema": _SCHEMA, **asdict(status)}
    folder.mkdir(parents=True, exist_ok=True)
    write_whole(_status_file(folder, status.provider), json.dumps(document, indent=2, ensure_ascii=False) + "\n")


def _file(folder: Path, provider: str) -> Path:
    return folder / f"{provider}.csv"


def _status_file(folder: Path, provider: str) -> Path:
    return folder / f"{provider}.status.json"
