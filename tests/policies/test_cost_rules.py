"""Cost and spot rules: ceilings over the bill of resources, allowed types, tags, renewal."""

from __future__ import annotations

import csv
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from emporion.market.facts import MACHINE, Bucket, Budget, Fact, Node, Purchase, Spot, UnknownFactError
from emporion.market.resources import UNKNOWN
from emporion.policies import cost, spot
from emporion.policies.packs import PACKS
from emporion.policies.stack import Stack

DATA = Path(__file__).parents[2] / "market/emporion/market/data"


def listed(instance_type: str, region: str, column: str) -> list[Decimal]:
    """Return the prices that the CSVs have for a machine."""
    rows = [
        row
        for name in ("offers.csv", "cpu_offers.csv")
        for row in csv.DictReader((DATA / name).read_text(encoding="utf-8").splitlines())
    ]
    wanted = (instance_type, region)
    return [Decimal(row[column]) for row in rows if (row["instance_type"], row["region"]) == wanted and row[column]]


def machines(count: int, **changes: Any) -> Purchase:
    values: dict[str, Any] = {
        "provider": "aws", "region": "us-east-1", "variant": "p4d.24xlarge", "spot": False, "max_usd_per_hour": None,
        "tags": {},
    }  # fmt: skip
    return Purchase(name="nodes", item=MACHINE, quantity=Decimal(count), **{**values, **changes})


def stack(*facts: Fact) -> Stack:
    return Stack((), facts)


ON_DEMAND = max(listed("p4d.24xlarge", "us-east-1", "on_demand_usd_hr"))


def test_a_ceiling_is_kept_to_the_cent() -> None:
    four = stack(machines(4))
    assert cost.hourly_cost_ceiling(four, max_usd_per_hour=4 * ON_DEMAND) == []
    [problem] = cost.hourly_cost_ceiling(four, max_usd_per_hour=4 * ON_DEMAND - Decimal("0.01"))
    assert problem.startswith(f"the stack costs ${4 * ON_DEMAND:.2f} an hour, allowed: $")
    assert cost.hourly_cost_ceiling(four) == []
    monthly = 4 * ON_DEMAND * 730
    assert cost.monthly_cost_ceiling(four, max_usd_per_month=monthly) == []
    assert len(cost.monthly_cost_ceiling(four, max_usd_per_month=monthly - 1)) == 1


def test_spot_counts_with_its_worst_case_and_a_machine_without_a_price_never_passes() -> None:
    unlimited = stack(machines(1, spot=True))
    assert cost.hourly_cost_ceiling(unlimited, max_usd_per_hour=ON_DEMAND) == []
    assert len(cost.hourly_cost_ceiling(unlimited, max_usd_per_hour=ON_DEMAND - 1)) == 1
    capped = stack(machines(1, spot=True, max_usd_per_hour=Decimal(9)))
    assert cost.hourly_cost_ceiling(capped, max_usd_per_hour=Decimal(9)) == []
    with pytest.raises(UnknownFactError):
        cost.hourly_cost_ceiling(stack(machines(1, variant="p99.huge")), max_usd_per_hour=Decimal(1))
    [problem] = cost.hourly_cost_ceiling(
        stack(machines(1), machines(1, variant="p99.huge")), max_usd_per_hour=Decimal(1)
    )
    assert "without 1 machines of unknown price" in problem


def test_pools_and_teams_have_ceilings_of_their_own() -> None:
    mixed = stack(
        machines(1, tags={"emporion-pool": "a", "team": "ml"}), machines(2, tags={"emporion-pool": "b", "team": "ml"})
    )
    limits = {"a": ON_DEMAND, "b": ON_DEMAND}
    [problem] = cost.pool_cost_ceiling(mixed, max_usd_per_hour=limits)
    assert problem.startswith("pool b costs")
    assert len(cost.team_cost_ceiling(mixed, max_usd_per_month={"ml": ON_DEMAND * 730})) == 1
    assert cost.team_cost_ceiling(mixed, max_usd_per_month={"web": Decimal(0)}) == []


def test_machines_budgets_tags_and_places(good: Callable[..., Any]) -> None:
    node = good(Node, tags={"owner": "me"}, ends=False)
    assert cost.gpu_type_allowed(node) == []
    assert cost.gpu_type_allowed(node, allowed=("g5.xlarge",)) == ["one is a p4d.24xlarge, allowed: g5.xlarge"]
    assert cost.gpu_type_allowed(good(Node, gpus=0), allowed=("g5.xlarge",)) == []
    assert cost.cost_tags(machines(1, tags={"owner": "me"})) == ["nodes has no tag budget"]
    assert cost.cost_tags(machines(1, tags={"owner": "me", "budget": "ml"})) == []
    assert cost.idle_shutdown(node) == ["one has GPUs and runs until somebody ends it"]
    assert cost.idle_shutdown(good(Node)) == []
    assert cost.budget_object(stack(node)) == ["the stack has GPU machines and no budget"]
    assert cost.budget_object(stack(node, good(Budget, notifies=False))) == ["the budget one notifies nobody"]
    assert cost.budget_object(stack(node, good(Budget, notifies=True))) == []
    assert cost.budget_object(stack(good(Node, gpus=0))) == []
    far = stack(node, good(Bucket, region="eu-west-1"))
    assert len(cost.data_near_compute(far)) == 1
    assert cost.data_near_compute(far, acknowledged=True) == []
    assert cost.data_near_compute(stack(node, good(Bucket))) == []


@pytest.mark.parametrize(
    ("change", "setting", "word"),
    [
        pytest.param({}, {}, None, id="one-time"),
        pytest.param({"renews": "a persistent spot request"}, {}, "renews itself", id="persistent"),
        pytest.param({"falls_back": "a mix"}, {}, "may renew as on-demand", id="mix"),
        pytest.param({"renews": "a restore"}, {"spot_fallback": True}, "may renew, but no", id="without a budget"),
        pytest.param(
            {"renews": "a restore", "count": 2}, {"spot_fallback": True, "max_usd_per_hour": 2 * ON_DEMAND}, None,
            id="on-demand price within the budget",
        ),
        pytest.param(
            {"renews": "a restore", "count": 2}, {"spot_fallback": True, "max_usd_per_hour": 2 * ON_DEMAND - 1},
            "may renew for up to", id="on-demand price above the budget",
        ),
        pytest.param(
            {"renews": "a restore", "max_usd_per_hour": Decimal(9)}, {"spot_fallback": True, "max_usd_per_hour": 9},
            None, id="ceiling within the budget",
        ),
        pytest.param(
            {"falls_back": "a mix", "max_usd_per_hour": Decimal(9)}, {"spot_fallback": True, "max_usd_per_hour": 9},
            "may renew for up to", id="a ceiling of spot does not bound what is on demand",
        ),
        pytest.param({"max_usd_per_hour": Decimal(9)}, {}, None, id="a price alone renews nothing"),
    ],
)  # fmt: skip
def test_spot_is_not_renewed_unasked(
    change: dict[str, Any], setting: dict[str, Any], word: str | None, good: Callable[..., Any]
) -> None:
    problems = spot.spot_auto_renew(good(Spot, **change), **setting)
    assert [word in problem and "renew" in problem for problem in problems if word] == ([True] if word else [])
    assert bool(problems) == bool(word)


def test_a_renewal_whose_price_is_unknown_is_not_judged(good: Callable[..., Any]) -> None:
    for change in ({"instance_type": "p99.huge"}, {"renews": UNKNOWN}, {"region": UNKNOWN}):
        with pytest.raises(UnknownFactError):
            spot.spot_auto_renew(
                good(Spot, **{"renews": "a restore"} | change), spot_fallback=True, max_usd_per_hour=Decimal(1)
            )


def test_prices_checkpoints_and_interruptions_of_spot(good: Callable[..., Any]) -> None:
    dear = good(Spot, max_usd_per_hour=ON_DEMAND + 1, checkpoint=None, interruption=None)
    assert len(spot.spot_price_ceiling(dear)) == len(spot.spot_numeric_price(dear)) == 1
    assert spot.spot_price_ceiling(dear, factor=Decimal(2)) == []
    assert spot.spot_price_ceiling(good(Spot)) == spot.spot_numeric_price(good(Spot)) == []
    assert len(spot.spot_checkpoint_path(dear)) == len(spot.spot_interruption_explicit(dear)) == 1
    assert spot.spot_checkpoint_path(good(Spot)) == spot.spot_interruption_explicit(good(Spot)) == []
    locked, fixed = good(Bucket, locked=True), good(Spot, checkpoint="s3://b/latest")
    assert len(spot.locked_bucket_unique_keys(stack(locked, fixed))) == 1
    assert spot.locked_bucket_unique_keys(stack(locked, good(Spot))) == []
    assert spot.locked_bucket_unique_keys(stack(good(Bucket), fixed)) == []


def test_every_rule_of_both_packs_is_asked_here() -> None:
    text = Path(__file__).read_text(encoding="utf-8")
    for module in (cost, spot):
        for rule in PACKS[module.__name__.rpartition(".")[2]]:
            name = rule.name.replace("-", "_")
            assert f".{name}(" in text, name
