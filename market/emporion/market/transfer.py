"""What it costs to bring data to a site, and to take data out: one-off costs spread over the run's hours."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal

from emporion.market.cost_lines import CostLine, per_hour
from emporion.market.intent.model import DataSet, Intent
from emporion.market.prices import EgressRate, price_book
from emporion.market.sites import provider_of_scheme, region_info

__all__ = ["dataset_place", "transfer_lines"]

_PART = "transfer"


def dataset_place(data: DataSet) -> tuple[str, str | None] | None:
    """Return the (provider, region) where a dataset lies, region None when unsaid; None: not in a known cloud's store.

    The region is the dataset's own, or a region's name in its path (`s3://bucket/us-east-1/…`).
    """
    scheme, separator, rest = (data.source or "").partition("://")
    provider = provider_of_scheme(scheme) if separator else None
    if provider is None:
        return None
    named = [part for part in rest.split("/") if region_info(provider, part)]
    return provider, data.region or (named[0] if named else None)


def transfer_lines(intent: Intent, provider: str, region: str) -> tuple[CostLine, ...]:
    """Return the lines for all data of the intent and its stages at one site; never a silent 0 (cases/market.md 28)."""
    lines = [line for data in intent.data for line in _lines(data, None, provider, region, intent.model.hours)]
    for stage in intent.stages:
        hours = stage.hours or intent.model.hours
        for data in (*stage.data_in, *stage.data_out):
            lines += _lines(data, stage.name, provider, region, hours)
    if lines:
        return tuple(lines)
    why = "not estimated: the intent names no data"
    return (CostLine(_PART, "data transfer", None, None, "GB", None, None, None, why, None, "unknown", counted=False),)


def _lines(data: DataSet, stage: str | None, provider: str, region: str, hours: Decimal | None) -> Iterator[CostLine]:
    if data.source is not None:
        yield _inbound(data, stage, provider, region, hours)
    if data.egress is not None:
        rate = price_book().egress(provider, region, None)
        yield _line("data out", stage, data.egress.gb, rate, hours=hours, way="")


def _inbound(data: DataSet, stage: str | None, provider: str, region: str, hours: Decimal | None) -> CostLine:
    item = f"data from {data.source}"
    size = None if data.size is None else data.size.gb
    place = dataset_place(data)
    if place is None:
        return _unknown(item, stage, size, "not estimated: what the source charges is not known")
    if place[1] is None:
        return _unknown(item, stage, size, "not estimated: the intent does not say in which region the data lies")
    if place == (provider, region):
        source = "assumed: a store charges no traffic within its own region"
        zero = Decimal(0)
        return CostLine(_PART, item, stage, size, "GB", zero, zero, zero, source, None, "assumed")
    rate = price_book().egress(place[0], place[1], (provider, region))
    return _line(item, stage, size, rate, hours=hours, way=f"{place[0]} {place[1]} to {provider} {region}; ")


def _unknown(item: str, stage: str | None, size: Decimal | None, why: str) -> CostLine:
    return CostLine(_PART, item, stage, size, "GB", None, None, None, why, None, "unknown")


def _line(
    item: str,
    stage: str | None,
    size: Decimal | None,
    rate: EgressRate | None,
    *,
    hours: Decimal | None,
    way: str,
) -> CostLine:
    zero = Decimal(0)
    if size == 0:
        return CostLine(_PART, item, stage, size, "GB", zero, zero, zero, "the intent says 0", None, "assumed")
    if rate is None:
        return _unknown(item, stage, size, f"{way}no figure found")
    source, price = way + rate.source, rate.first_usd_per_gb
    if size is None:
        return CostLine(_PART, item, stage, None, "GB", price, None, None, source, rate.as_of, "unknown")
    usd = rate.cost(size)
    if usd != size * price:
        source += f"; {usd.normalize():f} USD over its volume bands"
    if hours is None:
        source += f"; {usd.normalize():f} USD once: model.hours says over how long"
        return CostLine(_PART, item, stage, size, "GB", price, None, None, source, rate.as_of, "unknown")
    amount = per_hour(usd, hours)
    upper = per_hour(usd, hours, up=True)
    return CostLine(_PART, item, stage, size, "GB", price, amount, upper, source, rate.as_of, rate.quality)
