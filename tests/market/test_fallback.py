"""Spot only, on demand only, and falling back: the budget holds in both cases, or the plan says that it does not."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from functools import cache
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from plans import plan_of

from emporion.market.cost import CostModel, interruption_usd_per_hour
from emporion.market.errors import UserError
from emporion.market.fallback import keeps_budget, on_demand_cost
from emporion.market.intent import Intent, intent_from_flags
from emporion.market.intent.model import Budget, Resources
from emporion.market.offer import Market, Offer
from emporion.market.offers import Catalogue, load_bundled
from emporion.market.plan import Plan, plan_json
from emporion.market.pool import Pool

ROW = "onprem,eu,,p,H100-SXM,8,80,8,64,24,9,test,2026-12-01"
INTENT = Intent("x", Resources(None), scheduler="none")


@pytest.fixture
def plan(market: Callable[..., Catalogue]) -> Callable[..., Plan]:
    return lambda *rows, **flags: plan_of(market(*(rows or (ROW,))), gpus="H100:16", scheduler="none", **flags)


def offer(spot: str, on_demand: str | None, *, market: Market = Market.SPOT, name: str = "t") -> Offer:
    return Offer(
        f"acme/r1/{name}/{market}", "acme", "r1", None, name, market, Decimal(spot), "h100-80gb-sxm", 8, Decimal(80),
        None, None, "a test", "2026-11-30", on_demand_usd_per_hour=None if on_demand is None else Decimal(on_demand),
    )  # fmt: skip


# What it costs


@cache
def model() -> CostModel:
    return CostModel(INTENT, load_bundled())


def test_case_30_the_spot_group_costs_its_spot_price_its_reruns_and_on_demand_for_comparison() -> None:
    pools = [Pool(offer("9", "24"), 2)]
    cost = model().cost(pools, loss_s_per_day=1800)
    assert [(line.item, line.usd_per_hour) for line in cost.lines if line.usd_per_hour] == [
        ("2 x t spot", Decimal(18)), ("interruptions", Decimal("0.375")),
    ]  # fmt: skip
    assert Decimal(18) * 730 == 13_140
    assert Decimal("0.375") * 730 == Decimal("273.75")
    assert Decimal("273.75") == 2 * 9 * Decimal("0.5") * 365 / 12
    instead = on_demand_cost(pools, cost)
    assert instead is not None
    compute = instead.part("compute")
    assert compute is not None
    assert compute * 730 == 35_040
    assert instead.lines[0].item == "2 x t on-demand"


def test_without_spot_there_is_nothing_to_fall_back_from() -> None:
    pools = [Pool(offer("24", "24", market=Market.ON_DEMAND), 2)]
    assert on_demand_cost(pools, model().cost(pools, loss_s_per_day=60)) is None


def test_an_unknown_on_demand_price_stays_unknown() -> None:
    pools = [Pool(offer("9", None), 2)]
    cost = on_demand_cost(pools, model().cost(pools, loss_s_per_day=60))
    assert cost is not None
    assert cost.upper_total is None
    assert {"2 x t on-demand", "interruptions"} <= set(cost.unknown)
    assert keeps_budget(cost, INTENT) is None
    assert keeps_budget(cost, replace(INTENT, budget=Budget(max_hourly_usd=Decimal(1)))) is None


MONEY = st.decimals(min_value=Decimal("0.01"), max_value=100, places=4)


@given(
    drawn=st.lists(st.tuples(MONEY, MONEY, st.integers(1, 9), st.booleans()), min_size=1, max_size=3),
    loss_s=st.integers(0, 86_400),
)
def test_falling_back_changes_the_machines_and_their_lost_time_and_nothing_else(
    drawn: list[tuple[Decimal, Decimal, int, bool]], loss_s: int
) -> None:
    pools = []
    for number, (one, other, count, spot) in enumerate(drawn):
        low, high = sorted((one, other))
        kind = Market.SPOT if spot else Market.ON_DEMAND
        pools.append(Pool(offer(str(low if spot else high), str(high), market=kind, name=f"t{number}"), count))
    cost = model().cost(pools, loss_s_per_day=loss_s)
    instead = on_demand_cost(pools, cost)
    if not any(spot for *_, spot in drawn):
        assert instead is None
        return
    assert instead is not None
    compute = sum((max(one, other) * count for one, other, count, _ in drawn), Decimal(0))
    assert instead.part("compute") == compute
    assert instead.part("interruptions") == interruption_usd_per_hour(compute, loss_s)
    kept = [line for line in cost.lines if line.part not in ("compute", "interruptions")]
    assert [line for line in instead.lines if line.part not in ("compute", "interruptions")] == kept
    assert instead.total >= cost.total


# What the plan says of it


def told(plan: Plan) -> list[str]:
    return [text for text in plan.warnings if text.startswith("spot_fallback true")]


def shown(plan: Plan) -> list[dict[str, Any]]:
    document = plan_json(plan)
    return [each["cost"] for each in [*document["solutions"], *document["not_deployable"]]]


def test_a_budget_that_holds_in_both_cases_needs_no_word(plan: Callable[..., Plan]) -> None:
    made = plan(market="spot", spot_fallback="true", max_cost="$50/hr")
    assert told(made) == []
    (cost,) = shown(made)
    assert cost["fallback"]["keeps_budget"] is True
    assert Decimal(cost["fallback"]["compute"]) == 48
    assert Decimal(cost["compute"]) == 18


@pytest.mark.parametrize(
    ("flag", "amount"),
    [
        ("max_cost", "$40/hr"),
        ("max_cost", "$2.50/gpu/hr"),
        ("max_daily", "$1000"),
        ("max_monthly", "$30000"),
        ("max_total", "$400"),
        ("max_total", "$25/gpu"),
    ],
)
def test_a_budget_that_only_spot_keeps_is_said(plan: Callable[..., Plan], flag: str, amount: str) -> None:
    made = plan(market="spot", spot_fallback="true", hours="10", **{flag: amount})
    (text,) = told(made)
    assert text.startswith("spot_fallback true does not keep the budget: with 2 x p on demand it costs $48.")
    assert text.endswith("; spot_fallback pause waits instead")
    assert [cost["fallback"]["keeps_budget"] for cost in shown(made)] == [False]


@pytest.mark.parametrize("rule", ["pause", "false"])
def test_without_fallback_the_budget_is_of_spot_alone(plan: Callable[..., Plan], rule: str) -> None:
    made = plan(market="spot", spot_fallback=rule, max_cost="$40/hr")
    assert told(made) == []
    assert [cost["fallback"]["keeps_budget"] for cost in shown(made)] == [False]


def test_without_a_budget_nothing_is_broken(plan: Callable[..., Plan]) -> None:
    assert told(plan(market="spot", spot_fallback="true")) == []


def test_on_demand_only_has_no_fallback_and_keeps_its_own_budget(plan: Callable[..., Plan]) -> None:
    made = plan(market="on_demand", max_cost="$50/hr")
    assert [cost["fallback"] for cost in shown(made)] == [None]
    assert not plan(market="on_demand", max_cost="$40/hr").feasible


def test_spot_only_takes_spot_alone(plan: Callable[..., Plan]) -> None:
    made = plan(market="spot", max_cost="$40/hr")
    assert {pool.offer.market for each in made.solutions for pool in each.pools} == {Market.SPOT}


def test_any_market_shows_which_placements_keep_the_budget(plan: Callable[..., Plan]) -> None:
    other = "onprem,us,,q,H100-SXM,8,80,8,64,22,8.9,test,2026-12-01"
    made = plan(ROW, other, spot_fallback="true", max_cost="$45/hr")
    kept = {cost["fallback"]["keeps_budget"] for cost in shown(made) if cost["fallback"]}
    assert kept <= {True, False}
    assert kept


def test_an_unknown_on_demand_price_is_said(plan: Callable[..., Plan]) -> None:
    row = "onprem,eu,,p,H100-SXM,8,80,8,64,,9,test,2026-12-01"
    (text,) = told(plan(row, market="spot", spot_fallback="true", max_cost="$40/hr"))
    assert text == "spot_fallback true: whether 2 x p keep the budget on demand is not known, no price is"


# The most that spot may cost


def test_spot_above_the_maximum_price_is_refused(plan: Callable[..., Plan]) -> None:
    made = plan(market="spot", spot_max_price="$8.99/hr")
    assert not made.feasible
    assert any(each.reason == "spot price above $8.99/hr" for each in made.rejected)
    assert plan(market="spot", spot_max_price="$9/hr").feasible


def test_a_maximum_of_minus_1_is_the_on_demand_price_as_when_left_out() -> None:
    for text in ("-1", "$-1", " -1 "):
        assert intent_from_flags(gpus="a100", spot_max_price=text).lifecycle.spot_max_price_usd_per_hour is None
    assert intent_from_flags(gpus="a100", spot_max_price="$3").lifecycle.spot_max_price_usd_per_hour == 3


@pytest.mark.parametrize("text", ["0", "$0/hr", "-2", "$3/gpu/hr"])
def test_a_maximum_of_0_or_less_is_refused(text: str) -> None:
    with pytest.raises(UserError) as refused:
        intent_from_flags(gpus="a100", spot_max_price=text)
    assert refused.value.exit_code == 2
