"""Why an offer that passes every constraint on single offers is in no placement of a plan."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import product

from emporion.market.graph import Kind, Site
from emporion.market.placement.candidates import Candidate, Found, grams, rounded
from emporion.market.placement.choose import Choice
from emporion.market.placement.demand import Demand
from emporion.market.placement.front import Vector
from emporion.market.placement.model import Placement
from emporion.market.placement.search import Search

__all__ = ["Reasons"]

_OVER_BUDGET = "every placement with it is over the budget"
_SEVERAL = 2
"""Nodes enough to need joining: what one kind cannot do with itself, it cannot do with another."""
_Division = tuple[tuple[int, ...], tuple[int, ...]]
"""Sizes of machines and how many of each."""


@dataclass
class Reasons:
    """Reasons for one choice."""

    choice: Choice

    def __post_init__(self) -> None:
        self._problems: dict[tuple[Kind, Site | None], str] = {}

    def of(self, candidate: Candidate) -> str:
        """Return the reason: the sum of GPUs, what joins the nodes, the budget, or better placements."""
        key = (candidate.kind, self._place(candidate))
        problem = self._problems.get(key)
        if problem is None:
            problem = self._problems[key] = self._shape_problem(candidate) or ""
        if problem:
            return problem
        if not self._within_budget(candidate):
            return _OVER_BUDGET
        return self._over_quota(candidate) or self._over_carbon(candidate) or self._no_better

    def alone(self, candidate: Candidate) -> Placement | None:
        """Return the placement of one offer by itself, budget apart; None when no number of its machines serves."""
        search = self._search
        for sizes, counts in self._divisions.get(candidate.size, ()):
            if len(sizes) == 1 and search.serves((candidate.kind,), counts):
                found = Found(((candidate, counts[0]),))
                loss_s = round(search.stability((candidate.kind,), counts).loss_s_per_day)
                total, _ = search.costs(found.parts, loss_s)
                throughput = search.throughput((candidate.kind,), counts, None)
                return self.choice.placement(Vector(rounded(total), throughput, loss_s, grams(found.carbon)), (), found)
        return None

    @cached_property
    def _search(self) -> Search:
        return self.choice.search(self.choice.candidates)

    @cached_property
    def _divisions(self) -> dict[int, list[_Division]]:
        """For each size of machine how it can take part in the demand, alone first."""
        found: dict[int, list[_Division]] = {}
        for pools in range(1, self.choice.demand.max_pools + 1):
            for divided in self._search.divided(pools):
                for size in set(divided.sizes):
                    found.setdefault(size, []).extend((divided.sizes, counts) for counts in divided.each)
        return found

    def _shape_problem(self, candidate: Candidate) -> str | None:
        """Return why no composition with this kind of machine serves the demand, budget apart."""
        search, demand = self._search, self.choice.demand
        problem: str | None = None
        lonely = demand.join_problem((candidate.kind,), _SEVERAL)
        near = self._kinds_at[self._place(candidate)]
        for sizes, counts in self._divisions.get(candidate.size, ()):
            if lonely is not None and sum(counts) > 1:
                problem = problem or lonely
                continue
            own = sizes.index(candidate.size)
            shelves = [[candidate.kind] if i == own else near.get(size, []) for i, size in enumerate(sizes)]
            for kinds in product(*shelves):
                if search.serves(kinds, counts):
                    return None
                problem = problem or demand.join_problem(kinds, sum(counts)) or "less GPU memory in all than asked"
        if problem is not None:
            return problem
        if not demand.gpus:
            return "no number of nodes fits"
        return f"no whole number of machines with {candidate.size} GPUs makes {_asked(demand)}"

    @property
    def _no_better(self) -> str:
        if self.choice.carbon:
            return "another placement is at least as cheap, fast, stable and clean"
        return "another placement is at least as cheap, fast and stable"

    def _over_quota(self, candidate: Candidate) -> str | None:
        """Return the quota that every placement with an offer exceeds by this offer's machines alone, or None."""
        if not candidate.limits:
            return None
        fewest = self._fewest(candidate)
        for number, uses in candidate.limits:
            quota = self.choice.terms.quotas[number]
            if uses * fewest > quota.limit:
                return f"quota: {quota.text}, {uses * fewest} needed"
        return None

    def _fewest(self, candidate: Candidate) -> int:
        """Return the fewest machines of an offer's size that stand in any placement."""
        counts = self._divisions.get(candidate.size, ())
        return min(
            (
                number
                for sizes, each in counts
                for size, number in zip(sizes, each, strict=True)
                if size == candidate.size
            ),
            default=1,
        )

    def _over_carbon(self, candidate: Candidate) -> str | None:
        """Return that every placement with an offer emits too much, where this offer's machines alone do, or None."""
        most = self.choice.tariff.carbon
        if most is None or candidate.carbon * self._fewest(candidate) <= most:
            return None
        return f"every placement with it emits more than {grams(most)} g/h"

    def _place(self, candidate: Candidate) -> Site | None:
        """Return where the rest of a placement must stand; None: anywhere."""
        return candidate.site if self.choice.demand.one_site else None

    @cached_property
    def _kinds_at(self) -> dict[Site | None, dict[int, list[Kind]]]:
        """The kinds by place and size; place None: anywhere."""
        found: dict[Site | None, dict[int, list[Kind]]] = {None: self._search.by_size}
        for kind, sites in self._search.shelves.items():
            for site in sites:
                found.setdefault(site, {}).setdefault(self._search.size(kind), []).append(kind)
        return found

    def _within_budget(self, candidate: Candidate) -> bool:
        """Return whether a lower bound of the placements with an offer is within the budget."""
        search, least, place = self._search, self._least_by_size, self._place(candidate)
        if search.tariff.ceiling(self.choice.demand.low) is None:
            return True
        for sizes, counts in self._divisions[candidate.size]:
            if any((size, place) not in least for size in sizes):
                continue
            gpus = sum(size * count for size, count in zip(sizes, counts, strict=True))
            if len(sizes) == 1:
                loss_s = round(search.stability((candidate.kind,), counts).loss_s_per_day)
                cost = search.costs([(candidate, counts[0])], loss_s)[1]
            else:
                own = sizes.index(candidate.size)
                prices = [candidate.price if i == own else least[size, place] for i, size in enumerate(sizes)]
                compute = sum(price * count for price, count in zip(prices, counts, strict=True))
                cost = compute + (search.overhead(*place[:2], sum(counts))[0] if place else 0)
            if search.affordable(cost, gpus):
                return True
        return False

    @cached_property
    def _least_by_size(self) -> dict[tuple[int, Site | None], int]:
        """The least price by size of machine and place."""
        least: dict[tuple[int, Site | None], int] = {}
        for candidate in self.choice.candidates:
            key = (candidate.size, self._place(candidate))
            least[key] = min(candidate.price, least.get(key, candidate.price))
        return least


def _asked(demand: Demand) -> str:
    return str(demand.low) if demand.low == demand.high else f"{demand.low} to {demand.high}"
