"""AWS's offers as they are now: every region is asked for its machines, zones and spot prices, then the price list.

Zones have two names: `us-east-1a` is another place in every account, `use1-az1` is the same in all. Offers hold ids,
so a spot price that comes with a name is looked up among this account's zones; without them it is no offer.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any

from emporion.components.aws.api.session import Clients, asking, pages
from emporion.components.aws.price_list import FILTERS, SOURCE, ListPrice, on_demand_prices
from emporion.components.price_rows import KnownType, PriceRow, cpu_types, known_types, money, odd, stamp
from emporion.market.errors import ExitCode, UserError
from emporion.market.gpu_names import resolve_gpu
from emporion.market.offers.adapter import Ask, Row
from emporion.market.units import plain

__all__ = ["SPOT_SOURCE", "fetch_with"]

_log = logging.getLogger(__name__)

SPOT_SOURCE = "EC2 DescribeSpotPriceHistory"
_HOME = "us-east-1"
"""Where the price list of all regions is served, and the list of regions is asked for."""
_LINUX = "Linux/UNIX"
_WAYS = {"on-demand": "on_demand", "spot": "spot", "capacity-block": "capacity_block"}
_WORKERS = 8
"""Regions, then types, asked at a time; EC2 and the price list throttle per account."""


@dataclass(frozen=True, slots=True)
class _Sold:
    """An instance type of a region."""

    about: KnownType
    arch: str
    purchase: str


@dataclass(frozen=True, slots=True)
class _Region:
    """What a region told."""

    name: str
    types: Mapping[str, _Sold]
    places: Mapping[str, str]
    """Zone id -> where its prices stand in the price list: its region, or its Local Zone group."""
    offered: Collection[tuple[str, str]]
    """(zone id, type)."""
    spot: Mapping[tuple[str, str], Decimal]


def fetch_with(ask: Ask, clients: Callable[[str], Clients], workers: int = _WORKERS) -> Iterator[Row]:
    """Yield a row per instance type and zone, GPU machines and the CPU machines that clusters use.

    Raises: UserError E-ADAPTER: when nobody is logged in, AWS refuses, or a region that every account has does not
    answer. Regions that the account opted in to and that fail are told in the log and left out.
    """
    try:
        regions = _regions(ask, clients, workers)
        prices = _prices(ask, clients(_HOME), {name for region in regions for name in region.types}, workers)
    except UserError as error:
        raise UserError("E-ADAPTER", error.what, error.where, error.fix, ExitCode.FAILED) from error
    if not prices:
        raise odd(SOURCE, "names no price")
    as_of = stamp(ask.now)
    for region in regions:
        for zone, name in sorted(region.offered):
            listed = prices.get((region.places[zone], name))
            sold = region.types[name]
            yield PriceRow(
                "aws", region.name, zone, name, sold.about, listed.amount if listed else None,
                region.spot.get((zone, name)), SOURCE, as_of, listed.currency if listed else "USD", sold.purchase,
                sold.arch, SPOT_SOURCE,
            ).cells()  # fmt: skip


def _regions(ask: Ask, clients: Callable[[str], Clients], workers: int) -> list[_Region]:
    with asking("the regions", _HOME):
        every = list(pages(clients(_HOME).ec2, "describe_regions", "Regions", AllRegions=True))
    optional = {region["RegionName"]: region.get("OptInStatus") for region in every}
    usable = sorted(name for name, status in optional.items() if status != "not-opted-in")
    left_out = sorted(set(optional) - set(usable))
    if left_out:
        _log.info("provider=aws left_out=%s reason='not enabled for this account'", ",".join(left_out))
    told: list[_Region] = []
    with ThreadPoolExecutor(workers) as pool:
        asked = [(name, pool.submit(_region, clients(name), ask.now)) for name in usable]
        try:
            for done, (name, answer) in enumerate(asked, start=1):
                try:
                    told.append(answer.result())
                except UserError as error:
                    if optional[name] != "opted-in":
                        raise
                    _log.warning("provider=aws region=%s left_out=%r", name, error.what)
                ask.progress("regions", done, len(asked))
        finally:  # an error, or nobody waits any more: what has not begun is not asked
            pool.shutdown(wait=False, cancel_futures=True)
    return told


def _region(clients: Clients, now: datetime) -> _Region:
    name, ec2 = clients.region, clients.ec2
    with asking("instance types", name):
        types = _types(pages(ec2, "describe_instance_types", "InstanceTypes"))
    with asking("the zones", name):
        zones = [zone for zone in pages(ec2, "describe_availability_zones", "AvailabilityZones") if _usable(zone)]
    places = {zone["ZoneId"]: zone["GroupName"] if zone.get("ZoneType") == "local-zone" else name for zone in zones}
    ids = {zone["ZoneName"]: zone["ZoneId"] for zone in zones}
    with asking("the zones of instance types", name):
        offerings = pages(
            ec2, "describe_instance_type_offerings", "InstanceTypeOfferings", LocationType="availability-zone-id"
        )
        offered = {
            (entry["Location"], entry["InstanceType"])
            for entry in offerings
            if entry["InstanceType"] in types and entry["Location"] in places
        }
    if not offered:
        raise odd("EC2", f"names no instance type in {name}")
    wanted = sorted({kind for _, kind in offered})
    with asking("spot prices", name):
        history = pages(
            ec2, "describe_spot_price_history", "SpotPriceHistory",
            InstanceTypes=wanted, ProductDescriptions=[_LINUX], StartTime=now,
        )  # fmt: skip
        spot = _spot(history, ids)
    return _Region(name, types, places, offered, spot)


def _usable(zone: Mapping[str, Any]) -> bool:
    return zone.get("ZoneType", "availability-zone") in {"availability-zone", "local-zone"}


def _types(entries: Iterable[Mapping[str, Any]]) -> dict[str, _Sold]:
    """Return the GPU machines and the CPU machines that clusters use."""
    found: dict[str, _Sold] = {}
    parts: list[str] = []
    used = frozenset(cpu_types("aws"))
    for entry in entries:
        name = entry["InstanceType"]
        gpus = entry.get("GpuInfo", {}).get("Gpus", [])
        if any(gpu.get("GpuPartitionSize", 1) < 1 for gpu in gpus):
            parts.append(name)  # a part of a GPU is not a GPU
            continue
        if not gpus and name not in used:
            continue
        archs = entry.get("ProcessorInfo", {}).get("SupportedArchitectures", [])
        arch = "arm64" if "arm64" in archs else "x86_64" if "x86_64" in archs else ""
        ways = [_WAYS[way] for way in entry.get("SupportedUsageClasses", []) if way in _WAYS]
        found[name] = _Sold(_machine(entry, gpus), arch, " ".join(sorted(ways)))
    if parts:
        _log.info("provider=aws left_out=%d reason='a part of a GPU' types=%s", len(parts), ",".join(sorted(parts)))
    return found


def _machine(entry: Mapping[str, Any], gpus: list[Mapping[str, Any]]) -> KnownType:
    ram_gb = plain(Decimal(entry["MemoryInfo"]["SizeInMiB"]) / 1024)
    vcpus = str(entry["VCpuInfo"]["DefaultVCpus"])
    if not gpus:
        return KnownType("", 0, "", vcpus, ram_gb)
    first = gpus[0]
    memory = first.get("MemoryInfo", {}).get("SizeInMiB")
    model = _model(first.get("Name") or first.get("Manufacturer") or "", known_types("aws").get(entry["InstanceType"]))
    return KnownType(model, sum(gpu["Count"] for gpu in gpus), f"{memory} MiB" if memory else "", vcpus, ram_gb)


def _model(told: str, known: KnownType | None) -> str:
    """Return the GPU's model: AWS says the family (`H100`) or the maker alone, the table of types says which one.

    Where the two contradict each other AWS's name stays, and the import refuses the row and says why.
    """
    if known is None or not known.gpu:
        return told
    try:
        ids = resolve_gpu(told).ids
    except UserError:
        ids = ()
    return known.gpu if not ids or known.gpu in ids else told


def _spot(history: Iterable[Mapping[str, Any]], ids: Mapping[str, str]) -> dict[tuple[str, str], Decimal]:
    """Return (zone id, type) -> its latest price; of equally late ones the dearer."""
    latest: dict[tuple[str, str], tuple[datetime, Decimal]] = {}
    for entry in history:
        if entry.get("ProductDescription") != _LINUX:
            continue
        zone = entry.get("AvailabilityZoneId") or ids.get(entry.get("AvailabilityZone", ""))
        if zone is None:
            continue
        key = (zone, entry["InstanceType"])
        price = (entry["Timestamp"], money(entry["SpotPrice"], SPOT_SOURCE, "SpotPrice"))
        latest[key] = max(latest.get(key, price), price)
    return {key: amount for key, (_, amount) in latest.items()}


def _prices(ask: Ask, clients: Clients, types: Collection[str], workers: int) -> dict[tuple[str, str], ListPrice]:
    """Return (region or Local Zone group, type) -> on-demand price."""
    client = clients.of("pricing")

    def of(name: str) -> dict[tuple[str, str], ListPrice]:
        wanted = {"instanceType": name, **FILTERS}
        filters = [{"Type": "TERM_MATCH", "Field": field, "Value": value} for field, value in wanted.items()]
        with asking(f"the price of {name}", _HOME):
            answer = pages(client, "get_products", "PriceList", ServiceCode="AmazonEC2", Filters=filters)
            lines = [str(line) for line in answer]
        return on_demand_prices(lines, ask.now, {"instanceType": name})

    found: dict[tuple[str, str], ListPrice] = {}
    with ThreadPoolExecutor(workers) as pool:
        for done, priced in enumerate(pool.map(of, sorted(types)), start=1):
            found |= priced
            ask.progress("prices of types", done, len(types))
    return found
