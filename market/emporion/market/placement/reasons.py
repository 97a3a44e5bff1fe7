"""Why an offer that passes every constraint on single offers is in no placement of a plan."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, islice, product, starmap
from operator import mul

from emporion.market.graph import Kind, Site
from emporion.market.placement.candidates import Candidate, Found, grams, rounded
from emporion.market.placement.choose import Choice
from emporion.market.placement.front import Vector
from emporion.market.placement.model import Placement
from emporion.market.placement.search import Search

__all__ = ["Reasons"]

_OVER_BUDGET = "every placement with it is over the budget"
_SEVERAL = 2
"""Nodes enough to need joining: what one kind cannot do with itself, it cannot do with another."""
_TRIED = 400
"""Mixes of partners that are tried for a placement within the budget."""
_Division = tuple[tuple[int, ...], tuple[int, ...]]
"""Sizes of machines and how many of each."""


@dataclass
class Reasons:
    """Reasons for one choice."""

    choice: Choice

    def __post_init__(self) -> None:
        self._problems: dict[tuple[Kind, Site | None], str] = {}
        self._clean: dict[tuple[int, int, Site | None], bool] = {}
        self._kinds_near: dict[Site, dict[int, list[Kind]]] = {}

    def of(self, candidate: Candidate) -> str:
        """Return the reason: the sum of GPUs, what joins the nodes, the budget, or better placements."""
        key = (candidate.kind, candidate.site if self._bounded else None)
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
                loss_s = search.loss_s((candidate.kind,), counts)
                total, _ = search.costs(found.parts, loss_s)
                throughput = search.throughput((candidate.kind,), counts, None)
                return self.choice.placement(Vector(rounded(total), throughput, loss_s, grams(found.carbon)), found)
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
        near = self._near(candidate.site)
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
        if self._bounded and candidate.size in self._divisions:
            return "no machines to go with it at its site" if demand.one_site else self._too_far
        if not demand.gpus:
            return "no number of nodes fits"
        return f"no whole number of machines with {candidate.size} GPUs makes {demand.count_text}"

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
        """Return that a lower bound of every placement with an offer emits too much, or None."""
        most = self.choice.tariff.carbon
        if most is None:
            return None
        key = (candidate.size, candidate.carbon, self._place(candidate))
        if key not in self._clean:
            self._clean[key] = self._may_emit(*key) <= most
        return None if self._clean[key] else f"every placement with it emits more than {grams(most)} g/h"

    def _may_emit(self, size: int, own: int, place: Site | None) -> float:
        """Return the least that a placement emits with a machine of this size and emission; infinite without any."""
        least = self._cleanest_by_size
        found = math.inf
        for sizes, counts in self._divisions[size]:
            if all((other, place) in least for other in sizes):
                mine = sizes.index(size)
                each = [own if slot == mine else least[other, place] for slot, other in enumerate(sizes)]
                found = min(found, sum(map(mul, each, counts)))
        return found

    @cached_property
    def _cleanest_by_size(self) -> dict[tuple[int, Site | None], int]:
        """The least emission by size of machine and place."""
        least: dict[tuple[int, Site | None], int] = {}
        for candidate in self.choice.candidates:
            key = (candidate.size, self._place(candidate))
            least[key] = min(candidate.carbon, least.get(key, candidate.carbon))
        return least

    def _place(self, candidate: Candidate) -> Site | None:
        """Return where the rest of a placement must stand; None: anywhere."""
        return candidate.site if self.choice.demand.one_site else None

    @cached_property
    def _bounded(self) -> bool:
        """Whether not every site goes with every other."""
        demand = self.choice.demand
        return demand.one_site or demand.latency_ms is not None or demand.bandwidth_gbps is not None

    @property
    def _too_far(self) -> str:
        demand = self.choice.demand
        bounds = [
            *([f"{demand.latency_ms:g} ms"] if demand.latency_ms is not None else []),
            *([f"{demand.bandwidth_gbps:g} Gb/s"] if demand.bandwidth_gbps is not None else []),
        ]
        return f"no machines to go with it within {' and '.join(bounds)}"

    def _near(self, site: Site) -> dict[int, list[Kind]]:
        """Return the kinds, by size, that may stand in a placement with a machine at a site."""
        if not self._bounded:
            return self._search.by_size
        found = self._kinds_near.get(site)
        if found is None:
            found = self._kinds_near[site] = {}
            for kind, sites in self._search.shelves.items():
                if any(self._joined(site, other) for other in sites):
                    found.setdefault(self._search.size(kind), []).append(kind)
        return found

    def _joined(self, one: Site, other: Site) -> bool:
        """Return whether nodes of a placement may stand at both sites."""
        return not self._bounded or one == other or self.choice.demand.accepts_link(self.choice.graph.link(one, other))

    def _within_budget(self, candidate: Candidate) -> bool:
        """Return whether any placement with an offer is within the budget.

        Of several partners the `_TRIED` cheapest mixes are tried; when all of them are only just over it, it may say so
        of an offer that a dearer machine at a cheaper site would bring within.
        """
        if self._search.tariff.ceiling(self.choice.demand.low) is None:
            return True
        return any(self._affordable(candidate, sizes, counts) for sizes, counts in self._divisions[candidate.size])

    def _affordable(self, candidate: Candidate, sizes: tuple[int, ...], counts: tuple[int, ...]) -> bool:
        """Return whether a placement of such machines with an offer among them is within the budget."""
        search, least, place = self._search, self._least_by_size, self._place(candidate)
        if any((size, place) not in least for size in sizes):
            return False
        own = sizes.index(candidate.size)
        gpus = sum(size * count for size, count in zip(sizes, counts, strict=True))
        prices = [candidate.price if i == own else least[size, place] for i, size in enumerate(sizes)]
        bound = sum(price * count for price, count in zip(prices, counts, strict=True))
        if not search.affordable(bound, gpus):
            return False
        shelves = [
            [candidate] if i == own else list(self._partners(candidate, size, count, bound - price * count, gpus))
            for i, (size, price, count) in enumerate(zip(sizes, prices, counts, strict=True))
        ]
        for chosen in islice(product(*shelves), _TRIED):
            if len({each.id for each in chosen}) < len(chosen):
                continue
            kinds = tuple(each.kind for each in chosen)
            sites = [each.site for each in chosen]
            if search.serves(kinds, counts) and all(starmap(self._joined, combinations(sites, 2))):
                loss_s = search.loss_s(kinds, counts)
                _, judged = search.costs(list(zip(chosen, counts, strict=True)), loss_s)
                if search.affordable(judged, gpus):
                    return True
        return False

    def _partners(self, candidate: Candidate, size: int, count: int, rest: int, gpus: int) -> Iterator[Candidate]:
        """Yield the offers of a size of which `count` may stand with an offer, cheapest first, while affordable.

        `rest` is what the other machines cost at least.
        """
        left = _TRIED
        for each in self._by_size.get((size, self._place(candidate)), ()):
            if not left or not self._search.affordable(rest + each.price * count, gpus):
                return
            if each is not candidate and self._joined(candidate.site, each.site):
                left -= 1
                yield each

    @cached_property
    def _by_size(self) -> dict[tuple[int, Site | None], list[Candidate]]:
        """The candidates by size of machine and place, cheapest first."""
        found: dict[tuple[int, Site | None], list[Candidate]] = {}
        for candidate in sorted(self.choice.candidates, key=lambda each: (each.price, each.id)):
            found.setdefault((candidate.size, self._place(candidate)), []).append(candidate)
        return found

    @cached_property
    def _least_by_size(self) -> dict[tuple[int, Site | None], int]:
        """The least price by size of machine and place."""
        return {key: some[0].price for key, some in self._by_size.items()}
