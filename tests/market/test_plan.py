"""Plans of the bundled catalogue and of the market cases that choose (cases/market.md)."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

import pytest

from emporion.market.clouds import Cloud
from emporion.market.cost import within_budget
from emporion.market.errors import ExitCode, UserError
from emporion.market.intent import intent_from_flags, load_intent
from emporion.market.offer import Offer
from emporion.market.offers import Catalogue, load_bundled, load_csv
from emporion.market.placement.candidates import rounded
from emporion.market.placement.front import dominates
from emporion.market.plan import Plan, explain, make_plan, plan_json

NOW = datetime(2026, 12, 1, tzinfo=UTC)
INTENTS = Path(__file__).parents[2] / "stacks" / "intents"
HEAD = (
    "provider,region,zone,instance_type,gpu,gpu_count,gpu_vram_gb,vcpus,ram_gb,on_demand_usd_hr,spot_usd_hr,source"
    ",as_of"
)


def cloud(name: str, problem: Callable[[Offer], str | None] = lambda _offer: None) -> Cloud:
    return Cloud(
        name=name,
        plugin=name,
        sdk=name,
        extra=name,
        default_region="",
        cluster="",
        api="",
        stand_in="",
        errors={},
        not_deployable=problem,
        shell_command=lambda _region, _node: (),
    )


AWS = {"aws": cloud("aws")}


@pytest.fixture(scope="module")
def bundled() -> Catalogue:
    return load_bundled()


@pytest.fixture
def market(tmp_path: Path) -> Callable[..., Catalogue]:
    def write(*rows: str, more: str = "") -> Catalogue:
        path = tmp_path / "offers.csv"
        path.write_text("\n".join([HEAD + more, *rows]) + "\n")
        return load_csv(path)

    return write


def plan_of(catalogue: Catalogue, **flags: object) -> Plan:
    return plan_with(AWS, catalogue, flags)


def plan_with(clouds: Mapping[str, Cloud], catalogue: Catalogue, flags: Mapping[str, object]) -> Plan:
    return make_plan(intent_from_flags(**flags), catalogue, clouds=clouds, now=NOW)


def cheapest(plan: Plan) -> str:
    """The instance type of the cheapest solution."""
    return plan.solutions[0].pools[0].offer.instance_type


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


# cases/market.md


def test_case_01_a_family_covers_its_variants_and_a_variant_only_itself(market: Callable[..., Catalogue]) -> None:
    catalogue = market(
        "nebius,eu-north1,,x1,A100,1,40,8,64,1.00,,test,2026-07",
        "nebius,eu-north1,,x2,A100,1,80,8,64,1.60,,test,2026-07",
    )
    assert cheapest(plan_of(catalogue, gpus="A100-80GB:1")) == "x2"
    assert cheapest(plan_of(catalogue, gpus="A100:1")) == "x1"
    assert plan_json(plan_of(catalogue, gpus="A100:1"))["solutions"][0]["nodes"][0]["vram_gb_per_gpu"] == 40


def test_case_04_nvl_has_94_gb(market: Callable[..., Catalogue]) -> None:
    catalogue = market(
        "runpod,global,,n,H100-NVL,1,94,8,64,2.6,,test,2026-07", "runpod,global,,s,H100-SXM,1,80,8,64,2.4,,test,2026-07"
    )
    assert cheapest(plan_of(catalogue, gpus="H100:1", min_vram="90GB")) == "n"
    assert cheapest(plan_of(catalogue, gpus="H100:1", min_vram="94GB")) == "n"
    none = plan_of(catalogue, gpus="H100:1", min_vram="95GB")
    assert none.error is not None
    assert "the largest H100 seen has 94 GB" in none.error.what
    assert [(each.change, each.after) for each in none.relaxations] == [("resources.gpus.min_vram", "94gb")]


def test_case_09_mig_slices_are_not_gpus(market: Callable[..., Catalogue]) -> None:
    catalogue = market("onprem,here,,k,A100-80GB,1,10,8,64,10,,test,2026-07,1g.10gb,7", more=",mig,advertised")
    assert not plan_of(catalogue, gpus="A100:2").feasible
    (found,) = plan_of(catalogue, gpus="A100:3", mig="1g.10gb").solutions
    assert (found.gpus, found.pools[0].count, found.pools[0].offer.gpu_count) == (3, 1, 7)
    assert found.pools[0].offer.gpu_vram_gb == 10


def test_case_12_mi325x_has_256_gb(market: Callable[..., Catalogue]) -> None:
    catalogue = market("nebius,eu-north1,,c,MI300X,8,192,8,64,16,,test,2026-07")
    assert not plan_of(catalogue, gpus="any:8", min_vram="260GB").feasible
    assert cheapest(plan_of(catalogue, gpus="MI300X:8")) == "c"
    assert cheapest(plan_of(catalogue, gpus="amd:192GB:8")) == "c"


def test_case_14_a_range_takes_a_whole_box_inside_it(market: Callable[..., Catalogue]) -> None:
    catalogue = market("onprem,here,,w,H100-SXM,8,80,8,64,20,,test,2026-07")
    (whole,) = plan_of(catalogue, gpus="H100:4..8").solutions
    assert (whole.gpus, whole.surplus) == (8, 4)
    none = plan_of(catalogue, gpus="H100:2..4")
    assert not none.feasible
    assert any(each.reason == "no whole number of machines with 8 GPUs makes 2 to 4" for each in none.rejected)
    shared = plan_of(catalogue, gpus="H100:2..4", share=True)
    (part,) = shared.solutions
    assert (part.gpus, part.cost.part("compute")) == (4, Decimal(20))
    assert any("4 of 8 GPUs are used" in warning for warning in shared.warnings)


def test_case_17_spot_that_is_dearer_loses_and_is_warned_about(market: Callable[..., Catalogue]) -> None:
    catalogue = market("runpod,global,,t,A40,1,48,8,64,0.44,0.49,test,2026-07")
    for rule in ("any", "on_demand"):
        (found,) = plan_of(catalogue, gpus="A40:1", market=rule).solutions
        assert found.pools[0].offer.market == "on_demand"
    spot = plan_of(catalogue, gpus="A40:1", market="spot")
    assert spot.solutions[0].pools[0].usd_per_hour == Decimal("0.49")
    assert any("dearer than on-demand" in warning for warning in spot.warnings)


def test_case_17_at_equal_price_spot_loses(market: Callable[..., Catalogue]) -> None:
    catalogue = market("runpod,global,,t,A40,1,48,8,64,0.44,0.44,test,2026-07")
    (found,) = plan_of(catalogue, gpus="A40:1").solutions
    assert found.pools[0].offer.market == "on_demand"


@pytest.mark.parametrize(
    ("floor", "type_"),
    [({}, "h6"), ({"memory": "64GB"}, "h24"), ({"cpus": "32"}, "h48")],
    ids=["none", "memory", "cpus"],
)
def test_case_21_the_host_decides_among_machines_with_one_gpu(
    market: Callable[..., Catalogue], floor: dict[str, str], type_: str
) -> None:
    catalogue = market(
        "nebius,eu-north1,,h6,RTXPRO6000,1,96,6,24,1.52,,test,2026-07",
        "nebius,eu-north1,,h24,RTXPRO6000,1,96,24,90,3.0,,test,2026-07",
        "nebius,eu-north1,,h48,RTXPRO6000,1,96,48,180,4.5,,test,2026-07",
    )
    assert cheapest(plan_of(catalogue, gpus="RTXPRO6000:1", **floor)) == type_


def test_case_22_what_is_sold_on_spot_only_is_not_taken_on_demand(market: Callable[..., Catalogue]) -> None:
    catalogue = market("nebius,eu-north1,,h,H100-SXM,1,80,8,64,11,3,test,2026-07,spot", more=",purchase")
    assert not plan_of(catalogue, gpus="H100:1", market="on_demand").feasible
    assert plan_of(catalogue, gpus="H100:1").solutions[0].pools[0].usd_per_hour == 3


def test_case_26_old_prices_are_warned_about_or_refused(market: Callable[..., Catalogue]) -> None:
    catalogue = market(
        "azure,eastus,,Standard_NC24ads_A100_v4,a100-80gb,1,80,24,220,3.00,,test,2026-11-20",
        "aws,us-east-1,use1-az1,x1,a100-80gb,1,80,24,220,3.06,,test,2026-12-01",
    )
    fresh = plan_of(catalogue, gpus="a100:1", max_price_age="24h")
    assert {each.pools[0].offer.provider for each in fresh.solutions} == {"aws"}
    any_age = plan_with({}, catalogue, {"gpus": "a100:1"})
    assert any_age.solutions[0].pools[0].offer.provider == "azure"
    assert any("prices of azure are of 2026-11-20" in warning for warning in any_age.warnings)


def test_case_31_the_budget_is_on_the_total(market: Callable[..., Catalogue]) -> None:
    catalogue = market("onprem,eu,,p,H100-SXM,8,80,8,64,60,,test,2026-07")
    plan = plan_of(catalogue, gpus="H100:8", max_cost="$57/hr", scheduler="none")
    assert plan.error is not None
    assert "the cheapest left is 60." in plan.error.what
    four = plan_of(catalogue, gpus="H100:32", max_cost="$61/hr", scheduler="none")
    assert not four.feasible


def test_case_36_rdma_required_is_not_served_by_plain_ethernet(bundled: Catalogue) -> None:
    two = plan_of(bundled, gpus="a100:16", rdma="required", providers=("aws",))
    assert all(pool.offer.fabric == "efa" for each in two.solutions for pool in each.pools)
    assert all(len(each.sites) == 1 for each in two.solutions)
    none = plan_of(bundled, gpus="t4g:2", rdma="required", providers=("aws",))
    assert not none.feasible
    assert any(each.reason == "no RDMA fabric" for each in none.rejected)


# Infeasible


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
    chosen = explain(plan, "aws/us-east-1/use1-az2/p4d.24xlarge/spot")
    assert all(check.passed for check in chosen)
    assert chosen[-1].seen == "solution 1"
    dear = explain(plan, "aws/us-east-1/use1-az1/p4d.24xlarge/spot")
    assert [check.key for check in dear if not check.passed] == ["placement"]
    assert dear[-1].reason is not None
    assert dear[-1].reason.startswith("every placement with it is over the budget")
    other = explain(plan, "aws/us-east-1/use1-az2/p4d.24xlarge/on_demand")
    assert [(check.key, check.seen) for check in other if not check.passed] == [("lifecycle.market", "on_demand")]
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
