"""What an intent asks of each offer on its own, as a table: place first, then the machine, then the price.

A constraint answers with the reason why an offer fails it, or None. Reasons name what was asked, not the offer, so that
equal failures count together; `saw` gives the offer's own figure for `--explain`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from enum import StrEnum

from emporion.market import query
from emporion.market.ages import age_s
from emporion.market.carbon import emission
from emporion.market.gpu_names import GpuName, resolve_gpu
from emporion.market.gpus import Gpu, all_gpus, gpu_info, meets_vram
from emporion.market.intent.model import Gpus, Intent, MarketRule, Memory, Rdma, Resources, Topology
from emporion.market.offer import Market, Nvlink, Offer
from emporion.market.placement.candidates import grams
from emporion.market.sites import region_matches
from emporion.market.units import plain

__all__ = ["Constraint", "Scope", "offer_constraints", "size_of", "too_small"]


class Scope(StrEnum):
    """What a constraint looks at, so that it is asked once for all offers that share it."""

    PLACE = "place"
    MACHINE = "machine"
    OFFER = "offer"


@dataclass(frozen=True, slots=True)
class Constraint:
    """One thing that every offer of a placement must satisfy."""

    key: str
    """The intent's key (`resources.gpus.min_vram`)."""
    scope: Scope
    asked: str
    test: Callable[[Offer], str | None]
    """Return why the offer fails, or None."""
    saw: Callable[[Offer], str]
    """Return the offer's own value."""


def offer_constraints(intent: Intent, now: datetime) -> tuple[Constraint, ...]:
    """Return the constraints of an intent on single offers, in the order in which they are asked."""
    resources = intent.resources
    found = [*_places(intent), *_sale(intent, now), *_host(resources), *_software(intent.image.arch)]
    found += _queried(intent.constraints.where, now)
    if resources.gpus is not None:
        found[len(found) :] = _gpus(resources.gpus)
    if resources.network.rdma is Rdma.REQUIRED:
        found.append(Constraint("resources.network.rdma", Scope.MACHINE, "required", _no_rdma, _fabric))
    order = {Scope.PLACE: 0, Scope.MACHINE: 1, Scope.OFFER: 2}
    return tuple(sorted(found, key=lambda constraint: order[constraint.scope]))


def size_of(offer: Offer, gpus: Gpus | None) -> int:
    """Return what one machine counts towards the wish: its GPUs, or 1 when no GPU is asked for."""
    return 1 if gpus is None else offer.gpu_count


def too_small(gpus: Gpus) -> tuple[frozenset[str], str]:
    """Return the models that are asked for by name and have too little memory, and the reason that says so."""
    if gpus.min_vram is None or not gpus.types:
        return frozenset(), ""
    asked = [resolve_gpu(name) for name in gpus.asked]
    named = {gpu.id for gpu in all_gpus() for name in asked if gpu.id in name.ids or _any_of(name, gpu)}
    return frozenset(named) - set(gpus.types), _less_memory(_memory_text(gpus.min_vram))


def _any_of(name: GpuName, gpu: Gpu) -> bool:
    """Return whether a name without a model (`amd`, `any`) covers a GPU."""
    return not name.ids and name.vendor in (None, gpu.vendor)


def _places(intent: Intent) -> list[Constraint]:
    wish = intent.constraints
    found = []
    if wish.providers:
        names = ", ".join(wish.providers)
        found.append(
            Constraint(
                "constraints.providers",
                Scope.PLACE,
                names,
                lambda offer: (
                    None if offer.provider in wish.providers else f"provider is not {_either(wish.providers)}"
                ),
                lambda offer: offer.provider,
            )
        )
    if wish.regions:
        found.append(
            Constraint(
                "constraints.regions",
                Scope.PLACE,
                ", ".join(wish.regions),
                lambda offer: (
                    None
                    if region_matches(wish.regions, offer.provider, offer.region)
                    else f"region does not match {_either(wish.regions)}"
                ),
                lambda offer: offer.region,
            )
        )
    return found


def _sale(intent: Intent, now: datetime) -> list[Constraint]:
    lifecycle = intent.lifecycle
    found = [
        Constraint(
            "access.reservation",
            Scope.MACHINE,
            intent.access.reservation or "none",
            lambda offer: _reserved(offer, intent.access.reservation),
            lambda offer: offer.market.value,
        )
    ]
    if lifecycle.market is not MarketRule.ANY:
        wanted = Market.SPOT if lifecycle.market is MarketRule.SPOT else Market.ON_DEMAND
        found.append(
            Constraint(
                "lifecycle.market",
                Scope.MACHINE,
                lifecycle.market.value,
                lambda offer: None if offer.market is wanted else f"not sold as {wanted.value}",
                lambda offer: offer.market.value,
            )
        )
    ceiling = lifecycle.spot_max_price_usd_per_hour
    if ceiling is not None:
        found.append(
            Constraint(
                "lifecycle.spot_max_price",
                Scope.OFFER,
                f"${ceiling}/hr",
                lambda offer: (
                    f"spot price above ${ceiling}/hr"
                    if offer.market is Market.SPOT and offer.usd_per_hour > ceiling
                    else None
                ),
                lambda offer: f"${offer.usd_per_hour}/hr {offer.market.value}",
            )
        )
    if intent.constraints.max_carbon_g_per_hour is not None:
        found.append(
            Constraint(
                "constraints.max_carbon",
                Scope.OFFER,
                f"{plain(intent.constraints.max_carbon_g_per_hour)} g/h",
                _unknown_carbon,
                _carbon,
            )
        )
    most_s = intent.constraints.max_price_age_s
    if most_s is not None:
        found.append(
            Constraint(
                "constraints.max_price_age",
                Scope.MACHINE,
                f"{most_s} s",
                lambda offer: (
                    None if age_s(offer.as_of, now) <= most_s else "price older than constraints.max_price_age"
                ),
                lambda offer: offer.as_of or "undated, counts as old",
            )
        )
    return found


def _unknown_carbon(offer: Offer) -> str | None:
    """Fail every machine whose emission is not known: a bound does not keep a ceiling."""
    if not emission(offer).unknown:
        return None
    known = {name.split(" of ")[0] for name in emission(offer).unknown}
    return f"carbon not known: {' and '.join(sorted(_UNKNOWN.get(name, name) for name in known))}"


_UNKNOWN = {"grid": "grid of its region", "power": "power of its GPUs"}


def _carbon(offer: Offer) -> str:
    found = emission(offer)
    most, unknown = ("at most ", f", not known: {', '.join(found.unknown)}") if found.unknown else ("", "")
    return f"{most}{grams(found.mg_per_hour)} g/h per machine{unknown}"


def _reserved(offer: Offer, reservation: str | None) -> str | None:
    if offer.market is Market.RESERVED and reservation is None:
        return "sold by reservation only, access.reservation names none"
    return None


def _queried(where: str | None, now: datetime) -> list[Constraint]:
    """Return one constraint for each part of a query that all must hold."""
    if where is None:
        return []
    asked = query.parse_query(where)
    return [_part(part, now) for part in asked.parts or (asked,)]


def _part(part: query.Query, now: datetime) -> Constraint:
    def test(offer: Offer) -> str | None:
        answer = part.test(offer, now)
        if answer is None:
            return f"{', '.join(part.unknown(offer, now))} unknown"
        return None if answer else f"not {part.text}"

    def saw(offer: Offer) -> str:
        return ", ".join(f"{name} {part.shown(name, offer, now)}" for name in part.fields)

    return Constraint("constraints.where", Scope(part.scope), part.text, test, saw)


def _host(resources: Resources) -> list[Constraint]:
    found = []
    cpus = resources.cpus_min
    if cpus is not None:
        found.append(
            Constraint(
                "resources.cpus",
                Scope.MACHINE,
                str(cpus),
                lambda offer: _floor(offer.vcpus, Decimal(cpus), "CPUs unknown", f"fewer than {cpus} CPUs per node"),
                lambda offer: "?" if offer.vcpus is None else f"{offer.vcpus} CPUs",
            )
        )
    memory = resources.memory_min
    if memory is not None:
        floor = memory.gib if memory.binary else memory.gb
        text = _memory_text(memory)
        found.append(
            Constraint(
                "resources.memory",
                Scope.MACHINE,
                text,
                lambda offer: _floor(offer.ram_gb, floor, "host memory unknown", f"less than {text} of host memory"),
                lambda offer: "?" if offer.ram_gb is None else f"{offer.ram_gb} GB",
            )
        )
    return found


def _software(built_for: tuple[str, ...]) -> list[Constraint]:
    """Return the constraint that the user's software runs on the processor (cases/market.md 38)."""
    if not built_for:
        return []

    def test(offer: Offer) -> str | None:
        return None if offer.arch in built_for else f"image has no {offer.arch}"

    return [Constraint("image.arch", Scope.MACHINE, ", ".join(built_for), test, lambda offer: offer.arch)]


def _gpus(wish: Gpus) -> list[Constraint]:
    found = [_model(wish), _sharing(wish)]
    if wish.min_vram is not None:
        text = _memory_text(wish.min_vram)
        found.append(
            Constraint(
                "resources.gpus.min_vram",
                Scope.MACHINE,
                text,
                lambda offer: _vram(offer, wish.min_vram, text),
                lambda offer: "?" if offer.gpu_vram_gb is None else f"{offer.gpu_vram_gb} GB per GPU",
            )
        )
    if wish.topology is Topology.NVLINK and wish.count_max > 1:
        found.append(Constraint("resources.gpus.topology", Scope.MACHINE, "nvlink", _no_nvlink, _nvlink))
    return found


def _model(wish: Gpus) -> Constraint:
    asked = ", ".join(wish.asked) or "any"
    by_name = {*wish.types, *too_small(wish)[0]}

    def test(offer: Offer) -> str | None:
        if not offer.gpu_count:
            return "has no GPU"
        if wish.types:
            return None if offer.gpu in by_name else f"GPU is not {_either(wish.asked or wish.types)}"
        if wish.vendor is not None:
            vendor = None if offer.gpu is None else gpu_info(offer.gpu).vendor
            if vendor is None:
                return "not known who makes its GPUs"
            return None if vendor == wish.vendor else f"GPU is not made by {wish.vendor}"
        return None

    return Constraint(
        "resources.gpus.type",
        Scope.MACHINE,
        asked,
        test,
        lambda offer: offer.gpu or ("unknown model" if offer.gpu_count else "no GPU"),
    )


def _sharing(wish: Gpus) -> Constraint:
    def test(offer: Offer) -> str | None:
        if offer.mig == wish.mig:
            return None
        return "its GPUs are MIG slices" if wish.mig is None else f"no MIG slices of profile {wish.mig}"

    return Constraint(
        "resources.gpus.mig", Scope.MACHINE, wish.mig or "whole GPUs", test, lambda o: o.mig or "whole GPUs"
    )


def _vram(offer: Offer, floor: Memory | None, text: str) -> str | None:
    if floor is None:
        return None
    enough = meets_vram(floor, offer.gpu_vram_gb, offer.gpu_vram_mib)
    if enough is None:
        return "memory per GPU unknown"
    return None if enough else _less_memory(text)


def _less_memory(text: str) -> str:
    return f"less than {text} of memory per GPU"


def _no_nvlink(offer: Offer) -> str | None:
    """Fail every machine whose GPUs are not one NVLink domain; a lone GPU has nothing to be joined with."""
    if offer.gpu_count == 1:
        return "one GPU per machine, nothing for NVLink to join"
    match offer.nvlink:
        case Nvlink.NVSWITCH | Nvlink.MESH:
            return None
        case Nvlink.BRIDGE:
            return None if offer.gpu_count == _BRIDGED else "NVLink bridges join pairs only"
        case None:
            return "NVLink unknown"
        case _:
            return "GPUs not joined by NVLink"


_BRIDGED = 2


def _nvlink(offer: Offer) -> str:
    return f"{offer.gpu_count} GPUs, nvlink {offer.nvlink.value if offer.nvlink else '?'}"


def _no_rdma(offer: Offer) -> str | None:
    if offer.fabric is None:
        return "RDMA fabric unknown"
    return None if offer.fabric.rdma else "no RDMA fabric"


def _fabric(offer: Offer) -> str:
    return f"fabric {offer.fabric.value if offer.fabric else '?'}"


def _floor(value: Decimal | None, floor: Decimal, unknown: str, short: str) -> str | None:
    if value is None:
        return unknown
    return None if value >= floor else short


def _memory_text(memory: Memory) -> str:
    value = memory.gib if memory.binary else memory.gb
    return f"{value.normalize():f} {'GiB' if memory.binary else 'GB'}"


def _either(names: Sequence[str]) -> str:
    return " or ".join(names)
