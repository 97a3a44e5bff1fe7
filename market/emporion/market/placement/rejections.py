"""Every offer that a plan does not use, with its first reason."""

from __future__ import annotations

from decimal import Decimal

from emporion.market.intent.model import Gpus
from emporion.market.offer import Offer
from emporion.market.offers import OfferFilter
from emporion.market.placement.choose import Choice, gpu_filter
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
    counted = [Rejection(reason, count, example) for reason, (count, (_, example)) in found.items()]
    return tuple(sorted([*counted, *_beforehand(choice)], key=lambda each: (-each.offers, each.reason)))


def _beforehand(choice: Choice) -> list[Rejection]:
    """Return the offers that never came to the constraints: without a GPU, or of another model."""
    gpus = choice.intent.resources.gpus
    catalogue = choice.catalogue
    if gpus is None:
        groups = {"has GPUs, none is asked for": OfferFilter(machines="gpu")}
    else:
        groups = {"has no GPU": OfferFilter(machines="cpu")}
        wanted = gpu_filter(gpus, catalogue.gpus).gpus
        if wanted is not None:
            groups[_other_model(gpus)] = OfferFilter(gpus=catalogue.gpus - wanted, unknown_gpu=True, machines="gpu")
    found = []
    for reason, group in groups.items():
        count, cheapest = catalogue.tally(group)
        if cheapest is not None:
            found.append(Rejection(reason, count, cheapest.id))
    return found


def reason_beforehand(gpus: Gpus | None, offer: Offer) -> str | None:
    """Return why an offer never came to the constraints, or None when it did."""
    if gpus is None:
        return "has GPUs, none is asked for" if offer.gpu_count else None
    if not offer.gpu_count:
        return "has no GPU"
    return _other_model(gpus) if gpus.types and offer.gpu not in gpus.types else None


def _other_model(gpus: Gpus) -> str:
    return f"GPU is not {' or '.join(gpus.asked or gpus.types)}"
