"""Every offer that a plan does not use, with its first reason."""

from __future__ import annotations

from decimal import Decimal

from emporion.market.intent.model import Gpus
from emporion.market.offer import Offer
from emporion.market.offers import OfferFilter
from emporion.market.placement.choose import Choice, gpu_filter
from emporion.market.placement.constraints import too_small
from emporion.market.placement.model import Rejection
from emporion.market.placement.reasons import Reasons

__all__ = ["reason_beforehand", "rejections"]


def rejections(choice: Choice, used: set[str]) -> tuple[Rejection, ...]:
    """Return how many offers fail for which first reason, most first, each with its cheapest offer."""
    found: dict[str, tuple[int, tuple[Decimal, str]]] = {}

    def note(reason: str, offer: Offer) -> None:
        count, cheapest = found.get(reason, (0, (Decimal("Infinity"), "")))
        found[reason] = (count + 1, min(cheapest, (offer.usd_per_hour, offer.id)))

    offers, reasons = choice.graph.offers, Reasons(choice)
    for candidate in choice.candidates:
        if candidate.id not in used:
            note(reasons.of(candidate), offers[candidate.number])
    for number, reason in choice.failed.items():
        note(reason, offers[number])
    for reason, group in _beforehand(choice).items():
        number, offer = choice.catalogue.tally(group)
        if offer is not None:
            count, cheapest = found.get(reason, (0, (offer.usd_per_hour, offer.id)))
            found[reason] = (count + number, min(cheapest, (offer.usd_per_hour, offer.id)))
    counted = [Rejection(reason, count, example) for reason, (count, (_, example)) in found.items()]
    return tuple(sorted(counted, key=lambda each: (-each.offers, each.reason)))


def _beforehand(choice: Choice) -> dict[str, OfferFilter]:
    """Return the offers that never came to the constraints, by reason: no GPU, too little memory, another model."""
    gpus = choice.intent.resources.gpus
    catalogue = choice.catalogue
    if gpus is None:
        return {"has GPUs, none is asked for": OfferFilter(machines="gpu")}
    groups = {"has no GPU": OfferFilter(machines="cpu")}
    wanted = gpu_filter(gpus, catalogue.gpus).gpus
    if wanted is not None:
        small, reason = too_small(gpus)
        if small:
            groups[reason] = OfferFilter(gpus=small, machines="gpu")
        others = catalogue.gpus - wanted - small
        groups[_other_model(gpus)] = OfferFilter(gpus=others, unknown_gpu=True, machines="gpu")
    return groups


def reason_beforehand(gpus: Gpus | None, offer: Offer) -> str | None:
    """Return why an offer never came to the constraints, or None when it did."""
    if gpus is None:
        return "has GPUs, none is asked for" if offer.gpu_count else None
    if not offer.gpu_count:
        return "has no GPU"
    if not gpus.types or offer.gpu in gpus.types:
        return None
    small, reason = too_small(gpus)
    return reason if offer.gpu in small else _other_model(gpus)


def _other_model(gpus: Gpus) -> str:
    return f"GPU is not {' or '.join(gpus.asked or gpus.types)}"
