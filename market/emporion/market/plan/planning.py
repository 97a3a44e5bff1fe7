"""Making a plan."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property, lru_cache

from emporion.market.ages import age_warnings
from emporion.market.budget import within_budget
from emporion.market.carbon import carbon_warnings
from emporion.market.clouds import Cloud, stand_up_problem
from emporion.market.cost import CostModel
from emporion.market.errors import UserError, UserErrors
from emporion.market.intent.model import Budget, Constraints, Intent, Lifecycle, Network
from emporion.market.money import Rate
from emporion.market.observed import NOTHING, Observed
from emporion.market.offer import Offer
from emporion.market.offers import Catalogue
from emporion.market.placement.choose import Choice, Terms, choose
from emporion.market.placement.infeasible import infeasible_error
from emporion.market.placement.model import Placement, Rejection, Relaxation
from emporion.market.placement.prefer import Preference, preference, recommend
from emporion.market.placement.quotas import Quota
from emporion.market.placement.rejections import rejections
from emporion.market.placement.relax import relaxations
from emporion.market.plan.advice import cost_advice, machines
from emporion.market.plan.assumptions import assumed_warnings, unplaced_warnings
from emporion.market.plan.places import place_problems
from emporion.market.sites import is_local_zone
from emporion.market.stages.graph import stage_graph
from emporion.market.stages.outcome import StageOutcome, graph_rejections, outcome
from emporion.market.stages.views import alone

__all__ = ["Plan", "make_plan"]


@dataclass(frozen=True)
class Plan:
    """What an intent comes to on one catalogue."""

    intent: Intent
    catalogue: Catalogue
    now: datetime
    prefer: Preference
    choice: Choice
    solutions: tuple[Placement, ...]
    """The exact front over deployable placements, cheapest first; over all when none is deployable."""
    not_deployable: tuple[Placement, ...]
    """Placements that cannot be stood up and that no solution dominates, cheapest first."""
    recommended: Placement | None
    """One of the solutions; None when none is deployable."""
    relaxations: tuple[Relaxation, ...]
    """Of an infeasible intent, cheapest first."""
    warnings: tuple[str, ...]
    error: UserError | None
    """Of an infeasible intent: what to tell, with exit code 3."""
    rates: Mapping[str, Rate]
    """What the user said that other currencies are worth."""
    stages: StageOutcome | None = None
    """Of an intent with several stages; `choice` is then that of the first one."""

    @property
    def feasible(self) -> bool:
        """Whether any placement serves the intent."""
        return bool(self.solutions)

    @property
    def carbon(self) -> bool:
        """Whether placements are compared by carbon."""
        return self.choice.carbon

    @cached_property
    def rejected(self) -> tuple[Rejection, ...]:
        """Every offer that no placement of the plan uses, counted by its first failing constraint, most first."""
        shown = (*self.solutions, *self.not_deployable)
        if self.stages is not None:
            return graph_rejections(self.stages.graph, shown)
        return rejections(self.choice, {each for placement in shown for each in placement.offer_ids})


def make_plan(
    intent: Intent,
    catalogue: Catalogue,
    *,
    clouds: Mapping[str, Cloud],
    now: datetime,
    max_pools: int = 2,
    prefer: str = "balanced",
    rates: Mapping[str, Rate] | None = None,
    quotas: Sequence[Quota] = (),
    observed: Observed = NOTHING,
) -> Plan:
    """Return the plan of an intent.

    `clouds` are those with a component (`installed_clouds()`), `now` is aware of its time zone, `max_pools` is how many
    different offers a placement may have (1 to 4), `rates` are what amounts were converted by, for the report, `quotas`
    are those that are known: unknown ones limit nothing. A plan of an intent that nothing serves is not feasible and
    has an error; it is not raised. `observed` is what was measured and seen (`load_observed`).

    Raises: UserError E-PROVIDER, E-REGION: every provider and region that the intent names and that is not there;
    E-PREFER: as `preference`.
    """
    picked = preference(prefer)
    problems = place_problems(intent, catalogue)
    if problems:
        raise UserErrors.of(problems)
    costs = _cost_models(catalogue)

    def terms_of(asked: Intent) -> Terms:
        test = _deploy_test(asked, clouds, costs(asked))
        return Terms(now, max_pools, test, costs, picked.carbon, tuple(quotas), observed)

    if len(intent.stages) > 1:
        graph = stage_graph(intent, catalogue, terms_of, carbon=picked.carbon)
        return _staged(outcome(graph), picked, now, rates or {})
    if intent.stages:
        intent = alone(intent, catalogue.sites)
    terms = terms_of(intent)
    choice = choose(intent, catalogue, terms)
    solutions, others = choice.placements()
    deployable = [each for each in solutions if each.deployable]
    recommended = recommend(deployable, picked) if deployable else None
    changes = () if solutions else tuple(relaxations(intent, catalogue, terms))
    first = recommended or next(iter([*solutions, *others]), None)
    advice = cost_advice(intent, first, [*solutions, *others], now)
    return Plan(
        intent,
        catalogue,
        now,
        picked,
        choice,
        tuple(solutions),
        tuple(others),
        recommended,
        changes,
        tuple(dict.fromkeys([*_warnings(choice, [*solutions, *others], first), *advice])),
        None if solutions else infeasible_error(choice, changes),
        rates or {},
    )


def _staged(found: StageOutcome, picked: Preference, now: datetime, rates: Mapping[str, Rate]) -> Plan:
    """Return the plan of an intent with several stages."""
    graph = found.graph
    intent, choice = graph.intent, graph.choices[0]
    whole = [each for each in found.solutions if each.deployable]
    recommended = recommend(whole, picked) if whole else None
    shown = [*found.solutions, *found.others]
    first = recommended or next(iter(shown), None)
    advice = cost_advice(intent, first, shown, now)
    return Plan(
        intent,
        choice.catalogue,
        now,
        picked,
        choice,
        found.solutions,
        found.others,
        recommended,
        found.relaxations,
        tuple(dict.fromkeys([*_warnings(replace(choice, intent=intent), shown, first), *found.warnings, *advice])),
        found.error,
        rates,
        found,
    )


def _cost_models(catalogue: Catalogue) -> Callable[[Intent], CostModel]:
    """Return the cost model of an intent; intents that differ only in what no price depends on share one."""

    def of(intent: Intent) -> CostModel:
        resources = replace(intent.resources, network=Network(), nodes_min=None, nodes_max=None)
        rhythm = Lifecycle(checkpoint_interval_s=intent.lifecycle.checkpoint_interval_s)
        priced = replace(intent, resources=resources, budget=Budget(), constraints=Constraints(), lifecycle=rhythm)
        return _cost_model(priced, catalogue)

    return of


@lru_cache(maxsize=16)
def _cost_model(intent: Intent, catalogue: Catalogue) -> CostModel:
    return CostModel(intent, catalogue)


def _deploy_test(intent: Intent, clouds: Mapping[str, Cloud], costs: CostModel) -> Callable[[Offer], str | None]:
    """Return the test of whether an offer can be stood up by a component of this version, its controller with it."""

    def machine(offer: Offer) -> str | None:
        if offer.provider in clouds and is_local_zone(offer.provider, offer.zone):
            if not intent.constraints.local_zones:
                return f"{offer.zone} is a Local Zone: constraints.local_zones: true allows it"
            offer = replace(offer, zone=None)  # the zone is allowed; the machine may still not be
        return stand_up_problem(clouds, offer)

    def problem(offer: Offer) -> str | None:
        found = machine(offer)
        if found is None and intent.scheduler == "slurm" and costs.controller(offer.provider, offer.region) is None:
            return (
                f"no CPU machine of {offer.provider} in {offer.region} is known for Slurm's controller: "
                "scheduler: none needs none"
            )
        return found

    return problem


def _warnings(choice: Choice, placements: list[Placement], first: Placement | None) -> list[str]:
    """Return what to tell of all placements, and of the one that is recommended or else comes first."""
    intent = choice.intent
    found = [*choice.catalogue.warnings]
    found += [f"not acted on in this version: {key}" for key in intent.not_acted_on]
    for placement in placements:
        for pool in placement.pools:
            found += [f"{pool.offer.id}: {warning}" for warning in pool.offer.warnings]
        found += [breach.text for breach in within_budget(placement.cost, intent) if not breach.judged]
        if placement.surplus:
            found.append(_surplus(placement))
    offers = [pool.offer for placement in placements for pool in placement.pools]
    if choice.carbon:
        found += carbon_warnings(offers)
    found += unplaced_warnings(choice.terms.observed, choice.catalogue.sites)
    if first is not None:
        found += assumed_warnings(first, intent, choice.terms.observed)
    return [*found, *age_warnings(offers, choice.terms.now)]


def _surplus(placement: Placement) -> str:
    total = sum(pool.gpus for pool in placement.pools)
    units = "MIG slices" if any(pool.offer.mig for pool in placement.pools) else "GPUs"
    if total > placement.gpus:
        share = placement.cost.total * placement.gpus / total
        return (
            f"{machines(placement)}: {placement.gpus} of {total} {units} are used; "
            f"the whole costs ${placement.cost.total:.2f}/hr, their share is ${share:.2f}/hr"
        )
    return f"{machines(placement)}: {placement.surplus} {units} more than the least asked for"
