"""What a best-first search takes up: sets of placements, and how each falls into smaller ones."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations, combinations_with_replacement
from typing import NamedTuple

from emporion.market.graph import Kind, Site
from emporion.market.performance import Joint
from emporion.market.placement.bounds import Bounds, Spread
from emporion.market.placement.candidates import STEP, Candidate, joint_of
from emporion.market.placement.counts import Counts, counted, counts_of
from emporion.market.placement.groups import Group, Shelves, grouped, past_of
from emporion.market.placement.scoring import Scoring

__all__ = ["Node", "Nodes"]

_SEVERAL = 2
"""Nodes enough to need joining."""
_SLACK = 1 + 1e-9
_Region = tuple[str, str]


class Node(NamedTuple):
    """All placements with one pool from each of some groups, and one of some divisions."""

    slots: tuple[Group, ...]
    """By size, smallest first; the same group twice: two different offers of it."""
    counts: Counts
    start: int
    end: int
    """The divisions `counts.each[start:end]`."""
    spread: Spread
    joint: Joint | None
    """The best that joins its sites; None: one site."""

    @property
    def single(self) -> bool:
        """Whether it is one placement."""
        if self.end - self.start > 1 or self.spread is Spread.ANY:
            return False
        return all(group.single for group in self.slots)


class Nodes:
    """The nodes of one scoring."""

    def __init__(self, scoring: Scoring, bounds: Bounds, shelves: Shelves, settled: frozenset[int]) -> None:
        """`shelves` hold the offers that can matter, by kind and site, cheapest first."""
        self._scoring = scoring
        self._bounds = bounds
        self._shelves = shelves
        self._past = past_of(shelves, settled)
        self._counted = counted(scoring.demand)
        self._near = Joint(*scoring.links.best(same_region=True), 2)
        self._far = Joint(*scoring.links.best(same_region=False), 2)
        self._sites: dict[tuple[Kind, Site], Group] = {}
        self._regions: dict[tuple[Kind, int], dict[_Region, Group]] = {}
        self._anywhere: dict[tuple[Kind, int], Group] = {}
        self._joints: dict[tuple[Site, ...], Joint | None] = {}

    def roots(self) -> Iterator[Node]:
        """Yield nodes that together stand for every placement, each once."""
        offers = [offer for sites in self._shelves.values() for shelf in sites.values() for offer in shelf]
        best = _sorted(offer for offer in offers if offer.number not in self._past.covers)
        for size, group in grouped(best, lambda offer: offer.size, self._past).items():
            counts = counts_of(self._counted, (size,))
            if counts.each:
                yield Node((group,), counts, 0, len(counts.each), Spread.SITE, None)
        # of a kind only the cheapest machine and the cleanest bear on a bound
        by_size = grouped(_sorted(_extremes(best)), lambda offer: offer.size, self._past)
        for pools in range(2, self._scoring.demand.max_pools + 1):
            for sizes in combinations_with_replacement(sorted(by_size), pools):
                counts = counts_of(self._counted, sizes)
                if counts.each:
                    yield Node(tuple([by_size[size] for size in sizes]), counts, 0, len(counts.each), Spread.ANY, None)

    def _supersedes(self, one: Candidate, other: Candidate) -> bool:
        """Return whether wherever two offers of one region and size stand, cheaper first, the first may stand alone.

        Nodes and what they count together stay; a pool less is interrupted less often, and is joined no worse.
        """
        return (
            (one.id < other.id or one.price + STEP <= other.price)
            and one.carbon <= other.carbon
            and not one.limits
            and (not self._scoring.demand.total_vram_bytes or one.kind.vram_bytes >= other.kind.vram_bytes)
            and _no_slower(self._bounds.pace_of(one.kind), self._bounds.pace_of(other.kind))
        )

    def parts(self, node: Node) -> Iterator[Node]:
        """Yield the nodes that a node of several placements falls into."""
        slots = node.slots
        if node.spread is Spread.ANY:
            largest = max(slots, key=lambda group: len(group.kinds))
            if len(largest.kinds) == 1:
                yield from self._placed(node)
                return
        else:
            largest = max(slots, key=lambda group: len(group.offers))
            if largest.single:
                middle = (node.start + node.end) // 2
                yield node._replace(end=middle)
                yield node._replace(start=middle)
                return
        places = [place for place, group in enumerate(slots) if group is largest]
        for parts in combinations_with_replacement(largest.children, len(places)):
            changed = list(slots)
            for place, part in zip(places, parts, strict=True):
                changed[place] = part
            joint = node.joint
            if node.spread is Spread.ANY and joint is None:
                joint = self._at_best(changed)
                if joint is not None and self._scoring.demand.one_site:
                    continue
            smaller = Node(tuple(changed), node.counts, node.start, node.end, node.spread, joint)
            if node.spread is Spread.ANY:
                yield smaller
            else:
                yield from self._checked(smaller)

    def _at_best(self, slots: Sequence[Group]) -> Joint | None:
        """Return the best that may join pools of some groups; None: one site."""
        places = -1
        for group in slots:
            places &= group.places
        if not places:
            return self._far
        return self._near if all(group.done for group in slots) else None

    def _placed(self, node: Node) -> Iterator[Node]:
        """Yield a node whose kinds are told at each site, over each region's sites and over regions."""
        kinds = [group.kinds[0] for group in node.slots]
        if self._scoring.demand.join_problem(kinds, _SEVERAL) is not None:
            return
        needed = {kind: kinds.count(kind) for kind in kinds}
        shelves = [(self._shelves[kind], number) for kind, number in needed.items()]
        for site in min([shelf for shelf, _ in shelves], key=len):
            if all(len(shelf.get(site, ())) >= number for shelf, number in shelves):
                slots = tuple([self._at(kind, site) for kind in kinds])
                yield from self._checked(node._replace(slots=slots, spread=Spread.SITE, joint=None))
        if self._scoring.demand.one_site:
            return
        pools = len(kinds)
        in_regions = [self._in_regions(kind, pools) for kind in kinds]
        for region in min(in_regions, key=len):
            if all(region in there for there in in_regions):
                slots = tuple([there[region] for there in in_regions])
                if len({offer.site for group in slots for offer in group.offers}) > 1:
                    yield from self._checked(node._replace(slots=slots, spread=Spread.ZONES, joint=self._near))
        if len({region for there in in_regions for region in there}) > 1:
            slots = tuple([self._anywhere[kind, pools] for kind in kinds])
            yield from self._checked(node._replace(slots=slots, spread=Spread.REGIONS, joint=self._far))

    def _at(self, kind: Kind, site: Site) -> Group:
        """Return the offers of a kind at a site."""
        found = self._sites.get((kind, site))
        if found is None:
            found = self._sites[kind, site] = Group(self._shelves[kind][site], self._past)
        return found

    def _in_regions(self, kind: Kind, pools: int) -> dict[_Region, Group]:
        """Return by region the offers of a kind that may stand at another site than a second one.

        Two pools at two sites may move to any other sites of their regions, unless a link was measured: covered offers
        do not matter. Of three, two may share a site, and moving one makes it three.
        """
        key = (kind, pools)
        found = self._regions.get(key)
        if found is None:
            covers = self._past.covers if pools == _SEVERAL and self._scoring.links.modelled else {}
            offers = (offer for shelf in self._shelves[kind].values() for offer in shelf)
            there = _sorted(offer for offer in offers if offer.number not in covers)
            found = self._regions[key] = grouped(there, lambda offer: offer.site[:2], self._past)
            self._anywhere[key] = Group(there, self._past)
        return found

    def _checked(self, node: Node) -> Iterator[Node]:
        """Yield a node, unless its offers are told and do not go together; then with what really joins its sites."""
        if len(node.slots) == 1 or not all(group.single for group in node.slots):
            yield node
            return
        offers = [group.offers[0] for group in node.slots]
        for one, other in combinations(sorted(offers), 2):
            if one.id == other.id:
                return
            if one.size == other.size and one.site[:2] == other.site[:2] and self._supersedes(one, other):
                return
        if node.spread is Spread.SITE:
            yield node
            return
        sites = tuple([offer.site for offer in offers])
        if node.spread is Spread.REGIONS and len({site[:2] for site in sites}) == 1:
            return
        joint = self._joint(sites)
        if joint is not None:
            yield node._replace(joint=joint)

    def _joint(self, sites: tuple[Site, ...]) -> Joint | None:
        """Return what joins sites; None: they are one, or the demand does not accept one of their links."""
        if sites not in self._joints:
            demand, table = self._scoring.demand, self._scoring.links
            links = [table.between(one, other) for one, other in combinations(set(sites), 2)]
            accepted = links and all(demand.accepts_link(each) for each in links)
            self._joints[sites] = joint_of(sites, table) if accepted else None
        return self._joints[sites]


def _no_slower(one: tuple[float, float], other: tuple[float, float]) -> bool:
    """Return whether machines of one pace alone are no slower than with some of another among them.

    A pace is a GPU's images per second and its seconds of computing per step. A machine that computes longer hides more
    of the exchange, so a mix may be faster than the machines that set its pace.
    """
    return other[1] <= one[1] or other[0] * other[1] * _SLACK <= one[0] * one[1]


def _sorted(offers: Iterable[Candidate]) -> list[Candidate]:
    return sorted(offers, key=lambda offer: (offer.price, offer.id))


def _extremes(offers: Sequence[Candidate]) -> Iterable[Candidate]:
    """Return of each kind the cheapest machine and the one that emits least; the offers are sorted."""
    cheapest: dict[Kind, Candidate] = {}
    cleanest: dict[Kind, Candidate] = {}
    for offer in offers:
        cheapest.setdefault(offer.kind, offer)
        if offer.carbon < cleanest.setdefault(offer.kind, offer).carbon:
            cleanest[offer.kind] = offer
    return {offer.number: offer for offer in (*cheapest.values(), *cleanest.values())}.values()
