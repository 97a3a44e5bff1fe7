"""The catalogue: a validated table whose rows become offers when someone asks for them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cached_property

from emporion.market.errors import UserError, UserErrors, did_you_mean
from emporion.market.offer import Market, Offer
from emporion.market.offers.columns import RowNote, Table
from emporion.market.offers.make import OfferMaker
from emporion.market.offers.shape import Topology, topology
from emporion.market.sites import check_regions, region_matches

__all__ = ["Catalogue", "OfferFilter", "TypeInfo"]


@dataclass(frozen=True, slots=True)
class OfferFilter:
    """Which offers are wanted; an empty or None field lets everything through."""

    gpus: frozenset[str] | None = None
    """Ids of gpus.csv; `unknown_gpu` says whether rows of unknown model pass too."""
    unknown_gpu: bool = False
    providers: frozenset[str] = frozenset()
    regions: tuple[str, ...] = ()
    """Globs over region names and areas."""
    markets: frozenset[Market] = frozenset(Market)
    instance_types: frozenset[str] = frozenset()
    machines: str = "any"
    """`gpu`, `cpu` or `any`."""


@dataclass(frozen=True, slots=True)
class TypeInfo:
    """Everything the catalogue knows of one machine type of one provider."""

    provider: str
    instance_type: str
    offers: tuple[Offer, ...]
    """Cheapest first."""
    topology: Topology | None
    notes: tuple[RowNote, ...] = field(default=())


class Catalogue:
    """Offers of one snapshot or file. Immutable; offers are made on demand and kept."""

    def __init__(self, table: Table, version: str, source: str) -> None:
        """Wrap a validated table; `version` is the hash of what it was made from."""
        self._table = table
        self._maker = OfferMaker(table)
        self.version = version
        self.source = source
        """`bundled`; `market`: with refreshed or registered offers; or the file's path."""
        self.notes = table.notes
        """What the import says about single rows, in the order of the file."""

    def _values(self, name: str) -> list[str | None]:
        column = self._table.columns[name]
        texts = column.texts
        return [texts[code] for code in column.codes]

    @cached_property
    def as_of(self) -> str | None:
        """The newest date of a source; None: no row has one."""
        return max((text for text in self._table.columns["as_of"].texts if text), default=None)

    @cached_property
    def offers(self) -> tuple[Offer, ...]:
        """Every offer, GPU and CPU, in the order of the file; `find_offers` makes only what it returns."""
        return self.find_offers(OfferFilter())

    @property
    def refused(self) -> tuple[RowNote, ...]:
        """Rows that contradict themselves or what is known."""
        return self._noted("refused")

    @property
    def quarantined(self) -> tuple[RowNote, ...]:
        """Rows with an implausible price."""
        return self._noted("quarantined")

    @property
    def unpriced(self) -> tuple[RowNote, ...]:
        """Rows without a price, or with a price of 0."""
        return self._noted("unpriced")

    @property
    def unsold(self) -> tuple[RowNote, ...]:
        """Rows listed at a price at which they are not sold."""
        return self._noted("unsold")

    def noted(self, kind: str) -> int:
        """Return how many notes of a kind there are; of a thousand and more not all are kept word for word."""
        return len(self._noted(kind)) + self._table.more_notes.get(kind, 0)

    def _noted(self, kind: str) -> tuple[RowNote, ...]:
        return tuple(note for note in self.notes if note.kind == kind)

    @cached_property
    def warnings(self) -> tuple[str, ...]:
        """What a plan should say about the catalogue: one line per note, and per kind a count beyond three."""
        lines = []
        for kind in ("refused", "quarantined", "unsold", "warning"):
            notes, total = self._noted(kind), self.noted(kind)
            label = "" if kind == "warning" else f"{kind}: "
            lines += [f"{self.source}: {label}{note}" for note in notes[:3]]
            if total > 3:  # noqa: PLR2004 - a plan is not a log
                lines.append(f"{self.source}: {label}{total - 3} more rows")
        return tuple(lines)

    @cached_property
    def providers(self) -> tuple[str, ...]:
        """Providers with at least one row, sorted."""
        return tuple(sorted(text for text in self._table.columns["provider"].texts if text))

    @cached_property
    def sites(self) -> tuple[tuple[str, str], ...]:
        """The (provider, region) pairs with at least one row, sorted."""
        pairs = zip(self._values("provider"), self._values("region"), strict=True)
        return tuple(sorted({(provider, region) for provider, region in pairs if provider and region}))

    @cached_property
    def gpus(self) -> frozenset[str]:
        """Ids of gpus.csv of which there is at least one row."""
        return frozenset(text for text in self._table.columns["gpu"].texts if text)

    def find_offers(self, wanted: OfferFilter) -> tuple[Offer, ...]:
        """Return the offers that pass, in the order of the file; of one row on-demand, spot, reserved."""
        markets = [market for market in Market if market in wanted.markets]
        return tuple(self._maker.offers(self._rows(wanted), markets))

    def count(self, wanted: OfferFilter) -> int:
        """Return how many rows pass, without making offers."""
        return sum(1 for _ in self._rows(wanted))

    def tally(self, wanted: OfferFilter) -> tuple[int, Offer | None]:
        """Return how many offers pass and the cheapest of them (of equals that with the smallest id)."""
        rows = list(self._rows(wanted))
        count = 0
        cheapest: list[Offer] = []
        for market in (market for market in Market if market in wanted.markets):
            column = self._table.columns[market.value]
            prices = [None if text is None else Decimal(text) for text in column.texts]
            sold = [(price, row) for row in rows if (price := prices[column.codes[row]]) is not None]
            count += len(sold)
            if sold:
                least = min(price for price, _ in sold)
                cheapest += self._maker.offers([row for price, row in sold if price == least], [market])
        return count, min(cheapest, key=lambda offer: (offer.usd_per_hour, offer.id), default=None)

    def _rows(self, wanted: OfferFilter) -> Iterator[int]:
        tests: dict[str, Callable[[str | None], bool]] = {}
        if wanted.gpus is not None:
            ids = wanted.gpus
            tests["gpu"] = lambda text: text in ids if text is not None else wanted.unknown_gpu
        if wanted.providers:
            tests["provider"] = lambda text: text in wanted.providers
        if wanted.instance_types:
            tests["instance_type"] = lambda text: text in wanted.instance_types
        if wanted.machines != "any":
            tests["gpu_count"] = lambda text: (text == "0") == (wanted.machines == "cpu")
        rows: Iterator[int] = iter(range(self._table.rows))
        for name, test in tests.items():
            column = self._table.columns[name]
            passes = [test(text) for text in column.texts]
            if all(passes):
                continue
            codes = column.codes
            rows = iter([row for row in rows if passes[codes[row]]])
        if wanted.regions:
            rows = self._in_regions(rows, wanted.regions)
        return rows

    def _in_regions(self, rows: Iterator[int], globs: tuple[str, ...]) -> Iterator[int]:
        providers, names = self._table.columns["provider"], self._table.columns["region"]
        passes: dict[tuple[int, int], bool] = {}
        for row in rows:
            key = (providers.codes[row], names.codes[row])
            if key not in passes:
                passes[key] = region_matches(globs, providers.texts[key[0]] or "", names.texts[key[1]] or "")
            if passes[key]:
                yield row

    def type_names(self) -> frozenset[str]:
        """Return every machine type's name."""
        return frozenset(text for text in self._table.columns["instance_type"].texts if text)

    def explain_type(self, name: str, provider: str | None = None) -> tuple[TypeInfo, ...]:
        """Return what is known of a machine type, for each provider that has one of this name.

        Raises: UserError E-TYPE: when no provider (or not `provider`) has it, with the nearest name.
        """
        wanted = OfferFilter(instance_types=frozenset({name}), providers=frozenset({provider} if provider else ()))
        found: dict[str, list[Offer]] = {}
        for offer in self.find_offers(wanted):
            found.setdefault(offer.provider, []).append(offer)
        if not found:
            near = did_you_mean(name, set(self.type_names()))
            fix = f"did you mean {near}" if near and near != name else "`emporion offers list` shows the types"
            of = f" of {provider}" if provider else ""
            raise UserError("E-TYPE", f"no machine type{of} is called {name!r}", fix=fix)
        return tuple(self._explained(owner, name, found[owner]) for owner in sorted(found))

    def _explained(self, provider: str, name: str, offers: list[Offer]) -> TypeInfo:
        notes = tuple(
            note for note in self.notes if note.what.startswith(f"{provider}/") and note.what.endswith(f"/{name}")
        )
        cheapest_first = tuple(sorted(offers, key=lambda offer: (offer.usd_per_hour, offer.id)))
        return TypeInfo(provider, name, cheapest_first, topology(provider, name), notes)

    def check_providers(self, names: Iterable[str], where: str = "constraints.providers") -> None:
        """See to it that every name is a provider with offers.

        Raises: UserError E-PROVIDER: for each that is not, with the nearest name.
        """
        problems = []
        for name in dict.fromkeys(names):
            if name not in self.providers:
                near = did_you_mean(name, set(self.providers))
                fix = f"did you mean {near}" if near else f"providers with offers: {', '.join(self.providers)}"
                problems.append(UserError("E-PROVIDER", f"no provider is called {name!r}", where, fix))
        if problems:
            raise UserErrors.of(problems)

    def check_regions(
        self, globs: Iterable[str], providers: tuple[str, ...] = (), where: str = "constraints.regions"
    ) -> None:
        """See to it that every glob names a known region.

        Raises: UserError E-REGION: for each that names none, with the nearest name.
        """
        check_regions(globs, self.sites, providers, where)
