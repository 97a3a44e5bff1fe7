"""Making an `Offer` of a row of the table, with what is known of its machine type."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from decimal import Decimal
from functools import cached_property
from typing import Any

from emporion.market.offer import Fabric, Market, Nvlink, Offer, Software
from emporion.market.offers.columns import EXTRAS, Table
from emporion.market.offers.row_prices import spot_is_dearer
from emporion.market.offers.shape import topologies

__all__ = ["OfferMaker"]


class OfferMaker:
    """Makes offers, each once; what many rows share is converted once."""

    def __init__(self, table: Table) -> None:
        """Wrap the table."""
        self._table = table
        self._made: dict[tuple[int, Market], Offer] = {}
        self._listed = self._column("listed_on_demand")
        self._known = {
            name: (each.nvlink, each.nvlink_gb_s_per_gpu, each.fabric, each.fabric_gbps, each.network_gbps)
            for name, each in topologies().items()
        }

    @cached_property
    def _shared(self) -> list[tuple[list[Any], Sequence[int]]]:
        """The columns of few distinct values, converted, in the order in which `_make` takes them."""
        columns = self._table.columns
        return [
            ([None if text is None else convert(text) for text in columns[name].texts], columns[name].codes)
            for name, convert in _SHARED
        ]

    @cached_property
    def _extras(self) -> _Extras | None:
        """The columns that few files have; None: this one has none of them."""
        columns = [self._column(name) for name in EXTRAS]
        return _Extras(columns) if any(texts not in ((), (None,)) for texts, _ in columns) else None

    def offers(self, rows: Iterable[int], markets: Sequence[Market]) -> list[Offer]:
        """Return the offers of rows in the markets in which each is sold, in the order of `rows`, then of `markets`."""
        made = self._made
        sold = [(market, self._column(market.value)) for market in markets]
        found: list[Offer] = []
        for row in rows:
            shared: list[Any] | None = None
            for market, (texts, codes) in sold:
                text = texts[codes[row]]
                if text is None:
                    continue
                offer = made.get((row, market))
                if offer is None:
                    if shared is None:
                        shared = [values[own[row]] for values, own in self._shared]
                    offer = made[row, market] = self._make(row, market, Decimal(text), shared)
                found.append(offer)
        return found

    def _column(self, name: str) -> tuple[Sequence[str | None], Sequence[int]]:
        column = self._table.columns[name]
        return column.texts, column.codes

    def _make(self, row: int, market: Market, price: Decimal, shared: list[Any]) -> Offer:
        (
            provider, region, zone, instance_type, gpu, gpu_count, vram_gb, vram_mib, vcpus, ram_gb, source, as_of,
            tier, arch, mig, currency_note, distinct,
        ) = shared  # fmt: skip
        texts, codes = self._listed
        listed = texts[codes[row]]
        on_demand = None if listed is None else Decimal(listed)
        known = self._known.get((provider, instance_type), _UNKNOWN)
        software, place = None, None
        if self._extras is not None:
            known, software, place, spot = self._extras.of(row, known)
            if market is Market.SPOT:
                source, as_of = spot[0] or source, spot[1] or as_of
        name = instance_type
        if tier:
            name += f"@{tier}"
        if distinct:
            name += f"+{distinct}"
        warnings: tuple[str, ...] = ()
        if market is Market.SPOT and on_demand is not None and spot_is_dearer(price, on_demand):
            warnings = (f"spot {price} is dearer than on-demand {on_demand}",)
        # By position: with 28 fields names would take half of the time.
        return Offer(
            f"{provider}/{region}/{zone}/{name}/{market}" if zone else f"{provider}/{region}/{name}/{market}",
            provider, region, zone, instance_type, market, price, gpu, gpu_count, vram_gb, vcpus, ram_gb, source or "",
            as_of, vram_mib, *known, on_demand, tier, arch, mig, currency_note, warnings, software,
            place,
        )  # fmt: skip


_Place = tuple[Decimal, Decimal]
_Joined = tuple[Nvlink | None, Decimal | None, Fabric | None, Decimal | None, Decimal | None]


class _Extras:
    """What a row says of itself beyond its shape; it stands before what is known of the machine's type.

    The columns are those of `EXTRAS`, in its order.
    """

    def __init__(self, columns: Sequence[tuple[Sequence[str | None], Sequence[int]]]) -> None:
        self._columns = columns
        self._read: dict[tuple[str | None, ...], tuple[_Joined, Software | None, _Place | None]] = {}

    def of(self, row: int, known: _Joined) -> tuple[_Joined, Software | None, _Place | None, tuple[str | None, ...]]:
        """Return how the machine is joined, its software, its place, and source and date of its spot price."""
        told = tuple([texts[codes[row]] for texts, codes in self._columns])
        read = self._read.get(told[2:])
        if read is None:
            read = self._read[told[2:]] = _joined(told[7:12]), _software(told[2:7]), _place(*told[12:])
        joined, software, place = read
        if joined != _UNKNOWN:
            known = tuple(own if own is not None else other for own, other in zip(joined, known, strict=True))  # type: ignore[assignment]
        return known, software, place, told[:2]


def _joined(told: tuple[str | None, ...]) -> _Joined:
    nvlink, nvlink_gb_s, fabric, fabric_gbps, network_gbps = told
    return (
        Nvlink(nvlink) if nvlink else None, _number(nvlink_gb_s), Fabric(fabric) if fabric else None,
        _number(fabric_gbps), _number(network_gbps),
    )  # fmt: skip


def _software(told: tuple[str | None, ...]) -> Software | None:
    cuda, driver, os, preinstalled, sla_percent = told
    if told == (None,) * len(told):
        return None
    packages = None if preinstalled is None else tuple(preinstalled.split())
    return Software(cuda, driver, os, packages, _number(sla_percent))


def _place(lat: str | None, lon: str | None) -> _Place | None:
    return None if lat is None or lon is None else (Decimal(lat), Decimal(lon))


def _number(text: str | None) -> Decimal | None:
    return None if text is None else Decimal(text)


_UNKNOWN: _Joined = (None, None, None, None, None)
_SHARED: tuple[tuple[str, Callable[[str], object]], ...] = (
    ("provider", str), ("region", str), ("zone", str), ("instance_type", str), ("gpu", str), ("gpu_count", int),
    ("gpu_vram_gb", Decimal), ("gpu_vram_mib", int), ("vcpus", Decimal), ("ram_gb", Decimal), ("source", str),
    ("as_of", str), ("tier", str), ("arch", str), ("mig", str), ("currency_note", str), ("distinct", str),
)  # fmt: skip
