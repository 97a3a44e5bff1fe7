"""What one stage can be made of at each place: its own exact front there, as labels.

A place is a region of a provider; all nodes of a stage stand at one of its sites. Offers that no model tells apart
except by price are of one *breed* (kind, emission, quotas). Three shortcuts leave out only what cannot matter:

- Two offers of one breed never stand beside each other: all nodes of the cheaper (of equals the smaller id) are no
  dearer, as fast, and lose less.
- A stage without GPUs has one offer, whatever `max_pools` says, unless carbon or quotas count: beside the cheaper of
  two the other adds its price and its interruptions, and no speed.
- Of one breed at one place only the cheapest offers can stand alone, at one site only the cheapest in a mix.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from itertools import combinations, combinations_with_replacement, groupby, product
from operator import le, mul
from typing import NamedTuple

from emporion.market.carbon import emission
from emporion.market.graph import Kind, ResourceGraph, Site
from emporion.market.offer import Offer
from emporion.market.placement.candidates import STEP, Candidate, Found, full_chain, grams
from emporion.market.placement.choose import Choice
from emporion.market.placement.constraints import Scope, size_of
from emporion.market.placement.demand import divisions
from emporion.market.placement.quotas import limits_of
from emporion.market.placement.search import Search
from emporion.market.sites import is_local_zone
from emporion.market.stages.labels import Label, Labels, Layout, front_of
from emporion.market.stages.views import Place

__all__ = ["Option", "StageOptions"]

_PLAIN = Layout()
_REGIONAL = frozenset({"constraints.providers", "constraints.regions"})
"""Constraints that hold for all sites of a place alike."""
Breed = tuple[Kind, int, tuple[tuple[int, int], ...]]


class Option(NamedTuple):
    """One way to serve a stage at one place."""

    ids: tuple[str, ...]
    """The offer id of each node, sorted."""
    place: Place
    found: Found
    label: Label
    """Without its key."""


@lru_cache(maxsize=16)
def _shelves(graph: ResourceGraph, *, by_spec: bool) -> dict[Place, list[list[int]]]:
    """Return by place the numbers of the offers of each kind (or spec and kind), cheapest first; no intent counts."""
    found: dict[Place, dict[tuple[int, int], list[int]]] = {}
    places = [site[:2] for site in graph.site_list]
    for number, (site, spec, kind) in enumerate(zip(graph.sites, graph.specs, graph.kinds, strict=True)):
        found.setdefault(places[site], {}).setdefault((kind, spec if by_spec else 0), []).append(number)
    prices, offers = graph.prices, graph.offers
    for shelves in found.values():
        for numbers in shelves.values():
            if len(numbers) > 1:
                numbers.sort(key=lambda each: (prices[each], offers[each].id))
    return {place: list(shelves.values()) for place, shelves in found.items()}


@dataclass
class StageOptions:
    """Everything that a stage can be made of, for one choice."""

    choice: Choice
    layout: Layout
    usable: bool
    """Only offers that a component can stand up."""
    by_cost: bool = False
    scale: int = 0
    """The stage's hours as a whole number, for the cost of the run."""
    _worth: dict[tuple[tuple[Kind, ...], tuple[int, ...]], tuple[float, int] | None] = field(default_factory=dict)
    _counts: dict[tuple[int, ...], list[tuple[int, ...]]] = field(default_factory=dict)
    _deploys: dict[tuple[int, Place, bool], bool] = field(default_factory=dict)
    _passes: dict[int, bool] = field(default_factory=dict)

    @cached_property
    def _search(self) -> Search:
        return self.choice.search((), one_site=True, by_cost=self.by_cost)

    def at_places(self) -> dict[Place, list[Option]]:
        """Return the front of the stage at each place where it has one, by place."""
        found = {}
        for place, shelves in sorted(self._shelves.items()):
            if self._barred(shelves[0][0]):
                continue
            options = self._front(place, [each for shelf in shelves for each in self._first(place, shelf)])
            if options:
                found[place] = options
        return found

    @property
    def whole(self) -> bool:
        """Whether no offer was left out for want of a component, as far as was looked."""
        return all(self._deploys.values())

    # Offers

    @property
    def _shelves(self) -> dict[Place, list[list[int]]]:
        """The offers by place; where emission and quotas count, offers of one spec alone are alike in them."""
        return _shelves(self.choice.graph, by_spec=self.choice.carbon or bool(self.choice.terms.quotas))

    @cached_property
    def _tests(self) -> dict[Scope, list[Callable[[Offer], str | None]]]:
        return {
            scope: [each.test for each in self.choice.constraints if each.scope is scope and each.key not in _REGIONAL]
            for scope in Scope
        }

    def _barred(self, number: int) -> bool:
        """Return whether a constraint on providers or regions keeps out the place of an offer."""
        offer = self.choice.graph.offers[number]
        return any(each.test(offer) is not None for each in self.choice.constraints if each.key in _REGIONAL)

    def _passing(self, place: Place, shelf: Sequence[int]) -> Iterator[int]:
        """Yield the offers of a shelf that pass every constraint, cheapest first."""
        graph, known = self.choice.graph, self._passes
        tests = [*self._tests[Scope.PLACE], *self._tests[Scope.OFFER]]
        of_machine = self._tests[Scope.MACHINE]
        for number in shelf:
            spec = graph.specs[number]
            passes = known.get(spec)
            if passes is None:
                passes = known[spec] = all(test(graph.spec_offers[spec]) is None for test in of_machine)
            if not passes or (tests and any(test(graph.offers[number]) is not None for test in tests)):
                continue
            if not self.usable or self._deploys_at(number, place):
                yield number

    def _deploys_at(self, number: int, place: Place) -> bool:
        offer, spec = self.choice.graph.offers[number], self.choice.graph.specs[number]
        key = (spec, place, is_local_zone(offer.provider, offer.zone))
        found = self._deploys.get(key)
        if found is None:
            found = self._deploys[key] = self.choice.terms.not_deployable(offer) is None
        return found

    def _first(self, place: Place, shelf: Sequence[int]) -> Iterator[Candidate]:
        """Yield the offers of a shelf that can stand alone: the cheapest, and such as cost the same in the end."""
        least: int | None = None
        smallest = ""
        for number in self._passing(place, shelf):
            price, name = self.choice.graph.prices[number], self.choice.graph.offers[number].id
            if least is None:
                least, smallest = price, name
            elif price >= least + STEP:
                return
            elif name > smallest:
                continue
            smallest = name
            yield self._candidate(number)

    def _candidate(self, number: int) -> Candidate:
        choice, graph = self.choice, self.choice.graph
        offer = graph.offers[number]
        quotas = choice.terms.quotas
        return Candidate(
            graph.prices[number],
            offer.id,
            number,
            graph.kind_list[graph.kinds[number]],
            graph.site_list[graph.sites[number]],
            size_of(offer, choice.intent.resources.gpus),
            emission(offer).mg_per_hour if choice.carbon else 0,
            limits_of(offer, quotas) if quotas else (),
        )

    # Placements at one place

    def _front(self, place: Place, firsts: Iterable[Candidate]) -> list[Option]:
        """Return the front of a place, from the offers that can stand alone there."""
        breeds = _by_breed(firsts)
        found: list[Option] = []
        for breed, offers in breeds.items():
            for counts in self._divided((offers[0].size,)):
                worth = self._worth_of((breed,), counts)
                if worth is not None:
                    found += self._options(place, [offers], counts, worth)
        found = _undominated(found)
        return _undominated([*found, *self._mixed(place, breeds, found)]) if self._pools > 1 and breeds else found

    @cached_property
    def _pools(self) -> int:
        demand, terms = self._search.demand, self.choice.terms
        return demand.max_pools if demand.gpus or self.choice.carbon or terms.quotas else 1

    def _divided(self, sizes: tuple[int, ...]) -> list[tuple[int, ...]]:
        """Return how many machines of these sizes serve the stage."""
        found = self._counts.get(sizes)
        if found is None:
            demand = self._search.demand
            found = [each for each in divisions(demand, sizes) if demand.node_problem(sum(each)) is None]
            self._counts[sizes] = found
        return found

    def _worth_of(self, breeds: tuple[Breed, ...], counts: tuple[int, ...]) -> tuple[float, int] | None:
        """Return minus the throughput and the loss of a composition; None: it does not serve."""
        kinds = tuple([breed[0] for breed in breeds])
        key = (kinds, counts)
        if key not in self._worth:
            search = self._search
            if search.serves(kinds, counts):
                loss_s = search.loss_s(kinds, counts)
                trains = search.demand.gpus and not self.by_cost
                self._worth[key] = (-search.throughput(kinds, counts, None) if trains else float("-inf"), loss_s)
            else:
                self._worth[key] = None
        return self._worth[key]

    def _options(
        self,
        place: Place,
        shelves: Sequence[Sequence[Candidate]],
        counts: tuple[int, ...],
        worth: tuple[float, int],
    ) -> Iterator[Option]:
        """Yield the placements of one composition with an offer of each shelf."""
        for offers in product(*shelves):
            parts = tuple(sorted(zip(offers, counts, strict=True), key=lambda part: part[0].id))
            found = Found(parts)
            if self._search.allowed(found):
                ids = tuple(offer.id for offer, count in parts for _ in range(count))
                compute = sum(offer.price * count for offer, count in parts)
                yield Option(ids, place, found, self._label(place, compute, counts, worth, found))

    def _label(
        self, place: Place, compute: int, counts: tuple[int, ...], worth: tuple[float, int], found: Found
    ) -> Label:
        """Return the label of machines worth `compute` at a place, without a key."""
        speed, loss_s = worth
        known, upper = self._search.overhead(*place, sum(counts))
        cost = full_chain(compute, loss_s, known)
        layout = self.layout
        if layout == _PLAIN:
            return (cost, speed, 0 if self.by_cost else loss_s)
        rest = layout.rest(
            carbon=grams(found.carbon),
            judged=cost if upper is None else cost + upper - known,
            gpus=sum(offer.kind.machine.gpus * count for offer, count in found.parts),
            hours=self.scale,
        )
        return (cost, speed, 0 if self.by_cost else loss_s, *rest)

    def _mixed(self, place: Place, breeds: dict[Breed, list[Candidate]], known: list[Option]) -> Iterator[Option]:
        """Yield the placements of several breeds at one site that none of `known` is better than throughout."""
        by_size: dict[int, list[Breed]] = {}
        for breed, offers in breeds.items():
            by_size.setdefault(offers[0].size, []).append(breed)
        sites: dict[Site, dict[Breed, list[Candidate]]] | None = None
        for mix, counts in self._mixes(by_size):
            worth = self._worth_of(mix, counts)
            if worth is None:
                continue
            best = [breeds[breed][0] for breed in mix]
            compute = sum(map(mul, [offer.price for offer in best], counts))
            least = self._label(place, compute, counts, worth, Found(tuple(zip(best, counts, strict=True))))
            if _beaten(known, least):
                continue
            if sites is None:
                sites = self._sites(place)
            for shelves in sites.values():
                if all(breed in shelves for breed in mix):
                    yield from self._options(place, [shelves[breed] for breed in mix], counts, worth)

    def _mixes(self, by_size: dict[int, list[Breed]]) -> Iterator[tuple[tuple[Breed, ...], tuple[int, ...]]]:
        """Yield every mix of different breeds with how many of each serve the stage."""
        for pools in range(2, self._pools + 1):
            for sizes in combinations_with_replacement(sorted(by_size), pools):
                divided = self._divided(sizes)
                if divided:
                    runs = [(size, len(list(run))) for size, run in groupby(sizes)]
                    for parts in product(*(combinations(by_size[size], length) for size, length in runs)):
                        mix = tuple(breed for part in parts for breed in part)
                        for counts in divided:
                            yield mix, counts

    def _sites(self, place: Place) -> dict[Site, dict[Breed, list[Candidate]]]:
        """Return the offers of a place that can stand in a mix, by site and breed."""
        found: dict[Site, list[Candidate]] = {}
        for shelf in self._shelves[place]:
            for number in self._passing(place, shelf):
                candidate = self._candidate(number)
                found.setdefault(candidate.site, []).append(candidate)
        return {site: _by_breed(offers) for site, offers in sorted(found.items(), key=lambda each: str(each[0]))}


def _by_breed(offers: Iterable[Candidate]) -> dict[Breed, list[Candidate]]:
    """Return by breed the offers that can matter, cheapest first."""
    breeds: dict[Breed, list[Candidate]] = {}
    for candidate in offers:
        breeds.setdefault((candidate.kind, candidate.carbon, candidate.limits), []).append(candidate)
    return {breed: _worth_keeping(each) if len(each) > 1 else each for breed, each in breeds.items()}


def _worth_keeping(offers: list[Candidate]) -> list[Candidate]:
    """Return the offers of one breed that no other beats in price and id at once, or by a whole rounding step."""
    offers.sort(key=lambda each: (each.price, each.id))
    kept = offers[:1]
    for offer in offers[1:]:
        if offer.price >= offers[0].price + STEP:
            break
        if offer.id < kept[-1].id:
            kept.append(offer)
    return kept


def _undominated(options: list[Option]) -> list[Option]:
    """Return the front of options at one place; of equal ones the smallest ids stay."""
    if len(options) < 2:  # noqa: PLR2004 - nothing to compare
        return options
    options.sort(key=lambda each: each.ids)
    labels: Labels = [(*option.label, rank) for rank, option in enumerate(options)]
    return [options[label[-1]] for label in front_of(labels)]


def _beaten(known: Iterable[Option], label: Label) -> bool:
    """Return whether an option is cheaper by a whole step than anything with this label or worse, and else no worse."""
    return any(one.label[0] <= label[0] - STEP and all(map(le, one.label[1:], label[1:])) for one in known)
