"""The exact Pareto front of the placements of one demand.

How it stays exact and fast (proofs in docs/explanation/placement.md):

- Offers are split into kinds (equal for every model) at sites. Of one kind at one site only those can matter that no
  other beats in price and id at once, or by a whole rounding step in price: `_worth_keeping`.
- A composition (how many machines of which kinds) fixes throughput at one site and the loss. With the cheapest offers
  of its kinds it has a lower bound of cost; a composition whose bound is dominated already is skipped whole.
- Across sites the throughput depends on the link as well; candidates run in order of cost and stop at the cost above
  which the front dominates the best that any link allows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations_with_replacement, groupby, product
from operator import itemgetter, mul

from emporion.market.graph import Kind, Site
from emporion.market.performance import gpu_speed
from emporion.market.placement.across import Across
from emporion.market.placement.candidates import STEP, Candidate, Composition, Found, full_chain, rounded
from emporion.market.placement.demand import divisions
from emporion.market.placement.front import Front, four_digits
from emporion.market.placement.scoring import Scoring
from emporion.market.stability import Hazard, stability

__all__ = ["Search"]


@dataclass
class Search(Scoring):
    """One demand against one list of candidates."""

    candidates: Sequence[Candidate] = ()

    @cached_property
    def shelves(self) -> dict[Kind, dict[Site, list[Candidate]]]:
        """The candidates that can matter, cheapest first, by kind and site."""
        shelves: dict[Kind, dict[Site, list[Candidate]]] = {}
        for candidate in self.candidates:
            shelves.setdefault(candidate.kind, {}).setdefault(candidate.site, []).append(candidate)
        for sites in shelves.values():
            for site, offers in sites.items():
                if len(offers) > 1:
                    sites[site] = _worth_keeping(offers)
        return shelves

    @cached_property
    def kinds(self) -> list[Kind]:
        """The kinds that have candidates, in an order of their own."""
        return sorted(self.shelves, key=repr)

    @cached_property
    def by_size(self) -> dict[int, list[Kind]]:
        """The kinds by what one machine counts towards the demand."""
        found: dict[int, list[Kind]] = {}
        for kind in self.kinds:
            found.setdefault(self.size(kind), []).append(kind)
        return found

    def divided(self, pools: int) -> Iterator[tuple[tuple[int, ...], list[tuple[int, ...]]]]:
        """Yield for each multiset of machine sizes the counts of machines that serve the demand."""
        for sizes in combinations_with_replacement(sorted(self.by_size), pools):
            counts = [each for each in divisions(self.demand, sizes) if self.demand.node_problem(sum(each)) is None]
            if counts:
                yield sizes, counts

    def mixes(self, sizes: tuple[int, ...]) -> Iterator[tuple[Kind, ...]]:
        """Yield every mix of kinds with these sizes, each once whatever its order."""
        runs = [(size, len(list(run))) for size, run in groupby(sizes)]
        for parts in product(*(combinations_with_replacement(self.by_size[size], length) for size, length in runs)):
            yield tuple(kind for part in parts for kind in part)

    def front(self, start: Front[Found] | None = None) -> Front[Found]:
        """Return the exact front; points of `start` stay against equal ones."""
        front: Front[Found] = Front([(vector, (), found) for vector, _, found in start.points] if start else [])
        for pools in range(1, self.demand.max_pools + 1):
            for sizes, divided in self.divided(pools):
                best = _Best(self, sizes, divided)
                for kinds in self.mixes(sizes):
                    bound = best.bound(front, kinds)
                    if bound is not None:
                        self._place_all(front, kinds, divided, bound)
        return front

    def _place_all(
        self, front: Front[Found], kinds: tuple[Kind, ...], divided: Sequence[tuple[int, ...]], bound: tuple[float, int]
    ) -> None:
        """Offer the placements of one mix of kinds that no bound rules out to the front."""
        prices = [self.cheapest[kind] for kind in kinds]
        for counts in divided:
            compute = sum(map(mul, prices, counts))
            if not front.beats(rounded(compute), *bound) and self.serves(kinds, counts):
                self._place(front, Composition(kinds, counts), compute)

    @cached_property
    def cheapest(self) -> dict[Kind, int]:
        """The least price of each kind."""
        return {kind: min(offers[0].price for offers in sites.values()) for kind, sites in self.shelves.items()}

    def _place(self, front: Front[Found], each: Composition, least: int) -> None:
        """Offer every placement of one composition (machines worth `least` or more) that might do to the front."""
        loss_s = round(self.stability(*each).loss_s_per_day)
        throughput = self.throughput(*each, None)
        if self.hopeless(front, each, full_chain(least, loss_s, 0), throughput, loss_s):
            return
        self._same_site(front, each, throughput, loss_s)
        if len(each.kinds) > 1 and not self.demand.one_site:
            self._across.place(front, each, loss_s)

    @cached_property
    def _across(self) -> Across:
        return Across(self, self.shelves)

    def _same_site(self, front: Front[Found], each: Composition, throughput: float, loss_s: int) -> None:
        """Offer the placements at each site, that with the cheapest machines first."""
        shelves = [self.shelves[kind] for kind in each.kinds]
        common = min(shelves, key=len)
        if len(shelves) > 1:
            common = {site: found for site, found in common.items() if all(site in shelf for shelf in shelves)}
        counted = list(zip(shelves, each.counts, strict=True))
        least = [(sum(shelf[site][0].price * count for shelf, count in counted), site) for site in common]
        for compute, site in sorted(least, key=itemgetter(0)):
            if self.hopeless(front, each, full_chain(compute, loss_s, 0), throughput, loss_s):
                return
            for offers in product(*(shelf[site] for shelf in shelves)):
                self.attempt(front, each, offers, throughput, loss_s)


_ROUNDING = 1 + 1e-9
"""Floating-point products in another order differ by less."""


class _Best:
    """The best that any placement with these machine sizes can be, asked per mix of kinds before its counts."""

    def __init__(self, search: Search, sizes: tuple[int, ...], divided: Sequence[tuple[int, ...]]) -> None:
        demand = search.demand
        totals = [sum(map(mul, sizes, counts)) for counts in divided]
        nodes = [sum(counts) for counts in divided]
        least_total, most_used = min(totals), max(demand.used(total) for total in totals)
        self._search = search
        self._fewest, self._most = min(nodes), max(nodes)
        self._limit = search.tariff.ceiling(max(totals))
        self._of_kind = {
            kind: (
                search.cheapest[kind] * least_total // size,
                gpu_speed(kind.machine.gpu).images_per_second * kind.machine.share * most_used,
            )
            for size in set(sizes)
            for kind in search.by_size[size]
        }
        self._losses: dict[tuple[Hazard, ...], int] = {}

    def bound(self, front: Front[Found], kinds: tuple[Kind, ...]) -> tuple[float, int] | None:
        """Return a throughput and a loss that no placement of these kinds betters, None when the front rules them out.

        Cost: all GPUs at the least price per GPU. Throughput: all at the slowest one's speed, with the exchange of the
        fewest nodes. Loss: with the transfer of the most nodes.
        """
        facts = [self._of_kind[kind] for kind in kinds]
        least = rounded(min([cost for cost, _ in facts]))
        if self._limit is not None and least * STEP > self._limit + STEP:
            return None
        if self._search.by_cost:
            return None if front.beats(least, 0.0, 0) else (0.0, 0)
        images = min([rate for _, rate in facts])
        loss_s = self._loss_s(tuple([kind.hazard for kind in kinds]))
        if front.beats(least, images, loss_s):
            return None
        counts = (*(1 for _ in kinds[1:]), self._fewest - len(kinds) + 1)
        efficiency = self._search.performance(kinds, counts, None).scaling_efficiency
        throughput = four_digits(images * efficiency * _ROUNDING)
        return None if front.beats(least, throughput, loss_s) else (throughput, loss_s)

    def _loss_s(self, hazards: tuple[Hazard, ...]) -> int:
        found = self._losses.get(hazards)
        if found is None:
            demand = self._search.demand
            gpus = demand.low if demand.gpus else 0
            worth = stability(tuple(sorted(hazards)), gpus, self._most, self._search.recovery)
            found = self._losses[hazards] = round(worth.loss_s_per_day)
        return found


def _worth_keeping(offers: list[Candidate]) -> list[Candidate]:
    """Return the offers of one kind at one site that can stand in a placement of the front, cheapest first.

    An offer goes when another that emits no more and uses up no other quota is at most as dear and has the smaller id,
    or is cheaper by a whole rounding step: in any placement that one takes its place, and the placement gets no worse.
    """
    kept: list[Candidate] = []
    for offer in sorted(offers):
        if not any(_replaces(other, offer) for other in kept):
            kept.append(offer)
    return kept


def _replaces(one: Candidate, other: Candidate) -> bool:
    """Return whether a cheaper or equal offer can stand wherever another of its kind and site does."""
    return (
        (one.id < other.id or one.price + STEP <= other.price)
        and one.carbon <= other.carbon
        and (not one.limits or one.limits == other.limits)
    )
