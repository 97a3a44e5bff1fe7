"""The price book of everything beside the machines: disks, addresses, NAT, endpoints, stores, traffic.

A price is the region's own, or it is marked as a reference: only a global figure or another region's was found. Nothing
here ever passes one region's price off as another's, or a third party's figure off as the provider's.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cache

from emporion.market.sites import provider_info, region_info
from emporion.market.tables import rows

__all__ = ["Band", "EgressRate", "Price", "PriceBook", "price_book"]

_ANYWHERE = "*"


@dataclass(frozen=True, slots=True)
class Price:
    """What one unit of an item costs in USD."""

    provider: str
    region: str
    """The region that was asked for."""
    item: str
    variant: str
    usd: Decimal
    unit: str
    """`usd/hour`, `usd/GB`, `usd/GB-month`, `usd/GiB-month`, `usd/VM-hour`, …"""
    quality: str
    """`quoted` (the provider's list, or a copy of it) or `secondary` (a third party)."""
    source: str
    as_of: str | None
    price_region: str
    """The region that the figure is of; `*`: global, or the source names none."""

    @property
    def reference(self) -> bool:
        """Whether the figure is not this region's own."""
        return self.price_region != self.region


@dataclass(frozen=True, slots=True)
class Band:
    """A band of monthly volume with its price; `end_gb` None: no end."""

    start_gb: Decimal
    end_gb: Decimal | None
    usd_per_gb: Decimal


@dataclass(frozen=True, slots=True)
class EgressRate:
    """What traffic between two places costs, in bands of monthly volume."""

    bands: tuple[Band, ...]
    quality: str
    source: str
    as_of: str | None
    price_region: str

    def cost(self, volume_gb: Decimal) -> Decimal:
        """Return the exact price of a volume in USD, each band at its own rate: it never falls with the volume.

        A free band at the start is counted as used up: it is one allowance for the whole account and month.
        """
        usd, left = Decimal(0), volume_gb
        for band in self._paid():
            size = left if band.end_gb is None else min(left, band.end_gb - band.start_gb)
            usd += size * band.usd_per_gb
            left -= size
            if left == 0:
                break
        else:
            usd += left * self.bands[-1].usd_per_gb
        return usd

    def beyond(self, before_gb: Decimal, volume_gb: Decimal) -> Decimal:
        """Return the exact price in USD of a volume on top of `before_gb` that already go the same way."""
        return self.cost(before_gb + volume_gb) - self.cost(before_gb)

    def _paid(self) -> tuple[Band, ...]:
        if len(self.bands) > 1 and self.bands[0].usd_per_gb == 0:
            return self.bands[1:]
        return self.bands

    @property
    def first_usd_per_gb(self) -> Decimal:
        """The rate of the first paid band."""
        return self._paid()[0].usd_per_gb


class PriceBook:
    """The bundled prices of ancillary items, storage and traffic."""

    def __init__(self) -> None:
        """Index data/ancillary.csv, data/storage.csv and data/egress.csv."""
        self._items: dict[tuple[str, str, str], dict[str, Price]] = {}
        for row in rows("ancillary.csv"):
            usd = Decimal(row["usd"])
            self._keep(row, row["item"], row["variant"], usd=usd, unit=row["unit"], quality=row["quality"])
        for row in rows("storage.csv"):
            usd = Decimal(row["usd_per_gb_month"])
            if usd:  # a free allowance is no price
                self._keep(row, "object_gb_month", row["class"], usd=usd, unit="usd/GB-month", quality="quoted")
        self._egress: dict[tuple[str, str, str], list[Mapping[str, str]]] = {}
        for row in rows("egress.csv"):
            key = (row["provider"], row["scope_from"], row["scope_to"])
            self._egress.setdefault(key, []).append(row)
        self._egress_named = {(key[0], scope) for key in self._egress for scope in key[1:]}

    def _keep(self, row: Mapping[str, str], item: str, variant: str, *, usd: Decimal, unit: str, quality: str) -> None:
        region = row["region"]
        price = Price(
            row["provider"], region, item, variant, usd, unit, quality, row["source"], row["as_of"] or None, region
        )
        regions = self._items.setdefault((price.provider, item, variant), {})
        if region not in regions or _rank(price) > _rank(regions[region]):
            regions[region] = price

    def find(self, provider: str, region: str, item: str, variant: str) -> Price | None:
        """Return the price of an item in a region, or None when there is none to go by.

        Of several sources the quoted one wins, then the newest. Without the region's own figure the global one, or that
        of the provider's reference region (data/providers.csv), or any other's, comes back as a reference.
        """
        regions = self._items.get((provider, item, variant))
        if regions is None:
            return None
        if region in regions:
            return regions[region]
        info = provider_info(provider)
        preferred = [_ANYWHERE, info.reference_region if info else "", *sorted(regions)]
        other = next(name for name in preferred if name in regions)
        return replace(regions[other], region=region)

    def egress(self, provider: str, region: str, to: tuple[str, str] | None) -> EgressRate | None:
        """Return what traffic from a region costs, to the internet or another cloud, or to another region of its own.

        `to` is a (provider, region), None: the internet. None comes back where no figure was found.
        """
        if to is None or to[0] != provider:
            return self._to_internet(provider, region)
        if to[1] == region:
            return None
        here, there = _continent(provider, region), _continent(provider, to[1])
        scopes = [(region, to[1])]
        if here and there:
            scopes.append((here, there))
            if here != there:
                scopes += [("any", there), (here, "any"), (here, "other-continent"), ("any", "other-continent")]
        scopes.append((region, "same-provider-region"))
        return self._first(provider, scopes, region, "quoted")

    def egress_class(self, provider: str, region: str) -> tuple[str, str, str | None]:
        """Return what decides the rates of a region: regions of one class pay the same, and cost the same to reach."""
        return provider, region if (provider, region) in self._egress_named else "", _continent(provider, region)

    def between_zones(self, provider: str, region: str) -> EgressRate | None:
        """Return what traffic between zones of one region costs, or None where no figure was found."""
        return self._first(provider, [("same-region", "same-region")], region, "quoted")

    def _to_internet(self, provider: str, region: str) -> EgressRate | None:
        continent = _continent(provider, region)
        scopes = [(region, "internet")] + ([(continent, "internet")] if continent else [])
        found = self._first(provider, scopes, region, "quoted")
        info = provider_info(provider)
        if found is None and info is not None:
            found = self._first(provider, [(info.reference_region, "internet")], info.reference_region, "reference")
        return found

    def _first(self, provider: str, scopes: list[tuple[str, str]], region: str, quality: str) -> EgressRate | None:
        for scope in scopes:
            found = self._egress.get((provider, *scope))
            if found:
                return _rate(found, region, quality)
        return None


def _rank(price: Price) -> tuple[bool, str, str]:
    return (price.quality == "quoted", price.as_of or "", price.source)


def _continent(provider: str, region: str) -> str | None:
    info = region_info(provider, region)
    return info.continent if info else None


def _rate(found: list[Mapping[str, str]], region: str, quality: str) -> EgressRate:
    """Return the bands of the newest source that tells bands, else its one rate."""
    banded = [row for row in found if row["tier_gb"][:1].isdigit()]
    chosen = banded or found
    newest = max(row["as_of"] for row in chosen)
    chosen = [row for row in chosen if row["as_of"] == newest]
    bands = []
    for row in chosen:
        start, _, end = row["tier_gb"].partition("-") if banded else ("0", "", "")
        bands.append(Band(Decimal(start), Decimal(end) if end else None, Decimal(row["usd_per_gb"])))
    bands.sort(key=lambda band: band.start_gb)
    return EgressRate(tuple(bands), quality, chosen[0]["source"], newest or None, region)


@cache
def price_book() -> PriceBook:
    """Return the bundled price book."""
    return PriceBook()
