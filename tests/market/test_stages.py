"""Intents with several stages: what each takes over, what goes between them, what a plan says of them."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from pathlib import Path

import pytest
from plans import AWS, NOW, written

from emporion.market.errors import ExitCode, UserError
from emporion.market.intent import Intent, load_intent
from emporion.market.offers import Catalogue
from emporion.market.placement.candidates import rounded
from emporion.market.placement.front import dominates
from emporion.market.plan import Plan, explain, make_plan, plan_json
from emporion.market.plan.pinning import images_needed

IntentOf = Callable[..., Intent]
EXAMPLES = Path(__file__).parents[2] / "docs" / "examples"
ROWS = (
    "aws,us-east-1,use1-az1,cpu-e,,0,,16,64,1.00,,test,2026-07",
    "aws,eu-west-1,euw1-az1,cpu-w,,0,,16,64,0.90,,test,2026-07",
    "aws,us-east-1,use1-az1,gpu-e,A100,8,40,96,1152,30.00,,test,2026-07",
    "azure,eastus,,gpu-a,A100,8,40,96,1152,29.00,,test,2026-07",
    "lambda,us-x,,t-x,T4,1,16,8,32,0.10,,test,2026-07",
    "aws,us-east-1,use1-az1,t-e,T4,1,16,8,32,0.50,,test,2026-07",
)
CHAIN = """
name: chain
scheduler: none
access: {nat: false}
stages:
  - {name: prepare, resources: {cpus: 16}, data_out: [{size: %s}], hours: 2}
  - {name: train, needs: [prepare], resources: {gpus: a100:8}, data_out: [{size: 1gb}], hours: 10}
"""


@pytest.fixture
def market(tmp_path: Path) -> Catalogue:
    return written(tmp_path, ROWS)


def planned(intent: Intent, catalogue: Catalogue, **more: str) -> Plan:
    return make_plan(intent, catalogue, clouds=AWS, now=NOW, **more)  # type: ignore[arg-type]


def types(plan: Plan) -> list[list[str]]:
    return [[pool.offer.instance_type for pool in each.pools] for each in [*plan.solutions, *plan.not_deployable]]


# The examples


@pytest.mark.parametrize("name", ["pipeline", "tpu-stage", "diamond"])
def test_of_every_example_nothing_is_dominated_and_every_line_names_its_stage(bundled: Catalogue, name: str) -> None:
    intent = load_intent(EXAMPLES / f"{name}.yaml")
    plan = planned(intent, bundled)
    assert plan.solutions
    assert plan.intent.not_acted_on == ()
    names = [stage.name for stage in intent.stages]
    for each in plan.solutions:
        assert not any(dominates(other.vector, each.vector) for other in plan.solutions)
        assert [part.name for part in each.stages] == names
        assert {pool.stage for pool in each.pools} == set(names)
        assert {line.stage for line in each.cost.lines} == set(names)
        assert each.vector.cost == rounded(int(each.cost.total * 10**9))
        assert each.vector.loss_s == sum(part.placement.vector.loss_s for part in each.stages)
        speeds = [part.placement.vector.throughput for part in each.stages if part.placement.performance.derived]
        assert each.vector.throughput >= min(speeds, default=0.0)
        spent = [part.placement.cost.total * (part.hours or 0) for part in each.stages]
        between = [
            (line.usd_per_hour or 0) * (dict(zip(names, each.stages, strict=True))[line.stage or ""].hours or 0)
            for line in each.cost.lines
            if line.item in {f"data from {other}" for other in names}
        ]
        assert each.cost.run_total == sum(spent) + sum(between)


def test_the_pipeline_recommends_a_placement_with_each_of_its_stages(bundled: Catalogue) -> None:
    plan = planned(load_intent(EXAMPLES / "pipeline.yaml"), bundled)
    assert plan.recommended is not None
    assert plan.recommended.deployable
    document = plan_json(plan)
    assert document["critical_path_hours"] == 27
    assert document["epsilon"] == 0
    (best,) = [each for each in document["solutions"] if each["recommended"]]
    assert [(each["name"], each["needs"], each["hours"]) for each in best["stages"]] == [
        ("tokenise", [], 2),
        ("train", ["tokenise"], 24),
        ("evaluate", ["train"], 1),
    ]
    assert [node["stage"] for node in best["nodes"]] == ["tokenise", "train", "evaluate"]
    assert (best["deployable"], best["gpus"]) == (True, 9)
    assert {key.purpose for key in images_needed(plan)} == {"gpu", "controller"}


def test_a_tpu_stage_is_placed_and_said_to_have_no_component(bundled: Catalogue) -> None:
    plan = planned(load_intent(EXAMPLES / "tpu-stage.yaml"), bundled)
    assert plan.recommended is None
    assert all(each.pools[0].offer.gpu == "tpu-v5e" for each in plan.solutions)
    assert all("pretrain: no component for gcp" in (each.deploy_problem or "") for each in plan.solutions)


# What goes between stages


def test_data_that_stay_in_a_region_cost_nothing_and_far_ones_bring_stages_together(
    intent_of: IntentOf, market: Catalogue
) -> None:
    # 0.10 an hour less at the CPUs and 1.00 less at the GPUs, against 0.02 and 0.09 USD per GB over 10 hours
    few, many = planned(intent_of(CHAIN % "1gb"), market), planned(intent_of(CHAIN % "2tb"), market)
    assert ["cpu-w", "gpu-a"] in types(few)
    assert types(many)[0] == ["cpu-e", "gpu-e"]
    lines = {line.item: line for line in many.solutions[0].cost.lines if line.stage == "train"}
    line = lines["data from prepare"]
    assert (line.usd_per_hour, line.quantity, line.quality) == (Decimal(0), Decimal(2000), "assumed")
    assert "data transfer" not in lines


def test_a_transfer_is_spread_over_the_hours_of_the_stage_that_reads(intent_of: IntentOf, market: Catalogue) -> None:
    intent = intent_of(CHAIN % "100gb" + "constraints: {regions: [eu-west-1, eastus]}")
    (found,) = planned(intent, market).solutions
    (line,) = [line for line in found.cost.lines if line.item == "data from prepare"]
    assert (line.stage, line.quality) == ("train", "quoted")
    assert line.unit_price is not None
    assert line.usd_per_hour == 100 * line.unit_price / 10
    assert "aws eu-west-1 to azure eastus" in line.source


def test_a_rate_that_is_not_known_is_an_unknown_line_and_no_zero(intent_of: IntentOf, market: Catalogue) -> None:
    intent = intent_of(
        """
        scheduler: none
        stages:
          - {name: a, resources: {gpus: t4:1}, constraints: {providers: [lambda]}, data_out: [{size: 5gb}], hours: 1}
          - {name: b, needs: [a], resources: {gpus: a100:8}, hours: 1}
        """
    )
    for each in planned(intent, market).solutions:
        (line,) = [line for line in each.cost.lines if line.item == "data from a"]
        assert (line.usd_per_hour, line.quality) == (None, "unknown")
        assert "data from a" in each.cost.unknown
        assert each.cost.upper_total is None


def test_what_the_reading_stage_says_counts_before_what_the_writing_one_does(
    intent_of: IntentOf, market: Catalogue
) -> None:
    text = CHAIN % "100gb" + "constraints: {regions: [eu-west-1, eastus]}"
    less = text.replace("needs: [prepare],", "needs: [prepare], data_in: [{source: stage://prepare, size: 7gb}],")
    (found,) = planned(intent_of(less), market).solutions
    (line,) = [line for line in found.cost.lines if line.item == "data from prepare"]
    assert line.quantity == 7


def test_without_a_size_the_transfer_is_not_estimated_and_the_plan_says_so(
    intent_of: IntentOf, market: Catalogue
) -> None:
    plan = planned(intent_of((CHAIN % "1gb").replace("data_out: [{size: 1gb}], hours: 2", "hours: 2")), market)
    (line,) = [line for line in plan.solutions[0].cost.lines if line.item == "data from prepare"]
    assert (line.usd_per_hour, line.counted) == (None, False)
    assert "train needs prepare: data_out of prepare does not say how much, the transfer is not estimated" in (
        plan.warnings
    )


def test_what_is_written_to_a_store_is_read_from_there(intent_of: IntentOf, market: Catalogue) -> None:
    stored = "data_out: [{source: s3://mine/out, region: us-west-2, size: 50gb}]"
    intent = intent_of((CHAIN % "1gb").replace("data_out: [{size: 1gb}], hours: 2", f"{stored}, hours: 2"))
    for each in planned(intent, market).solutions:
        items = {(line.stage, line.item) for line in each.cost.lines if line.part == "transfer"}
        assert {("prepare", "data to s3://mine/out"), ("train", "data from s3://mine/out")} <= items
        assert ("train", "data from prepare") not in items


# What a stage takes over


def test_a_stage_takes_over_resources_only_when_it_names_none(intent_of: IntentOf, market: Catalogue) -> None:
    intent = intent_of(
        """
        scheduler: none
        resources: {gpus: a100:8}
        stages: [{name: cpu, resources: {cpus: 16}}, {name: gpu, needs: [cpu]}]
        """
    )
    for each in planned(intent, market).solutions:
        assert [pool.offer.gpu for pool in each.pools] == [None, "a100-40gb"]


def test_constraints_of_the_intent_hold_for_all_and_a_stage_narrows_them(
    intent_of: IntentOf, market: Catalogue
) -> None:
    text = CHAIN % "1gb" + "constraints: {providers: [aws, azure], regions: [us-*]}"
    narrowed = text.replace("gpus: a100:8}", "gpus: a100:8}, constraints: {providers: [azure, lambda]}")
    assert types(planned(intent_of(narrowed), market)) == [["cpu-e", "gpu-a"]]
    nothing = text.replace("gpus: a100:8}", "gpus: a100:8}, constraints: {regions: [eu-*]}")
    plan = planned(intent_of(nothing), market)
    assert plan.error is not None
    assert "nothing serves stage train" in plan.error.what


def test_queries_of_the_intent_and_of_a_stage_hold_together(intent_of: IntentOf, market: Catalogue) -> None:
    text = CHAIN % "1gb" + "constraints: {where: 'provider == \"aws\"'}"
    both = text.replace("cpus: 16}", "cpus: 16}, constraints: {where: 'region == \"eu-west-1\" or vcpus > 100'}")
    assert types(planned(intent_of(both), market)) == [["cpu-w", "gpu-e"]]


def test_a_list_of_one_stage_is_just_that_stage(intent_of: IntentOf, bundled: Catalogue) -> None:
    plain = "{name: x, resources: {gpus: a100:8}, constraints: {providers: [aws], regions: [us-*]}, model: {hours: 3}}"
    staged = """
        {name: x, constraints: {regions: [us-*]},
         stages: [{name: s, resources: {gpus: a100:8}, constraints: {providers: [aws]}, hours: 3}]}
    """
    one, other = planned(intent_of(plain), bundled), planned(intent_of(staged), bundled)
    assert one.recommended is not None
    assert plan_json(one)["solutions"] == plan_json(other)["solutions"]


# The budget


def test_a_budget_for_the_run_pays_each_stage_for_its_own_hours(intent_of: IntentOf, market: Catalogue) -> None:
    text = CHAIN % "1gb" + "constraints: {regions: [us-east-1]}\n"
    (free,) = planned(intent_of(text), market).solutions
    assert free.cost.run_judged is not None
    spend = free.cost.run_judged
    assert planned(intent_of(text + f"cost_control: {{max_total: ${spend + 1:.2f}}}"), market).feasible
    plan = planned(intent_of(text + f"cost_control: {{max_total: ${spend - 1:.2f}}}"), market)
    assert plan.error is not None
    assert (plan.error.code, plan.error.exit_code) == ("E-BUDGET", ExitCode.INFEASIBLE)
    (change,) = [each for each in plan.relaxations if each.change == "cost_control.max_total"]
    least = Decimal(change.after.removeprefix("$"))
    assert least - Decimal("0.01") < spend <= least
    assert planned(intent_of(text + f"cost_control: {{max_total: {change.after}}}"), market).feasible


def test_a_ceiling_per_gpu_counts_the_gpus_of_all_stages(intent_of: IntentOf, market: Catalogue) -> None:
    text = CHAIN % "1gb" + "constraints: {regions: [us-east-1]}\n"
    (free,) = planned(intent_of(text), market).solutions
    each = (free.cost.judged / 8).quantize(Decimal("0.01"))
    assert planned(intent_of(text + f"cost_control: {{max_hourly: ${each + 1}/gpu/hr}}"), market).feasible
    plan = planned(intent_of(text + f"cost_control: {{max_hourly: ${each - 1}/gpu/hr}}"), market)
    assert [change.change for change in plan.relaxations][:1] == ["cost_control.max_hourly"]


# What cannot be


def test_an_infeasible_stage_is_named_with_its_line_and_its_smallest_changes(
    intent_of: IntentOf, market: Catalogue
) -> None:
    plan = planned(intent_of((CHAIN % "1gb").replace("a100:8", "{type: a100, count: 8, topology: nvlink}")), market)
    assert plan.error is not None
    assert not plan.solutions
    assert plan.error.what.startswith("nothing serves stage train: 8 x a100")
    assert "intent.yaml:7" in (plan.error.where or "")
    assert plan.error.exit_code is ExitCode.INFEASIBLE
    assert [(each.change, each.after) for each in plan.relaxations] == [("stages[1].resources.gpus.topology", "any")]


def test_two_stages_kept_out_by_one_list_are_let_in_together(intent_of: IntentOf, market: Catalogue) -> None:
    plan = planned(intent_of(CHAIN % "1gb" + "constraints: {providers: [lambda]}"), market)
    (change,) = plan.relaxations
    assert change.change == "constraints.providers"
    assert change.before == "lambda"
    opened = planned(intent_of(CHAIN % "1gb" + f"constraints: {{providers: [{change.after}]}}"), market)
    shown = [*opened.solutions, *opened.not_deployable]
    assert min(each.vector.cost for each in shown) == change.total_usd_per_hour * 10_000


def test_reasons_and_the_walk_of_an_offer_name_the_stage(intent_of: IntentOf, market: Catalogue) -> None:
    plan = planned(intent_of(CHAIN % "1gb"), market)
    reasons = {each.reason: each.offers for each in plan.rejected}
    assert reasons["prepare: has GPUs, none is asked for"] == 4
    assert reasons["train: has no GPU"] == 2
    walks = explain(plan, "lambda/us-x/t-x/on_demand").walks
    assert [walk.stage for walk in walks] == ["prepare", "train"]


def test_carbon_is_the_sum_over_the_stages(intent_of: IntentOf, market: Catalogue) -> None:
    plan = planned(intent_of(CHAIN % "1gb"), market, prefer="carbon")
    for each in plan.solutions:
        assert each.vector.carbon == sum(part.placement.vector.carbon for part in each.stages) > 0
    least = min(each.vector.carbon for each in plan.solutions)
    within = planned(intent_of(CHAIN % "1gb" + f"constraints: {{max_carbon: {least}g/h}}"), market)
    assert {each.vector.carbon for each in within.solutions} == {least}
    none = planned(intent_of(CHAIN % "1gb" + f"constraints: {{max_carbon: {least - 1}g/h}}"), market)
    assert [(each.change, each.after) for each in none.relaxations][:1] == [("constraints.max_carbon", f"{least}g/h")]


def test_stages_that_branch_and_join_in_too_many_ways_are_refused_where_they_are_said(
    intent_of: IntentOf, market: Catalogue
) -> None:
    names = [f"s{number}" for number in range(13)]
    stages = [
        f"  - {{name: {name}, resources: {{gpus: t4:1}}, data_out: [{{size: 900gb}}], hours: 1"
        f"{f', needs: [{chr(44).join(names[:number])}]' if number else ''}}}"
        for number, name in enumerate(names)
    ]
    with pytest.raises(UserError) as caught:
        planned(intent_of("name: x\nscheduler: none\nstages:\n" + "\n".join(stages)), market)
    assert (caught.value.code, caught.value.exit_code) == ("E-STAGES", ExitCode.BAD_INPUT)
    assert "intent.yaml:3" in (caught.value.where or "")
