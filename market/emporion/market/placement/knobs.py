"""The keys of an intent that can give way, and how far."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import partial

from emporion.market import query
from emporion.market.budget import Ceiling, ceilings
from emporion.market.intent.model import Budget, Constraints, Gpus, Intent, MarketRule, Network, Rdma, Topology
from emporion.market.offer import Offer
from emporion.market.placement import nearest
from emporion.market.placement.choose import Choice, choose
from emporion.market.placement.nearest import Step
from emporion.market.sites import region_glob
from emporion.market.units import format_bandwidth, format_carbon, format_duration, format_latency

__all__ = ["Knob", "knobs"]


@dataclass(frozen=True, slots=True)
class Knob:
    """One key that can give way."""

    key: str
    before: str
    after: str
    """The text when the key is given up altogether."""
    open: Callable[[Intent], Intent]
    """Return the intent without this constraint."""
    steps: Callable[[Intent, Choice], Iterator[Step]]
    """Given the intent without it and its choice: changed intents with their text, least change first."""


def knobs(intent: Intent) -> list[Knob]:
    """Return the keys that an intent sets and that can give way."""
    return [
        *_budgets(intent),
        *_places(intent),
        *_emission(intent),
        *_sale(intent),
        *_gpu_wishes(intent),
        *_networks(intent),
        *_hosts(intent),
    ]


def _none(_intent: Intent, _choice: Choice) -> Iterator[Step]:
    """Offer no step between the constraint and giving it up."""
    return iter(())


# Budgets


def _budgets(intent: Intent) -> Iterator[Knob]:
    for ceiling in ceilings(intent.budget, intent.model.hours):
        yield Knob(
            f"cost_control.{ceiling.key}",
            ceiling.text,
            "no limit",
            partial(_budget, field=ceiling.field, amount=None),
            partial(_raised, ceiling=ceiling),
        )


def _budget(intent: Intent, field: str, amount: Decimal | None) -> Intent:
    budget: Budget = replace(intent.budget, **{field: amount})  # type: ignore[arg-type]
    return replace(intent, budget=budget)


def _raised(opened: Intent, choice: Choice, ceiling: Ceiling) -> Iterator[Step]:
    return nearest.budgets(choice, ceiling, lambda usd: _budget(opened, ceiling.field, usd))


# Places


def _places(intent: Intent) -> Iterator[Knob]:
    wish = intent.constraints
    if wish.providers:
        yield Knob(
            "constraints.providers",
            ", ".join(wish.providers),
            "any",
            lambda opened: _constrained(opened, providers=()),
            lambda opened, choice: _one_more(opened, choice, wish, "providers", lambda offer: offer.provider),
        )
    if wish.regions:
        yield Knob(
            "constraints.regions",
            ", ".join(wish.regions),
            "any",
            lambda opened: _constrained(opened, regions=()),
            lambda opened, choice: _one_more(opened, choice, wish, "regions", lambda offer: region_glob(offer.region)),
        )
    if wish.max_price_age_s is not None:
        yield Knob(
            "constraints.max_price_age",
            format_duration(wish.max_price_age_s),
            "any",
            lambda opened: _constrained(opened, max_price_age_s=None),
            partial(_aged, most_s=wish.max_price_age_s),
        )
    if wish.where is not None:
        asked = query.parse_query(wish.where)
        yield Knob(
            "constraints.where",
            asked.text,
            "any",
            lambda opened: _constrained(opened, where=None),
            lambda opened, _choice: _one_less(opened, asked),
        )


def _aged(opened: Intent, choice: Choice, most_s: int) -> Iterator[Step]:
    return nearest.price_ages(choice, most_s, lambda age_s: _constrained(opened, max_price_age_s=age_s))


def _emission(intent: Intent) -> Iterator[Knob]:
    most = intent.constraints.max_carbon_g_per_hour
    if most is not None:
        yield Knob(
            "constraints.max_carbon",
            format_carbon(most),
            "no limit",
            lambda opened: _constrained(opened, max_carbon_g_per_hour=None),
            _emitted,
        )


def _emitted(opened: Intent, choice: Choice) -> Iterator[Step]:
    """Offer the least ceiling, in whole grams, under which something can be placed; unknown emissions keep none."""
    free = _constrained(opened, max_carbon_g_per_hour=_NO_LIMIT)
    least = choose(free, choice.catalogue, choice.terms).least_carbon()
    if least is not None:
        yield _constrained(opened, max_carbon_g_per_hour=Decimal(least)), format_carbon(Decimal(least))


_NO_LIMIT = Decimal(10**12)
"""Above what any placement emits, in gCO2e per hour."""


def _one_less(opened: Intent, asked: query.Query) -> Iterator[Step]:
    """Offer the query without one of the parts that all must hold."""
    for left_out in range(len(asked.parts)):
        kept = [part.text for index, part in enumerate(asked.parts) if index != left_out]
        shorter = query.parse_query(" and ".join(f"({text})" for text in kept)).text
        yield _constrained(opened, where=shorter), shorter


def _constrained(intent: Intent, **changes: object) -> Intent:
    constraints: Constraints = replace(intent.constraints, **changes)  # type: ignore[arg-type]
    return replace(intent, constraints=constraints)


def _one_more(
    opened: Intent, choice: Choice, wish: Constraints, field: str, name: Callable[[Offer], str]
) -> Iterator[Step]:
    """Offer the list with what the cheapest placement without it needs."""
    cheapest = choice.cheapest()
    if cheapest is None:
        return
    needed = {name(choice.graph.offers[candidate.number]) for candidate, _ in cheapest[1].parts}
    before: tuple[str, ...] = getattr(wish, field)
    longer = (*before, *sorted(needed - set(before)))
    yield _constrained(opened, **{field: longer}), ", ".join(longer)


# How it is sold


def _sale(intent: Intent) -> Iterator[Knob]:
    lifecycle = intent.lifecycle
    if lifecycle.market is not MarketRule.ANY:
        yield Knob(
            "lifecycle.market",
            lifecycle.market.value,
            "any",
            lambda opened: replace(opened, lifecycle=replace(opened.lifecycle, market=MarketRule.ANY)),
            _none,
        )
    ceiling = lifecycle.spot_max_price_usd_per_hour
    if ceiling is not None:
        yield Knob(
            "lifecycle.spot_max_price",
            f"${ceiling}/hr",
            "no limit",
            lambda opened: _spot_ceiling(opened, None),
            lambda opened, choice: nearest.spot_prices(choice, ceiling, partial(_spot_ceiling, opened)),
        )


def _spot_ceiling(intent: Intent, usd: Decimal | None) -> Intent:
    return replace(intent, lifecycle=replace(intent.lifecycle, spot_max_price_usd_per_hour=usd))


# The GPUs' surroundings


def _gpu_wishes(intent: Intent) -> Iterator[Knob]:
    gpus = intent.resources.gpus
    if gpus is None:
        return
    if gpus.topology is Topology.NVLINK:
        yield Knob(
            "resources.gpus.topology", "nvlink", "any", lambda opened: _gpus(opened, topology=Topology.ANY), _none
        )
    if gpus.min_vram is not None:
        floor = gpus.min_vram
        yield Knob(
            "resources.gpus.min_vram",
            nearest.memory_text(floor),
            "any",
            lambda opened: _gpus(opened, min_vram=None),
            lambda opened, choice: nearest.vrams(choice, floor, lambda memory: _gpus(opened, min_vram=memory)),
        )
    total = gpus.min_total_vram
    if total is not None:
        yield Knob(
            "resources.gpus.min_total_vram",
            nearest.memory_text(total),
            "any",
            lambda opened: _gpus(opened, min_total_vram=None),
            lambda opened, choice: nearest.total_vrams(choice, total, lambda most: _gpus(opened, min_total_vram=most)),
        )


def _gpus(intent: Intent, **changes: object) -> Intent:
    gpus = intent.resources.gpus
    if gpus is None:
        return intent
    changed: Gpus = replace(gpus, **changes)  # type: ignore[arg-type]
    return replace(intent, resources=replace(intent.resources, gpus=changed))


# Between the nodes


def _networks(intent: Intent) -> Iterator[Knob]:
    network = intent.resources.network
    if network.low_latency:
        yield Knob("resources.network", "low-latency", "any", lambda opened: _network(opened, low_latency=False), _none)
    if network.rdma is Rdma.REQUIRED:
        yield Knob(
            "resources.network.rdma",
            "required",
            "preferred",
            lambda opened: _network(opened, rdma=Rdma.PREFERRED),
            _none,
        )
    most_ms = network.latency_ms
    if most_ms is not None:
        yield Knob(
            "resources.network.latency",
            format_latency(most_ms),
            "any",
            lambda opened: _network(opened, latency_ms=None),
            lambda opened, choice: nearest.latencies(choice, most_ms, lambda more: _network(opened, latency_ms=more)),
        )
    gbps = network.bandwidth_gbps
    if gbps is not None:
        yield Knob(
            "resources.network.bandwidth",
            format_bandwidth(gbps),
            "any",
            lambda opened: _network(opened, bandwidth_gbps=None),
            lambda opened, choice: nearest.bandwidths(choice, gbps, lambda less: _network(opened, bandwidth_gbps=less)),
        )


def _network(intent: Intent, **changes: object) -> Intent:
    network: Network = replace(intent.resources.network, **changes)  # type: ignore[arg-type]
    return replace(intent, resources=replace(intent.resources, network=network))


# The machines


def _hosts(intent: Intent) -> Iterator[Knob]:
    resources = intent.resources
    cpus, memory = resources.cpus_min, resources.memory_min
    if cpus is not None:
        yield Knob(
            "resources.cpus",
            str(cpus),
            "any",
            lambda opened: _host(opened, cpus_min=None),
            lambda opened, choice: nearest.cpus(choice, cpus, lambda fewer: _host(opened, cpus_min=fewer)),
        )
    if memory is not None:
        yield Knob(
            "resources.memory",
            nearest.memory_text(memory),
            "any",
            lambda opened: _host(opened, memory_min=None),
            lambda opened, choice: nearest.memories(choice, memory, lambda less: _host(opened, memory_min=less)),
        )
    if resources.gpus is not None and (resources.nodes_min is not None or resources.nodes_max is not None):
        yield Knob(
            "resources.nodes",
            f"{resources.nodes_min or 1}..{resources.nodes_max or 'any'}",
            "any",
            lambda opened: _host(opened, nodes_min=None, nodes_max=None),
            lambda opened, choice: nearest.nodes(
                choice,
                resources.nodes_min or 1,
                resources.nodes_max,
                lambda low, high: _host(opened, nodes_min=low, nodes_max=high),
            ),
        )


def _host(intent: Intent, **changes: object) -> Intent:
    return replace(intent, resources=replace(intent.resources, **changes))  # type: ignore[arg-type]
