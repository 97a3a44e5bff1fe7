"""One offer through every constraint, with its figures (`emporion plan --explain OFFER`)."""

from __future__ import annotations

from dataclasses import dataclass

from emporion.market.cost_lines import plain_usd
from emporion.market.errors import UserError, did_you_mean
from emporion.market.offer import Offer
from emporion.market.placement.front import dominates
from emporion.market.placement.model import Placement
from emporion.market.placement.planning import Plan
from emporion.market.placement.reasons import Reasons
from emporion.market.placement.rejections import reason_beforehand

__all__ = ["Check", "explain"]


@dataclass(frozen=True, slots=True)
class Check:
    """One constraint and how an offer meets it."""

    key: str
    asked: str
    seen: str
    passed: bool
    reason: str | None
    """Why it fails, or what more there is to say."""


def explain(plan: Plan, offer_id: str) -> tuple[Check, ...]:
    """Return the checks of one offer in the order in which they are asked; the last one tells what came of it.

    Raises: UserError E-OFFER: when the catalogue has no offer of this id, with the nearest one.
    """
    offer = _find(plan, offer_id)
    checks = [
        Check(each.key, each.asked, each.saw(offer), reason is None, reason)
        for each in plan.choice.constraints
        for reason in [each.test(offer)]
    ]
    early = reason_beforehand(plan.intent.resources.gpus, offer)
    if early is not None and all(check.passed for check in checks):
        checks.append(Check("resources.gpus", "", offer.gpu or "no GPU", passed=False, reason=early))
    if all(check.passed for check in checks):
        checks.append(_outcome(plan, offer))
    return tuple(checks)


def _find(plan: Plan, offer_id: str) -> Offer:
    for offers in (plan.choice.graph.offers, plan.catalogue.offers):
        for offer in offers:
            if offer.id == offer_id:
                return offer
    near = did_you_mean(offer_id, {offer.id for offer in plan.choice.graph.offers})
    fix = f"did you mean {near}" if near else "`emporion offers list` shows the offers"
    raise UserError("E-OFFER", f"no offer is called {offer_id!r}", "--explain", fix)


def _outcome(plan: Plan, offer: Offer) -> Check:
    for label, placements in (("solution", plan.solutions), ("not deployable", plan.not_deployable)):
        for rank, placement in enumerate(placements, 1):
            if offer.id in placement.offer_ids:
                return Check(
                    "placement", "in the plan", f"{label} {rank}", passed=True, reason=placement.deploy_problem
                )
    reasons = Reasons(plan.choice)
    candidate = next(each for each in plan.choice.candidates if each.id == offer.id)
    reason = reasons.of(candidate)
    alone = reasons.alone(candidate)
    if alone is None:
        return Check("placement", "in the plan", "cannot serve by itself", passed=False, reason=reason)
    better = _better(plan, alone)
    if better is not None:
        reason = f"{reason}: {_text(better)}"
    return Check("placement", "in the plan", _text(alone), passed=False, reason=reason)


def _better(plan: Plan, placement: Placement) -> Placement | None:
    """Return the first placement of the plan that is at least as good in everything."""
    for each in (*plan.solutions, *plan.not_deployable):
        if each.vector == placement.vector or dominates(each.vector, placement.vector):
            return each
    return None


def _text(placement: Placement) -> str:
    machines = " + ".join(f"{pool.count} x {pool.offer.id}" for pool in placement.pools)
    throughput, loss_s = placement.vector.throughput, placement.vector.loss_s
    return f"{machines}: ${plain_usd(placement.cost.total)}/hr, {throughput:g} images/s, {loss_s} s lost a day"
