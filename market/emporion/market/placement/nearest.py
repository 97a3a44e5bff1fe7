"""The least change of one key that makes an intent feasible, among the values that can make a difference.

Each function yields changed intents with the value as an intent writes it, the least change that serves first. Giving
way more never takes a placement away, so the first value that serves is found by halving.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from decimal import ROUND_UP, Decimal
from itertools import islice
from math import ceil
from typing import TypeVar

from emporion.market.ages import age_s
from emporion.market.budget import Ceiling
from emporion.market.figures import figure
from emporion.market.intent.model import Intent, Memory
from emporion.market.offer import Market, Offer
from emporion.market.placement.choose import Choice, choose
from emporion.market.units import format_bandwidth, format_duration, format_latency, plain

__all__ = [
    "Step",
    "bandwidths",
    "budgets",
    "cpus",
    "latencies",
    "memories",
    "memory_text",
    "nodes",
    "price_ages",
    "serves",
    "spot_prices",
    "total_vrams",
    "vrams",
]

Step = tuple[Intent, str]
Value = TypeVar("Value")

_CENT = Decimal("0.01")
_GB = 10**9
_SECOND_MS = 1000
_TRIED = 16
"""Numbers of machines that are tried; what lies further away is called `any`."""


def serves(intent: Intent, choice: Choice) -> bool:
    """Return whether anything serves an intent on the catalogue of a choice."""
    return choose(intent, choice.catalogue, choice.terms).cheapest() is not None


def _steps(
    values: Sequence[Value], change: Callable[[Value], Intent], text: Callable[[Value], str], choice: Choice
) -> Iterator[Step]:
    """Yield the values from the first that serves on; they run from the least change to the most."""
    first = bisect_left(range(len(values)), x=True, key=lambda place: serves(change(values[place]), choice))
    for value in values[first:]:
        yield change(value), text(value)


def _offers(choice: Choice) -> Iterator[Offer]:
    return (choice.graph.offers[candidate.number] for candidate in choice.candidates)


def _below(sizes: Iterable[Decimal | None], floor: Decimal) -> list[Decimal]:
    return sorted({size for size in sizes if size is not None and size < floor}, reverse=True)


def budgets(choice: Choice, ceiling: Ceiling, change: Callable[[Decimal], Intent]) -> Iterator[Step]:
    """Yield the least ceiling in whole cents."""
    least = choice.least_judged()
    if least is None:
        return
    most = int(ceiling.needed(*least).quantize(_CENT, ROUND_UP) / _CENT)
    if serves(change(most * _CENT), choice):
        if serves(change((most - 1) * _CENT), choice):  # another placement is cheaper on this ceiling's own basis
            most = bisect_left(range(most), x=True, key=lambda cents: serves(change(cents * _CENT), choice))
        yield change(most * _CENT), ceiling.write(most * _CENT)


def cpus(choice: Choice, floor: int, change: Callable[[int], Intent]) -> Iterator[Step]:
    """Yield the numbers of CPUs per machine below a floor."""
    values = [int(size) for size in _below((offer.vcpus for offer in _offers(choice)), Decimal(floor))]
    yield from _steps(values, change, str, choice)


def memories(choice: Choice, floor: Memory, change: Callable[[Memory], Intent]) -> Iterator[Step]:
    """Yield the sizes of host memory below a floor."""
    unit = 1 << 30 if floor.binary else _GB
    sizes = _below((offer.ram_gb for offer in _offers(choice)), Decimal(floor.bytes) / unit)
    values = [Memory(int(size * unit), binary=floor.binary) for size in sizes]
    yield from _steps(values, change, memory_text, choice)


def vrams(choice: Choice, floor: Memory, change: Callable[[Memory], Intent]) -> Iterator[Step]:
    """Yield the nominal sizes of memory per GPU up to a floor; a strict unit may ask for more than a driver reports."""
    sizes = {int(offer.gpu_vram_gb * _GB) for offer in _offers(choice) if offer.gpu_vram_gb is not None}
    values = [Memory(size, binary=False) for size in sorted(sizes, reverse=True) if size <= floor.bytes]
    yield from _steps(values, change, memory_text, choice)


def total_vrams(choice: Choice, floor: Memory, change: Callable[[Memory], Intent]) -> Iterator[Step]:
    """Yield the most memory of all GPUs together, in whole GB."""
    values = range(-(-floor.bytes // _GB) - 1, 0, -1)
    found = _steps(values, lambda gb: change(Memory(gb * _GB, binary=False)), lambda gb: f"{gb}gb", choice)
    yield from islice(found, 1)


def bandwidths(choice: Choice, floor: Decimal, change: Callable[[Decimal], Intent]) -> Iterator[Step]:
    """Yield the bandwidths of machines and of links between regions below a floor."""
    speeds = {kind.machine.network_gbps for kind in {candidate.kind for candidate in choice.candidates}}
    speeds |= {figure("regions_gbps"), choice.graph.link_table.best(same_region=False)[1]}
    values = _below((None if speed is None else Decimal(repr(speed)) for speed in speeds), floor)
    yield from _steps(values, change, format_bandwidth, choice)


def latencies(choice: Choice, most_ms: Decimal, change: Callable[[Decimal], Intent]) -> Iterator[Step]:
    """Yield the least latency in hundredths of a millisecond, up to a second."""
    values = range(int(most_ms / _CENT) + 1, _SECOND_MS * 100 + 1)
    found = _steps(values, lambda cents: change(cents * _CENT), lambda cents: format_latency(cents * _CENT), choice)
    yield from islice(found, 1)


def nodes(choice: Choice, low: int, high: int | None, change: Callable[[int, int | None], Intent]) -> Iterator[Step]:
    """Yield the ranges of machines stretched to each number that adds up, the nearest number first."""
    search = choice.search(choice.candidates)
    numbers = {
        sum(counts)
        for pools in range(1, choice.demand.max_pools + 1)
        for divided in search.divided(pools)
        for counts in divided.each
    }
    beyond = [number for number in numbers if number < low or (high is not None and number > high)]
    for number in sorted(beyond, key=lambda number: (max(low - number, number - (high or number)), number))[:_TRIED]:
        least, most = min(low, number), None if high is None else max(high, number)
        yield change(least, most), f"{least}..{'any' if most is None else most}"


def spot_prices(choice: Choice, ceiling: Decimal, change: Callable[[Decimal], Intent]) -> Iterator[Step]:
    """Yield the spot prices above a ceiling."""
    prices = {offer.usd_per_hour for offer in _offers(choice) if offer.market is Market.SPOT}
    values = sorted(price for price in prices if price > ceiling)
    yield from _steps(values, change, lambda usd: f"${plain(usd)}/hr", choice)


def price_ages(choice: Choice, most_s: int, change: Callable[[int], Intent]) -> Iterator[Step]:
    """Yield the ages of prices above the most that is allowed, in whole hours; undated prices have none."""
    ages = {age_s(as_of, choice.terms.now) for as_of in {offer.as_of for offer in _offers(choice)}}
    hours = {ceil(age / 3600) for age in ages if most_s < age < float("inf")}
    yield from _steps(
        sorted(hours), lambda each: change(each * 3600), lambda each: format_duration(each * 3600), choice
    )


def memory_text(memory: Memory) -> str:
    """Return a size as an intent writes it."""
    value = memory.gib if memory.binary else memory.gb
    return f"{value.normalize():f}{'gib' if memory.binary else 'gb'}"
