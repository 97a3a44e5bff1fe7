"""The exact Pareto front of the placements of one demand.

How it stays exact and fast (proofs in docs/explanation/placement.md):

- Offers are split into kinds (equal for every model) at sites. Of one kind at one site only those can matter that no
  other beats in price, upper price and id at once, or by a whole rounding step in price: `_worth_keeping`.
- A composition (how many machines of which kinds) fixes throughput at one site and the loss. With the cheapest offers
  of its kinds it has a lower bound of cost; a composition whose bound is dominated already is skipped whole.
- Across sites the throughput depends on the link as well; candidates run in order of cost and stop at the cost above
  which the front dominates the best that any link allows.

Money is whole 1e-9 USD inside and rounded half up to 1e-4 USD once, at the end, for comparison.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations, combinations_with_replacement, groupby, product
from typing import NamedTuple

from emporion.market.graph import Kind, Site, link
from emporion.market.performance import Joint, Performance, Workload, gpu_speed, performance
from emporion.market.placement.demand import Demand, divisions
from emporion.market.placement.figures import figure
from emporion.market.placement.front import Front, Vector, four_digits
from emporion.market.stability import Recovering, Stability, stability

__all__ = ["NANO", "STEP", "Candidate", "Composition", "Found", "Search", "Tariff", "full_chain", "joint_of", "rounded"]

NANO = 1_000_000_000
STEP = NANO // 10_000
"""The rounding step of a compared cost."""
_DAY_S = 86_400


class Candidate(NamedTuple):
    """An offer that passed every constraint on single offers."""

    price: int
    """1e-9 USD per machine-hour."""
    id: str
    number: int
    """Of the offer in the graph."""
    kind: Kind
    site: Site
    size: int


class Composition(NamedTuple):
    """How many machines of which kinds; two of equal kind are two offers."""

    kinds: tuple[Kind, ...]
    counts: tuple[int, ...]


class Found(NamedTuple):
    """A placement that the search found: candidates with how many machines of each, smallest id first."""

    parts: tuple[tuple[Candidate, int], ...]

    @property
    def nodes(self) -> int:
        """Machines in all."""
        return sum(count for _, count in self.parts)


@dataclass(frozen=True, slots=True)
class Tariff:
    """What a placement costs besides its machines, and what it may cost."""

    overhead: Callable[[str, str, int], tuple[int, int | None]]
    """(provider, region, nodes there) -> (1e-9 USD per hour, its upper bound or None)."""
    ceiling: Callable[[int], int | None]
    """GPUs -> the most that the judged cost may be, in 1e-9 USD per hour; None: no limit."""


def full_chain(compute: int, loss_s: int, overhead: int) -> int:
    """Return the cost of machines worth `compute`, with the time paid for and lost to interruptions, and the rest."""
    return compute + overhead - (-compute * loss_s // _DAY_S)


def rounded(nano: int) -> int:
    """Return a cost in whole 1e-4 USD, half up."""
    return (nano + STEP // 2) // STEP


def joint_of(sites: Sequence[Site]) -> Joint | None:
    """Return the worst link among sites, None for one site."""
    distinct = sorted(set(sites), key=str)
    if len(distinct) == 1:
        return None
    links = [link(one, other) for one, other in combinations(distinct, 2)]
    unknown = figure("regions_latency_ms_unknown")
    latency_ms = max(unknown if each.latency_ms is None else each.latency_ms for each in links)
    speeds = [each.bandwidth_gbps for each in links if each.bandwidth_gbps is not None]
    return Joint(latency_ms, min(speeds, default=0.0), len(distinct))


@dataclass
class Search:
    """One demand against one list of candidates."""

    candidates: Sequence[Candidate]
    demand: Demand
    tariff: Tariff
    work: Workload
    recovery: Recovering
    by_cost: bool = False
    """Compare by cost alone: the front is then the one cheapest placement."""
    _overheads: dict[tuple[str, str, int], tuple[int, int | None]] = field(default_factory=dict)
    _joints: dict[tuple[Site, ...], Joint | None] = field(default_factory=dict)
    _throughputs: dict[tuple[tuple[Kind, ...], tuple[int, ...], Joint], float] = field(default_factory=dict)

    # Of one composition

    def stability(self, kinds: Sequence[Kind], counts: Sequence[int]) -> Stability:
        """Return the stability of a composition."""
        gpus = sum(kind.machine.gpus * count for kind, count in zip(kinds, counts, strict=True))
        hazards = tuple(sorted(kind.hazard for kind in kinds))
        return stability(hazards, gpus, sum(counts), self.recovery)

    def performance(self, kinds: Sequence[Kind], counts: Sequence[int], joint: Joint | None) -> Performance:
        """Return the speed of a composition; of machines used in part, the part's."""
        nodes = tuple(sorted(((k.machine, n) for k, n in zip(kinds, counts, strict=True)), key=repr))
        if joint is not None and not joint.bandwidth_gbps:
            joint = joint._replace(bandwidth_gbps=self._own_gbps(kinds))
        return performance(nodes, joint, self.work)

    @staticmethod
    def _own_gbps(kinds: Sequence[Kind]) -> float:
        return min(kind.machine.network_gbps or figure("network_gbps_unknown") for kind in kinds)

    def throughput(self, kinds: Sequence[Kind], counts: Sequence[int], joint: Joint | None) -> float:
        """Return the compared throughput of a composition."""
        if self.by_cost:
            return 0.0
        total = sum(kind.machine.gpus * count for kind, count in zip(kinds, counts, strict=True))
        share = self.demand.used(total) / total if self.demand.gpus else 1.0
        return four_digits(self.performance(kinds, counts, joint).images_per_second * share)

    # Of one placement

    def overhead(self, provider: str, region: str, nodes: int) -> tuple[int, int | None]:
        """Return the tariff's overhead, asked once."""
        key = (provider, region, nodes)
        if key not in self._overheads:
            self._overheads[key] = self.tariff.overhead(*key)
        return self._overheads[key]

    def costs(self, parts: Sequence[tuple[Candidate, int]], loss_s: int) -> tuple[int, int]:
        """Return the total, and what a budget judges (the upper bound where there is one), in 1e-9 USD per hour."""
        nodes: dict[tuple[str, str], int] = {}
        compute = 0
        for candidate, count in parts:
            compute += candidate.price * count
            place = candidate.site[:2]
            nodes[place] = nodes.get(place, 0) + count
        fixed = most = 0
        bounded = True
        for (provider, region), count in nodes.items():
            known, upper = self.overhead(provider, region, count)
            fixed += known
            if upper is None:
                bounded = False
            else:
                most += upper
        total = full_chain(compute, loss_s, fixed)
        return total, total + most - fixed if bounded else total

    def affordable(self, judged: int, gpus: int) -> bool:
        """Return whether a judged cost is within the budget of a placement with this many GPUs."""
        ceiling = self.tariff.ceiling(gpus)
        return ceiling is None or judged <= ceiling

    # The search

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

    def size(self, kind: Kind) -> int:
        """Return what one machine counts towards the demand."""
        return kind.machine.gpus if self.demand.gpus else 1

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

    def compositions(self) -> Iterator[Composition]:
        """Yield every composition that serves the demand, budget and places apart (for explanations; unbounded)."""
        for pools in range(1, self.demand.max_pools + 1):
            for sizes, divided in self.divided(pools):
                for kinds in self.mixes(sizes):
                    for counts in divided:
                        if self.serves(kinds, counts):
                            yield Composition(kinds, counts)

    def serves(self, kinds: Sequence[Kind], counts: Sequence[int]) -> bool:
        """Return whether a composition has the memory and can be joined at one site."""
        if self.demand.total_vram_bytes:
            vram = sum(kind.vram_bytes * count for kind, count in zip(kinds, counts, strict=True))
            if vram < self.demand.total_vram_bytes:
                return False
        return self.demand.join_problem(kinds, sum(counts)) is None

    def front(self, start: Front[Found] | None = None) -> Front[Found]:
        """Return the exact front; points of `start` stay against equal ones."""
        front: Front[Found] = Front(list(start.points) if start else [])
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
        if front.beats(rounded(full_chain(least, loss_s, 0)), throughput, self._compared(loss_s)):
            return
        self._same_site(front, each, throughput, loss_s)
        if len(each.kinds) > 1 and not self.demand.one_site:
            self._across(front, each, loss_s)

    def _same_site(self, front: Front[Found], each: Composition, throughput: float, loss_s: int) -> None:
        shelves = [self.shelves[kind] for kind in each.kinds]
        for site in min(shelves, key=len):
            if all(site in shelf for shelf in shelves):
                for offers in product(*(shelf[site] for shelf in shelves)):
                    self._try(front, each, offers, throughput, loss_s)

    def _try(
        self, front: Front[Found], each: Composition, offers: Sequence[Candidate], throughput: float, loss_s: int
    ) -> None:
        """Offer one placement to the front, if its offers differ and it is within the budget."""
        if len({offer.id for offer in offers}) < len(offers):
            return
        parts = tuple(sorted(zip(offers, each.counts, strict=True), key=lambda part: part[0].id))
        total, judged = self.costs(parts, loss_s)
        if self.affordable(judged, sum(offer.size * count for offer, count in parts)):
            key = (tuple(offer.id for offer, _ in parts), tuple(count for _, count in parts))
            front.offer(Vector(rounded(total), throughput, self._compared(loss_s)), key, Found(parts))

    def _compared(self, loss_s: int) -> int:
        return 0 if self.by_cost else loss_s

    def _across(self, front: Front[Found], each: Composition, loss_s: int) -> None:
        """Try a composition over several sites: those of one region first, they are joined better."""
        shelves = [
            sorted((offer for shelf in self.shelves[kind].values() for offer in shelf), key=_by_price)
            for kind in each.kinds
        ]
        regions = [{offer.site[:2] for offer in shelf} for shelf in shelves]
        for region in sorted(set.intersection(*regions)):
            there = [[offer for offer in shelf if offer.site[:2] == region] for shelf in shelves]
            self._walk(front, each, there, loss_s, Joint(figure("zones_latency_ms"), 0.0, 2))
        if len(set.union(*regions)) > 1:
            nearest = Joint(figure("regions_constant_ms"), figure("regions_gbps"), 2)
            self._walk(front, each, shelves, loss_s, nearest)

    def _walk(
        self,
        front: Front[Found],
        each: Composition,
        shelves: Sequence[Sequence[Candidate]],
        loss_s: int,
        best_link: Joint,
    ) -> None:
        """Try the offers of each shelf together, cheapest first, as long as the best link could beat the front."""
        best = self.throughput(each.kinds, each.counts, best_link)
        rest = [0] * (len(shelves) + 1)
        for i in range(len(shelves) - 1, -1, -1):
            rest[i] = rest[i + 1] + shelves[i][0].price * each.counts[i]

        def walk(chosen: tuple[Candidate, ...], compute: int) -> None:
            depth = len(chosen)
            if depth == len(shelves):
                self._try_across(front, each, chosen, loss_s)
                return
            count, least = each.counts[depth], rest[depth + 1]
            for offer in shelves[depth]:
                spent = compute + offer.price * count
                if front.beats(rounded(full_chain(spent + least, loss_s, 0)), best, self._compared(loss_s)):
                    break
                walk((*chosen, offer), spent)

        walk((), 0)

    def _try_across(self, front: Front[Found], each: Composition, offers: tuple[Candidate, ...], loss_s: int) -> None:
        sites = tuple(sorted({offer.site for offer in offers}, key=str))
        if len(sites) > 1:
            joint = self._joint(sites)
            if joint is not None:
                throughput = self._throughputs.get((each.kinds, each.counts, joint))
                if throughput is None:
                    throughput = self.throughput(each.kinds, each.counts, joint)
                    self._throughputs[each.kinds, each.counts, joint] = throughput
                self._try(front, each, offers, throughput, loss_s)

    def _joint(self, sites: tuple[Site, ...]) -> Joint | None:
        """Return what joins several sites, None where the demand does not accept one of their links."""
        if sites not in self._joints:
            links = [link(one, other) for one, other in combinations(sites, 2)]
            accepted = all(self.demand.accepts_link(each) for each in links)
            self._joints[sites] = joint_of(sites) if accepted else None
        return self._joints[sites]


def _by_price(offer: Candidate) -> tuple[int, str]:
    return (offer.price, offer.id)


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

    def hopeless(self, front: Front[Found], kinds: tuple[Kind, ...]) -> bool:
        """Return whether the front dominates every placement of these kinds, whatever the counts.

        Cost: all GPUs at the least price per GPU. Throughput: all at the slowest one's speed, with the exchange of the
        fewest nodes. Loss: with the transfer of the most nodes.
        """
        search = self.search
        least = min(
            search.cheapest[kind] * self.least_total // size for kind, size in zip(kinds, self.sizes, strict=True)
        )
        machines = [kind.machine for kind in kinds]
        images = min(gpu_speed(each.gpu).images_per_second * each.share for each in machines) * self.most_used
        hazards = tuple(sorted(kind.hazard for kind in kinds))
        per_gpu = search.demand.low if search.demand.gpus else 0
        loss_s = round(stability(hazards, per_gpu, self.most, search.recovery).loss_s_per_day)
        if search.by_cost:
            return front.beats(rounded(least), 0.0, 0)
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
