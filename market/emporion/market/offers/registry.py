"""Registered offers: checked once, kept as one offers file each under `EMPORION_HOME/offers/registered/`.

Imported only to register, list or remove them; planning reads the files as `load_market` does.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from dataclasses import replace as changed
from datetime import date
from decimal import Decimal
from pathlib import Path

from emporion.market.errors import UserError, UserErrors, did_you_mean
from emporion.market.files import write_whole
from emporion.market.money import Rate, currency_code
from emporion.market.offer import Offer
from emporion.market.offers.columns import RowNote
from emporion.market.offers.document import OPTIONAL, REQUIRED, Document, open_offers, pieces
from emporion.market.offers.importer import Importer
from emporion.market.offers.load import REGISTERED, load_csv
from emporion.market.offers.machines import Machine, a_known_cloud, read_machines
from emporion.market.units import plain, shown

__all__ = ["Registered", "register", "registered", "unregister"]

_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,39}")
_PRICES = (
    "on_demand_usd_hr", "spot_usd_hr", "reserved_usd_hr", "price_per_gpu", "price_per_instance", "on_demand_usd_month",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Registered:
    """Offers that were registered under one name."""

    name: str
    path: Path
    offers: tuple[Offer, ...]
    replaced: bool = False

    @property
    def providers(self) -> tuple[str, ...]:
        """Their providers, sorted."""
        return tuple(sorted({offer.provider for offer in self.offers}))


def registered(folder: Path) -> tuple[Registered, ...]:
    """Return what is registered in the folder of offers, by name.

    Raises: UserError E-OFFERS: when one of the files cannot be used.
    """
    paths = sorted((folder / REGISTERED).glob("*.csv"))
    return tuple(Registered(path.stem, path, load_csv(path).offers) for path in paths)


def register(
    file: Path,
    folder: Path,
    *,
    name: str | None = None,
    replace: bool = False,
    clouds: Iterable[str],
    rates: Mapping[str, Rate],
    today: date,
) -> Registered:
    """Check the offers of a YAML document, or of an offers file (`.csv`), and keep them; nothing half is ever kept.

    `clouds` are names that no provider of registered offers may have; `rates` convert other currencies, once.

    Raises: UserError: every problem of the file at once, with its line; E-NAME: when `name` (the file's by default) is
    no name, or is taken and not to be replaced.
    """
    chosen = _name(name, file)
    path = folder / REGISTERED / f"{chosen}.csv"
    exists = path.exists()
    if exists and not replace:
        raise UserError(
            "E-NAME", f"offers are registered as {chosen!r} already", str(path), "add --replace, or --name for another"
        )
    names = frozenset(clouds)
    machines = (
        _csv_machines(file, rates)
        if file.suffix.lower() == ".csv"
        else read_machines(file, clouds=names, rates=rates, today=today)
    )
    _check(machines, names, [each for each in registered(folder) if each.name != chosen])
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, _text(machines))
    return Registered(chosen, path, load_csv(path).offers, exists)


def unregister(folder: Path, name: str) -> Path:
    """Remove what was registered under a name, and return the file that it was.

    Raises: UserError E-NAME: when there is no such name, with the nearest one.
    """
    found = {path.stem: path for path in sorted((folder / REGISTERED).glob("*.csv"))}
    if name not in found:
        near = did_you_mean(name, set(found))
        fix = f"did you mean {near}" if near else f"registered are: {', '.join(found) or 'none'}"
        raise UserError("E-NAME", f"nothing is registered as {shown(name)}", "NAME", fix)
    found[name].unlink()
    return found[name]


def _name(name: str | None, file: Path) -> str:
    chosen = name if name is not None else re.sub(r"[^a-z0-9]+", "-", file.stem.lower()).strip("-")[:40].strip("-")
    if not _NAME.fullmatch(chosen):
        where = "--name" if name is not None else str(file)
        raise UserError("E-NAME", f"{shown(chosen)} is not a name of a-z, 0-9 and -", where, "give one: --name my-lab")
    return chosen


def _csv_machines(file: Path, rates: Mapping[str, Rate]) -> tuple[Machine, ...]:
    """Return the rows of an offers file, prices in USD."""
    found = []
    with open_offers(file) as opened:
        document = Document(str(file), pieces(str(file), opened, None))
        for line, row in document.rows():
            where = f"{file}:{line}"
            if len(row) != len(document.columns):
                what = f"{len(row)} fields, the header has {len(document.columns)}"
                raise UserError("E-OFFERS", what, where, "quote cells that hold commas")
            cells = {name: cell.strip() for name, cell in zip(document.columns, row, strict=True)}
            found.append(Machine(_in_usd(cells, rates), where))
    if not found:
        raise UserError("E-OFFERS", "offers file has no rows", str(file), "add one row per offer")
    return tuple(found)


def _in_usd(cells: Mapping[str, str], rates: Mapping[str, Rate]) -> dict[str, str]:
    currency = currency_code(cells.get("currency", "")) or "USD"
    rate = rates.get(currency)
    found = dict(cells)
    if currency == "USD" or rate is None:
        return found
    for name in _PRICES:
        if re.fullmatch(r"[0-9]{1,9}(\.[0-9]{1,12})?", cells.get(name, "")):
            found[name] = plain(round(Decimal(cells[name]) * rate.usd, 6))
    told = f"converted from {currency} at {plain(rate.usd)} USD ({rate.as_of or 'undated'})"
    found["source"] = f"{cells.get('source', '')}, {told}".strip(", ")
    found["currency"] = ""
    return found


def _check(machines: Sequence[Machine], clouds: frozenset[str], others: Sequence[Registered]) -> None:
    """See to it that every row can be used as it is, and is nobody else's.

    Raises: UserError: every problem, with its line.
    """
    problems: list[UserError] = []
    taken = {_machine_of(offer): each.name for each in others for offer in each.offers}
    importer = Importer()
    for machine in machines:
        row = machine.row
        provider = row.get("provider", "").lower()
        if provider in clouds:
            problems.append(changed(a_known_cloud(provider), where=machine.where))
            continue
        noted = len(importer.builder.notes)
        try:
            importer.take(Document(machine.where, iter([_text([machine]).encode()])))
        except UserError as error:
            problems += [_refused(each.what, machine.where) for each in error.problems()[1:] or (error,)]
            continue
        notes = [note for note in importer.builder.notes[noted:] if _spoils(note)]
        problems += [_refused(f"{note.what}: {note.reason}", machine.where) for note in notes]
        own = (provider, row.get("region", ""), row.get("zone") or None, row.get("instance_type", ""))
        if own in taken:
            what = f"{'/'.join(filter(None, own))} is registered already, as {taken[own]}"
            problems.append(
                UserError("E-DUPLICATE", what, machine.where, f"rename it, or: emporion offers unregister {taken[own]}")
            )
    if problems:
        raise UserErrors.of(problems)


def _machine_of(offer: Offer) -> tuple[str, str, str | None, str]:
    return offer.provider, offer.region, offer.zone, offer.instance_type


def _spoils(note: RowNote) -> bool:
    return note.kind != "warning" or "repeats" in note.reason


def _refused(what: str, where: str) -> UserError:
    return UserError("E-OFFERS", what, where, "the columns and what they take: emporion offers register --help")


def _text(machines: Sequence[Machine]) -> str:
    """Return machines as an offers file: the required columns, and those of which there is a value."""
    more = [name for name in OPTIONAL if any(machine.row.get(name) for machine in machines)]
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([*REQUIRED, *more])
    for machine in machines:
        writer.writerow([machine.row.get(name, "") for name in (*REQUIRED, *more)])
    return text.getvalue()
