"""What it costs to bring data to a site, and to take data out: one-off costs spread over the run's hours."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal

from emporion.market.cost_lines import CHECKPOINT_BYTES_PER_PARAMETER, HOURS_PER_MONTH, CostLine, per_hour
from emporion.market.intent.model import DataSet, Intent
from emporion.market.prices import EgressRate, price_book
from emporion.market.sites import provider_of_scheme, region_info, regions

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
    traffic = tuple(_checkpoint_traffic(intent, provider, region))
    if lines:
        return (*lines, *traffic)
    why = "not estimated: the intent names no data"
    none = CostLine(_PART, "data transfer", None, None, "GB", None, None, None, why, None, "unknown", counted=False)
    return (none, *traffic)


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
        return _from_anywhere(item, stage, size, place[0], to=(provider, region), hours=hours)
    if place == (provider, region):
        source = "assumed: a store charges no traffic within its own region"
        zero = Decimal(0)
        return CostLine(_PART, item, stage, size, "GB", zero, zero, zero, source, None, "assumed")
    rate = price_book().egress(place[0], place[1], (provider, region))
    return _line(item, stage, size, rate, hours=hours, way=f"{place[0]} {place[1]} to {provider} {region}; ")


def _from_anywhere(
    item: str, stage: str | None, size: Decimal | None, owner: str, *, to: tuple[str, str], hours: Decimal | None
) -> CostLine:
    """Return the line for data whose region is not said: unknown, bounded by the provider's dearest region."""
    why = f"the region of the data is unknown; bound: from the dearest region of {owner}"
    if size is None or hours is None:
        return _unknown(item, stage, size, why.partition(";")[0])
    rates = [price_book().egress(owner, name, to) for known, name in sorted(regions()) if known == owner]
    upper = max((per_hour(rate.cost(size), hours, up=True) for rate in rates if rate is not None), default=None)
    return CostLine(_PART, item, stage, size, "GB", None, None, upper, why, None, "unknown")


def _checkpoint_traffic(intent: Intent, provider: str, region: str) -> Iterator[CostLine]:
    """Yield the line for checkpoints that leave the cloud for the user's own store elsewhere."""
    place = dataset_place(DataSet(source=intent.checkpoint_path))
    if place is None or place[0] == provider:
        return
    rate = price_book().egress(provider, region, None)
    interval, parameters = intent.lifecycle.checkpoint_interval_s, intent.model.parameters
    source = f"checkpoints go from {provider} to {place[0]}"
    price = None if rate is None else rate.first_usd_per_gb
    if rate is None or interval is None or parameters is None:
        why = f"{source}; the volume depends on the checkpoint interval and the model's parameters"
        yield CostLine(
            _PART, "checkpoint traffic", None, None, "GB", price, None, None, why, None, "unknown", counted=False
        )
        return
    per_month = Decimal(parameters * CHECKPOINT_BYTES_PER_PARAMETER) / 10**9 * HOURS_PER_MONTH * 3600 / interval
    usd = rate.cost(per_month)
    yield CostLine(
        _PART, "checkpoint traffic", None, per_hour(per_month, HOURS_PER_MONTH), "GB", price,
        per_hour(usd, HOURS_PER_MONTH), per_hour(usd, HOURS_PER_MONTH, up=True), f"{source}; {rate.source}", rate.as_of,
        rate.quality,
    )  # fmt: skip


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
