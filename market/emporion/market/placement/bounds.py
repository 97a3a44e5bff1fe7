"""The best that any placement of some groups of offers can be: never worse than what it bounds.

Both models are monotone in what this relies on: more nodes exchange longer and restore faster, the slowest GPU sets the
pace, a pool more is interrupted more often, and a site needs no less for more nodes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import IntEnum

from emporion.market.figures import figure
from emporion.market.graph import Kind
from emporion.market.performance import Joint, exchange_s, gpu_speed
from emporion.market.placement.candidates import full_chain
from emporion.market.placement.counts import Counts, Span
from emporion.market.placement.front import four_digits
from emporion.market.placement.groups import Group
from emporion.market.placement.scoring import Scoring
from emporion.market.stability import Hazard, stability

__all__ = ["Bounds", "Spread"]

_ROUNDING = 1 + 1e-9
"""Floating-point products in another order differ by less."""
_DUST = 1000
"""What rounding each line to 1e-9 USD may take off a straight line, and more."""
_EXACT_NODES = 32
"""Up to so many nodes a site's overhead is asked for as it is, above for a number at most a sixteenth smaller."""


class Spread(IntEnum):
    """Where the pools of a node stand."""

    ANY = 0
    """Not told."""
    SITE = 1
    ZONES = 2
    """At several sites of one region."""
    REGIONS = 3
    """In several regions."""


@dataclass
class Bounds:
    """Bounds for one scoring."""

    scoring: Scoring
    _losses: dict[tuple[tuple[float, ...], int], int] = field(default_factory=dict)
    _efficiencies: dict[tuple[tuple[Kind, ...], int, Joint | None], float] = field(default_factory=dict)
    _exchanges: dict[tuple[Kind, int, Joint | None], float] = field(default_factory=dict)
    _least: dict[tuple[Group, int, Joint | None], float] = field(default_factory=dict)
    _paces: dict[Kind, tuple[float, float]] = field(default_factory=dict)
    _group_paces: dict[Group, tuple[float, float]] = field(default_factory=dict)
    _overheads: dict[tuple[tuple[str, str], int], tuple[int, int | None]] = field(default_factory=dict)

    def loss_s(self, slots: Sequence[Group], span: Span) -> int:
        """Return the least loss: each pool of the steadiest kind, on the most nodes."""
        rates = [group.per_day for group in slots]
        if len(rates) > 1:
            rates.sort()
        key = (tuple(rates), span.most_nodes)
        found = self._losses.get(key)
        if found is None:
            scoring = self.scoring
            gpus = scoring.demand.low if scoring.demand.gpus else 0
            hazards = tuple([Hazard(per_day, assumed=False) for per_day in key[0]])
            worth = stability(hazards, gpus, span.most_nodes, scoring.recovery)
            found = self._losses[key] = round(worth.loss_s_per_day)
        return found

    def cost(self, slots: Sequence[Group], counts: Counts, span: Span, loss_s: int, spread: Spread) -> tuple[int, int]:
        """Return the least full chain, and the least that a budget judges, in 1e-9 USD per hour.

        Of two pools the cost is concave in the number of machines of one of them (`Tariff.overhead`), so it is least at
        an end of the range; the other pool counts in fractions. More pools are bounded part by part.
        """
        prices = [group.price for group in slots]
        if spread is Spread.ANY or len(slots) > 2:  # noqa: PLR2004 - one or two pools have two ends
            known, upper = (0, 0) if spread is Spread.ANY else self._overhead(slots, span.least, spread)
            total = full_chain(counts.floor(prices, span), loss_s, known)
            return total, total + upper - known
        if len(slots) == 1:
            nodes = counts.each[0]
            known, upper = self._overhead(slots, nodes, spread)
            total = full_chain(prices[0] * nodes[0], loss_s, known)
            return total, total + upper - known
        one, other = counts.sizes
        least = most = None
        for first in (span.least[0], span.most[0]):
            rest = counts.low - one * first
            known, upper = self._overhead(slots, (first, max(rest // other, 1)), spread)
            total = full_chain(prices[0] * first + prices[1] * rest // other, loss_s, known) - _DUST
            least = total if least is None else min(least, total)
            judged = total + upper - known
            most = judged if most is None else min(most, judged)
        return least or 0, most or 0

    def _overhead(self, slots: Sequence[Group], nodes: Sequence[int], spread: Spread) -> tuple[int, int]:
        """Return the overhead of so many nodes of each slot or a few less, known and as a budget judges it."""
        first = slots[0].region
        if spread is not Spread.REGIONS:
            if first is None:
                return 0, 0
            known, upper = self._at(first, sum(nodes))
            return known, known if upper is None or spread is not Spread.SITE else upper
        there: dict[tuple[str, str], int] = {}
        for group, number in zip(slots, nodes, strict=True):
            if group.region is not None:
                there[group.region] = there.get(group.region, 0) + number
        known = sum([self._at(place, number)[0] for place, number in there.items()])
        return known, known

    def _at(self, place: tuple[str, str], nodes: int) -> tuple[int, int | None]:
        key = (place, nodes)
        found = self._overheads.get(key)
        if found is None:
            found = self._overheads[key] = self.scoring.overhead(*place, _coarse(nodes))
        return found

    def images(self, slots: Sequence[Group], span: Span) -> float:
        """Return the most throughput without the exchange: all GPUs at the pace of the slowest pool."""
        paces = self._group_paces
        return min([(paces.get(group) or self._pace(group))[0] for group in slots]) * span.most_used * _ROUNDING

    def throughput(self, slots: Sequence[Group], span: Span, joint: Joint | None) -> float:
        """Return the most throughput: with the exchange among the fewest nodes."""
        nodes, images = span.fewest_nodes, self.images(slots, span)
        if not images:
            return 0.0
        if all(len(group.kinds) == 1 for group in slots):
            efficiency = self._efficiency(tuple([group.kinds[0] for group in slots]), nodes, joint)
        else:
            slowest_s = max([self._pace(group)[1] for group in slots])
            least_s = max([self._exchange(group, nodes, joint) for group in slots])
            efficiency = slowest_s / (slowest_s + least_s)
        return four_digits(images * efficiency)

    def _pace(self, group: Group) -> tuple[float, float]:
        """Return the images per second of a group's fastest GPU, and the seconds that its slowest computes."""
        found = self._group_paces.get(group)
        if found is None:
            paces = [self.pace_of(kind) for kind in group.kinds]
            found = max([pace for pace, _ in paces]), max([seconds for _, seconds in paces])
            self._group_paces[group] = found
        return found

    def pace_of(self, kind: Kind) -> tuple[float, float]:
        """Return the images per second of one GPU of a kind alone, and the seconds that it computes per step."""
        found = self._paces.get(kind)
        if found is None:
            machine, work = kind.machine, self.scoring.work
            if machine.gpus:
                speed = gpu_speed(machine.gpu)
                flops = speed.dense_tflops * machine.share * 1e12 * figure("model_flops_utilisation")
                seconds = 6 * work.parameters * figure("tokens_per_gpu_step") / flops
                found = (speed.images_per_second * machine.share, seconds)
            else:
                found = (0.0, 0.0)
            self._paces[kind] = found
        return found

    def _efficiency(self, kinds: tuple[Kind, ...], nodes: int, joint: Joint | None) -> float:
        key = (kinds, nodes, joint)
        found = self._efficiencies.get(key)
        if found is None:
            counts = (*(1 for _ in kinds[1:]), nodes - len(kinds) + 1)
            found = self._efficiencies[key] = self.scoring.performance(kinds, counts, joint).scaling_efficiency
        return found

    def _exchange(self, group: Group, nodes: int, joint: Joint | None) -> float:
        """Return the least time of an exchange among so many nodes of a group."""
        key = (group, nodes, joint)
        found = self._least.get(key)
        if found is None:
            found = self._least[key] = min([self._exchange_of(kind, nodes, joint) for kind in group.kinds])
        return found

    def _exchange_of(self, kind: Kind, nodes: int, joint: Joint | None) -> float:
        key = (kind, nodes, joint)
        found = self._exchanges.get(key)
        if found is None:
            found = self._exchanges[key] = exchange_s(((kind.machine, nodes),), joint, self.scoring.work)
        return found


def _coarse(nodes: int) -> int:
    """Return a number of nodes at most as large, one of few."""
    step = 1
    while nodes >= _EXACT_NODES * 2 * step:
        step *= 2
    return nodes // step * step
