"""Making an `Offer` of a row of the table, with what is known of its machine type."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from decimal import Decimal
from functools import cached_property
from typing import Any

from emporion.market.offer import Market, Offer
from emporion.market.offers.columns import Table
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
        name = instance_type
        if tier:
            name += f"@{tier}"
        if distinct:
            name += f"+{distinct}"
        warnings: tuple[str, ...] = ()
        if market is Market.SPOT and on_demand is not None and spot_is_dearer(price, on_demand):
            warnings = (f"spot {price} is dearer than on-demand {on_demand}",)
        # By position: with 26 fields names would take half of the time.
        return Offer(
            f"{provider}/{region}/{zone}/{name}/{market}" if zone else f"{provider}/{region}/{name}/{market}",
            provider, region, zone, instance_type, market, price, gpu, gpu_count, vram_gb, vcpus, ram_gb, source or "",
            as_of, vram_mib, *known, on_demand, tier, arch, mig, currency_note, warnings,
        )  # fmt: skip


_UNKNOWN = (None, None, None, None, None)
_SHARED: tuple[tuple[str, Callable[[str], object]], ...] = (
    ("provider", str), ("region", str), ("zone", str), ("instance_type", str), ("gpu", str), ("gpu_count", int),
    ("gpu_vram_gb", Decimal), ("gpu_vram_mib", int), ("vcpus", Decimal), ("ram_gb", Decimal), ("source", str),
    ("as_of", str), ("tier", str), ("arch", str), ("mig", str), ("currency_note", str), ("distinct", str),
)  # fmt: skip
