"""Pinning several stages: each is a cluster of its own, wherever it stands."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime
from decimal import Decimal

import pytest
from machine_images import IMAGES, newer
from plans import cloud

from emporion.market.errors import UserError
from emporion.market.intent import Intent, intent_from_json
from emporion.market.offers import Catalogue
from emporion.market.pin import PinnedPlacement, cluster_name, output_name
from emporion.market.plan import Plan, images_needed, make_plan, market_diff, pin, pricing

NOW = datetime(2026, 12, 1, tzinfo=UTC)
CLOUDS = {name: cloud(name) for name in ("aws", "azure")}
TEXT = """
name: mixed
constraints: {providers: [aws, azure], regions: [us-east-1, eastus]}
data: [{source: s3://corpus/raw, size: 10gb, region: us-east-1}]
stages:
  - {name: tokenise, resources: {cpus: 8}, constraints: {providers: [aws]}, data_out: [{size: 100gb}], hours: 2}
  - {name: train, needs: [tokenise], resources: {gpus: a100-80gb:8}, constraints: {providers: [azure]}, hours: 10}
  - {name: judge, needs: [train], resources: {gpus: t4:1}, constraints: {providers: [aws]}, hours: 1}
"""


@pytest.fixture
def plan(bundled: Catalogue, intent_of: Callable[..., Intent]) -> Plan:
    return make_plan(intent_of(TEXT), bundled, clouds=CLOUDS, now=NOW)


def test_stages_of_several_clouds_are_deployable_and_pinned_as_a_cluster_each(plan: Plan) -> None:
    assert plan.recommended is not None
    assert plan.recommended.deploy_problem is None
    pinned = pin(plan, IMAGES)
    assert [(stage, each.provider, each.region) for stage, each in pinned.clusters] == [
        ("tokenise", "aws", "us-east-1"), ("train", "azure", "eastus"), ("judge", "aws", "us-east-1"),
    ]  # fmt: skip
    assert [str(place) for place in pinned.places] == ["aws us-east-1", "azure eastus"]
    assert [pool.name for pool in pinned.pools] == ["tokenise-0", "train-0", "judge-0"]
    assert [stage.needs for stage in pinned.stages] == [(), ("tokenise",), ("train",)]
    assert [stage.hours for stage in pinned.stages] == [Decimal(2), Decimal(10), Decimal(1)]
    assert all(each.controller is not None for _, each in pinned.clusters)


def test_the_whole_costs_what_the_plan_says_and_the_stages_their_own(plan: Plan) -> None:
    assert plan.recommended is not None
    pinned = pin(plan, IMAGES)
    assert pinned.usd_per_hour == plan.recommended.cost.total
    own = sum(each.usd_per_hour for _, each in pinned.clusters)
    moved = [line for line in pinned.cost_lines if line["item"] in {"data from tokenise", "data from train"}]
    assert own + sum(Decimal(line["usd_per_hour"]) for line in moved if line["usd_per_hour"]) == pinned.usd_per_hour


def test_nodes_without_a_gpu_start_from_the_plain_image(plan: Plan) -> None:
    pinned = pin(plan, IMAGES)
    assert [pool.image.id for pool in pinned.pools] == ["ami-cpu", "ami-gpu", "ami-gpu"]
    assert {key.purpose for key in images_needed(plan) if key.provider == "azure"} == {"gpu", "controller"}


def test_a_stage_reads_from_the_stores_that_its_data_come_from(plan: Plan) -> None:
    sources = {stage: [one["source"] for one in each.intent["data"]] for stage, each in pin(plan, IMAGES).clusters}
    assert sources == {"tokenise": ["s3://corpus/raw"], "train": [], "judge": []}


def test_the_pin_is_read_as_it_was_written_and_plans_the_same_again(plan: Plan, bundled: Catalogue) -> None:
    pinned = pin(plan, IMAGES)
    document = json.loads(json.dumps(pinned.to_json()))
    assert document["schema"] == "emporion.placement/2"
    assert "pools" not in document
    assert {one["placement"]["schema"] for one in document["stages"]} == {"emporion.placement/1"}
    assert PinnedPlacement.from_json(document) == pinned
    again = make_plan(intent_from_json(pinned.intent), bundled, clouds=CLOUDS, now=NOW)
    assert pin(again, IMAGES) == pinned
    assert market_diff(pinned, again, IMAGES).changes == ()


def test_a_newer_image_is_told_of_every_pool_and_controller_that_has_it(plan: Plan) -> None:
    diff = market_diff(pin(plan, IMAGES), plan, newer("controller", "ami-new"))
    assert [change.what for change in diff.changes] == [
        "tokenise-0", "controller of tokenise", "controller of train", "controller of judge",
    ]  # fmt: skip


def test_a_stage_that_moves_is_told_by_its_name(
    plan: Plan, bundled: Catalogue, intent_of: Callable[..., Intent]
) -> None:
    text = TEXT.replace(
        "gpus: t4:1}, constraints: {providers: [aws]}", "gpus: t4:1}, constraints: {providers: [azure]}"
    )
    diff = market_diff(pin(plan, IMAGES), make_plan(intent_of(text), bundled, clouds=CLOUDS, now=NOW), IMAGES)
    assert diff.effect == "stage judge is made anew in azure eastus, what stands in us-east-1 is removed"
    assert diff.today is not None


def test_stages_that_come_and_go_are_told(plan: Plan, bundled: Catalogue, intent_of: Callable[..., Intent]) -> None:
    text = TEXT.replace("judge", "probe")
    diff = market_diff(pin(plan, IMAGES), make_plan(intent_of(text), bundled, clouds=CLOUDS, now=NOW), IMAGES)
    assert diff.effect == "stage probe is made in aws us-east-1; what stands in aws us-east-1 for judge is removed"
    assert diff.today is None


def test_the_age_of_a_pin_is_that_of_its_machines(plan: Plan) -> None:
    pinned = pin(plan, IMAGES)
    dates = {line["as_of"] for _, each in pinned.clusters for line in each.cost_lines[: len(each.pools)]}
    assert pricing(pinned, NOW)["as_of"] == min(dates)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda one: one["stages"].clear(), "there is at least one"),
        (lambda one: one["stages"].append(one["stages"][0]), "different names"),
        (lambda one: one["stages"][1]["placement"].pop("pools"), "cannot be read"),
        (lambda one: one["stages"][1]["placement"].update(schema="emporion.placement/2"), "of schema"),
        (lambda one: one.update(schema="emporion.placement/3"), "this version reads"),
        (lambda one: one.update(stages=3), "is not a list"),
    ],
    ids=["none", "twice", "no pools", "nested", "later", "no list"],
)
def test_a_damaged_pin_is_refused_in_words(plan: Plan, change: Callable[[dict[str, object]], None], said: str) -> None:
    document = json.loads(json.dumps(pin(plan, IMAGES).to_json()))
    change(document)
    with pytest.raises(UserError, match="E-PIN") as refused:
        PinnedPlacement.from_json(document, where="stack mixed")
    assert said in str(refused.value)
    assert refused.value.exit_code == 2


def test_names_of_a_stack_with_one_cluster_have_no_stage() -> None:
    assert (cluster_name(None), output_name("bucket", None)) == ("cluster", "bucket")
    assert (cluster_name("train"), output_name("bucket", "train")) == ("cluster-train", "train.bucket")


def test_an_image_of_ones_own_is_no_image_of_several_clouds(
    bundled: Catalogue, intent_of: Callable[..., Intent]
) -> None:
    plan = make_plan(intent_of(f"{TEXT}image: {{id: ami-0123456789abcdef0}}\n"), bundled, clouds=CLOUDS, now=NOW)
    with pytest.raises(UserError, match="image of one cloud, and the stages stand on aws and azure") as refused:
        pin(plan, IMAGES)
    assert (refused.value.code, refused.value.exit_code) == ("E-IMAGE", 2)


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        pytest.param("hours: 10}", "hours: 12}", ("stages[train].hours", "10", "12"), id="a key of a stage"),
        pytest.param("judge", "probe", ("stages", "tokenise, train, judge", "tokenise, train, probe"), id="a stage"),
        pytest.param(
            "size: 10gb, region: us-east-1}]", "size: 20gb, region: us-east-1}]",
            ("data", "source s3://corpus/raw size_gb 10 region us-east-1",
             "source s3://corpus/raw size_gb 20 region us-east-1"), id="data",
        ),
    ],
)  # fmt: skip
def test_what_the_intent_changes_is_told_key_by_key(
    plan: Plan, bundled: Catalogue, intent_of: Callable[..., Intent], old: str, new: str, told: tuple[str, str, str]
) -> None:
    now = make_plan(intent_of(TEXT.replace(old, new)), bundled, clouds=CLOUDS, now=NOW)
    changes = [one for one in market_diff(pin(plan, IMAGES), now, IMAGES).changes if one.kind == "intent"]
    assert [(one.what, one.pinned, one.now) for one in changes] == [told]
