"""Candidates of one size in groups, refined step by step: by stability, by kind, by price, down to single offers.

Which of them can matter: `worth_keeping` at one site, `Covers` within a region.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import NamedTuple, TypeVar

from emporion.market.graph import Kind, Site
from emporion.market.placement.candidates import STEP, Candidate

__all__ = ["Group", "Past", "Shelves", "covers_of", "grouped", "past_of", "worth_keeping"]

Name = TypeVar("Name", bound=Hashable)
_SPLIT = 2


Shelves = Mapping[Kind, Mapping[Site, list[Candidate]]]


class Past(NamedTuple):
    """What is known of offers before they are grouped, by their numbers."""

    settled: frozenset[int]
    """Offers whose placements at one site were all looked at."""
    covers: Mapping[int, int]
    """The sites of its region, as bits, where the same kind is to be had that is better by price or id; none: 0."""
    places: Mapping[Kind, int]
    """The regions, as bits, where a kind is to be had."""
    done: frozenset[Kind]
    """Kinds all of whose offers are settled."""


def worth_keeping(offers: list[Candidate]) -> list[Candidate]:
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
    """Return whether a cheaper or equal offer can stand wherever another of its kind does, as far as the place goes."""
    return (
        (one.id < other.id or one.price + STEP <= other.price)
        and one.carbon <= other.carbon
        and (not one.limits or one.limits == other.limits)
    )


def covers_of(shelves: Shelves) -> dict[int, int]:
    """Return for each offer which sites of its region have its kind better, as bits; an offer without any is left out.

    A placement at one site is not needed when another site of the region has all of its offers better.
    """
    bits: dict[Site, int] = {}
    found: dict[int, int] = {}
    for sites in shelves.values():
        regions: dict[tuple[str, str], list[Candidate]] = {}
        for site, shelf in sites.items():
            regions.setdefault(site[:2], []).extend(shelf)
        for there in regions.values():
            kept = worth_keeping(there) if len(there) > 1 else there
            for offer in there if len(there) > 1 else ():
                cover = 0
                for other in kept:
                    if other.site != offer.site and other.price <= offer.price and _replaces(other, offer):
                        cover |= bits.setdefault(other.site, 1 << len(bits))
                if cover:
                    found[offer.number] = cover
    return found


def past_of(shelves: Shelves, settled: frozenset[int]) -> Past:
    """Return what is known of the offers of some shelves."""
    bits: dict[tuple[str, str], int] = {}
    places = {
        kind: sum([bits.setdefault(region, 1 << len(bits)) for region in {site[:2] for site in sites}])
        for kind, sites in shelves.items()
    }
    done = [
        kind
        for kind, sites in (shelves.items() if settled else ())
        if all(offer.number in settled for shelf in sites.values() for offer in shelf)
    ]
    return Past(settled, covers_of(shelves), places, frozenset(done))


class Group:
    """Some candidates of one size, cheapest first, and the best that any of them is."""

    def __init__(self, offers: Sequence[Candidate], past: Past, parts: tuple[Group, ...] = ()) -> None:
        """`offers` are sorted and not empty; `parts` is what they fall into, where that is known."""
        self._parts = parts
        self.offers = offers
        self.price = offers[0].price
        self.single = len(offers) == 1
        """Whether it is one offer."""
        self.kinds = (offers[0].kind,) if self.single else tuple(dict.fromkeys([offer.kind for offer in offers]))
        self._past = past

    @cached_property
    def carbon(self) -> int:
        """The least emission of one machine, in mgCO2e per hour."""
        return min([offer.carbon for offer in self.offers])

    @cached_property
    def per_day(self) -> float:
        """The fewest interruptions of one pool a day."""
        return min([kind.hazard.per_day for kind in self.kinds])

    @cached_property
    def region(self) -> tuple[str, str] | None:
        """Provider and region, where they are one."""
        first = self.offers[0].site[:2]
        return first if all(offer.site[:2] == first for offer in self.offers) else None

    @cached_property
    def settled(self) -> bool:
        """Whether all of them were placed before, at one site."""
        return bool(self._past.settled) and all(offer.number in self._past.settled for offer in self.offers)

    @cached_property
    def cover(self) -> int:
        """The sites, as bits, that have something better than any of them."""
        found = -1
        for offer in self.offers:
            found &= self._past.covers.get(offer.number, 0)
        return found

    @cached_property
    def done(self) -> bool:
        """Whether all offers of its kinds were placed before, at one site."""
        return bool(self._past.done) and all(kind in self._past.done for kind in self.kinds)

    @cached_property
    def places(self) -> int:
        """The regions, as bits, where any of its kinds is to be had."""
        found = 0
        for kind in self.kinds:
            found |= self._past.places[kind]
        return found

    @cached_property
    def children(self) -> tuple[Group, ...]:
        """The groups that it falls into, two unless it is single: the cheapest part of it, and the rest."""
        parts = self._parts or self._split()
        if len(parts) <= _SPLIT:
            return parts
        offers = sorted([offer for part in parts[1:] for offer in part.offers], key=lambda each: (each.price, each.id))
        return (parts[0], Group(offers, self._past, parts[1:]))

    def _split(self) -> tuple[Group, ...]:
        offers = self.offers
        if len(self.kinds) > 1:
            for key in (_model, _hazard, _kind):
                parts = tuple(grouped(offers, key, self._past).values())
                if len(parts) > 1:
                    return parts
        half = len(offers) // 2
        return (Group(offers[:half], self._past), Group(offers[half:], self._past))


def _model(offer: Candidate) -> Hashable:
    return (offer.kind.machine.gpu, offer.kind.machine.share)


def _hazard(offer: Candidate) -> Hashable:
    return offer.kind.hazard


def _kind(offer: Candidate) -> Hashable:
    return offer.kind


def grouped(offers: Iterable[Candidate], key: Callable[[Candidate], Name], past: Past) -> dict[Name, Group]:
    """Return sorted candidates in groups of equal key."""
    found: dict[Name, list[Candidate]] = {}
    for offer in offers:
        found.setdefault(key(offer), []).append(offer)
    return {name: Group(some, past) for name, some in found.items()}
