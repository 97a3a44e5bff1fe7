"""Which of the offers found are meant, and in what order: models by name, bounds on the price, a query."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from emporion.market.errors import UserError, UserErrors
from emporion.market.gpu_names import resolve_gpu
from emporion.market.gpus import all_gpus, meets_vram
from emporion.market.money import Money, Rate, parse_money
from emporion.market.offer import Offer
from emporion.market.units import shown

if TYPE_CHECKING:
    from emporion.market.query import Query

__all__ = ["ORDERS", "hourly_bound", "in_order", "models_named", "passing"]


def models_named(names: Iterable[str], where: str) -> frozenset[str]:
    """Return the ids of every model that one of the names covers; a name with memory alone is a floor.

    Raises: UserError: every name that cannot be read, at `where`.
    """
    found: set[str] = set()
    problems: list[UserError] = []
    for name in names:
        try:
            asked = resolve_gpu(name)
        except UserError as error:
            error.where = error.where or where
            problems.append(error)
            continue
        found |= {
            gpu.id
            for gpu in all_gpus()
            if (not asked.ids or gpu.id in asked.ids)
            and asked.vendor in {None, gpu.vendor}
            and (asked.vram is None or meets_vram(asked.vram, gpu.vram_gb, gpu.memory_mib))
        }
    if problems:
        raise UserErrors.of(problems)
    return frozenset(found)


def hourly_bound(text: str, rates: Mapping[str, Rate]) -> Money:
    """Return a bound on the price of a machine, or of one of its GPUs, an hour.

    Raises: UserError: as `parse_money`; E-MONEY: when it is for another time.
    """
    money = parse_money(text, rates)
    if money.period not in (None, "hour"):
        raise UserError("E-MONEY", f"{shown(text)} is not per hour", fix="write $16/hr, or $2.80/gpu/hr")
    return money


def passing(
    offers: Iterable[Offer], least: Money | None, most: Money | None, query: Query | None, now: datetime
) -> tuple[list[Offer], Counter[str]]:
    """Return the offers within two bounds that pass a query, and how many do not say which of its fields."""
    found: list[Offer] = []
    unknown: Counter[str] = Counter()
    for offer in offers:
        if least is not None and _on_its_basis(offer, least) < least.usd:
            continue
        if most is not None and _on_its_basis(offer, most) > most.usd:
            continue
        answer = True if query is None else query.test(offer, now)
        if answer:
            found.append(offer)
        elif answer is None and query is not None:
            unknown[", ".join(query.unknown(offer, now))] += 1
    return found, unknown


def _on_its_basis(offer: Offer, bound: Money) -> Decimal:
    return _per_gpu(offer) if bound.per_gpu else offer.usd_per_hour


def _per_gpu(offer: Offer) -> Decimal:
    """Return the price per GPU; a machine without GPUs counts as one."""
    return offer.usd_per_hour if offer.usd_per_gpu_hour is None else offer.usd_per_gpu_hour


ORDERS: Mapping[str, Callable[[Offer], tuple[Any, ...]]] = {
    "gpu-price": lambda offer: (_per_gpu(offer), offer.id),
    "price": lambda offer: (offer.usd_per_hour, offer.id),
    "age": lambda offer: (offer.id,),
    "vram": lambda offer: (-(offer.gpu_vram_gb or 0), _per_gpu(offer), offer.id),
    "gpus": lambda offer: (-offer.gpu_count, _per_gpu(offer), offer.id),
    "provider": lambda offer: (offer.provider, _per_gpu(offer), offer.id),
    "type": lambda offer: (offer.instance_type, offer.usd_per_hour, offer.id),
}
"""What offers can be ordered by: least first; memory and GPUs most first, ages newest first."""


def in_order(offers: Iterable[Offer], by: str) -> list[Offer]:
    """Return offers in one of `ORDERS`."""
    found = sorted(offers, key=ORDERS[by])
    if by == "age":
        found.sort(key=lambda offer: offer.as_of or "", reverse=True)
    return found
