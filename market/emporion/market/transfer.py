"""What it costs to bring data to a site, and to take data out: one-off costs spread over the run's hours.

Traffic is billed by the volume of a way (from a region, to another one of the provider's or to the internet), in bands.
Data that go the same way share its bands: each line pays what it adds.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from functools import partial

from emporion.market.cost_lines import CHECKPOINT_BYTES_PER_PARAMETER, HOURS_PER_MONTH, CostLine, per_hour
from emporion.market.intent.model import DataSet, Intent
from emporion.market.prices import EgressRate, price_book
from emporion.market.sites import region_info, regions, store_of

__all__ = ["between_stages", "checkpoint_place", "dataset_place", "moving_usd", "on_nfs", "transfer_lines"]

_PART = "transfer"
_ZERO = Decimal(0)
Place = tuple[str, str]
"""A provider and one of its regions."""


def dataset_place(data: DataSet) -> tuple[str, str | None] | None:
    """Return the (provider, region) where a dataset lies, region None when unsaid; None: not in a known cloud's store.

    The region is the dataset's own, or that of its host, or a region's name in its path (`s3://bucket/us-east-1/…`).
    """
    found = store_of(data.source or "")
    if found is None:
        return None
    provider, of_host = found
    named = [part for part in (data.source or "").split("/")[2:] if region_info(provider, part)]
    return provider, data.region or of_host or (named[0] if named else None)


def checkpoint_place(intent: Intent) -> tuple[str, str | None] | None:
    """Return the (provider, region) of the user's own store for checkpoints; None: there is none in a known cloud."""
    return dataset_place(DataSet(source=intent.checkpoint_path))


def on_nfs(url: str | None) -> bool:
    """Return whether an address is that of an NFS export."""
    return (url or "").partition("://")[0].lower() == "nfs"


def moving_usd(size_gb: Decimal, place: tuple[str, str | None], to: Place) -> tuple[Decimal | None, bool]:
    """Return what it costs to bring data to a region, once, in USD (None: unknown), and whether that is exact.

    Without the data's region it is what the provider's dearest region asks.
    """
    if place[1] is not None:
        rate = price_book().egress(place[0], place[1], to)
        return (_ZERO if place == to else None if rate is None else rate.cost(size_gb)), True
    return max((rate.cost(size_gb) for rate in _rates_from(place[0], to)), default=None), False


def _rates_from(provider: str, to: Place) -> list[EgressRate]:
    """Return the rates to a region from each other region of a provider."""
    found = [price_book().egress(provider, name, to) for known, name in sorted(regions()) if known == provider]
    return [rate for rate in found if rate is not None]


@dataclass(frozen=True)
class _Way:
    """What is known of the traffic of one line: between which ends, for how long, and what goes there already."""

    site: Place
    hours: Decimal | None
    moved: dict[tuple[str, str, Place | None], Decimal] = field(default_factory=dict)
    """GB that earlier lines move, by from (provider, region) and to (None: the internet or another cloud)."""

    def usd(self, start: Place, to: Place | None, size: Decimal, rate: EgressRate) -> Decimal:
        """Return what a volume adds on its way, and count it there."""
        key = (*start, to if to is not None and to[0] == start[0] else None)
        before = self.moved.get(key, _ZERO)
        self.moved[key] = before + size
        return rate.beyond(before, size)


def transfer_lines(intent: Intent, provider: str, region: str) -> tuple[CostLine, ...]:
    """Return the lines for all data of the intent and its stages at one site; never a silent 0 (cases/market.md 28)."""
    way = _Way((provider, region), intent.model.hours)
    lines = [line for data in intent.data for line in _lines(data, None, way)]
    for stage in intent.stages:
        staged = _Way(way.site, stage.hours or way.hours, way.moved)
        lines += [line for data in stage.data_in for line in _lines(data, stage.name, staged)]
        lines += [line for data in stage.data_out for line in _written(data, stage.name, staged)]
    traffic = tuple(_checkpoint_traffic(intent, provider, region))
    if lines:
        return (*lines, *traffic)
    why = "not estimated: the intent names no data"
    return (_unknown("data transfer", why, counted=False), *traffic)


def _lines(data: DataSet, stage: str | None, way: _Way) -> Iterator[CostLine]:
    if data.source is not None:
        yield _inbound(data, stage, way)
    if data.egress is not None:
        yield _line("data out", stage, data.egress.gb, way, start=way.site, to=None)


def _written(data: DataSet, stage: str | None, way: _Way) -> Iterator[CostLine]:
    """Yield the lines for what a stage writes to a store, and for what it sends out."""
    if data.source is not None:
        item, size, place = f"data to {data.source}", None if data.size is None else data.size.gb, dataset_place(data)
        if place is not None and place[0] == way.site[0] and place[1] is None:
            yield _unknown(item, "not estimated: the region of the store is not known", stage=stage, quantity=size)
        else:
            yield _moved(
                item,
                stage,
                size,
                way,
                start=way.site,
                to=None if place is None or place[1] is None else (place[0], place[1]),
            )
    if data.egress is not None:
        yield _line("data out", stage, data.egress.gb, way, start=way.site, to=None)


def between_stages(
    item: str, stage: str, size_gb: Decimal | None, ends: tuple[Place, Place], hours: Decimal | None
) -> CostLine:
    """Return the line of what one stage reads of another's data, once, spread over the reading stage's hours.

    Each need by itself pays from the first band on; within a region nothing is charged.
    """
    start, to = ends
    if size_gb is None:
        why = "not estimated: no data_out of the one and no data_in of the other says how much"
        return _unknown(item, why, stage=stage, counted=False)
    return _moved(item, stage, size_gb, _Way(to, hours), start=start, to=to)


def _moved(
    item: str, stage: str | None, size: Decimal | None, way: _Way, *, start: Place, to: Place | None
) -> CostLine:
    if start == to:
        source = "assumed: a store charges no traffic within its own region, and the cluster stands there"
        return CostLine(_PART, item, stage, size, "GB", _ZERO, _ZERO, _ZERO, source, None, "assumed")
    return _line(item, stage, size, way, start=start, to=to)


def _inbound(data: DataSet, stage: str | None, way: _Way) -> CostLine:
    item = f"data from {data.source}"
    size = None if data.size is None else data.size.gb
    place = dataset_place(data)
    if on_nfs(data.source):
        return _unknown(item, "not estimated: where this NFS export stands is not known", stage=stage, quantity=size)
    if place is None:
        return _unknown(item, "not estimated: what the source charges is not known", stage=stage, quantity=size)
    if place[1] is None:
        return _from_anywhere(item, stage, size, place[0], way)
    return _moved(item, stage, size, way, start=(place[0], place[1]), to=way.site)


def _from_anywhere(item: str, stage: str | None, size: Decimal | None, owner: str, way: _Way) -> CostLine:
    """Return the line for data whose region is not said: unknown, bounded by the provider's dearest region."""
    why = f"the region of the data is unknown; bound: from the dearest region of {owner}"
    if size is None or way.hours is None:
        return _unknown(item, why.partition(";")[0], stage=stage, quantity=size)
    usd, _ = moving_usd(size, (owner, None), way.site)
    upper = None if usd is None else per_hour(usd, way.hours, up=True)
    return _unknown(item, why, stage=stage, quantity=size, upper=upper)


def _checkpoint_traffic(intent: Intent, provider: str, region: str) -> Iterator[CostLine]:
    """Yield the line for checkpoints that leave the region for the user's own store elsewhere."""
    place = checkpoint_place(intent)
    if place is None or place == (provider, region) or intent.resources.gpus is None:
        return  # what does not train writes no checkpoints
    there = " ".join(part for part in place if part)
    interval, parameters = intent.lifecycle.checkpoint_interval_s, intent.model.parameters
    to: Place | None = None
    if place[0] == provider:
        if place[1] is None:
            yield _to_anywhere(intent, provider, region)
            return
        to = (provider, place[1])
    rate = price_book().egress(provider, region, to)
    source = f"checkpoints go from {provider} {region} to {there}"
    price = None if rate is None else rate.first_usd_per_gb
    volume = _checkpoint_gb_month(interval, parameters)
    if rate is None or volume is None:
        why = f"{source}; the volume depends on the checkpoint interval and the model's parameters"
        as_of = None if rate is None else rate.as_of
        yield _unknown("checkpoint traffic", why, unit_price=price, as_of=as_of, counted=False)
        return
    usd = rate.cost(volume)
    yield CostLine(
        _PART, "checkpoint traffic", None, per_hour(volume, HOURS_PER_MONTH), "GB", price,
        per_hour(usd, HOURS_PER_MONTH), per_hour(usd, HOURS_PER_MONTH, up=True), f"{source}; {rate.source}", rate.as_of,
        rate.quality,
    )  # fmt: skip


def _to_anywhere(intent: Intent, provider: str, region: str) -> CostLine:
    """Return the line for checkpoints in a bucket of the same provider whose region is not said."""
    volume = _checkpoint_gb_month(intent.lifecycle.checkpoint_interval_s, intent.model.parameters)
    why = "free where the bucket lies in the cluster's region, which its address does not tell"
    names = [name for known, name in sorted(regions()) if known == provider]
    rates = [rate for name in names if (rate := price_book().egress(provider, region, (provider, name))) is not None]
    if volume is None or not rates:
        return _unknown("checkpoint traffic", why, counted=False)
    upper = per_hour(max(rate.cost(volume) for rate in rates), HOURS_PER_MONTH, up=True)
    quantity = per_hour(volume, HOURS_PER_MONTH)
    why += "; bound: to the dearest region of the provider"
    return _unknown("checkpoint traffic", why, quantity=quantity, upper=upper)


def _checkpoint_gb_month(interval_s: int | None, parameters: int | None) -> Decimal | None:
    """Return the GB a month of checkpoints; None: the intent does not tell."""
    if interval_s is None or parameters is None:
        return None
    return Decimal(parameters * CHECKPOINT_BYTES_PER_PARAMETER) / 10**9 * HOURS_PER_MONTH * 3600 / interval_s


_unknown = partial(CostLine.unknown, _PART, unit="GB")
"""Return a line of traffic without an amount: item, why, and whatever is known by name."""


def _line(item: str, stage: str | None, size: Decimal | None, way: _Way, *, start: Place, to: Place | None) -> CostLine:
    """Return the line for a volume from one place to another, or to the internet."""
    if size == 0:
        return CostLine(_PART, item, stage, size, "GB", _ZERO, _ZERO, _ZERO, "the intent says 0", None, "assumed")
    rate = price_book().egress(*start, to)
    named = "" if to is None else f"{' '.join(start)} to {' '.join(to)}; "
    if rate is None:
        return _unknown(item, f"{named}no figure found", stage=stage, quantity=size)
    source, price = named + rate.source, rate.first_usd_per_gb
    if size is None:
        return _unknown(item, source, stage=stage, unit_price=price, as_of=rate.as_of)
    usd = way.usd(start, to, size, rate)
    if usd != size * price:
        source += f"; {usd.normalize():f} USD over its volume bands"
    if way.hours is None:
        source += f"; {usd.normalize():f} USD once: model.hours says over how long"
        return _unknown(item, source, stage=stage, quantity=size, unit_price=price, as_of=rate.as_of)
    amount = per_hour(usd, way.hours)
    upper = per_hour(usd, way.hours, up=True)
    return CostLine(_PART, item, stage, size, "GB", price, amount, upper, source, rate.as_of, rate.quality)
