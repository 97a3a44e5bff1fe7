"""One intent against one catalogue: which offers pass, what the search finds among them, and why the others do not."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from decimal import Decimal
from functools import cached_property, lru_cache

from emporion.market.budget import ceilings
from emporion.market.carbon import emission
from emporion.market.cost import CostModel
from emporion.market.cost_lines import Cost, CostLine
from emporion.market.graph import NANO, ResourceGraph, nano
from emporion.market.intent.model import Gpus, Intent
from emporion.market.observed import NOTHING, Observed
from emporion.market.offer import Offer
from emporion.market.offers import Catalogue, OfferFilter
from emporion.market.performance import workload
from emporion.market.placement.candidates import Candidate, Found, Tariff, joint_of
from emporion.market.placement.constraints import Constraint, Scope, offer_constraints, size_of
from emporion.market.placement.demand import Demand, demand
from emporion.market.placement.front import Front, Vector
from emporion.market.placement.joins import site_links
from emporion.market.placement.model import Placement, Pool
from emporion.market.placement.quotas import Limit, Quota, limits_of
from emporion.market.placement.search import Search
from emporion.market.stability import recovering

__all__ = ["Choice", "Terms", "ceiling_nano", "choose", "gpu_filter"]


_BETWEEN_SITES = CostLine.unknown(
    "transfer",
    "traffic between sites",
    "not estimated: gradients that leave a site are paid for by volume",
    unit="GB",
)


@dataclass(frozen=True)
class Terms:
    """What a choice depends on besides the intent and the catalogue."""

    now: datetime
    max_pools: int
    not_deployable: Callable[[Offer], str | None]
    costs: Callable[[Intent], CostModel]
    """Return the cost model of an intent."""
    carbon: bool = False
    """Whether carbon is compared though the intent sets no ceiling on it."""
    quotas: tuple[Quota, ...] = ()
    observed: Observed = NOTHING
    """What was seen instead of modelled."""


def gpu_filter(gpus: Gpus | None, known: frozenset[str]) -> OfferFilter:
    """Return what can be told of an offer before it is made: whether it has GPUs, and of which model."""
    if gpus is None:
        return OfferFilter(machines="cpu")
    if gpus.types:
        return OfferFilter(gpus=frozenset(gpus.types) & known, machines="gpu")
    return OfferFilter(machines="gpu")


@lru_cache(maxsize=8)
def _graph(catalogue: Catalogue, wanted: OfferFilter, observed: Observed) -> ResourceGraph:
    return ResourceGraph(catalogue.find_offers(wanted), observed)


@dataclass
class Choice:
    """The outcome for one intent; what is dear to work out is worked out when asked for."""

    intent: Intent
    catalogue: Catalogue
    terms: Terms
    demand: Demand
    graph: ResourceGraph
    constraints: Sequence[Constraint]
    costs: CostModel
    failed: dict[int, str] = field(default_factory=dict)
    """Index of an offer in the graph -> its first failing constraint's reason."""

    @property
    def carbon(self) -> bool:
        """Whether placements are compared by carbon."""
        return self.terms.carbon or self.intent.constraints.max_carbon_g_per_hour is not None

    @cached_property
    def candidates(self) -> list[Candidate]:
        """The offers that pass every constraint on single offers; fills `failed` with the others."""
        graph = self.graph
        gpus = self.intent.resources.gpus
        at_site = self._reasons(Scope.PLACE, graph.site_offers)
        of_spec = self._reasons(Scope.MACHINE, graph.spec_offers)
        rest = [each.test for each in self.constraints if each.scope is Scope.OFFER]
        kinds, sites = graph.kind_list, graph.site_list
        sizes = [size_of(offer, gpus) for offer in graph.spec_offers]
        more = self._more()
        found = []
        columns = zip(graph.offers, graph.sites, graph.specs, graph.kinds, graph.prices, strict=True)
        for number, (offer, site, spec, kind, price) in enumerate(columns):
            reason = at_site[site] or of_spec[spec] or (_first(rest, offer) if rest else None)
            if reason is None:
                found.append(
                    Candidate(price, offer.id, number, kinds[kind], sites[site], sizes[spec], *more(offer, spec))
                )
            else:
                self.failed[number] = reason
        return found

    def _more(self) -> Callable[[Offer, int], tuple[int, tuple[Limit, ...]]]:
        """Return what tells the emission and the quotas of an offer of a spec; asked once per spec and region."""
        carbon, quotas = self.carbon, self.terms.quotas
        known: dict[tuple[int, str], tuple[int, tuple[Limit, ...]]] = {}

        def more(offer: Offer, spec: int) -> tuple[int, tuple[Limit, ...]]:
            key = (spec, offer.region)
            found = known.get(key)
            if found is None:
                found = (emission(offer).mg_per_hour if carbon else 0, limits_of(offer, quotas) if quotas else ())
                known[key] = found
            return found

        return more if carbon or quotas else lambda _offer, _spec: (0, ())

    def _reasons(self, scope: Scope, offers: Sequence[Offer]) -> list[str | None]:
        tests = [each.test for each in self.constraints if each.scope is scope]
        return [_first(tests, offer) for offer in offers]

    def search(self, candidates: Iterable[Candidate], *, one_site: bool = False, by_cost: bool = False) -> Search:
        """Return a search among some of the candidates."""
        wish = self.demand
        if one_site and not wish.one_site:
            wish = wish.at_one_site()
        intent = self.intent
        return Search(
            wish,
            self.tariff,
            workload(intent.model),
            recovering(intent),
            by_cost,
            self.graph.link_table,
            candidates=list(candidates),
        )

    @cached_property
    def tariff(self) -> Tariff:
        """What a placement costs besides its machines, and the budget."""

        def overhead(provider: str, region: str, nodes: int) -> tuple[int, int | None]:
            found = self.costs.overhead(provider, region, nodes)
            return nano(found.total), None if found.upper is None else nano(found.upper)

        most = self.intent.constraints.max_carbon_g_per_hour
        return Tariff(
            overhead,
            lru_cache(lambda gpus: ceiling_nano(self.intent, gpus)),
            None if most is None else int(most * 1000),
            tuple(quota.limit for quota in self.terms.quotas),
        )

    def deploy_problem(self, candidate: Candidate) -> str | None:
        """Return why an offer cannot be stood up, or None."""
        return self.terms.not_deployable(self.graph.offers[candidate.number])

    @cached_property
    def _usable(self) -> list[Candidate]:
        return [candidate for candidate in self.candidates if self.deploy_problem(candidate) is None]

    @cached_property
    def deployable(self) -> Front[Found]:
        """The exact front over placements that can be stood up: all nodes at one site, every offer deployable."""
        return self.search(self._usable, one_site=True).front()

    @cached_property
    def overall(self) -> Front[Found]:
        """The exact front over all placements; of equal vectors the deployable one stays."""
        settled = frozenset([candidate.number for candidate in self._usable])
        return replace(self.search(self.candidates), settled=settled).front(self.deployable)

    def cheapest(self) -> tuple[Vector, Found] | None:
        """Return the cheapest placement of all, deployable or not, or None without any."""
        points = self.search(self.candidates, by_cost=True).front().points
        return (points[0][0], points[0][2]) if points else None

    def least_judged(self) -> tuple[Decimal, int] | None:
        """Return the least ceiling under which something can be placed, in USD per hour, with its GPUs.

        As a budget is judged: on the upper cost where it is bounded. No budget is applied here.
        """
        search = self.search(self.candidates, by_cost=True)
        overhead = self.tariff.overhead

        def most(provider: str, region: str, nodes: int) -> tuple[int, int | None]:
            known, upper = overhead(provider, region, nodes)
            return (known if upper is None else upper), upper

        free = replace(self.tariff, overhead=most, ceiling=lambda _gpus: None)
        points = replace(search, tariff=free).front().points
        if not points:
            return None
        found = points[0][2]
        loss_s = search.loss_s([offer.kind for offer, _ in found.parts], [number for _, number in found.parts])
        _, judged = search.costs(found.parts, loss_s)
        return Decimal(judged) / NANO, sum(candidate.size * count for candidate, count in found.parts)

    def least_carbon(self) -> int | None:
        """Return the least that a placement within the budget emits, in whole gCO2e per hour; None without any."""
        return min((vector.carbon for vector, _, _ in self.search(self.candidates).front().points), default=None)

    def placements(self) -> tuple[list[Placement], list[Placement]]:
        """Return the solutions and the placements that cannot be stood up and that no solution dominates."""
        mine = {id(item) for _, _, item in self.deployable.points}
        if not mine:
            return [self.placement(vector, found) for vector, _, found in self.overall.points], []
        solutions = [self.placement(vector, found) for vector, _, found in self.deployable.points]
        others = [self.placement(vector, found) for vector, _, found in self.overall.points if id(found) not in mine]
        return solutions, others

    def placement(self, vector: Vector, found: Found) -> Placement:
        """Return what the search found as a placement."""
        search = self.search(())
        kinds = [candidate.kind for candidate, _ in found.parts]
        counts = [count for _, count in found.parts]
        sites = [candidate.site for candidate, _ in found.parts]
        offers = [self.graph.offers[candidate.number] for candidate, _ in found.parts]
        pools = tuple(Pool(offer, count) for offer, count in zip(offers, counts, strict=True))
        total = sum(pool.gpus for pool in pools)
        used = self.demand.used(total) if self.demand.gpus else total
        performance = search.performance(kinds, counts, joint_of(sites, self.graph.link_table))
        return Placement(
            pools=pools,
            vector=vector,
            cost=self._cost(pools, vector.loss_s, several=len(set(sites)) > 1),
            performance=performance.scaled(used / total if total else 1.0),
            stability=search.stability(kinds, counts),
            gpus=used,
            surplus=total - self.demand.low if self.demand.gpus else 0,
            links=site_links(offers, counts, sites, self.graph.link_table),
            deploy_problem=self._placement_problem(found),
        )

    def _cost(self, pools: tuple[Pool, ...], loss_s: int, *, several: bool) -> Cost:
        cost = self.costs.cost(pools, loss_s_per_day=loss_s)
        return replace(cost, lines=(*cost.lines, _BETWEEN_SITES)) if several else cost

    def _placement_problem(self, found: Found) -> str | None:
        problems = [problem for candidate, _ in found.parts if (problem := self.deploy_problem(candidate))]
        if problems:
            return "; ".join(dict.fromkeys(problems))
        if len({candidate.site for candidate, _ in found.parts}) > 1:
            return "its nodes stand at several sites, this version stands a cluster up at one"
        return None


def ceiling_nano(intent: Intent, gpus: int) -> int | None:
    """Return the most that the judged cost per hour may be with this many GPUs, in 1e-9 USD; None: no limit.

    As `emporion.market.budget.within_budget` judges; a ceiling on the run is no limit while its hours are unknown.
    """
    limits = [ceiling.most_per_hour(gpus) for ceiling in ceilings(intent.budget, intent.model.hours)]
    return min((int(limit * NANO // 1) for limit in limits if limit is not None), default=None)


def choose(intent: Intent, catalogue: Catalogue, terms: Terms) -> Choice:
    """Return the choice for an intent; nothing is worked out yet."""
    return Choice(
        intent,
        catalogue,
        terms,
        demand(intent, terms.max_pools),
        _graph(catalogue, gpu_filter(intent.resources.gpus, catalogue.gpus), terms.observed),
        offer_constraints(intent, terms.now),
        terms.costs(intent),
    )


def _first(tests: Sequence[Callable[[Offer], str | None]], offer: Offer) -> str | None:
    for test in tests:
        reason = test(offer)
        if reason is not None:
            return reason
    return None
