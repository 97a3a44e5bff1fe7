"""Which solution of a front is recommended (docs/explanation/placement.md, "Which one is recommended")."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from emporion.market.errors import UserError, did_you_mean
from emporion.market.placement.front import Vector
from emporion.market.placement.model import Placement
from emporion.market.units import shown

__all__ = ["Preference", "preference", "recommend", "useful_per_second"]

_DAY_S = 86_400
_OBJECTIVES = ("cost", "speed", "stability", "carbon")
_NAMES = ("balanced", *_OBJECTIVES)
_NUMBER = re.compile(r"[0-9]{1,12}(?:\.[0-9]{0,12})?|\.[0-9]{1,12}")


@dataclass(frozen=True, slots=True)
class Preference:
    """What matters most among solutions none of which is better in everything."""

    text: str
    """As it was asked for: `balanced`, `cost=0.5,speed=0.5`."""
    weights: Mapping[str, float]
    """Objective -> its share, together 1; empty: `text` is a name."""

    @property
    def carbon(self) -> bool:
        """Whether it asks for carbon to be compared."""
        return self.text == "carbon" or self.weights.get("carbon", 0.0) > 0


def preference(text: str) -> Preference:
    """Return the preference that a text says: a name, or weights (`cost=0.5,speed=0.3,stability=0.2`).

    Raises: UserError E-PREFER: when a name or an objective does not exist, or is named twice; when a weight is no
    number of 0 or more, or all are 0.
    """
    if "=" not in text:
        if text not in _NAMES:
            raise _refused(f"no preference is called {shown(text)}", text, _NAMES)
        return Preference(text, {})
    weights: dict[str, float] = {}
    said = []
    for part in text.split(","):
        name, _, value = (piece.strip() for piece in part.partition("="))
        if name not in _OBJECTIVES:
            raise _refused(f"no objective is called {shown(name)}", name, _OBJECTIVES)
        if name in weights:
            raise UserError("E-PREFER", f"{name} has two weights", "--prefer", "give one weight to each objective")
        weights[name] = _weight(name, value)
        said.append(f"{name}={value}")
    total = math.fsum(weights.values())
    if not total:
        raise UserError("E-PREFER", "all weights are 0", "--prefer", "give one objective more than 0, as cost=1")
    return Preference(",".join(said), {name: weights[name] / total for name in _OBJECTIVES if name in weights})


def _weight(name: str, text: str) -> float:
    value = float(text) if _NUMBER.fullmatch(text) else math.nan
    if not math.isfinite(value):
        raise UserError(
            "E-PREFER", f"{shown(text)} is no weight of {name}", "--prefer", f"a number of 0 or more, as {name}=0.5"
        )
    return value


def _refused(what: str, seen: str, allowed: Sequence[str]) -> UserError:
    near = did_you_mean(seen, tuple(allowed))
    fix = f"did you mean {near}" if near else f"one of {', '.join(allowed)}, or weights, as cost=0.5,speed=0.5"
    return UserError("E-PREFER", what, "--prefer", fix)


def recommend(placements: Sequence[Placement], prefer: Preference) -> Placement:
    """Return the placement that the preference picks from a front (at least one).

    `cost`, `speed`, `stability`, `carbon`: the best in that; of equals the next of cost, speed, stability, carbon
    decides. `balanced`: the least cost per useful image, that is per image of the share of the day not lost to
    interruptions. Weights: the least weighted sum of how far each objective is from the best of the front, where the
    best is 0 and the worst 1.
    """
    if prefer.weights:
        vectors = [each.vector for each in placements]
        ranges = {name: _range([_badness(vector)[name] for vector in vectors]) for name in prefer.weights}
        return min(
            placements, key=lambda each: (_weighted(each.vector, prefer.weights, ranges), *_order(each), each.offer_ids)
        )
    return min(placements, key=lambda each: (*_rank(each.vector, prefer.text), *_order(each), each.offer_ids))


def useful_per_second(vector: Vector) -> float:
    """Return the images per second that interruptions leave, over the day."""
    return vector.throughput * max(_DAY_S - vector.loss_s, 0) / _DAY_S


def _badness(vector: Vector) -> dict[str, float]:
    """Return each objective, less is better."""
    return {
        "cost": float(vector.cost),
        "speed": -vector.throughput,
        "stability": float(vector.loss_s),
        "carbon": float(vector.carbon),
    }


def _range(values: Sequence[float]) -> tuple[float, float]:
    return min(values), max(values)


def _weighted(vector: Vector, weights: Mapping[str, float], ranges: Mapping[str, tuple[float, float]]) -> float:
    badness = _badness(vector)
    return math.fsum(
        weight * (badness[name] - low) / (high - low)
        for name, weight in weights.items()
        for low, high in [ranges[name]]
        if high > low
    )


def _rank(vector: Vector, name: str) -> tuple[float, ...]:
    if name == "balanced":
        useful = useful_per_second(vector)
        return (vector.cost / useful if useful else math.inf,)
    return (_badness(vector)[name],)


def _order(placement: Placement) -> tuple[float, ...]:
    vector = placement.vector
    return (vector.cost, -vector.throughput, vector.loss_s, vector.carbon)
