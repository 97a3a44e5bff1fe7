"""One offer through every constraint, with its figures (`emporion plan --explain OFFER`)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import ROUND_UP, Decimal
from functools import cached_property

from emporion.market.budget import ceilings, within_budget
from emporion.market.graph import ResourceGraph
from emporion.market.offer import Offer
from emporion.market.placement.candidates import Candidate
from emporion.market.placement.choose import Choice
from emporion.market.placement.demand import divisions
from emporion.market.placement.front import dominates
from emporion.market.placement.model import Placement
from emporion.market.placement.quotas import limits_of
from emporion.market.placement.reasons import Reasons
from emporion.market.placement.rejections import reason_beforehand
from emporion.market.plan.offer_names import find_offer
from emporion.market.plan.planning import Plan

__all__ = ["Check", "Explanation", "Rival", "Walk", "explain"]

_SHOWN = Decimal("0.0001")
"""Places of an amount that is compared with a ceiling."""


@dataclass(frozen=True, slots=True)
class Check:
    """One constraint and how an offer meets it."""

    key: str
    asked: str
    seen: str
    passed: bool | None
    """None: it cannot be judged."""
    reason: str | None
    """Why it fails, or what more there is to say."""


@dataclass(frozen=True, slots=True)
class Rival:
    """A placement of the plan that is at least as good in everything."""

    label: str
    """`solution 1`, `not deployable 3`."""
    placement: Placement


@dataclass(frozen=True)
class Walk:
    """What became of an offer in one stage of an intent."""

    stage: str | None
    """None: the intent has no stages."""
    verdict: str
    """`recommended`, `solution`, `not deployable` (in the plan all three) or `rejected`."""
    rank: int | None
    """In the plan: of the first placement with it."""
    reason: str | None
    """Why it is not in the plan: the first constraint that it fails, as the plan's table of reasons counts it."""
    checks: tuple[Check, ...]
    """Every constraint in the order in which they are asked, those after a failed one as well."""
    placement: Placement | None
    """The plan's first one with it, else what machines of this offer alone make; None: no number of them serves."""
    rivals: tuple[Rival, ...]
    """Of an offer that is not in the plan: what is at least as good as it in everything, cheapest first."""


@dataclass(frozen=True)
class Explanation:
    """One offer and what became of it."""

    offer: Offer
    walks: tuple[Walk, ...]
    """One for each stage of the intent, one for an intent without stages."""

    @property
    def checks(self) -> tuple[Check, ...]:
        """The checks of the first walk."""
        return self.walks[0].checks


def explain(plan: Plan, name: str) -> Explanation:
    """Return what became of an offer in a plan.

    Raises: UserError E-OFFER: as `find_offer`.
    """
    if plan.stages is None:
        offer = find_offer(name, plan.choice.graph.offers, plan.catalogue)
        return Explanation(offer, (_Walker(plan, plan.choice, offer, None).walk(),))
    graph = plan.stages.graph
    near = [offer for choice in graph.choices for offer in choice.graph.offers]
    offer = find_offer(name, list(dict.fromkeys(near)), plan.catalogue)
    walks = [
        _Walker(plan, choice, offer, stage).walk() for stage, choice in zip(graph.names, graph.choices, strict=True)
    ]
    return Explanation(offer, tuple(walks))


@dataclass
class _Walker:
    plan: Plan
    choice: Choice
    offer: Offer
    stage: str | None

    def walk(self) -> Walk:
        used = next(self._used(), None)
        alone = self._alone
        placement = used[1] if used else alone
        checks = [*self._single(), *self._together(), *(self._bounds(placement) if placement else ())]
        if placement is not None:
            problem = placement.deploy_problem
            seen = "yes" if problem is None else "no"
            checks.append(Check("deployable", "a component of this version", seen, problem is None, problem))
        if used is not None:
            label, found, rank = used
            checks.append(Check("front", "in nothing beaten", f"{label} {rank}", passed=True, reason=None))
            verdict = "recommended" if found is self._recommended else label
            return Walk(self.stage, verdict, rank, None, tuple(checks), placement, ())
        rivals = tuple(self._rivals(alone)) if alone is not None else ()
        reason = self._reason()
        if rivals:
            checks.append(
                Check("front", "in nothing beaten", f"beaten by {rivals[0].label}", passed=False, reason=None)
            )
        return Walk(self.stage, "rejected", None, reason, tuple(checks), placement, rivals)

    # In the plan or not

    @property
    def _recommended(self) -> Placement | None:
        chosen = self.plan.recommended
        return None if chosen is None else self._part(chosen)

    def _part(self, placement: Placement) -> Placement:
        """Return a placement, or its part for the stage."""
        return next((part.placement for part in placement.stages if part.name == self.stage), placement)

    def _shown(self) -> Iterator[tuple[str, Placement, int]]:
        for label, placements in (("solution", self.plan.solutions), ("not deployable", self.plan.not_deployable)):
            for rank, placement in enumerate(placements, 1):
                yield label, self._part(placement), rank

    def _used(self) -> Iterator[tuple[str, Placement, int]]:
        """Yield the placements of the plan that have the offer, that which is recommended first."""
        found = [each for each in self._shown() if self.offer.id in each[1].offer_ids]
        yield from sorted(found, key=lambda each: each[1] is not self._recommended)

    def _rivals(self, alone: Placement) -> Iterator[Rival]:
        """Yield what is at least as good; an offer that can be stood up gives way only to what can."""
        for label, placement, rank in self._shown():
            if alone.deployable and not placement.deployable and self.plan.solutions[0].deployable:
                continue
            if placement.vector == alone.vector or dominates(placement.vector, alone.vector):
                yield Rival(f"{label} {rank}", placement)

    def _reason(self) -> str | None:
        """Return the reason by which the plan's table counts the offer."""
        candidates, failed = self.choice.candidates, self.choice.failed
        offers = self.choice.graph.offers
        for number, reason in failed.items():
            if offers[number].id == self.offer.id:
                return reason
        candidate = next((each for each in candidates if each.id == self.offer.id), None)
        if candidate is not None:
            return Reasons(self.choice).of(candidate)
        return reason_beforehand(self.choice.intent.resources.gpus, self.offer)

    # The offer by itself

    @cached_property
    def _own(self) -> Choice:
        """The choice as if the catalogue had this offer alone and nothing were asked of single offers."""
        graph = ResourceGraph((self.offer,), self.choice.graph.observed)
        return replace(self.choice, graph=graph, constraints=(), failed={})

    @cached_property
    def _candidate(self) -> Candidate | None:
        """The offer as a candidate, None where it has nothing of what is counted."""
        (candidate,) = self._own.candidates
        return candidate if candidate.size else None

    @cached_property
    def _alone(self) -> Placement | None:
        return None if self._candidate is None else Reasons(self._own).alone(self._candidate)

    # Checks

    def _single(self) -> Iterator[Check]:
        found = [
            Check(each.key, each.asked, each.saw(self.offer), reason is None, reason)
            for each in self.choice.constraints
            for reason in [each.test(self.offer)]
        ]
        yield from found
        gpus = self.choice.intent.resources.gpus
        early = reason_beforehand(gpus, self.offer)
        if early is not None and all(check.passed for check in found):
            asked = "GPUs" if gpus else "no GPUs"
            yield Check("resources.gpus", asked, self.offer.gpu or "no GPU", passed=False, reason=early)

    def _together(self) -> Iterator[Check]:
        """Yield what is asked of all machines together, for machines of this offer alone."""
        candidate, demand = self._candidate, self.choice.demand
        if candidate is None:
            return
        size, kind = candidate.size, candidate.kind
        wanted = demand.count_text
        counts = [count for (count,) in divisions(demand, (size,))]
        key = "resources.gpus.count" if demand.gpus else "resources.nodes"
        unit = "GPUs" if demand.gpus else "machines"
        if not counts:
            reason = f"no whole number of machines with {size} {unit} makes {wanted}; others may fill it up"
            yield Check(key, wanted, f"{size} per machine", passed=False, reason=reason)
            return
        count = counts[0]
        seen = f"{count} x {size} {unit}" if demand.gpus else f"{count} {unit}"
        yield Check(key, wanted, seen, passed=True, reason=None)
        if demand.gpus and (demand.nodes_min is not None or demand.nodes_max is not None):
            problem = demand.node_problem(count)
            asked = f"{demand.nodes_min or 1}..{demand.nodes_max or 'any'}"
            yield Check("resources.nodes", asked, str(count), problem is None, problem)
        if demand.total_vram_bytes:
            total = kind.vram_bytes * count
            enough = total >= demand.total_vram_bytes
            yield Check(
                "resources.gpus.min_total_vram",
                f"{demand.total_vram_bytes / 1e9:g} GB",
                f"{total / 1e9:g} GB" if total else "?",
                enough,
                None if enough else "less GPU memory in all than asked",
            )
        asked = _network(self.choice)
        if asked:
            problem = demand.join_problem((kind,), count)
            joined = "one machine" if count == 1 else _joined(self.offer)
            yield Check("resources.network", asked, joined, problem is None, problem)

    def _bounds(self, placement: Placement) -> Iterator[Check]:
        """Yield the ceilings on the whole placement: budget, quotas, carbon."""
        intent, cost = self.choice.intent, placement.cost
        broken = {(breach.key, breach.ceiling): breach for breach in within_budget(cost, intent)}
        for ceiling in ceilings(intent.budget, cost.hours):
            breach = broken.get((f"cost_control.{ceiling.key}", ceiling.usd))
            judged = breach is None or breach.judged
            yield Check(
                f"cost_control.{ceiling.key}",
                ceiling.text,
                ceiling.write(ceiling.needed(cost.judged, cost.gpus).quantize(_SHOWN, ROUND_UP)) if judged else "?",
                None if not judged else breach is None,
                None if breach is None else breach.text,
            )
        quotas = self.choice.terms.quotas
        needed: dict[int, int] = {}
        for pool in placement.pools:
            for number, uses in limits_of(pool.offer, quotas):
                needed[number] = needed.get(number, 0) + uses * pool.count
        for number, uses in sorted(needed.items()):
            quota = quotas[number]
            short = None if uses <= quota.limit else f"quota: {quota.text}, {uses} needed"
            yield Check("quota", quota.text, str(uses), short is None, short)
        most = intent.constraints.max_carbon_g_per_hour
        if most is not None:
            grams = placement.vector.carbon
            over = None if grams <= most else f"emits more than {most.normalize():f} g/h"
            yield Check("constraints.max_carbon", f"{most.normalize():f} g/h", f"{grams} g/h", over is None, over)


def _network(choice: Choice) -> str:
    """Return what is asked of the network between machines, empty for nothing."""
    demand = choice.demand
    parts = [
        *(["one RDMA fabric"] if demand.fabric else []),
        *([f"at most {demand.latency_ms:g} ms"] if demand.latency_ms is not None else []),
        *([f"at least {demand.bandwidth_gbps:g} Gb/s"] if demand.bandwidth_gbps is not None else []),
    ]
    return ", ".join(parts)


def _joined(offer: Offer) -> str:
    speed = offer.between_gbps
    parts: Sequence[str] = (
        f"fabric {offer.fabric.value if offer.fabric else '?'}",
        "? Gb/s" if speed is None else f"{speed:f} Gb/s",
    )
    return ", ".join(parts)
