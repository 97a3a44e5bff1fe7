"""Pinning a plan and telling what has changed since."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime

import pytest
from machine_images import IMAGES
from plans import AWS, INTENTS

from emporion.market.errors import ExitCode, UserError
from emporion.market.intent import Intent, intent_from_json, load_intent
from emporion.market.offers import Catalogue
from emporion.market.pin import PinnedPlacement
from emporion.market.plan import Plan, make_plan, pin
from emporion.market.plan.pinning import images_needed

NOW = datetime(2026, 12, 1, 1, 2, 3, tzinfo=UTC)
DEMO = INTENTS / "demo.yaml"


def plan_for(intent: Intent, catalogue: Catalogue) -> Plan:
    return make_plan(intent, catalogue, clouds=AWS, now=NOW)


def test_the_pin_holds_everything_that_a_look_up_would_change(bundled: Catalogue) -> None:
    plan = plan_for(load_intent(DEMO), bundled)
    place = ("aws", "us-east-1")
    assert images_needed(plan) == ((*place, "controller", "x86_64"), (*place, "gpu", "x86_64"))
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
    assert (pinned.prefer, pinned.max_pools) == ("balanced", 2)
    assert PinnedPlacement.from_json(json.loads(json.dumps(pinned.to_json()))) == pinned
    again = plan_for(intent_from_json(pinned.intent), bundled)
    assert pin(again, IMAGES) == pinned


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


def test_a_pin_of_an_earlier_version_without_preference_is_read(bundled: Catalogue) -> None:
    pinned = pin(plan_for(load_intent(DEMO), bundled), IMAGES)
    document = {key: value for key, value in pinned.to_json().items() if key not in ("prefer", "max_pools")}
    assert PinnedPlacement.from_json(json.loads(json.dumps(document))) == pinned


def test_that_the_data_lie_there_is_a_reason(bundled: Catalogue, intent_of: Callable[..., Intent]) -> None:
    text = DEMO.read_text() + "data: [{source: s3://b/us-east-1, size: 1gb}, {source: s3://c/us-west-2, size: 1gb}]\n"
    pinned = pin(plan_for(intent_of(text), bundled), IMAGES)
    assert [reason for reason in pinned.reasons if "stands in" in reason] == [
        "stands in the region of s3://b/us-east-1: its data move for nothing"
    ]
