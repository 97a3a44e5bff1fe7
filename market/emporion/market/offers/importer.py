"""From the rows of an offers file to a validated table: every row is taken, or noted with its line and a reason."""

from __future__ import annotations

import re
from array import array
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from operator import itemgetter
from typing import Any

from emporion.market.dates import moment
from emporion.market.errors import UserError, UserErrors, did_you_mean
from emporion.market.money import Rate
from emporion.market.offers.columns import COLUMNS, EXTRAS, TableBuilder
from emporion.market.offers.document import OPTIONAL, REQUIRED, Document
from emporion.market.offers.extras import read_extras
from emporion.market.offers.row_prices import Prices, read_prices
from emporion.market.offers.shape import RowError, Shape, read_shape
from emporion.market.sites import region_info, regions, zone_problem

__all__ = ["MAX_ROWS", "Importer"]

MAX_ROWS = 1_500_000
"""The most rows that a catalogue keeps: what a plan over them needs is not kept small by streaming."""

_PROVIDER = re.compile(r"[a-z0-9][a-z0-9._-]{0,39}")
_LONGEST = 200
_SHAPE = (
    "provider",
    "instance_type",
    "gpu",
    "gpu_count",
    "gpu_vram_gb",
    "vcpus",
    "ram_gb",
    "arch",
    "mig",
    "advertised",
)
_MONEY = (
    "provider", "on_demand_usd_hr", "spot_usd_hr", "reserved_usd_hr", "currency", "purchase", "price_per_gpu",
    "price_per_instance", "on_demand_usd_month",
)  # fmt: skip
_NAME = ("provider", "region", "zone", "instance_type", "tier")
_SHOWN = 5
_REMEMBERED = 1 << 16
"""Shapes, prices and sites that are remembered; then they are worked out again, so that a stream needs no more."""
_SUGGESTED = 20
"""Near names are looked up for so many unknown regions; each costs a millisecond."""


@cache
def _known_regions(provider: str) -> set[str]:
    return {name for owner, name in regions() if owner == provider}


class _Layout:
    """Where a document's columns stand; a column that it has not is the empty cell behind the last one."""

    def __init__(self, columns: Sequence[str]) -> None:
        self.width = len(columns)
        self.columns = columns
        self._at = {name: index for index, name in enumerate(columns)}
        self.provider = self._at["provider"]
        self.shape = self.picker(_SHAPE)
        self.money = self.picker(_MONEY)
        self.name = self.picker(_NAME)
        self.extras = self.picker(EXTRAS) if any(name in self._at for name in EXTRAS) else None
        self.rest = self.picker(("source", "as_of", "gpu_count"))

    def picker(self, names: Sequence[str]) -> Callable[[Sequence[str]], Any]:
        """Return what picks the cells of some columns."""
        return itemgetter(*[self._at.get(name, self.width) for name in names])

    def cells(self, row: Sequence[str]) -> dict[str, str]:
        """Return the cells by column."""
        return {**_EMPTY, **dict(zip(self.columns, row, strict=False))}


_EMPTY = dict.fromkeys((*REQUIRED, *OPTIONAL), "")
_NO_EXTRAS = (None,) * len(EXTRAS)
_AT = {name: index for index, name in enumerate(COLUMNS)}
_NAMED = [_AT[name] for name in _NAME]
_SHAPED = [_AT[name] for name in ("gpu", "gpu_count", "gpu_vram_gb", "gpu_vram_mib", "vcpus", "ram_gb", "arch", "mig")]
_PRICED = [_AT[name] for name in ("on_demand", "spot", "reserved")]


@dataclass(slots=True)
class Importer:
    """Takes documents into one table. What many rows share is looked at once."""

    rates: Mapping[str, Rate] = field(default_factory=dict)
    builder: TableBuilder = field(default_factory=TableBuilder)
    kinds: set[tuple[str, bool]] = field(default_factory=set)
    """(provider, whether it has GPUs) of every row that was taken."""
    _shapes: dict[tuple[str, ...], Shape | RowError] = field(default_factory=dict)
    _prices: dict[tuple[object, ...], Prices | RowError] = field(default_factory=dict)
    _extras: dict[tuple[str, ...], tuple[str | None, ...] | RowError] = field(default_factory=dict)
    _sites: dict[tuple[str, ...], str | None] = field(default_factory=dict)
    _unknown: set[tuple[str, str]] = field(default_factory=set)
    _dates: set[str] = field(default_factory=lambda: {""})
    _taken: dict[int, int] = field(default_factory=dict)
    """Hash of a row's name -> its number in the table: a tenth of the memory of the names themselves."""
    _lines: array[int] = field(default_factory=lambda: array("Q"))

    def take(
        self,
        document: Document,
        *,
        only: str | None = None,
        without: frozenset[tuple[str, bool]] = frozenset(),
    ) -> None:
        """Take every row; `only`: of this provider, others are refused; `without`: these `kinds` are passed over.

        Raises: UserError E-OFFERS: when the document is cut, not a single row of it can be used, or more rows can than
        are kept.
        """
        try:
            self._take(document, only, without)
        except MemoryError:
            rows = self.builder.rows
            self._taken, self.builder = {}, TableBuilder()
            raise _too_many(document.path, f"is too large for the memory: {rows:,} of its rows fit") from None

    def _take(self, document: Document, only: str | None, without: frozenset[tuple[str, bool]]) -> None:
        before, noted = self.builder.rows, len(self.builder.notes)
        seen = passed_over = 0
        layout = _Layout(document.columns)
        width, provider = layout.width, layout.provider
        rest = layout.rest
        for line, read in document.rows():
            seen += 1
            try:
                if len(read) != width:
                    raise RowError(f"{len(read)} fields, the header has {width}")  # noqa: TRY301 - one way to refuse
                row = [*map(str.strip, read), ""]
                owner = row[provider] = row[provider].lower()
                if without and (owner, rest(row)[2] != "0") in without:
                    passed_over += 1
                    continue
                if only is not None and owner != only:
                    raise RowError(f"provider is {owner[:40]!r}, this is the file of {only}")  # noqa: TRY301
                self._row(line, row, layout)
            except RowError as error:
                if document.ends_within(error.reason):
                    raise document.truncated(line, error.reason) from None
                self._note("refused", line, read, error.reason)
            if self.builder.rows > MAX_ROWS:
                raise _too_many(document.path, f"has more than {MAX_ROWS:,} usable rows, the most that are kept")
        if seen == 0:
            raise UserError("E-OFFERS", "offers file has no rows", document.path, "add one row per offer")
        if self.builder.rows == before and not passed_over:
            raise self._nothing(document, seen, noted)

    def _row(self, line: int, row: list[str], layout: _Layout) -> None:
        name: tuple[str, ...] = layout.name(row)
        source, as_of, _ = layout.rest(row)
        self._check_name(line, name, source)
        self._check_date("as_of", as_of)
        shape = self._shape(row, layout)
        prices = self._priced(row, layout, shape)
        extras = _NO_EXTRAS if layout.extras is None else self._more(row, layout)
        for kind, reason in prices.problems:
            self.builder.note(kind, line, _what(name), reason, shape.gpu)
        if not prices.sold:
            return
        provider, region, zone, instance_type, tier = name
        values = (
            provider, region, zone or None, instance_type, shape.gpu,
            str(shape.gpu_count), shape.vram_gb, shape.vram_mib, shape.vcpus, shape.ram_gb,
            prices.sold.get("on_demand"), prices.sold.get("spot"), prices.sold.get("reserved"),
            prices.listed_on_demand, source, as_of or None, tier or None, shape.arch, shape.mig,
            prices.currency_note,
        )  # fmt: skip
        distinct = self._distinct(values, shape)
        if distinct is None:
            self.builder.note("warning", line, _what(name), "repeats an earlier row", shape.gpu)
            return
        self.kinds.add((provider, shape.devices > 0))
        self._lines.append(line)
        self.builder.add((*values, distinct or None, *extras))

    def _check_name(self, line: int, name: tuple[str, ...], source: str) -> None:
        key = name[:3]
        if key not in self._sites:
            _forget(self._sites)
            self._sites[key] = self._site_problem(line, *name[:3])
        problem = self._sites[key]
        if problem is None and not name[3]:
            problem = "instance_type is missing"
        for column, text in (("instance_type", name[3]), ("tier", name[4]), ("source", source)):
            if len(text) > _LONGEST or not text.isprintable():
                problem = f"{column} is too long or holds control characters"
        if problem is not None:
            raise RowError(problem)

    def _check_date(self, column: str, text: str) -> None:
        if text in self._dates:
            return
        try:
            moment(text)
        except ValueError:
            raise RowError(f"{column} {text[:40]!r} is not a date such as 2026-11-30") from None
        _forget(self._dates, {""})
        self._dates.add(text)

    def _site_problem(self, line: int, provider: str, region: str, zone: str) -> str | None:
        if not _PROVIDER.fullmatch(provider):
            return f"provider {provider[:40]!r} is not a name" if provider else "provider is missing"
        if not region:
            return "region is missing"
        for name, text in (("region", region), ("zone", zone)):
            if len(text) > _LONGEST or not text.isprintable() or "/" in text:
                return f"{name} {text[:40]!r} is not a name"
        known = _known_regions(provider)
        if known and region_info(provider, region) is None and (provider, region) not in self._unknown:
            _forget(self._unknown)
            self._unknown.add((provider, region))
            near = did_you_mean(region, known) if len(self._unknown) <= _SUGGESTED else None
            reason = f"region {region!r} is not known" + (f", did you mean {near}" if near else "")
            self.builder.note("warning", line, f"{provider}/{region}", reason)
        return zone_problem(provider, zone) if zone else None

    def _shape(self, row: list[str], layout: _Layout) -> Shape:
        key = layout.shape(row)
        found = self._shapes.get(key)
        if found is None:
            try:
                found = read_shape(layout.cells(row))
            except RowError as error:
                found = error
            _forget(self._shapes)
            self._shapes[key] = found
        if isinstance(found, RowError):
            raise found
        return found

    def _priced(self, row: list[str], layout: _Layout, shape: Shape) -> Prices:
        key = (shape, layout.money(row))
        found = self._prices.get(key)
        if found is None:
            try:
                found = read_prices(layout.cells(row), shape, self.rates)
            except RowError as error:
                found = error
            _forget(self._prices)
            self._prices[key] = found
        if isinstance(found, RowError):
            raise found
        return found

    def _more(self, row: list[str], layout: _Layout) -> tuple[str | None, ...]:
        """Return the columns of `EXTRAS`."""
        key = layout.extras(row) if layout.extras else ()
        found = self._extras.get(key)
        if found is None:
            try:
                cells = layout.cells(row)
                self._check_date("spot_as_of", cells["spot_as_of"])
                found = read_extras(cells)
            except RowError as error:
                found = error
            _forget(self._extras)
            self._extras[key] = found
        if isinstance(found, RowError):
            raise found
        return found

    def _distinct(self, values: tuple[str | None, ...], shape: Shape) -> str | None:
        """Return what tells this row from an earlier one with the same name (usually ""), or None: it is the same.

        Raises: RowError: when an earlier row sells the same machine at another price.
        """
        name, distinct = tuple([values[column] for column in _NAMED]), ""
        earlier = self._earlier(name, values)
        if earlier is not None and not self.builder.holds(earlier, values, _SHAPED):
            distinct = "-".join(filter(None, (shape.gpu or "unknown", shape.mig, f"x{shape.gpu_count}")))
            earlier = self._earlier((*name, distinct), values)
        if earlier is None:
            self._taken[hash((*name, distinct) if distinct else name)] = self.builder.rows
            return distinct
        if self.builder.holds(earlier, values, _SHAPED) and self.builder.holds(earlier, values, _PRICED):
            return None
        raise RowError(f"repeats line {self._lines[earlier]} with another price or machine")

    def _earlier(self, name: tuple[str | None, ...], values: tuple[str | None, ...]) -> int | None:
        """Return the number of the row that bears a name already, or None."""
        number = self._taken.get(hash(name))
        if number is None or not self.builder.holds(number, values, _NAMED):  # else only the hashes are equal
            return None
        return number

    def _note(self, kind: str, line: int, row: Sequence[str], reason: str) -> None:
        self.builder.note(kind, line, "/".join(filter(None, row[:4]))[:_LONGEST], reason)

    def _nothing(self, document: Document, seen: int, noted: int) -> UserError:
        errors = [
            UserError("E-OFFERS", f"{note.what or 'row'}: {note.reason}", f"{document.path}:{note.row}")
            for note in self.builder.notes[noted:][:_SHOWN]
        ]
        head = UserError("E-OFFERS", f"none of the {seen} rows of the offers file can be used", document.path)
        return UserErrors.of([head, *errors])


def _what(name: tuple[str, ...]) -> str:
    return "/".join(filter(None, name[:4]))


def _forget(known: Any, start: Any = ()) -> None:  # noqa: ANN401 - a dict or a set
    """Empty what is remembered when it has grown too large."""
    if len(known) >= _REMEMBERED:
        known.clear()
        known.update(start)


def _too_many(path: str, what: str) -> UserError:
    fix = "leave out what no intent asks for: providers, regions, machine types"
    return UserError("E-OFFERS", f"offers file {what}", path, fix)
