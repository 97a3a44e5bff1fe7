"""Plans of the bundled catalogue, what of them can stand up, the preference and the explanation."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from collections.abc import Callable
from decimal import Decimal

import pytest
from plans import AWS, INTENTS, NOW, cloud, plan_of, plan_with

from emporion.market.budget import within_budget
from emporion.market.clouds import FoundImage
from emporion.market.errors import ExitCode, UserError
from emporion.market.intent import intent_from_flags, load_intent
from emporion.market.offers import Catalogue
from emporion.market.placement.candidates import rounded
from emporion.market.placement.front import dominates
from emporion.market.plan import explain, make_plan, pin, plan_json
from emporion.market.plan.pinning import images_needed

# The bundled catalogue


def test_the_demo_intent_is_two_p4d_on_spot_in_one_zone(bundled: Catalogue) -> None:
    plan = make_plan(load_intent(INTENTS / "demo.yaml"), bundled, clouds=AWS, now=NOW)
    assert plan.recommended is not None
    assert [(pool.count, pool.offer.id) for pool in plan.recommended.pools] == [
        (2, "aws/us-east-1/use1-az2/p4d.24xlarge/spot")
    ]
    assert plan.recommended.cost.total < 16


def test_the_llama_intent_has_a_front_over_all_providers_and_recommends_none(bundled: Catalogue) -> None:
    plan = make_plan(load_intent(INTENTS / "llama2-finetune.yaml"), bundled, clouds=AWS, now=NOW)
    assert len(plan.solutions) > 1
    assert plan.recommended is None
    assert plan.not_deployable == ()
    assert all(each.deploy_problem == "no component for gcp in this version" for each in plan.solutions)
    assert all(each.cost.judged <= Decimal("2.80") * 4 for each in plan.solutions)


@pytest.mark.parametrize(
    "flags",
    [
        {"gpus": "a100:8", "min_vram": "80gb", "network": "low-latency"},
        {"gpus": "a100:12", "topology": "nvlink"},
        {"gpus": "h100:16", "network": "low-latency", "market": "on_demand"},
        {"gpus": "any:4", "regions": ("eu-*",), "max_cost": "$20/hr"},
        {"gpus": "l4:6", "bandwidth": "10gbps"},
        {"gpus": "a100:4..8", "min_total_vram": "300gb"},
    ],
    ids=lambda flags: " ".join(str(value) for value in flags.values()),
)
def test_every_solution_is_real_feasible_and_undominated(bundled: Catalogue, flags: dict[str, object]) -> None:
    plan = plan_of(bundled, **flags)
    known = {offer.id: offer for offer in bundled.offers}
    assert plan.solutions
    for each in (*plan.solutions, *plan.not_deployable):
        assert all(known[pool.offer.id] is pool.offer for pool in each.pools)
        assert not any(dominates(other.vector, each.vector) for other in plan.solutions)
        assert each.vector.cost == rounded(int(each.cost.total * 10**9))
        assert not [breach for breach in within_budget(each.cost, plan.intent) if breach.judged]
        assert len(each.pools) <= 2
    gpus = plan.intent.resources.gpus
    assert gpus is not None
    for each in plan.solutions:
        total = sum(pool.gpus for pool in each.pools)
        assert gpus.count_min <= total <= gpus.count_max
        if plan.intent.resources.network.low_latency and each.nodes > 1:
            assert len(each.sites) == 1


def test_the_json_names_real_offers_and_its_lines_sum_to_the_total(bundled: Catalogue) -> None:
    document = plan_json(plan_of(bundled, gpus="a100:8", min_vram="80gb", network="low-latency"))
    assert document["schema"] == "emporion.plan/1"
    assert json.loads(json.dumps(document)) == document
    known = {offer.id for offer in bundled.offers}
    for solution in [*document["solutions"], *document["not_deployable"]]:
        assert {node["offer"] for node in solution["nodes"]} <= known
        lines = [Decimal(line["usd_per_hour"]) for line in solution["cost"]["lines"] if line["usd_per_hour"]]
        assert sum(lines) == Decimal(solution["cost"]["total"])
        assert None not in solution["objectives"].values()
    assert sum(solution["recommended"] for solution in document["solutions"]) == 1
    assert all(solution["deployable"] for solution in document["solutions"])
    assert not any(solution["deployable"] for solution in document["not_deployable"])


def test_every_offer_is_used_or_rejected_once(bundled: Catalogue) -> None:
    plan = plan_of(bundled, gpus="a100:8", min_vram="80gb", network="low-latency", max_cost="$20/hr")
    used = {pool.offer.id for each in (*plan.solutions, *plan.not_deployable) for pool in each.pools}
    assert len(used) + sum(each.offers for each in plan.rejected) == len(bundled.offers)
    by_id = {offer.id: offer for offer in bundled.offers}
    assert all(each.example in by_id and each.example not in used for each in plan.rejected)


def test_a_budget_that_nothing_keeps_is_told_with_the_least_that_would_do(bundled: Catalogue) -> None:
    wish = {"gpus": "a100:8", "min_vram": "80gb", "network": "low-latency"}
    plan = plan_of(bundled, **wish, max_cost="$1/hr")
    assert not plan.feasible
    assert plan.error is not None
    assert (plan.error.code, plan.error.exit_code) == ("E-BUDGET", ExitCode.INFEASIBLE)
    (only,) = plan.relaxations
    assert only.change == "cost_control.max_hourly"
    amount = Decimal(only.after.removeprefix("$").removesuffix("/hr"))
    held = plan_of(bundled, **wish, max_cost=only.after)
    assert held.feasible
    assert not plan_of(bundled, **wish, max_cost=f"${amount - Decimal('0.01')}/hr").feasible
    least = min(each.cost.total for each in (*held.solutions, *held.not_deployable))
    assert only.total_usd_per_hour == least.quantize(Decimal("0.0001"))
    assert plan_json(plan)["relaxations"][0]["total"] == f"{only.total_usd_per_hour:f}"


def test_a_budget_that_only_holds_per_gpu_is_told(bundled: Catalogue) -> None:
    plan = plan_of(bundled, gpus="a100:4", topology="nvlink", max_cost="$2.80/hr")
    assert plan.error is not None
    assert plan.error.fix is not None
    assert plan.error.fix.startswith("$2.80/gpu/hr, which holds")


def test_wide_open_searches_stay_quick(bundled: Catalogue) -> None:
    plan = plan_of(bundled, gpus="any:8")
    assert len(plan.solutions) > 10
    assert plan.recommended in plan.solutions


def test_planning_loads_no_engine_and_no_cloud_sdk() -> None:
    code = (
        "import sys; from datetime import datetime, UTC\n"
        "from emporion.market.clouds import installed_clouds\n"
        "from emporion.market.intent import intent_from_flags\n"
        "from emporion.market.offers import load_bundled\n"
        "from emporion.market.plan import make_plan, plan_json\n"
        "plan = make_plan(intent_from_flags(gpus='a100:8'), load_bundled(), clouds=installed_clouds(),"
        " now=datetime(2026, 12, 1, tzinfo=UTC))\n"
        "assert plan_json(plan)['feasible']\n"
        "print(sorted({name.partition('.')[0] for name in sys.modules} & {'pulumi', 'grpc', 'boto3', 'pydantic'}))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120)
    assert done.stdout == "[]\n"


def test_the_order_of_the_rows_changes_no_byte(market: Callable[..., Catalogue]) -> None:
    rows = [
        f"aws,us-east-1,use1-az{zone},p4d.24xlarge,a100-40gb,8,40,96,1152,{32 - zone},{9 + zone},test,2026-07"
        for zone in (1, 2, 4, 6)
    ] + ["gcp,us-central1,us-central1-a,a2-highgpu-4g,a100-40gb,4,40,48,340,14,5,test,2026-07"]
    documents = []
    for seed in range(4):
        random.Random(seed).shuffle(rows)  # noqa: S311 - an order, no secret
        document = plan_json(plan_of(market(*rows), gpus="a100:12"))
        document["catalogue"] = {}
        documents.append(json.dumps(document))
    assert len(set(documents)) == 1


# Deployable or not


def test_a_placement_that_cannot_stand_up_is_told_apart(bundled: Catalogue) -> None:
    refused = {"aws": cloud("aws", lambda offer: "not today" if offer.instance_type == "p4de.24xlarge" else None)}
    plan = plan_with(refused, bundled, {"gpus": "a100:8", "min_vram": "80gb"})
    assert plan.recommended is None
    assert {each.deploy_problem for each in plan.solutions if each.pools[0].offer.provider == "aws"} <= {"not today"}


def test_a_local_zone_needs_the_intents_word(market: Callable[..., Catalogue]) -> None:
    catalogue = market(
        "aws,us-east-1,use1-atl2-az1,p5.48xlarge,h100-80gb-sxm,8,80,192,2048,50,10,test,2026-07",
        "aws,us-east-1,use1-az1,p5.48xlarge,h100-80gb-sxm,8,80,192,2048,50,40,test,2026-07",
    )
    plan = plan_of(catalogue, gpus="h100:8")
    assert all(each.pools[0].offer.zone == "use1-az1" for each in plan.solutions)
    (other,) = plan.not_deployable
    assert other.deploy_problem is not None
    assert "Local Zone" in other.deploy_problem
    allowed = plan_of(catalogue, gpus="h100:8", local_zones=True)
    assert allowed.solutions[0].pools[0].offer.zone == "use1-atl2-az1"


def test_a_region_without_a_machine_for_the_controller_cannot_be_stood_up(market: Callable[..., Catalogue]) -> None:
    catalogue = market(
        "aws,ca-central-1,cac1-az1,g6.xlarge,l4-24gb,1,24,4,16,1,0.2,test,2026-07",
        "aws,us-east-1,use1-az1,g6.xlarge,l4-24gb,1,24,4,16,1,0.5,test,2026-07",
    )
    plan = plan_of(catalogue, gpus="l4:1", market="spot")
    assert plan.recommended is not None
    assert plan.recommended.pools[0].offer.region == "us-east-1"
    assert [(each.pools[0].offer.region, each.deploy_problem) for each in plan.not_deployable] == [
        (
            "ca-central-1",
            "no CPU machine of aws in ca-central-1 is known for Slurm's controller: scheduler: none needs none",
        )
    ]
    without = plan_of(catalogue, gpus="l4:1", market="spot", scheduler="none")
    assert without.recommended is not None
    assert without.recommended.pools[0].offer.region == "ca-central-1"


@pytest.mark.parametrize("scheduler", ["slurm", "none"])
@pytest.mark.parametrize("gpus", ["any:1", "any:8", "t4:4", "l4:8", "a100:8", "h100:16", "v100:8", "a10g:2..5"])
def test_what_is_recommended_can_be_pinned(bundled: Catalogue, gpus: str, scheduler: str) -> None:
    plan = plan_of(bundled, gpus=gpus, scheduler=scheduler)
    assert plan.recommended is not None
    images = {key: FoundImage("ami-1", "an image", "2026-01-01", key[1], None, None) for key in images_needed(plan)}
    pools = [(pool.offer_id, pool.count) for pool in pin(plan, images).pools]
    assert pools == [(pool.offer.id, pool.count) for pool in plan.recommended.pools]


def test_nodes_at_several_sites_cannot_be_stood_up(market: Callable[..., Catalogue]) -> None:
    catalogue = market(
        "aws,us-east-1,use1-az1,p4d.24xlarge,a100-40gb,8,40,96,1152,20,,test,2026-07",
        "aws,us-west-2,usw2-az1,g9.test,a100-40gb,4,40,96,1152,14,,test,2026-07",
    )
    plan = plan_of(catalogue, gpus="a100:12")
    assert [[pool.count for pool in each.pools] for each in plan.solutions] == [[3]]
    mixed = [each for each in (*plan.solutions, *plan.not_deployable) if len(each.sites) > 1]
    assert all("traffic between sites" in each.cost.unknown and each.cost.upper_total is None for each in mixed)
    assert [each.deploy_problem for each in mixed] == [
        "its nodes stand at several sites, this version stands a cluster up at one"
    ]


# Preference and explanation


@pytest.mark.parametrize("prefer", ["cost", "speed", "stability", "balanced"])
def test_the_preference_picks_the_best_in_its_sense(bundled: Catalogue, prefer: str) -> None:
    intent = intent_from_flags(gpus="a100:8", network="low-latency")
    plan = make_plan(intent, bundled, clouds=AWS, now=NOW, prefer=prefer)
    assert plan.recommended is not None
    best = plan.recommended.vector
    for other in (each.vector for each in plan.solutions):
        if prefer == "cost":
            assert best.cost <= other.cost
        elif prefer == "speed":
            assert best.throughput >= other.throughput
        elif prefer == "stability":
            assert best.loss_s <= other.loss_s
        else:
            useful, theirs = (v.throughput * (86_400 - v.loss_s) for v in (best, other))
            assert best.cost / useful <= other.cost / theirs


def test_an_offer_is_explained_through_every_constraint_with_its_figures(bundled: Catalogue) -> None:
    plan = make_plan(load_intent(INTENTS / "demo.yaml"), bundled, clouds=AWS, now=NOW)
    (chosen,) = explain(plan, "aws/us-east-1/use1-az2/p4d.24xlarge/spot").walks
    assert all(check.passed for check in chosen.checks)
    assert (chosen.verdict, chosen.rank, chosen.reason) == ("recommended", 1, None)
    (dear,) = explain(plan, "aws/us-east-1/use1-az1/p4d.24xlarge/spot").walks
    assert (dear.verdict, dear.reason) == ("rejected", "every placement with it is over the budget")
    failed = [check for check in dear.checks if check.passed is False]
    assert [check.key for check in failed] == ["cost_control.max_hourly", "front"]
    (other,) = explain(plan, "aws/us-east-1/use1-az2/p4d.24xlarge/on_demand").walks
    assert other.reason == "not sold as spot"
    assert next((each.key, each.seen) for each in other.checks if not each.passed) == ("lifecycle.market", "on_demand")
    with pytest.raises(UserError) as unknown:
        explain(plan, "aws/us-east-1/use1-az2/p4d.24xlarge/spott")
    assert unknown.value.code == "E-OFFER"
    assert "spot" in (unknown.value.fix or "")


def test_a_cpu_intent_gets_cpu_machines(bundled: Catalogue) -> None:
    plan = plan_of(bundled, nodes="2", cpus="8", providers=("aws",), regions=("us-east-1",))
    assert plan.recommended is not None
    assert plan.recommended.nodes == 2
    assert all(pool.offer.gpu_count == 0 and (pool.offer.vcpus or 0) >= 8 for pool in plan.recommended.pools)


def test_an_intent_of_unknown_budget_hours_is_warned_about(bundled: Catalogue) -> None:
    plan = plan_of(bundled, gpus="a100:8", max_total="$500", providers=("aws",))
    assert plan.feasible
    assert any("max_total cannot be judged" in warning for warning in plan.warnings)
