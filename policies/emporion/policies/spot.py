"""Spot: nothing is renewed or becomes on-demand unasked, and interrupted work is not lost."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal

from emporion.market.bill import machine_offer
from emporion.market.facts import Bucket, Spot, UnknownFactError, known
from emporion.market.money import money_text
from emporion.policies.rule import Level, Severity, rule
from emporion.policies.stack import Stack

__all__ = [
    "locked_bucket_unique_keys",
    "spot_auto_renew",
    "spot_checkpoint_path",
    "spot_interruption_explicit",
    "spot_numeric_price",
    "spot_price_ceiling",
]

TEMPLATES = ("{run}", "{step}")
"""What makes the key of a checkpoint its own."""


def _worst_usd_per_hour(spot: Spot) -> Decimal:
    """Return the most that all its machines can cost: at their ceiling, without one at the on-demand price.

    Raises: UnknownFactError: when that price is not known.
    """
    ceiling = None if spot.falls_back else spot.max_usd_per_hour
    if ceiling is None:
        offer = None
        if spot.region is not None and spot.instance_type is not None:
            offer = machine_offer(spot.provider, spot.region, spot.instance_type, spot=False)
        if offer is None:
            raise UnknownFactError(spot, "the on-demand price")
        ceiling = offer.usd_per_hour
    return ceiling * spot.count


@rule(
    "spot-auto-renew",
    severity=Severity.CRITICAL,
    level=Level.MANDATORY,
    fix="make it one-time and non-restoring, or allow it: `spot_fallback: true` with `max_usd_per_hour`",
)
def spot_auto_renew(
    spot: Spot, *, spot_fallback: bool = False, max_usd_per_hour: Decimal | None = None
) -> Iterator[str]:
    """No interrupted or expired spot machine is renewed or becomes on-demand unasked, or above the budget."""
    for how, what in ((spot.renews, "renews itself"), (spot.falls_back, "may renew as on-demand")):
        if how and not spot_fallback:
            yield f"{spot.name} {what} through {how}, and no spot_fallback allows it"
    if (spot.renews or spot.falls_back) and spot_fallback:
        if max_usd_per_hour is None:
            yield f"{spot.name} may renew, but no `max_usd_per_hour` bounds what it can come to"
            return
        worst = _worst_usd_per_hour(spot)
        if worst > max_usd_per_hour:
            most, allowed = money_text(worst), money_text(max_usd_per_hour)
            yield f"{spot.name} may renew for up to ${most} an hour, allowed: ${allowed}"


@rule("spot-price-ceiling", severity=Severity.LOW, fix="set the maximum price to the on-demand price, or leave it out")
def spot_price_ceiling(spot: Spot, *, factor: Decimal = Decimal(1)) -> Iterator[str]:
    """A maximum price is not above the on-demand price, times a factor."""
    ceiling = spot.max_usd_per_hour
    if ceiling is None or spot.region is None or spot.instance_type is None:
        return
    offer = machine_offer(spot.provider, spot.region, spot.instance_type, spot=False)
    if offer is None:
        raise UnknownFactError(spot, "the on-demand price")
    if ceiling > offer.usd_per_hour * factor:
        yield (
            f"{spot.name} pays up to ${money_text(ceiling)} an hour and machine, "
            f"on demand it costs ${money_text(offer.usd_per_hour)}"
        )


@rule(
    "spot-numeric-price",
    severity=Severity.LOW,
    fix="leave it out: a price of your own interrupts machines more often and caps nothing but the hour",
)
def spot_numeric_price(spot: Spot) -> Iterator[str]:
    """No maximum price in numbers: clouds advise against one."""
    if spot.max_usd_per_hour is not None:
        yield f"{spot.name} has a maximum price of ${money_text(spot.max_usd_per_hour)} an hour"


@rule(
    "spot-checkpoint-path",
    severity=Severity.MEDIUM,
    fix="tag it `emporion:checkpoint` with the path of its checkpoints",
)
def spot_checkpoint_path(spot: Spot) -> Iterator[str]:
    """Spot machines declare where their work is saved."""
    if not spot.checkpoint:
        yield f"{spot.name} can be interrupted at any moment and declares no checkpoint path"


@rule("spot-interruption-explicit", severity=Severity.LOW, fix="say what happens to an interrupted machine")
def spot_interruption_explicit(spot: Spot) -> Iterator[str]:
    """What happens to an interrupted machine is written down."""
    if spot.interruption is None:
        yield f"{spot.name} leaves to the cloud what happens to an interrupted machine"


@rule(
    "locked-bucket-unique-keys",
    severity=Severity.MEDIUM,
    fix="put {run} or {step} into the checkpoint path: what is locked cannot be overwritten",
)
def locked_bucket_unique_keys(stack: Stack) -> Iterator[str]:
    """Checkpoints that go to a bucket with Object Lock have keys of their own."""
    locked = [bucket for bucket in stack.all(Bucket) if bucket.locked]
    for spot in stack.all(Spot) if locked else ():
        path = known(spot, "checkpoint", None)
        if path and not any(template in path for template in TEMPLATES):
            yield f"{spot.name} saves to {path}, and the bucket {locked[0].name} does not let anything be overwritten"
