"""What has changed since a placement was pinned (`emporion plan --diff STACK`)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal

from emporion.market.clouds import FoundImage
from emporion.market.cost_lines import plain_usd
from emporion.market.pin import PinnedImage, PinnedPlacement
from emporion.market.placement.pinning import ImageKey
from emporion.market.placement.planning import Plan

__all__ = ["Change", "diff_plans"]


@dataclass(frozen=True, slots=True)
class Change:
    """One difference between a pinned placement and a new plan."""

    kind: str
    """`placement`, `price`, `image`, `intent` or `feasibility`."""
    what: str
    pinned: str | None
    now: str | None
    """None: it is no longer there."""


def diff_plans(
    pinned: PinnedPlacement, plan: Plan, images: Mapping[ImageKey, FoundImage] | None = None
) -> tuple[Change, ...]:
    """Return what a re-plan would change, and how the prices of what is pinned have moved.

    `images` are those of the pinned region now, by purpose and architecture; None: not looked up.
    """
    return (*_feasibility(plan), *_placement(pinned, plan), *_prices(pinned, plan), *_images(pinned, images or {}))


def _feasibility(plan: Plan) -> Iterator[Change]:
    if plan.error is not None:
        yield Change("feasibility", "the intent", "feasible", plan.error.what)
    elif plan.recommended is None:
        yield Change("feasibility", "the intent", "deployable", plan.solutions[0].deploy_problem)


def _placement(pinned: PinnedPlacement, plan: Plan) -> Iterator[Change]:
    before = [f"{pool.count} x {pool.offer_id}" for pool in pinned.pools]
    if plan.recommended is None:
        return
    now = [f"{pool.count} x {pool.offer.id}" for pool in plan.recommended.pools]
    if before != now:
        yield Change("placement", "nodes", " + ".join(before), " + ".join(now))


def _prices(pinned: PinnedPlacement, plan: Plan) -> Iterator[Change]:
    wanted = {pool.offer_id for pool in pinned.pools}
    offers = {offer.id: offer for offer in plan.choice.graph.offers if offer.id in wanted}
    for pool in pinned.pools:
        offer = offers.get(pool.offer_id)
        now = None if offer is None else offer.usd_per_hour
        if now != pool.usd_per_hour:
            yield Change("price", pool.offer_id, _hourly(pool.usd_per_hour), _hourly(now))
    if plan.recommended is not None and plan.recommended.cost.total != pinned.usd_per_hour:
        yield Change("price", "total", _hourly(pinned.usd_per_hour), _hourly(plan.recommended.cost.total))


def _hourly(usd: Decimal | None) -> str | None:
    return None if usd is None else f"${plain_usd(usd)}/hr"


def _images(pinned: PinnedPlacement, images: Mapping[ImageKey, FoundImage]) -> Iterator[Change]:
    used: list[tuple[str, str, PinnedImage]] = [(pool.name, "gpu", pool.image) for pool in pinned.pools]
    if pinned.controller is not None:
        used.append(("controller", "controller", pinned.controller.image))
    for name, purpose, image in used:
        found = images.get((purpose, image.arch))
        if found is not None and found.id != image.id:
            yield Change("image", name, f"{image.id} {image.name}".strip(), f"{found.id} {found.name}".strip())
