"""Intents that nothing serves: what is told, and the smallest changes that would do."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal

import pytest
from plans import AWS, NOW, plan_of

from emporion.market.errors import UserError
from emporion.market.intent import intent_from_flags
from emporion.market.offers import Catalogue
from emporion.market.plan import make_plan, plan_json


def test_unknown_nvlink_is_refused_as_unknown(bundled: Catalogue) -> None:
    plan = plan_of(bundled, gpus="a100:2", topology="nvlink", providers=("vast",))
    assert plan.error is not None
    assert plan.error.code == "E-TOPOLOGY"
    assert any(each.reason == "NVLink unknown" for each in plan.rejected)
    assert [(each.change, each.before) for each in plan.relaxations if "topology" in each.change] == [
        ("resources.gpus.topology", "nvlink")
    ]


def test_an_infeasible_place_is_relaxed_by_the_cheapest_region_or_provider(bundled: Catalogue) -> None:
    plan = plan_of(bundled, gpus="a100-80gb:8", providers=("aws",), regions=("eu-north-1",), topology="nvlink")
    changes = {each.change: each.after for each in plan.relaxations}
    assert set(changes) >= {"constraints.regions"}
    assert changes["constraints.regions"].startswith("eu-north-1, ")
    totals = [each.total_usd_per_hour for each in plan.relaxations]
    assert totals == sorted(totals)


def test_a_region_whose_name_has_commas_is_suggested_as_an_intent_can_write_it(
    market: Callable[..., Catalogue],
) -> None:
    catalogue = market(
        'vast,"North Carolina,US,NA",,v,V100,4,32,8,64,0.7,,test,2026-07',
        "nebius,eu-north1,,n,T4,4,16,8,64,0.5,,test,2026-07",
    )
    (change,) = plan_of(catalogue, gpus="v100:4", regions=("eu-*",)).relaxations
    assert (change.change, change.after) == ("constraints.regions", "eu-*, north?carolina?us?na")
    applied = plan_of(catalogue, gpus="v100:4", regions=(change.after,))
    assert applied.solutions[0].vector.cost * Decimal("0.0001") == change.total_usd_per_hour


def test_two_keys_give_way_together_when_one_is_not_enough(market: Callable[..., Catalogue]) -> None:
    catalogue = market("aws,us-east-1,use1-az1,p4d.24xlarge,a100-40gb,8,40,96,1152,20,,test,2026-07")
    plan = plan_of(catalogue, gpus="a100:8", market="spot", max_cost="$1/hr")
    (only,) = plan.relaxations
    assert only.change == "cost_control.max_hourly + lifecycle.market"
    assert only.before == "$1/hr; spot"


def test_no_relaxation_changes_the_number_or_the_model(bundled: Catalogue) -> None:
    plan = plan_of(bundled, gpus="a100:7", topology="nvlink", network="low-latency", market="spot")
    assert not plan.feasible
    assert all("type" not in each.change and "count" not in each.change for each in plan.relaxations)
    assert plan_json(plan)["solutions"] == []


def test_an_unknown_place_is_an_error_with_the_nearest_name(bundled: Catalogue) -> None:
    with pytest.raises(UserError, match="awss") as provider:
        plan_of(bundled, gpus="a100:8", providers=("awss",))
    assert provider.value.code == "E-PROVIDER"
    with pytest.raises(UserError, match="us-esat-1") as region:
        plan_of(bundled, gpus="a100:8", regions=("us-esat-1",))
    assert (region.value.code, region.value.where) == ("E-REGION", "--regions")
    with pytest.raises(UserError, match="spead"):
        make_plan(intent_from_flags(gpus="a100:8"), bundled, clouds=AWS, now=NOW, prefer="spead")
