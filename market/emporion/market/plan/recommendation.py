"""Why the recommended solution is recommended, in words and against the one that comes next."""

from __future__ import annotations

from dataclasses import dataclass

from emporion.market.cost_lines import plain_usd
from emporion.market.placement.candidates import usd
from emporion.market.placement.model import Placement
from emporion.market.placement.prefer import recommend, useful_per_second
from emporion.market.plan.planning import Plan

__all__ = ["Recommendation", "recommendation"]

_HOUR_S = 3600
_MILLION = 1_000_000
_WHOLE = 1000
"""Dollars from which cents say nothing."""


@dataclass(frozen=True, slots=True)
class Recommendation:
    """The recommended solution and the reason."""

    rank: int
    prefer: str
    why: str


def recommendation(plan: Plan) -> Recommendation | None:
    """Return what a plan recommends and why; None when nothing can be stood up."""
    chosen = plan.recommended
    if chosen is None:
        return None
    rank = _rank(chosen, plan)
    others = [each for each in plan.solutions if each is not chosen and each.deployable]
    if not others:
        return Recommendation(rank, plan.prefer.text, "the only placement of the front that can be stood up")
    following = recommend(others, plan.prefer)
    next_best = f"next is {_rank(following, plan)}: {_rival(following, plan)}"
    return Recommendation(rank, plan.prefer.text, f"{_merit(chosen, plan)}; {next_best}")


def _rank(placement: Placement, plan: Plan) -> int:
    return next(rank for rank, each in enumerate(plan.solutions, 1) if each is placement)


def _merit(placement: Placement, plan: Plan) -> str:
    """Return in what a placement is the best, with its figure."""
    figure = _figure(placement, plan)
    match plan.prefer.text:
        case "balanced" if useful_per_second(placement.vector):
            return f"cheapest per useful image, {figure}"
        case "balanced" | "cost":
            return f"cheapest, {figure}"
        case "speed":
            return f"fastest, {figure}"
        case "stability":
            return f"least time lost to interruptions, {figure}"
        case "carbon":
            return f"least carbon, {figure}"
        case _:
            return f"nearest to the best of the front by the weights {plan.prefer.text}"


def _rival(placement: Placement, plan: Plan) -> str:
    chosen = plan.recommended
    if chosen is None or plan.prefer.weights:
        return _all(placement, plan)
    ours, theirs = _value(chosen, plan), _value(placement, plan)
    more = f" ({(theirs - ours) / ours:+.0%})" if ours and theirs != ours else ""
    return f"{_figure(placement, plan)}{more}"


def _figure(placement: Placement, plan: Plan) -> str:
    vector = placement.vector
    match plan.prefer.text:
        case "balanced" if useful_per_second(vector):
            value = _value(placement, plan)
            return f"${value:.0f} per million images" if value >= _WHOLE else f"${value:.3g} per million images"
        case "speed":
            return f"{vector.throughput:g} images/s"
        case "stability":
            return f"{vector.loss_s} s a day"
        case "carbon":
            return f"{vector.carbon} g an hour"
        case _:
            return f"${plain_usd(usd(vector.cost))}/hr"


def _value(placement: Placement, plan: Plan) -> float:
    """Return the figure that the preference compares, as a number."""
    vector = placement.vector
    match plan.prefer.text:
        case "balanced" if useful_per_second(vector):
            return float(usd(vector.cost)) / (useful_per_second(vector) * _HOUR_S) * _MILLION
        case "speed":
            return vector.throughput
        case "stability":
            return float(vector.loss_s)
        case "carbon":
            return float(vector.carbon)
        case _:
            return float(usd(vector.cost))


def _all(placement: Placement, plan: Plan) -> str:
    vector = placement.vector
    carbon = f", {vector.carbon} g an hour" if plan.carbon else ""
    return f"${plain_usd(usd(vector.cost))}/hr, {vector.throughput:g} images/s, {vector.loss_s} s lost a day{carbon}"
