"""From the rows of an offers file to a validated table: every row is taken, or noted with its line and a reason."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache

from emporion.market.errors import UserError, UserErrors, did_you_mean
from emporion.market.money import Rate
from emporion.market.offers.columns import RowNote, TableBuilder
from emporion.market.offers.dates import moment
from emporion.market.offers.document import OPTIONAL, REQUIRED, Document
from emporion.market.offers.row_prices import Prices, read_prices
from emporion.market.offers.shape import RowError, Shape, read_shape
from emporion.market.sites import regions, zone_problem

__all__ = ["Importer"]

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
_SHOWN = 5
_SUGGESTED = 20
"""Near names are looked up for so many unknown regions; each costs a millisecond."""


@cache
def _known_regions(provider: str) -> set[str]:
    return {name for owner, name in regions() if owner == provider}


@dataclass(slots=True)
class Importer:
    """Takes documents into one table. What many rows share is looked at once."""

    rates: Mapping[str, Rate] = field(default_factory=dict)
    builder: TableBuilder = field(default_factory=TableBuilder)
    _shapes: dict[tuple[str, ...], Shape | RowError] = field(default_factory=dict)
    _prices: dict[tuple[object, ...], Prices | RowError] = field(default_factory=dict)
    _sites: dict[tuple[str, str, str], str | None] = field(default_factory=dict)
    _unknown: set[tuple[str, str]] = field(default_factory=set)
    _dates: set[str] = field(default_factory=lambda: {""})
    _taken: dict[tuple[str, ...], tuple[int, Shape, Prices]] = field(default_factory=dict)

    def take(self, document: Document) -> None:
        """Take every row.

        Raises: UserError E-OFFERS: when the document is cut, or not a single row of it can be used.
        """
        before = self.builder.rows
        seen = 0
        width = len(document.columns)
        empty = dict.fromkeys((*REQUIRED, *OPTIONAL), "")
        for line, row in document.rows():
            seen += 1
            try:
                if len(row) != width:
                    raise RowError(f"{len(row)} fields, the header has {width}")  # noqa: TRY301 - one way to refuse
                self._row(line, {**empty, **dict(zip(document.columns, map(str.strip, row), strict=True))})
            except RowError as error:
                if document.ends_within(line, error.reason):
                    raise document.truncated(line, error.reason) from None
                self._note("refused", line, row, error.reason)
        if seen == 0:
            raise UserError("E-OFFERS", "offers file has no rows", document.path, "add one row per offer")
        if self.builder.rows == before:
            raise self._nothing(document, seen)

    def _row(self, line: int, cells: dict[str, str]) -> None:
        cells["provider"] = cells["provider"].lower()
        self._check_site(line, cells)
        as_of = cells["as_of"]
        if as_of not in self._dates:
            try:
                moment(as_of)
            except ValueError:
                raise RowError(f"as_of {as_of[:40]!r} is not a date such as 2026-11-30") from None
            self._dates.add(as_of)
        shape = self._shape(cells)
        prices = self._priced(cells, shape)
        what = "/".join(filter(None, (cells["provider"], cells["region"], cells["zone"], cells["instance_type"])))
        for kind, reason in prices.problems:
            self.builder.notes.append(RowNote(kind, line, what, reason, shape.gpu))
        if not prices.sold:
            return
        distinct = self._distinct(line, cells, shape, prices)
        if distinct is None:
            self.builder.notes.append(RowNote("warning", line, what, "repeats an earlier row", shape.gpu))
            return
        self.builder.add((
            cells["provider"], cells["region"], cells["zone"] or None, cells["instance_type"], shape.gpu,
            str(shape.gpu_count), shape.vram_gb, shape.vram_mib, shape.vcpus, shape.ram_gb,
            prices.sold.get("on_demand"), prices.sold.get("spot"), prices.sold.get("reserved"),
            prices.listed_on_demand, cells["source"], as_of or None, cells["tier"] or None, shape.arch, shape.mig,
            prices.currency_note, distinct or None,
        ))  # fmt: skip

    def _check_site(self, line: int, cells: Mapping[str, str]) -> None:
        key = (cells["provider"], cells["region"], cells["zone"])
        if key not in self._sites:
            self._sites[key] = self._site_problem(line, *key)
        problem = self._sites[key]
        if problem is None and not cells["instance_type"]:
            problem = "instance_type is missing"
        for name in ("instance_type", "tier", "source"):
            if len(cells[name]) > _LONGEST or not cells[name].isprintable():
                problem = f"{name} is too long or holds control characters"
        if problem is not None:
            raise RowError(problem)

    def _site_problem(self, line: int, provider: str, region: str, zone: str) -> str | None:
        if not _PROVIDER.fullmatch(provider):
            return f"provider {provider[:40]!r} is not a name" if provider else "provider is missing"
        if not region:
            return "region is missing"
        for name, text in (("region", region), ("zone", zone)):
            if len(text) > _LONGEST or not text.isprintable() or "/" in text:
                return f"{name} {text[:40]!r} is not a name"
        known = _known_regions(provider)
        if known and region not in known and (provider, region) not in self._unknown:
            self._unknown.add((provider, region))
            near = did_you_mean(region, known) if len(self._unknown) <= _SUGGESTED else None
            reason = f"region {region!r} is not known" + (f", did you mean {near}" if near else "")
            self.builder.notes.append(RowNote("warning", line, f"{provider}/{region}", reason))
        return zone_problem(provider, zone) if zone else None

    def _shape(self, cells: Mapping[str, str]) -> Shape:
        key = tuple([cells[name] for name in _SHAPE])
        found = self._shapes.get(key)
        if found is None:
            try:
                found = read_shape(cells)
            except RowError as error:
                found = error
            self._shapes[key] = found
        if isinstance(found, RowError):
            raise found
        return found

    def _priced(self, cells: Mapping[str, str], shape: Shape) -> Prices:
        key = (shape, *[cells[name] for name in _MONEY])
        found = self._prices.get(key)
        if found is None:
            try:
                found = read_prices(cells, shape, self.rates)
            except RowError as error:
                found = error
            self._prices[key] = found
        if isinstance(found, RowError):
            raise found
        return found

    def _distinct(self, line: int, cells: Mapping[str, str], shape: Shape, prices: Prices) -> str | None:
        """Return what tells this row from an earlier one with the same name (usually ""), or None: it is the same.

        Raises: RowError: when an earlier row sells the same machine at another price.
        """
        name: tuple[str, ...] = (
            cells["provider"],
            cells["region"],
            cells["zone"],
            cells["instance_type"],
            cells["tier"],
        )
        distinct = ""
        earlier = self._taken.get(name)
        if earlier is not None and earlier[1] != shape:
            distinct = "-".join(filter(None, (shape.gpu or "unknown", shape.mig, f"x{shape.gpu_count}")))
            name = (*name, distinct)
            earlier = self._taken.get(name)
        if earlier is None:
            self._taken[name] = (line, shape, prices)
            return distinct
        if earlier[1] == shape and earlier[2].sold == prices.sold:
            return None
        raise RowError(f"repeats line {earlier[0]} with another price or machine")

    def _note(self, kind: str, line: int, row: Sequence[str], reason: str) -> None:
        self.builder.notes.append(RowNote(kind, line, "/".join(filter(None, row[:4]))[:_LONGEST], reason))

    def _nothing(self, document: Document, seen: int) -> UserError:
        reasons = self.builder.notes[-seen:][:_SHOWN]
        errors = [
            UserError("E-OFFERS", f"{note.what or 'row'}: {note.reason}", f"{document.path}:{note.row}")
            for note in reasons
        ]
        head = UserError("E-OFFERS", f"none of the {seen} rows of the offers file can be used", document.path)
        return UserErrors.of([head, *errors])
