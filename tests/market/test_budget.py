"""Budgets: on the whole cluster and per GPU, over an hour, a day, a month and the run, all on the judged cost."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from plans import plan_of

from emporion.market.budget import Ceiling, ceilings, within_budget
from emporion.market.cost_lines import Cost, CostLine
from emporion.market.intent import Intent
from emporion.market.intent.model import Budget, Model, Resources
from emporion.market.offers import Catalogue
from emporion.market.placement.choose import ceiling_nano

KEYS = ("max_hourly", "max_daily", "max_monthly", "max_total")
HOURS = {"max_hourly": 1, "max_daily": 24, "max_monthly": 730, "max_total": 12}


def cost(usd: Decimal, gpus: int = 8, *, upper: Decimal | None = None, hours: Decimal | None = Decimal(12)) -> Cost:
    line = CostLine("compute", "machines", None, None, "h", None, usd, upper or usd, "a test", None, "quoted")
    return Cost((line,), gpus, hours)


def kept(paid: Cost, **budget: Any) -> bool:
    return within_budget(paid, Intent("x", Resources(None), Budget(**budget))) == []


@pytest.mark.parametrize("key", KEYS)
def test_each_ceiling_is_kept_at_its_own_period_and_broken_just_above(key: str) -> None:
    whole = Decimal(10) * HOURS[key]
    assert kept(cost(Decimal(10)), **{f"{key}_usd": whole})
    assert not kept(cost(Decimal(10)), **{f"{key}_usd": whole - Decimal("0.01")})
    assert kept(cost(Decimal(10)), **{f"{key}_usd_per_gpu": whole / 8})
    assert not kept(cost(Decimal(10)), **{f"{key}_usd_per_gpu": whole / 8 - Decimal("0.01")})


@pytest.mark.parametrize(
    ("field", "ceiling", "said"),
    [
        ("max_hourly_usd", "9", "10 USD for an hour is above max_hourly 9"),
        ("max_daily_usd", "239", "240 USD for a day is above max_daily 239"),
        ("max_monthly_usd", "7299", "7300 USD for a month of 730 hours is above max_monthly 7299"),
        ("max_total_usd", "119.99", "120 USD for 12 hours is above max_total 119.99"),
        ("max_hourly_usd_per_gpu", "1.24", "1.25 USD for a GPU-hour is above max_hourly 1.24"),
        ("max_daily_usd_per_gpu", "29", "30 USD for a GPU-day is above max_daily 29"),
        ("max_monthly_usd_per_gpu", "912", "912.5 USD for a GPU-month of 730 hours is above max_monthly 912"),
        ("max_total_usd_per_gpu", "14", "15 USD for 12 hours of a GPU is above max_total 14"),
    ],
)
def test_a_broken_ceiling_says_what_it_was_compared_with(field: str, ceiling: str, said: str) -> None:
    budget: Any = {field: Decimal(ceiling)}
    (breach,) = within_budget(cost(Decimal(10)), Intent("x", Resources(None), Budget(**budget)))
    assert (breach.text, breach.judged) == (said, True)


@pytest.mark.parametrize("key", KEYS)
def test_each_ceiling_is_judged_on_the_upper_total(key: str) -> None:
    bounded = cost(Decimal(10), upper=Decimal(11))
    for field, share in ((f"{key}_usd", 1), (f"{key}_usd_per_gpu", 8)):
        assert not kept(bounded, **{field: Decimal("10.5") * HOURS[key] / share})
        assert kept(bounded, **{field: Decimal(11) * HOURS[key] / share})


def test_what_cannot_be_judged_says_why() -> None:
    (run,) = within_budget(
        cost(Decimal(10), hours=None), Intent("x", Resources(None), Budget(max_total_usd=Decimal(1)))
    )
    assert (run.judged, run.text) == (
        False, "max_total cannot be judged: model.hours does not say how long the run takes",
    )  # fmt: skip
    none = Intent("x", Resources(None), Budget(max_daily_usd_per_gpu=Decimal(1)))
    (per_gpu,) = within_budget(cost(Decimal(10), gpus=0), none)
    assert (per_gpu.judged, per_gpu.key) == (False, "cost_control.max_daily")
    assert "per GPU, and the placement has none" in per_gpu.text


MONEY = st.decimals(min_value=Decimal("0.01"), max_value=10_000, places=4)


@given(
    judged=st.integers(0, 10**14),
    gpus=st.integers(1, 64),
    hours=st.none() | st.decimals(min_value=Decimal("0.5"), max_value=2000, places=2),
    fields=st.dictionaries(
        st.sampled_from([f"{key}_usd{basis}" for key in KEYS for basis in ("", "_per_gpu")]), MONEY, max_size=4
    ),
)
def test_the_search_and_the_judge_agree(judged: int, gpus: int, hours: Decimal | None, fields: dict[str, Any]) -> None:
    intent = Intent("x", Resources(None), Budget(**fields), model=Model(hours=hours))
    limit = ceiling_nano(intent, gpus)
    broken = [each for each in within_budget(cost(Decimal(judged) / 10**9, gpus, hours=hours), intent) if each.judged]
    assert (limit is None or judged <= limit) == (not broken)


@given(usd=MONEY, gpus=st.integers(1, 64), key=st.sampled_from(KEYS), per_gpu=st.booleans())
def test_the_ceiling_that_is_needed_is_kept_exactly(usd: Decimal, gpus: int, key: str, *, per_gpu: bool) -> None:
    blank = Ceiling(key, Decimal(0), per_gpu, Decimal(HOURS[key]))
    needed = blank.needed(usd, gpus)
    most = Ceiling(key, needed, per_gpu, blank.hours).most_per_hour(gpus)
    assert most is not None
    assert abs(most - usd) < Decimal("1e-15")


def test_the_ceilings_of_a_budget_are_those_it_sets() -> None:
    budget = Budget(max_hourly_usd=Decimal(16), max_total_usd_per_gpu=Decimal("2.50"))
    assert [each.text for each in ceilings(budget, None)] == ["$16/hr", "$2.50/gpu"]
    assert ceilings(Budget(), Decimal(1)) == ()


ROW = "onprem,eu,,p,H100-SXM,8,80,8,64,16,,test,2026-12-01"


@pytest.mark.parametrize(
    ("flag", "amount", "said"),
    [
        ("max_cost", "$3/hr", "$3/gpu/hr, which holds: $3/hr is the ceiling of the whole cluster"),
        ("max_daily", "$60", "$60/gpu/day, which holds: $60/day is the ceiling of the whole cluster"),
        ("max_monthly", "$2000", "$2000/gpu/month, which holds: $2000/month is the ceiling of the whole cluster"),
        ("max_total", "$30", "$30/gpu, which holds: $30 is the ceiling of the whole cluster"),
    ],
)
def test_a_total_that_would_hold_per_gpu_says_so(
    market: Callable[..., Catalogue], flag: str, amount: str, said: str
) -> None:
    plan = plan_of(market(ROW), gpus="H100:8", scheduler="none", hours="10", **{flag: amount})
    assert plan.error is not None
    assert plan.error.fix is not None
    assert plan.error.fix.startswith(said)


def test_a_ceiling_per_gpu_that_fails_tells_the_price_on_its_own_basis(market: Callable[..., Catalogue]) -> None:
    plan = plan_of(market(ROW), gpus="H100:8", scheduler="none", max_cost="$1.50/gpu/hr")
    assert plan.error is not None
    assert plan.error.what.startswith("nothing serves 8 x H100; the cheapest left is 16.")
    assert plan.error.what.endswith(" USD an hour, $2.01/gpu/hr")
    assert plan.error.fix is not None
    assert "which holds" not in plan.error.fix


def test_a_budget_that_only_the_bound_breaks_says_so(market: Callable[..., Catalogue]) -> None:
    row = "aws,us-east-1,use1-az1,p4d.24xlarge,a100-40gb,8,40,96,1152,20,,test,2026-12-01"
    free = plan_of(market(row), gpus="a100:8")
    bought = free.solutions[0].cost
    assert bought.upper_total is not None
    between = ((bought.total + bought.upper_total) / 2).quantize(Decimal("0.0001"))
    plan = plan_of(market(row), gpus="a100:8", max_cost=f"${between}/hr")
    assert plan.error is not None
    assert plan.error.what.endswith("which a budget is judged by")


def test_a_per_gpu_ceiling_reaches_every_period(intent_of: Callable[..., Intent]) -> None:
    text = "gpu: a100:8\ncost_control: {max_daily: $50/gpu/day, max_monthly: $900/gpu, max_total: $10/gpu}\n"
    budget = intent_of(text).budget
    assert (budget.max_daily_usd_per_gpu, budget.max_monthly_usd_per_gpu, budget.max_total_usd_per_gpu) == (
        Decimal(50), Decimal(900), Decimal(10),
    )  # fmt: skip
    assert (budget.max_daily_usd, budget.max_monthly_usd, budget.max_total_usd) == (None, None, None)
