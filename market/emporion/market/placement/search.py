"""The exact Pareto front of the placements of one demand, best first.

A node stands for all placements whose pools come from given groups of offers, with a range of counts. Its bound is a
vector that is in nothing worse than any of them (`Bounds`). Nodes and placements are taken up in the order of their
vectors, cost first; so a placement that is taken up is dominated by nothing that comes later, and enters the front
unless the front dominates it. A node whose bound is dominated is dropped, any other falls into smaller ones: groups
into their parts, then ranges of counts into halves. docs/explanation/placement.md has the proofs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from heapq import heappop, heappush
from itertools import combinations_with_replacement, count
from typing import NamedTuple

from emporion.market.graph import Kind, Site
from emporion.market.placement.bounds import Bounds, Spread
from emporion.market.placement.candidates import Candidate, Found, grams, rounded
from emporion.market.placement.counts import Counts, counted, counts_of
from emporion.market.placement.front import Front, Key, Vector
from emporion.market.placement.groups import Group, worth_keeping
from emporion.market.placement.nodes import Node, Nodes
from emporion.market.placement.scoring import Scoring
from emporion.market.placement.staircase import Blocks, Staircase

__all__ = ["Search"]


@dataclass
class Search(Scoring):
    """One demand against one list of candidates."""

    candidates: Sequence[Candidate] = ()
    settled: frozenset[int] = frozenset()
    """Numbers of offers whose placements at one site are in the front that the search starts from."""

    @cached_property
    def shelves(self) -> dict[Kind, dict[Site, list[Candidate]]]:
        """The candidates that can matter, cheapest first, by kind and site."""
        shelves: dict[Kind, dict[Site, list[Candidate]]] = {}
        for candidate in self.candidates:
            shelves.setdefault(candidate.kind, {}).setdefault(candidate.site, []).append(candidate)
        for sites in shelves.values():
            for site, offers in sites.items():
                if len(offers) > 1:
                    sites[site] = worth_keeping(offers)
        return shelves

    @cached_property
    def by_size(self) -> dict[int, list[Kind]]:
        """The kinds that have candidates by what one machine counts towards the demand."""
        found: dict[int, list[Kind]] = {}
        for kind in self.shelves:
            found.setdefault(self.size(kind), []).append(kind)
        return found

    def divided(self, pools: int) -> Iterator[Counts]:
        """Yield the divisions of the demand among each multiset of machine sizes that there are, where it has some."""
        for sizes in combinations_with_replacement(sorted(self.by_size), pools):
            counts = counts_of(counted(self.demand), sizes)
            if counts.each:
                yield counts

    def front(self, start: Front[Found] | None = None) -> Front[Found]:
        """Return the exact front; points of `start` stay against equal ones."""
        walk = _Walk(self)
        for vector, _, found in start.points if start else ():
            walk.take(_Leaf(vector, (), found))
        return Front(walk.points())


class _Leaf(NamedTuple):
    """A placement that waits for its turn."""

    vector: Vector
    key: Key
    found: Found


class _Walk:
    """One walk through the nodes of a search."""

    def __init__(self, search: Search) -> None:
        self._search = search
        self._bounds = Bounds(search)
        self._nodes = Nodes(search, self._bounds, search.shelves, search.settled)
        self._carbon = not search.by_cost and any(offer.carbon for offer in search.candidates)
        self._stairs = Blocks() if self._carbon else Staircase()
        self._heap: list[tuple[int, float, int, int, int, int | Key, Node | _Leaf]] = []
        """By the vector; of equal ones nodes before placements, placements by their keys."""
        self._number = count()

    def points(self) -> list[_Leaf]:
        """Return the placements of the front, by their vectors."""
        for node in self._nodes.roots():
            self._push(node)
        points: list[_Leaf] = []
        heap, stairs = self._heap, self._stairs
        while heap:
            cost, slow, loss_s, carbon, _, _, item = heappop(heap)
            if stairs.beats(cost, -slow, loss_s, carbon):
                if self._search.by_cost:
                    break
            elif isinstance(item, Node):
                if self._hopeless(item, cost, loss_s, carbon):
                    continue
                for node in self._nodes.parts(item):
                    self._push(node)
            elif not points or points[-1].vector != item.vector:
                points.append(item)
                stairs.add(item.vector)
        return points

    def take(self, leaf: _Leaf) -> None:
        """Put a placement on the heap."""
        cost, throughput, loss_s, carbon = leaf.vector
        heappush(self._heap, (cost, -throughput, loss_s, carbon, 1, leaf.key, leaf))

    def _push(self, node: Node) -> None:
        """Put a node on the heap, or its placement where it is one, unless its bound rules it out."""
        slots, counts, start, end, spread, _ = node
        search, bounds = self._search, self._bounds
        if spread is Spread.SITE and self._done(slots):
            return
        if node.single:
            self._place(node)
            return
        span = counts.span(start, end)
        loss_s = bounds.loss_s(slots, span)
        cost, judged = bounds.cost(slots, counts, span, loss_s, spread)
        limit = search.tariff.ceiling(span.most_total)
        if limit is not None and judged > limit:
            return
        emitted = 0
        if self._carbon or search.tariff.carbon is not None:
            emitted = counts.floor([group.carbon for group in slots], span)
            if search.tariff.carbon is not None and emitted > search.tariff.carbon:
                return
        steps, images, carbon = rounded(cost), 0.0, grams(emitted) if self._carbon else 0
        if search.by_cost:
            loss_s = 0
        else:
            images = bounds.images(slots, span)
        if spread is Spread.ANY and node.joint is not None and self._hopeless(node, steps, loss_s, carbon):
            return
        if not self._stairs.beats(steps, images, loss_s, carbon):
            heappush(self._heap, (steps, -images, loss_s, carbon, 0, next(self._number), node))

    def _hopeless(self, node: Node, cost: int, loss_s: int, carbon: int) -> bool:
        """Return whether what was accepted dominates a node, its exchange of gradients counted too."""
        if self._search.by_cost:
            return False
        span = node.counts.span(node.start, node.end)
        return self._stairs.beats(cost, self._bounds.throughput(node.slots, span, node.joint), loss_s, carbon)

    def _done(self, slots: Sequence[Group]) -> bool:
        """Return whether placements at one site were all looked at before, or are all better at another site."""
        if self._search.settled and all(group.settled for group in slots):
            return True
        cover = -1
        for group in slots:
            cover &= group.cover
        return cover != 0

    def _compared(self, cost: int, throughput: float, loss_s: int, emitted: int) -> Vector:
        """Return what is compared of a cost in 1e-9 USD, a throughput, a loss and an emission in mg, all per hour."""
        if self._search.by_cost:
            return Vector(rounded(cost), 0.0, 0)
        return Vector(rounded(cost), throughput, loss_s, grams(emitted) if self._carbon else 0)

    def _place(self, node: Node) -> None:
        """Put the one placement of a node on the heap, if it serves, keeps every ceiling and is not dominated."""
        search = self._search
        offers = [group.offers[0] for group in node.slots]
        kinds, numbers = [offer.kind for offer in offers], node.counts.each[node.start]
        if not search.serves(kinds, numbers):
            return
        found = Found(tuple(sorted(zip(offers, numbers, strict=True), key=lambda part: part[0].id)))
        loss_s = search.loss_s(kinds, numbers)
        total, judged = search.costs(found.parts, loss_s)
        gpus = sum([offer.size * each for offer, each in found.parts])
        if not (search.affordable(judged, gpus) and search.allowed(found)):
            return
        vector = self._compared(total, search.throughput(kinds, numbers, node.joint), loss_s, found.carbon)
        if not self._stairs.beats(*vector):
            self.take(_Leaf(vector, tuple([offer.id for offer, each in found.parts for _ in range(each)]), found))
