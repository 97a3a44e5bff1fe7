"""The placements of one composition over several sites: cheapest offers first, with a bound."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations

from emporion.market.graph import Kind, Site
from emporion.market.performance import Joint
from emporion.market.placement.candidates import Candidate, Composition, Found, full_chain, joint_of
from emporion.market.placement.front import Front
from emporion.market.placement.scoring import Scoring

__all__ = ["Across"]


class Across:
    """Places compositions over several sites for one scoring."""

    def __init__(self, scoring: Scoring, shelves: Mapping[Kind, Mapping[Site, Sequence[Candidate]]]) -> None:
        self._scoring = scoring
        self._shelves = shelves
        self._joints: dict[tuple[Site, ...], Joint | None] = {}
        self._prices: dict[Kind, list[Candidate]] = {}
        self._regions: dict[Kind, dict[tuple[str, str], list[Candidate]]] = {}

    def place(self, front: Front[Found], each: Composition, loss_s: int) -> None:
        """Offer every placement of a composition over several sites that might be undominated to the front.

        Those within one region come first: they are joined better.
        """
        by_region = [self._by_region(kind) for kind in each.kinds]
        zones = Joint(*self._scoring.links.best(same_region=True), 2)
        for region in min(by_region, key=len):
            there = [shelf[region] for shelf in by_region if region in shelf]
            if len(there) == len(by_region) and len({offer.site for shelf in there for offer in shelf}) > 1:
                self._walk(front, each, there, loss_s, zones)
        if len(set().union(*by_region)) > 1:
            nearest = Joint(*self._scoring.links.best(same_region=False), 2)
            self._walk(front, each, [self._by_price(kind) for kind in each.kinds], loss_s, nearest)

    def _by_price(self, kind: Kind) -> list[Candidate]:
        """Return the offers of a kind at all sites, cheapest first."""
        found = self._prices.get(kind)
        if found is None:
            found = [offer for shelf in self._shelves[kind].values() for offer in shelf]
            found.sort(key=lambda offer: (offer.price, offer.id))
            self._prices[kind] = found
        return found

    def _by_region(self, kind: Kind) -> dict[tuple[str, str], list[Candidate]]:
        """Return the offers of a kind by region, cheapest first."""
        found = self._regions.get(kind)
        if found is None:
            found = self._regions[kind] = {}
            for offer in self._by_price(kind):
                found.setdefault((offer.site.provider, offer.site.region), []).append(offer)
        return found

    def _walk(
        self,
        front: Front[Found],
        each: Composition,
        shelves: Sequence[Sequence[Candidate]],
        loss_s: int,
        best_link: Joint,
    ) -> None:
        """Try the offers of each shelf together, cheapest first, as long as the best link could beat the front."""
        scoring = self._scoring
        best = scoring.throughput(*each, best_link)
        throughputs: dict[Joint, float] = {}
        rest = [0] * (len(shelves) + 1)
        for i in range(len(shelves) - 1, -1, -1):
            rest[i] = rest[i + 1] + shelves[i][0].price * each.counts[i]

        def walk(chosen: tuple[Candidate, ...], compute: int) -> None:
            depth = len(chosen)
            if depth == len(shelves):
                joint = self._joint(tuple([offer.site for offer in chosen]))
                if joint is not None:
                    if joint not in throughputs:
                        throughputs[joint] = scoring.throughput(*each, joint)
                    scoring.attempt(front, each, chosen, throughputs[joint], loss_s)
                return
            count, least = each.counts[depth], rest[depth + 1]
            for offer in shelves[depth]:
                spent = compute + offer.price * count
                if scoring.hopeless(front, each, full_chain(spent + least, loss_s, 0), best, loss_s):
                    break
                walk((*chosen, offer), spent)

        walk((), 0)

    def _joint(self, sites: tuple[Site, ...]) -> Joint | None:
        """Return what joins sites; None: they are one, or the demand does not accept one of their links."""
        if sites not in self._joints:
            table = self._scoring.links
            links = [table.between(one, other) for one, other in combinations(set(sites), 2)]
            accepted = links and all(self._scoring.demand.accepts_link(each) for each in links)
            self._joints[sites] = joint_of(sites, table) if accepted else None
        return self._joints[sites]
