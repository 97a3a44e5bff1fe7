"""How the market moved since a stack was pinned, what a re-plan would do, and when a pin is stale."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path

import pytest
from machine_images import IMAGES, newer
from plans import AWS, NOW, written

from emporion.market.intent import intent_from_flags
from emporion.market.pin import PinnedPlacement
from emporion.market.plan import Diff, Plan, diff_plans, make_plan, market_diff, pin, pricing, stale_note

EAST = "aws/us-east-1/use1-az1/p4d.24xlarge/spot"


def row(spot: str, region: str = "us-east-1", zone: str = "use1-az1", as_of: str = "2026-12-01") -> str:
    return f"aws,{region},{zone},p4d.24xlarge,a100-40gb,8,40,96,1152,32,{spot},test,{as_of}"


@pytest.fixture
def plan(tmp_path: Path) -> Callable[..., Plan]:
    def made(*rows: str, prefer: str = "cost", now: datetime = NOW, **flags: object) -> Plan:
        intent = intent_from_flags(**{"gpus": "a100:8", "market": "spot", **flags})
        return make_plan(intent, written(tmp_path, rows), clouds=AWS, now=now, prefer=prefer)

    return made


def kinds(diff: Diff) -> list[str]:
    return [change.kind for change in diff.changes]


def test_an_unchanged_market_shows_no_difference(plan: Callable[..., Plan]) -> None:
    made = plan(row("10"))
    diff = market_diff(pin(made, IMAGES), made, IMAGES)
    assert (diff.changes, diff.stale, diff.effect) == ((), None, "nothing")
    assert made.recommended is not None
    assert diff.today == made.recommended.cost


def test_a_price_that_moved_is_told_of_the_offer_and_of_the_whole(plan: Callable[..., Plan]) -> None:
    pinned = pin(plan(row("10")), IMAGES)
    diff = market_diff(pinned, plan(row("10.50")), IMAGES)
    price, total = diff.changes
    assert (price.kind, price.what, price.pinned, price.now, price.usd_per_hour) == (
        "price", EAST, "$10.00/hr", "$10.50/hr", Decimal("0.50"),
    )  # fmt: skip
    assert diff.today is not None
    assert (total.kind, total.usd_per_hour) == ("total", diff.today.total - pinned.usd_per_hour)
    assert diff.effect == "the same nodes: only the prices that are written down"


def test_a_better_placement_is_told_with_what_it_saves_today(plan: Callable[..., Plan]) -> None:
    pinned = pin(plan(row("10")), IMAGES)
    now = plan(row("10.50"), row("8", "us-east-2", "use2-az1"))
    diff = market_diff(pinned, now, IMAGES)
    assert kinds(diff) == ["price", "total", "placement"]
    assert now.recommended is not None
    assert diff.today is not None
    better = diff.changes[-1]
    assert better.pinned == f"1 x {EAST}"
    assert better.now is not None
    assert better.now.startswith("1 x aws/us-east-2/use2-az1/p4d.24xlarge/spot at $8.")
    assert better.usd_per_hour == now.recommended.cost.total - diff.today.total
    assert better.usd_per_hour < 0
    assert diff.effect == "everything is made anew in aws us-east-2, what stands in us-east-1 is removed"


def test_another_zone_of_the_region_replaces_the_nodes_alone(plan: Callable[..., Plan]) -> None:
    pinned = pin(plan(row("10")), IMAGES)
    diff = market_diff(pinned, plan(row("10"), row("8", zone="use1-az2")), IMAGES)
    assert diff.effect == "the nodes that are no longer in the placement are removed, new ones are made"


def test_an_offer_that_is_gone_leaves_the_pin_without_a_price(plan: Callable[..., Plan]) -> None:
    diff = market_diff(pin(plan(row("10")), IMAGES), plan(row("11", zone="use1-az2")), IMAGES)
    gone = diff.changes[0]
    assert (gone.kind, gone.what, gone.pinned, gone.now) == ("gone", EAST, "1 x p4d.24xlarge at $10.00/hr", None)
    assert kinds(diff) == ["gone", "placement"]
    assert (diff.today, diff.changes[-1].usd_per_hour) == (None, None)


def test_a_pin_that_no_longer_keeps_its_budget_is_told(plan: Callable[..., Plan]) -> None:
    pinned = pin(plan(row("10"), max_cost="$12/hr"), IMAGES)
    diff = market_diff(pinned, plan(row("12"), row("9", zone="use1-az2"), max_cost="$12/hr"), IMAGES)
    assert kinds(diff) == ["price", "total", "budget", "placement"]
    assert diff.changes[2].what == "cost_control.max_hourly"


def test_a_market_that_no_longer_serves_is_a_difference_and_nothing_would_be_done(plan: Callable[..., Plan]) -> None:
    pinned = pin(plan(row("10"), max_cost="$12/hr"), IMAGES)
    diff = market_diff(pinned, plan(row("12"), max_cost="$12/hr"), IMAGES)
    assert kinds(diff) == ["feasibility", "price", "total", "budget"]
    assert diff.changes[0].now is not None
    assert "the cheapest left is 12." in diff.changes[0].now
    assert diff.best is None
    assert diff.effect.startswith("nothing: no placement can be pinned today")


def test_a_wish_that_changed_is_told_key_by_key(plan: Callable[..., Plan]) -> None:
    pinned = pin(plan(row("10")), IMAGES)
    diff = market_diff(pinned, plan(row("10"), max_cost="$50/hr", hours="10"), IMAGES)
    assert [(change.kind, change.what, change.pinned, change.now) for change in diff.changes] == [
        ("intent", "budget.max_hourly_usd", None, "50.00"), ("intent", "model.hours", None, "10"),
    ]  # fmt: skip
    assert diff.effect == "the same nodes; what else the intent changes"


def test_a_newer_image_is_told_where_images_were_looked_up(plan: Callable[..., Plan]) -> None:
    made = plan(row("10"))
    pinned = pin(made, IMAGES)
    images = newer("gpu", "ami-newer")
    diff = market_diff(pinned, made, images)
    (image,) = diff.changes
    assert (image.kind, image.what, image.pinned, image.now) == (
        "image", "gpu-0", "ami-gpu gpu image", "ami-newer gpu image",
    )  # fmt: skip
    assert diff.effect == "the nodes are replaced by ones with the newer image"
    assert diff_plans(pinned, made) == ()


def test_the_lost_time_of_the_pin_is_priced_at_todays_prices(plan: Callable[..., Plan]) -> None:
    pinned = pin(plan(row("10")), IMAGES)
    diff = market_diff(pinned, plan(row("20"), row("8", "us-east-2", "use2-az1")), IMAGES)
    assert diff.today is not None
    before = next(Decimal(line["usd_per_hour"]) for line in pinned.cost_lines if line["item"] == "interruptions")
    now = diff.today.part("interruptions")
    assert now is not None
    assert abs(now - 2 * before) <= Decimal("2e-9")


# Stale pins


def aged(plan: Callable[..., Plan], days: float, **flags: object) -> tuple[PinnedPlacement, datetime]:
    return pin(plan(row("10"), **flags), IMAGES), datetime(2026, 12, 1, tzinfo=UTC) + timedelta(days=days)


def test_prices_of_a_week_ago_are_not_stale_and_older_ones_are(plan: Callable[..., Plan]) -> None:
    pinned, week = aged(plan, 7)
    assert stale_note(pinned, week) is None
    assert stale_note(pinned, week + timedelta(seconds=1)) == (
        "pricing older than 7 days: pinned 2026-12-01 with prices of 2026-12-01"
    )
    assert pricing(pinned, week) == {"as_of": "2026-12-01", "age_days": 7.0, "stale": None}


@pytest.mark.parametrize(("age", "text"), [("24h", "1 day"), ("36h", "36 hours"), ("90m", "90 minutes")])
def test_the_age_that_the_intent_allows_is_the_measure(plan: Callable[..., Plan], age: str, text: str) -> None:
    pinned, later = aged(plan, 2, max_price_age=age)
    note = stale_note(pinned, later)
    assert note is not None
    assert note.startswith(f"pricing older than {text}: ")
    assert stale_note(aged(plan, 2)[0], later) is None


def test_a_longer_age_that_the_intent_allows_is_the_measure_too(plan: Callable[..., Plan]) -> None:
    pinned, later = aged(plan, 20, max_price_age="30d")
    assert stale_note(pinned, later) is None


def test_prices_without_a_date_are_stale(plan: Callable[..., Plan]) -> None:
    pinned, now = aged(plan, 0)
    undated = replace(pinned, cost_lines=({**pinned.cost_lines[0], "as_of": None}, *pinned.cost_lines[1:]))
    assert stale_note(undated, now) == "pricing older than 7 days: pinned 2026-12-01 with prices without a date"
    assert pricing(undated, now)["age_days"] is None


def test_a_stale_pin_is_said_with_its_differences(plan: Callable[..., Plan]) -> None:
    pinned, later = aged(plan, 30)
    diff = market_diff(pinned, plan(row("10"), now=later), IMAGES)
    assert diff.changes == ()
    assert diff.stale is not None
