"""How much carbon a machine emits: its power times the intensity of the grid at its place.

    power    = GPUs * board power + vCPUs * watts + memory * watts per GB       (MIG slices count their share of a GPU)
    emission = power * power usage effectiveness of the provider * gCO2e per kWh of the region's grid

All at full load: an upper estimate of the machine, without what making it took. A board power, a host or a grid that is
not known is bounded by the worst one that is, and named: never 0. docs/explanation/placement.md, "Carbon".
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from functools import cache, lru_cache
from typing import NamedTuple

from emporion.market.figures import figure, figures
from emporion.market.gpus import all_gpus
from emporion.market.offer import Offer
from emporion.market.performance import machine
from emporion.market.sites import region_info, regions

__all__ = ["Emission", "carbon_warnings", "emission"]

_MG = 1000


class Emission(NamedTuple):
    """What one machine emits."""

    mg_per_hour: int
    """Whole mgCO2e per hour, rounded up."""
    unknown: tuple[str, ...]
    """What is not known and bounded instead."""


def emission(offer: Offer) -> Emission:
    """Return the emission of one machine of an offer."""
    share = machine(offer).share
    memory_gb = None if offer.ram_gb is None else float(offer.ram_gb)
    vcpus = None if offer.vcpus is None else float(offer.vcpus)
    power = _power_w(offer.gpu, offer.gpu_count * share, vcpus, memory_gb)
    intensity = _intensity(offer.provider, offer.region)
    grams = power.value / 1000 * _effectiveness(offer.provider) * intensity.value
    return Emission(math.ceil(grams * _MG), (*power.unknown, *intensity.unknown))


class _Known(NamedTuple):
    value: float
    unknown: tuple[str, ...]


@lru_cache(maxsize=4096)
def _power_w(gpu: str | None, gpus: float, vcpus: float | None, memory_gb: float | None) -> _Known:
    unknown = []
    board_w = _board_w().get(gpu)
    if board_w is None:
        board_w = max(_board_w().values())
        if gpus:
            unknown.append(f"power of {gpu or 'its GPUs'}")
    cards_w = gpus * board_w
    if vcpus is None or memory_gb is None:
        unknown.append("vCPUs or memory of the host")
        host_w = cards_w * figure("host_share_unknown") if gpus else figure("host_w_unknown")
    else:
        host_w = vcpus * figure("host_w_per_vcpu") + memory_gb * figure("host_w_per_gb")
    return _Known(cards_w + host_w, tuple(unknown))


@cache
def _board_w() -> dict[str | None, float]:
    return {gpu.id: float(gpu.tdp_w) for gpu in all_gpus() if gpu.tdp_w is not None}


@cache
def _intensity(provider: str, region: str) -> _Known:
    """Return the gCO2e per kWh of a region's grid; that of the dirtiest known one where it is not known."""
    info = region_info(provider, region)
    if info is not None and info.grid_gco2_kwh is not None:
        return _Known(float(info.grid_gco2_kwh), ())
    worst = max(float(each.grid_gco2_kwh) for each in regions().values() if each.grid_gco2_kwh is not None)
    return _Known(worst, (f"grid of {provider} {region}",))


def _effectiveness(provider: str) -> float:
    name = f"pue_{provider}"
    return figure(name if name in figures() else "pue_unknown")


def carbon_warnings(offers: Iterable[Offer]) -> list[str]:
    """Return what to know of the emissions of these offers: bounds, and grids measured in different ways."""
    there = list(offers)
    unknown = sorted({name for offer in there for name in emission(offer).unknown})
    found = [f"carbon: not known, bounded above: {', '.join(unknown)}"] if unknown else []
    methods: dict[str | None, set[str]] = {}
    for offer in there:
        info = region_info(offer.provider, offer.region)
        if info is not None and info.grid_gco2_kwh is not None:
            methods.setdefault(info.carbon_source, set()).add(offer.provider)
    if len({_method(source) for source in methods}) > 1:
        names = " and ".join(sorted({name for providers in methods.values() for name in providers}))
        found.append(
            f"carbon: the grids of {names} come from different methods: do not rank one against the other by it"
        )
    return found


def _method(source: str | None) -> str:
    """Return the publisher of a figure: one publisher has one method."""
    return (source or "").split("/")[0]
