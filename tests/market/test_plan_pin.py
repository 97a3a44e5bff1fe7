"""Pinning a plan and telling what has changed since."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal

import pytest
from plans import AWS, INTENTS

from emporion.market.clouds import FoundImage
from emporion.market.errors import ExitCode, UserError
from emporion.market.intent import Intent, intent_from_json, load_intent
from emporion.market.offers import Catalogue, load_bundled
from emporion.market.pin import PinnedPlacement
from emporion.market.placement.pinning import images_needed
from emporion.market.plan import Plan, diff_plans, make_plan, pin

NOW = datetime(2026, 12, 1, 1, 2, 3, tzinfo=UTC)
DEMO = INTENTS / "demo.yaml"
IMAGES = {
    ("gpu", "x86_64"): FoundImage("ami-gpu", "gpu image", "2026-11-01", "x86_64", "580.95", "1.44"),
    ("controller", "x86_64"): FoundImage("ami-cpu", "cpu image", "2026-11-02", "x86_64", None, None),
}


@pytest.fixture(scope="module")
def bundled() -> Catalogue:
    return load_bundled()


def plan_for(intent: Intent, catalogue: Catalogue) -> Plan:
    return make_plan(intent, catalogue, clouds=AWS, now=NOW)


def test_the_pin_holds_everything_that_a_look_up_would_change(bundled: Catalogue) -> None:
    plan = plan_for(load_intent(DEMO), bundled)
    assert images_needed(plan) == (("controller", "x86_64"), ("gpu", "x86_64"))
    pinned = pin(plan, IMAGES)
    (pool,) = pinned.pools
    assert (pool.name, pool.count, pool.zone, pool.offer_id) == (
        "gpu-0", 2, "use1-az2", "aws/us-east-1/use1-az2/p4d.24xlarge/spot",
    )  # fmt: skip
    assert (pool.image.id, pool.image.driver_version, pool.image.efa_version) == ("ami-gpu", "580.95", "1.44")
    assert pool.rdma
    assert pinned.controller is not None
    assert pinned.controller.image.id == "ami-cpu"
    assert plan.recommended is not None
    assert pinned.usd_per_hour == plan.recommended.cost.total
    assert pinned.upper_usd_per_hour == plan.recommended.cost.upper_total
    assert pinned.planned_at == "2026-12-01T01:02:03Z"
    assert pinned.spot_fallback == "pause"
    assert pinned.checkpoint_interval_s is not None
    assert PinnedPlacement.from_json(json.loads(json.dumps(pinned.to_json()))) == pinned
    again = plan_for(intent_from_json(pinned.intent), bundled)
    assert pin(again, IMAGES) == pinned


def test_an_unchanged_market_shows_no_difference(bundled: Catalogue) -> None:
    plan = plan_for(load_intent(DEMO), bundled)
    assert diff_plans(pin(plan, IMAGES), plan, IMAGES) == ()


def test_a_newer_image_a_new_price_and_a_better_placement_are_differences(bundled: Catalogue) -> None:
    plan = plan_for(load_intent(DEMO), bundled)
    pinned = pin(plan, IMAGES)
    newer = {**IMAGES, ("gpu", "x86_64"): replace(IMAGES["gpu", "x86_64"], id="ami-newer")}
    (image,) = diff_plans(pinned, plan, newer)
    assert (image.kind, image.what, image.pinned, image.now) == (
        "image", "gpu-0", "ami-gpu gpu image", "ami-newer gpu image",
    )  # fmt: skip
    (pool,) = pinned.pools
    dearer = replace(pinned, pools=(replace(pool, usd_per_hour=Decimal(7)),), usd_per_hour=Decimal(15))
    assert [(change.kind, change.what) for change in diff_plans(dearer, plan)] == [
        ("price", "aws/us-east-1/use1-az2/p4d.24xlarge/spot"),
        ("price", "total"),
    ]
    elsewhere = replace(pinned, pools=(replace(pool, offer_id="aws/us-east-1/use1-az9/p4d.24xlarge/spot"),))
    kinds = {change.kind: change for change in diff_plans(elsewhere, plan)}
    assert kinds["placement"].now == "2 x aws/us-east-1/use1-az2/p4d.24xlarge/spot"
    assert kinds["price"].now is None


def test_a_market_that_no_longer_serves_is_a_difference(bundled: Catalogue, intent_of: Callable[..., Intent]) -> None:
    pinned = pin(plan_for(load_intent(DEMO), bundled), IMAGES)
    poorer = plan_for(intent_of(DEMO.read_text(), max_cost="$1/hr"), bundled)
    (change,) = [each for each in diff_plans(pinned, poorer) if each.kind == "feasibility"]
    assert change.now is not None
    assert "the cheapest left is" in change.now
    with pytest.raises(UserError) as refused:
        pin(poorer, IMAGES)
    assert refused.value.exit_code is ExitCode.INFEASIBLE


def test_a_plan_without_a_deployable_placement_cannot_be_pinned(bundled: Catalogue) -> None:
    plan = plan_for(load_intent(DEMO.with_name("llama2-finetune.yaml")), bundled)
    with pytest.raises(UserError) as refused:
        pin(plan, IMAGES)
    assert (refused.value.code, refused.value.exit_code) == ("E-DEPLOY", ExitCode.INFEASIBLE)


def test_an_image_of_the_user_needs_no_look_up(bundled: Catalogue, intent_of: Callable[..., Intent]) -> None:
    intent = intent_of(DEMO.read_text() + "image: {id: ami-mine}\nscheduler: none\n")
    plan = plan_for(intent, bundled)
    assert images_needed(plan) == ()
    pinned = pin(plan, {})
    assert pinned.controller is None
    assert pinned.pools[0].image.id == "ami-mine"


def test_a_missing_image_is_told(bundled: Catalogue) -> None:
    with pytest.raises(UserError) as missing:
        pin(plan_for(load_intent(DEMO), bundled), {})
    assert missing.value.code == "E-IMAGE"


def test_spot_max_price_and_storage_reach_the_pin(bundled: Catalogue, intent_of: Callable[..., Intent]) -> None:
    intent = intent_of(
        DEMO.read_text().replace("spot_fallback: pause", "spot_fallback: pause, spot_max_price: $7/hr")
        + "checkpoint_path: s3://mine/checkpoints\naccess: {object_lock_days: 30, nat: false}\n"
    )
    pinned = pin(plan_for(intent, bundled), IMAGES)
    assert pinned.pools[0].spot_max_price_usd_per_hour == 7
    assert pinned.storage.checkpoint_path == "s3://mine/checkpoints"
    assert pinned.storage.object_lock_days == 30
    assert not pinned.nat
