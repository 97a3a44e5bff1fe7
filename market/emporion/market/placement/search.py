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
from operator import itemgetter

from emporion.market.graph import Kind, Site
from emporion.market.performance import gpu_speed
from emporion.market.placement.across import Across
from emporion.market.placement.candidates import STEP, Candidate, Composition, Found, full_chain, rounded
from emporion.market.placement.demand import divisions
from emporion.market.placement.front import Front, four_digits
from emporion.market.placement.scoring import Scoring
from emporion.market.stability import stability

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
                    if pools == 1 or not best.hopeless(front, kinds):
                        for counts in divided:
                            if self.serves(kinds, counts):
                                self._place(front, Composition(kinds, counts))
        return front

    @cached_property
    def cheapest(self) -> dict[Kind, int]:
        """The least price of each kind."""
        return {kind: min(offers[0].price for offers in sites.values()) for kind, sites in self.shelves.items()}

    def _place(self, front: Front[Found], each: Composition) -> None:
        """Offer every placement of one composition that might be undominated to the front."""
        least = sum(self.cheapest[kind] * count for kind, count in zip(*each, strict=True))
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
        self.search = search
        totals = [sum(size * count for size, count in zip(sizes, counts, strict=True)) for counts in divided]
        nodes = [sum(counts) for counts in divided]
        self.least_total, self.most_used = min(totals), max(search.demand.used(total) for total in totals)
        self.fewest, self.most = min(nodes), max(nodes)
        self.sizes = sizes
        self.limit = search.tariff.ceiling(max(totals))

    def hopeless(self, front: Front[Found], kinds: tuple[Kind, ...]) -> bool:
        """Return whether the front dominates every placement of these kinds, whatever the counts.

        Cost: all GPUs at the least price per GPU. Throughput: all at the slowest one's speed, with the exchange of the
        fewest nodes. Loss: with the transfer of the most nodes.
        """
        search = self.search
        least = min(
            search.cheapest[kind] * self.least_total // size for kind, size in zip(kinds, self.sizes, strict=True)
        )
        if self.limit is not None and least > self.limit:
            return True
        if search.by_cost:
            return front.beats(rounded(least), 0.0, 0)
        machines = [kind.machine for kind in kinds]
        images = min(gpu_speed(each.gpu).images_per_second * each.share for each in machines) * self.most_used
        hazards = tuple(sorted(kind.hazard for kind in kinds))
        per_gpu = search.demand.low if search.demand.gpus else 0
        loss_s = round(stability(hazards, per_gpu, self.most, search.recovery).loss_s_per_day)
        if front.beats(rounded(least), images, loss_s):
            return True
        counts = (*(1 for _ in kinds[1:]), self.fewest - len(kinds) + 1)
        efficiency = search.performance(kinds, counts, None).scaling_efficiency
        return front.beats(rounded(least), four_digits(images * efficiency * _ROUNDING), loss_s)


def _worth_keeping(offers: list[Candidate]) -> list[Candidate]:
    """Return the offers of one kind at one site that can stand in a placement of the front, cheapest first.

    An offer goes when a cheaper or equal one has the smaller id, or is cheaper by a whole rounding step: in any
    placement that one takes its place, and the placement gets no worse.
    """
    kept: list[Candidate] = []
    least = min(offers).price
    for offer in sorted(offer for offer in offers if offer.price < least + STEP):
        if not kept or offer.id < kept[-1].id:
            kept.append(offer)
    return kept
