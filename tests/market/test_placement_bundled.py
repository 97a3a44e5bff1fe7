"""The search on the bundled market: many GPUs, any model, more pools. One that is not pruned runs into the limit."""

from __future__ import annotations

import pytest
from plans import AWS, NOW

from emporion.market.intent import intent_from_flags
from emporion.market.offers import Catalogue
from emporion.market.placement.candidates import rounded
from emporion.market.placement.front import dominates
from emporion.market.plan import make_plan


@pytest.mark.timeout(120)
@pytest.mark.parametrize("gpus", ["any:5", "any:8", "h100:16"])
def test_a_pool_more_never_makes_the_front_worse(bundled: Catalogue, gpus: str) -> None:
    intent = intent_from_flags(gpus=gpus)
    one, two, three = (
        [point[0] for point in make_plan(intent, bundled, clouds=AWS, now=NOW, max_pools=pools).choice.overall.points]
        for pools in (1, 2, 3)
    )
    for fewer, more in ((one, two), (two, three)):
        assert all(any(other == each or dominates(other, each) for other in more) for each in fewer)


@pytest.mark.timeout(120)
@pytest.mark.parametrize("gpus", ["any:32", "h100:256", "any:1024"])
def test_many_gpus_have_a_front_whose_costs_are_those_of_the_cost_model(bundled: Catalogue, gpus: str) -> None:
    plan = make_plan(intent_from_flags(gpus=gpus), bundled, clouds=AWS, now=NOW)
    count = int(gpus.partition(":")[2])
    vectors = [each.vector for each in plan.solutions]
    assert len(vectors) > 20
    for each in (*plan.solutions, *plan.not_deployable):
        assert each.gpus == sum(pool.gpus for pool in each.pools) == count
        assert each.vector.cost == rounded(int(each.cost.total * 10**9))
    for one in vectors[:: max(len(vectors) // 40, 1)]:
        assert not any(dominates(other, one) for other in vectors)


@pytest.mark.timeout(60)
def test_carbon_and_many_models_have_a_front_too(bundled: Catalogue) -> None:
    plan = make_plan(intent_from_flags(gpus="any:4"), bundled, clouds=AWS, now=NOW, prefer="carbon")
    plain = make_plan(intent_from_flags(gpus="any:4"), bundled, clouds=AWS, now=NOW)
    assert {each.vector[:3] for each in plain.solutions} <= {each.vector[:3] for each in plan.solutions}
