"""Regions and zones: where they lie, which globs name them, and whether a zone is an id.

A glob of an intent is matched with the provider's own region name and with the area of data/regions.csv, whose names
follow AWS's (`us-east`, `eu-west`, `ap-northeast`): `us-*` includes azure's `eastus` and vast's `Oregon,US,NA`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from fnmatch import fnmatchcase
from functools import cache

from emporion.market.errors import UserError, UserErrors, did_you_mean
from emporion.market.tables import rows

__all__ = [
    "Provider",
    "RegionInfo",
    "check_regions",
    "is_local_zone",
    "provider_info",
    "region_glob",
    "region_info",
    "region_matches",
    "regions",
    "store_of",
    "zone_problem",
]


@dataclass(frozen=True, slots=True)
class RegionInfo:
    """One region of one provider. None is unknown."""

    provider: str
    region: str
    location: str | None
    country: str | None
    continent: str | None
    area: str | None
    """`us-east`: what the globs of an intent may name beside the region itself."""
    lat: Decimal | None
    lon: Decimal | None
    grid_gco2_kwh: Decimal | None
    carbon_as_of: str | None
    carbon_source: str | None
    source: str


@dataclass(frozen=True, slots=True)
class Provider:
    """What the bundled data knows of one provider's ways."""

    provider: str
    reference_region: str
    """The region whose price stands in, marked, where a region's own is unknown."""
    zone_id: re.Pattern[str]
    local_zone: re.Pattern[str] | None
    schemes: tuple[str, ...]
    """URL schemes of its object store."""
    store_hosts: tuple[re.Pattern[str], ...]
    """Hosts of its object store under https; the group `region` is the region, where the host tells it."""


@cache
def regions() -> Mapping[tuple[str, str], RegionInfo]:
    """Return every known region by (provider, region)."""

    def number(text: str) -> Decimal | None:
        return Decimal(text) if text else None

    return {
        (row["provider"], row["region"]): RegionInfo(
            row["provider"], row["region"], row["location"] or None, row["country"] or None, row["continent"] or None,
            row["area"] or None, number(row["lat"]), number(row["lon"]), number(row["grid_gco2_kwh"]),
            row["carbon_as_of"] or None, row["carbon_source"] or None, row["source"],
        )
        for row in rows("regions.csv")
    }  # fmt: skip


def region_info(provider: str, region: str) -> RegionInfo | None:
    """Return what is known of a region, or None.

    Of a place that no table has but that ends in its country's code (`Texas,US`, as markets of private machines name
    theirs) the country's part of the world is known.
    """
    return regions().get((provider, region)) or _in_country(provider, region)


_CONTINENTS = frozenset({"AF", "AN", "AS", "EU", "NA", "OC", "SA"})


@cache
def _in_country(provider: str, region: str) -> RegionInfo | None:
    parts = [part.strip() for part in region.split(",")]
    if len(parts) > 1 and parts[-1] in _CONTINENTS and parts[-2] in _countries():
        parts.pop()  # `Texas,US,NA`; of `Windhoek,NA` the NA is a country
    found = _countries().get(parts[-1])
    if found is None or region == parts[-1]:
        return None
    continent, area = found
    return RegionInfo(
        provider, region, ",".join(parts[:-1]) or None, parts[-1], continent, area, None, None, None, None, None,
        "the country's code in its name",
    )  # fmt: skip


@cache
def _countries() -> Mapping[str, tuple[str, str]]:
    """Return (continent, area) by the ISO 3166-1 code of a country."""
    return {row["country"]: (row["continent"], row["area"]) for row in rows("countries.csv")}


@cache
def _providers() -> Mapping[str, Provider]:
    return {
        row["provider"]: Provider(
            row["provider"],
            row["reference_region"],
            re.compile(row["zone_id_pattern"]),
            re.compile(row["local_zone_pattern"]) if row["local_zone_pattern"] else None,
            tuple(row["schemes"].split()),
            tuple(re.compile(pattern) for pattern in row["store_hosts"].split()),
        )
        for row in rows("providers.csv")
    }


def provider_info(provider: str) -> Provider | None:
    """Return what is known of a provider's ways, or None."""
    return _providers().get(provider)


def store_of(url: str) -> tuple[str, str | None] | None:
    """Return the (provider, region) in whose object store a URL lies, region None when it does not tell; None: in none.

    `s3://bucket/…` and `https://bucket.s3.us-east-1.amazonaws.com/…` are both of aws.
    """
    scheme, separator, rest = url.partition("://")
    if not separator:
        return None
    host = rest.partition("/")[0].lower()
    for info in _providers().values():
        if scheme.lower() in info.schemes:
            return info.provider, None
        for pattern in info.store_hosts if scheme.lower() == "https" else ():
            found = pattern.fullmatch(host)
            if found is not None:
                return info.provider, found.groupdict().get("region")
    return None


@cache
def region_matches(globs: tuple[str, ...], provider: str, region: str) -> bool:
    """Return whether any glob names the region or its area; no globs: every region."""
    if not globs:
        return True
    info = region_info(provider, region)
    names = [region.lower()] + ([info.area] if info is not None and info.area else [])
    return any(fnmatchcase(name, glob.lower()) for glob in globs for name in names)


def region_glob(region: str) -> str:
    """Return a region as an intent and a flag can name it: as it is, or with `?` for each sign that they do not take.

    Some providers' names have commas and blanks (`Vietnam,VN,AS`), which separate names there: `vietnam?vn?as`.
    """
    return region if _PLAIN.fullmatch(region) else _ODD.sub("?", region.lower())


_PLAIN = re.compile(r"[a-z0-9._-]+")
_ODD = re.compile(r"[^a-z0-9._-]")


def check_regions(
    globs: Iterable[str],
    known: Iterable[tuple[str, str]],
    providers: tuple[str, ...] = (),
    where: str = "constraints.regions",
) -> None:
    """See to it that every glob names at least one region among `known` (provider, region) pairs or the table's.

    Raises: UserError E-REGION: for each that names none (of `providers`, when there are any), with the nearest name.
    """
    every = {pair for pair in {*known, *regions()} if not providers or pair[0] in providers}
    problems = []
    for glob in dict.fromkeys(globs):
        if not any(region_matches((glob,), *pair) for pair in every):
            names = {region_glob(region) for _, region in every} | {
                info.area for info in regions().values() if info.area and (info.provider, info.region) in every
            }
            near = did_you_mean(glob, names)
            of = f" of {', '.join(providers)}" if providers else ""
            fix = f"did you mean {near}" if near else "`emporion offers list` shows the regions"
            problems.append(UserError("E-REGION", f"no region{of} is called {glob!r}", where, fix))
    if problems:
        raise UserErrors.of(problems)


def is_local_zone(provider: str, zone: str | None) -> bool:
    """Return whether a zone is outside its region's data centres (AWS Local Zones): fewer types and services there."""
    info = provider_info(provider)
    return bool(zone and info and info.local_zone and info.local_zone.fullmatch(zone))


def zone_problem(provider: str, zone: str) -> str | None:
    """Return why a zone cannot be used, or None: an account's zone name is no id (cases/market.md 35)."""
    info = provider_info(provider)
    if info is None or info.zone_id.fullmatch(zone):
        return None
    return f"zone {zone!r} is not an id of a zone of {provider}; a name means another zone in each account"
