"""One offer through every constraint of a plan."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from plans import AWS, INTENTS, NOW, plan_of

from emporion.market.errors import UserError
from emporion.market.intent import load_intent
from emporion.market.offers import Catalogue
from emporion.market.plan import explain, explanation_json, make_plan


@pytest.mark.parametrize(
    "flags",
    [
        pytest.param({"gpus": "a100:8", "min_vram": "80gb", "network": "low-latency"}, id="low latency"),
        pytest.param({"gpus": "a100:16", "topology": "nvlink", "providers": ("aws", "vast")}, id="nvlink and places"),
        pytest.param({"gpus": "h100:4..8", "max_cost": "$20/hr", "market": "on_demand"}, id="budget"),
        pytest.param({"nodes": 2, "cpus": 8}, id="machines without GPUs"),
        pytest.param({"gpus": "a100:8", "max_cost": "$1/hr"}, id="infeasible"),
    ],
)
def test_the_reason_is_that_by_which_the_plan_counts_the_offer(flags: dict[str, object], bundled: Catalogue) -> None:
    plan = plan_of(bundled, **flags)
    assert plan.rejected
    for rejection in plan.rejected:
        (walk,) = explain(plan, rejection.example).walks
        assert (walk.verdict, walk.reason) == ("rejected", rejection.reason)
        assert any(check.passed is False for check in walk.checks)


@pytest.mark.parametrize("intent", sorted(INTENTS.glob("*.yaml")), ids=lambda path: path.stem)
def test_whatever_a_plan_shows_is_explained_as_taken(intent: Path, bundled: Catalogue) -> None:
    plan = make_plan(load_intent(intent), bundled, clouds=AWS, now=NOW)
    assert plan.feasible
    for offer in plan.recommended.offer_ids if plan.recommended else ():
        walks = explain(plan, offer).walks
        assert "recommended" in {walk.verdict for walk in walks}
    for placement in (*plan.solutions, *plan.not_deployable):
        for offer in placement.offer_ids:
            assert {walk.verdict for walk in explain(plan, offer).walks} & {"recommended", "solution", "not deployable"}


def test_what_beats_an_offer_is_named_with_how_much(market: Callable[..., Catalogue]) -> None:
    catalogue = market(
        "aws,us-east-1,use1-az1,good,a100-40gb,8,40,8,64,9,,test,2026-11",
        "aws,us-east-1,use1-az1,dear,a100-40gb,8,40,8,64,12,,test,2026-11",
    )
    document = explanation_json(plan := plan_of(catalogue, gpus="a100:8", scheduler="none"), explain(plan, "dear"))
    (walk,) = document["walks"]
    assert walk["reason"] == "another placement is at least as cheap, fast and stable"
    (rival,) = walk["rivals"]
    assert (rival["label"], rival["offers"]) == ("solution 1", ["aws/us-east-1/use1-az1/good/on_demand"])
    assert float(rival["cheaper_usd_per_hour"]) == pytest.approx(3, abs=0.01)
    assert (rival["faster_images_per_second"], rival["less_lost_s_per_day"]) == (0, 0)


def test_the_budget_is_shown_with_what_the_offer_would_cost(market: Callable[..., Catalogue]) -> None:
    catalogue = market(
        "aws,us-east-1,use1-az1,good,a100-40gb,8,40,8,64,9,,test,2026-11",
        "aws,us-east-1,use1-az1,dear,a100-40gb,8,40,8,64,12,,test,2026-11",
    )
    plan = plan_of(catalogue, gpus="a100:8", scheduler="none", max_cost="$10/hr")
    (walk,) = explain(plan, "dear").walks
    (check,) = [each for each in walk.checks if each.key == "cost_control.max_hourly"]
    assert (check.asked, check.passed) == ("$10/hr", False)
    assert check.seen.startswith("$12.")
    assert walk.reason == "every placement with it is over the budget"


def test_constraints_after_the_first_failed_one_are_asked_as_well(bundled: Catalogue) -> None:
    plan = plan_of(bundled, gpus="a100:8", providers=("aws",), regions=("us-*",), market="spot", min_vram="80gb")
    (walk,) = explain(plan, "azure/eastus/Standard_NC24ads_A100_v4/on_demand").walks
    assert walk.reason == "provider is not aws"
    failed = [check.key for check in walk.checks if check.passed is False]
    assert failed[:2] == ["constraints.providers", "lifecycle.market"]
    assert {"constraints.regions", "resources.gpus.min_vram"} <= {check.key for check in walk.checks if check.passed}
    assert walk.placement is not None
    assert walk.placement.cost.total > 0


def test_machines_that_do_not_add_up_say_so(bundled: Catalogue) -> None:
    (walk,) = explain(plan_of(bundled, gpus="a100:8"), "europe-west4-a/a2-megagpu-16g/on_demand").walks
    (check,) = [each for each in walk.checks if each.key == "resources.gpus.count"]
    assert (check.asked, check.seen, check.passed) == ("8", "16 per machine", False)
    assert walk.placement is None


def test_a_machine_without_gpus_is_told_apart(bundled: Catalogue) -> None:
    (walk,) = explain(plan_of(bundled, gpus="a100:8"), "aws/us-east-1/use1-az1/t3.medium/on_demand").walks
    assert walk.reason == "has no GPU"
    assert walk.placement is None


def test_every_figure_says_what_it_rests_on(bundled: Catalogue) -> None:
    plan = plan_of(bundled, gpus="a100:8", min_vram="40gb")
    (walk,) = explanation_json(plan, explain(plan, "aws/us-east-1/use1-az2/p4d.24xlarge/spot"))["walks"]
    figures = {each["name"]: each for each in walk["figures"]}
    assert figures["images/s of one a100-40gb"]["quality"] == "published"
    assert "Spot Advisor" in figures["interruptions of p4d.24xlarge"]["basis"]
    assert all(each["basis"] and each["value"] for each in walk["figures"])
    (vast,) = explanation_json(plan, explain(plan, "vast/South Korea,KR,AS/2x-A100_PCIE-32-65536/on_demand"))["walks"]
    assert "derived" in {each["quality"] for each in vast["figures"]}


@pytest.mark.parametrize(
    ("name", "found"),
    [
        pytest.param(
            "gcp/us-central1-a/a2-megagpu-16g/spot", "gcp/us-central1/us-central1-a/a2-megagpu-16g/spot", id="parts"
        ),
        pytest.param("spot/USE1-AZ2/P4D.24xlarge", "aws/us-east-1/use1-az2/p4d.24xlarge/spot", id="order and case"),
    ],
)
def test_an_offer_is_found_by_what_only_it_has(name: str, found: str, bundled: Catalogue) -> None:
    assert explain(plan_of(bundled, gpus="a100:8"), name).offer.id == found


@pytest.mark.parametrize(
    ("name", "what", "fix"),
    [
        pytest.param(
            "p4d.24xlarge", "offers match 'p4d.24xlarge'", "one of aws/", id="several: the cheapest are listed"
        ),
        pytest.param("p4d.24xlrage", "no offer is called", "did you mean p4d.24xlarge", id="a slip in the type"),
        pytest.param(
            "aws/us-east-1/use1-az2/p4d.24xlarge/spott", "no offer is called", "p4d.24xlarge/spot", id="a slip in an id"
        ),
        pytest.param("///", "no offer is called", "emporion offers list", id="nothing like it"),
    ],
)
def test_a_name_of_none_or_several_is_an_error_with_the_nearest(
    name: str, what: str, fix: str, bundled: Catalogue
) -> None:
    with pytest.raises(UserError) as raised:
        explain(plan_of(bundled, gpus="a100:8"), name)
    assert (raised.value.code, raised.value.exit_code) == ("E-OFFER", 2)
    assert what in raised.value.what
    assert fix in (raised.value.fix or "")
