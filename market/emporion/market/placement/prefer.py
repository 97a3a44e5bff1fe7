"""Which solution of a front is recommended (docs/explanation/placement.md, "Which one is recommended")."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

from emporion.market.errors import UserError, did_you_mean
from emporion.market.placement.model import Placement

__all__ = ["Preference", "preference", "recommend"]

_DAY_S = 86_400


class Preference(StrEnum):
    """What matters most among solutions none of which is better in everything."""

    COST = "cost"
    SPEED = "speed"
    STABILITY = "stability"
    BALANCED = "balanced"


def preference(text: str) -> Preference:
    """Return the preference with this name.

    Raises: UserError E-PREFER: when there is none.
    """
    names = [each.value for each in Preference]
    if text not in names:
        near = did_you_mean(text, names)
        fix = f"did you mean {near}" if near else f"one of {', '.join(names)}"
        raise UserError("E-PREFER", f"no preference is called {text!r}", "--prefer", fix)
    return Preference(text)


def recommend(placements: Sequence[Placement], prefer: Preference) -> Placement:
    """Return the placement that the preference picks from a front (at least one).

    `cost`, `speed`, `stability`: the best in that; of equals the next of cost, speed, stability decides. `balanced`:
    the least cost per useful image, that is per image of the share of the day not lost to interruptions.
    """
    return min(placements, key=lambda each: (*_rank(each, prefer), each.offer_ids))


def _rank(placement: Placement, prefer: Preference) -> tuple[float, ...]:
    cost, throughput, loss_s, _carbon = placement.vector
    match prefer:
        case Preference.COST:
            return (cost, -throughput, loss_s)
        case Preference.SPEED:
            return (-throughput, cost, loss_s)
        case Preference.STABILITY:
            return (loss_s, cost, -throughput)
        case Preference.BALANCED:
            useful = throughput * max(_DAY_S - loss_s, 0) / _DAY_S
            return (cost / useful if useful else float("inf"), cost, -throughput, loss_s)
