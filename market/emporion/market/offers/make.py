"""Making an `Offer` of a row of the table, with what is known of its machine type."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import TypeVar

from emporion.market.offer import Market, Offer
from emporion.market.offers.columns import Table
from emporion.market.offers.row_prices import spot_is_dearer
from emporion.market.offers.shape import topology

__all__ = ["OfferMaker"]

_T = TypeVar("_T")


class OfferMaker:
    """Makes offers; each distinct text is converted once, each offer made once."""

    def __init__(self, table: Table) -> None:
        """Wrap the table."""
        self._table = table
        self._made: dict[tuple[int, Market], Offer] = {}
        self._text = {name: _reader(table, name, str) for name in table.columns}
        self._number = {
            name: _reader(table, name, Decimal)
            for name in (
                "gpu_vram_gb", "vcpus", "ram_gb", "on_demand", "spot", "reserved", "listed_on_demand",
            )
        }  # fmt: skip
        self._whole = {name: _reader(table, name, int) for name in ("gpu_count", "gpu_vram_mib")}

    def offer(self, row: int, market: Market) -> Offer:
        """Return the offer of a row that is sold in this market."""
        made = self._made.get((row, market))
        if made is None:
            made = self._made[row, market] = self._make(row, market)
        return made

    def _make(self, row: int, market: Market) -> Offer:
        text, number = self._text, self._number
        provider, region = text["provider"](row) or "", text["region"](row) or ""
        zone, instance_type, tier = text["zone"](row), text["instance_type"](row) or "", text["tier"](row)
        distinct = text["distinct"](row)
        price = number[market.value](row)
        if price is None:
            raise ValueError(f"row {row} is not sold {market}")
        on_demand = number["listed_on_demand"](row)
        known = topology(provider, instance_type)
        name = instance_type + (f"@{tier}" if tier else "") + (f"+{distinct}" if distinct else "")
        warnings: tuple[str, ...] = ()
        if market is Market.SPOT and on_demand is not None and spot_is_dearer(price, on_demand):
            warnings = (f"spot {price} is dearer than on-demand {on_demand}",)
        return Offer(
            id="/".join((provider, region, zone, name, market) if zone else (provider, region, name, market)),
            provider=provider,
            region=region,
            zone=zone,
            instance_type=instance_type,
            market=market,
            usd_per_hour=price,
            gpu=text["gpu"](row),
            gpu_count=self._whole["gpu_count"](row) or 0,
            gpu_vram_gb=number["gpu_vram_gb"](row),
            vcpus=number["vcpus"](row),
            ram_gb=number["ram_gb"](row),
            source=text["source"](row) or "",
            as_of=text["as_of"](row),
            gpu_vram_mib=self._whole["gpu_vram_mib"](row),
            nvlink=known.nvlink if known else None,
            nvlink_gb_s_per_gpu=known.nvlink_gb_s_per_gpu if known else None,
            fabric=known.fabric if known else None,
            fabric_gbps=known.fabric_gbps if known else None,
            network_gbps=known.network_gbps if known else None,
            on_demand_usd_per_hour=on_demand,
            tier=tier,
            arch=text["arch"](row) or "x86_64",
            mig=text["mig"](row),
            currency_note=text["currency_note"](row),
            warnings=warnings,
        )


def _reader(table: Table, name: str, convert: Callable[[str], _T]) -> Callable[[int], _T | None]:
    column = table.columns[name]
    texts, codes = column.texts, column.codes
    known: dict[int, _T | None] = {}

    def read(row: int) -> _T | None:
        code = codes[row]
        if code not in known:
            text = texts[code]
            known[code] = None if text is None else convert(text)
        return known[code]

    return read
