"""The smallest changes that make an infeasible intent feasible.

Each key of the intent that can give way is a `Knob`. Smallest means: the fewest keys, and of each key the least change
that serves: the nearest value for a floor or a ceiling, the cheapest region or provider more for a list. GPU model and
count never give way. Every answer is found by placing the changed intent.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal

from emporion.market.intent.model import Intent
from emporion.market.offers import Catalogue
from emporion.market.placement.candidates import usd
from emporion.market.placement.choose import Terms, choose
from emporion.market.placement.knobs import Knob, knobs
from emporion.market.placement.model import Relaxation
from emporion.market.placement.smallest import smallest_sets

__all__ = ["relaxations"]


def relaxations(intent: Intent, catalogue: Catalogue, terms: Terms) -> list[Relaxation]:
    """Return the smallest changes, cheapest first; none when no change of these keys helps."""
    ways = knobs(intent)

    def serves(keys: frozenset[int]) -> bool:
        return cheapest_usd(_opened(intent, [ways[key] for key in sorted(keys)]), catalogue, terms) is not None

    sets = smallest_sets(len(ways), serves)
    found = [each for keys in sets for each in _relaxed(intent, [ways[key] for key in keys], catalogue, terms)]
    return sorted(found, key=lambda each: (each.total_usd_per_hour, each.change))


def cheapest_usd(intent: Intent, catalogue: Catalogue, terms: Terms) -> Decimal | None:
    """Return the full-chain cost per hour of the cheapest placement, None without any."""
    found = choose(intent, catalogue, terms).cheapest()
    return None if found is None else usd(found[0].cost)


def _opened(intent: Intent, ways: Iterable[Knob]) -> Intent:
    for way in ways:
        intent = way.open(intent)
    return intent


def _relaxed(intent: Intent, some: Sequence[Knob], catalogue: Catalogue, terms: Terms) -> Iterator[Relaxation]:
    """Yield the relaxation of exactly these keys, if it serves: each is set to its least change in turn."""
    changed = _opened(intent, some)
    if cheapest_usd(changed, catalogue, terms) is None:
        return
    texts = []
    for way in some:
        changed, text = _least(way, changed, catalogue, terms)
        texts.append(text)
    total = cheapest_usd(changed, catalogue, terms)
    if total is not None:
        yield Relaxation(
            " + ".join(way.key for way in some), "; ".join(way.before for way in some), "; ".join(texts), total
        )


def _least(way: Knob, opened: Intent, catalogue: Catalogue, terms: Terms) -> tuple[Intent, str]:
    """Return the intent with the least change of one key that serves."""
    for changed, text in way.steps(opened, choose(opened, catalogue, terms)):
        if cheapest_usd(changed, catalogue, terms) is not None:
            return changed, text
    return opened, way.after
