"""What holds of every cost, whatever is asked for: exact sums, bounds above what is known, nothing negative."""

from __future__ import annotations

from decimal import Decimal
from functools import cache

from hypothesis import given, settings
from hypothesis import strategies as st

from emporion.market.cost import CostModel
from emporion.market.cost_lines import PARTS, Cost
from emporion.market.fallback import on_demand_cost
from emporion.market.intent.model import (
    Access,
    DataSet,
    Gpus,
    Intent,
    Lifecycle,
    Memory,
    Model,
    Resources,
)
from emporion.market.offer import Market, Offer
from emporion.market.offers import Catalogue, OfferFilter, load_bundled
from emporion.market.pool import Pool


@cache
def catalogue() -> Catalogue:
    return load_bundled()


@cache
def offers() -> tuple[Offer, ...]:
    """Every 7th offer with GPUs: of each provider some."""
    return tuple(catalogue().find_offers(OfferFilter(machines="gpu")))[::7]


def gb(size: int) -> Memory:
    return Memory(size * 10**9, binary=False)


SOURCES = st.sampled_from([
    "s3://b/us-east-1", "s3://b/x", "gs://b/europe-west4", "az://b/eastus", "https://example.org/x", "nfs://server/x",
])  # fmt: skip
DATASETS = st.builds(
    DataSet,
    source=st.none() | SOURCES,
    size=st.none() | st.integers(0, 50_000).map(gb),
    egress=st.none() | st.integers(0, 50_000).map(gb),
)
INTENTS = st.builds(
    Intent,
    name=st.just("x"),
    resources=st.builds(
        Resources,
        gpus=st.just(Gpus((), (), 8, 8)),
        storage=st.none() | st.integers(1, 20_000).map(gb),
        storage_type=st.sampled_from([None, "lustre", "nfs", "object"]),
    ),
    lifecycle=st.builds(Lifecycle, checkpoint_interval_s=st.none() | st.integers(60, 7200)),
    checkpoint_path=st.sampled_from(
        [None, "s3://bucket/x", "s3://bucket/us-west-2", "gs://bucket/x", "nfs://server/x"]
    ),
    data=st.lists(DATASETS, max_size=3).map(tuple),
    model=st.builds(
        Model,
        parameters=st.none() | st.integers(10**6, 10**12),
        hours=st.none() | st.decimals(min_value=Decimal("0.5"), max_value=2000, places=1),
    ),
    scheduler=st.sampled_from(["slurm", "none"]),
    access=st.builds(Access, nat=st.booleans()),
)
POOLS = st.lists(
    st.tuples(st.integers(0, 10**6), st.integers(1, 12)).map(
        lambda drawn: Pool(offers()[drawn[0] % len(offers())], drawn[1])
    ),
    min_size=1,
    max_size=3,
)
LOSSES = st.none() | st.integers(0, 86_400)


def priced(intent: Intent, pools: list[Pool], loss_s: int | None) -> Cost:
    return CostModel(intent, catalogue()).cost(pools, loss_s_per_day=loss_s)


@settings(deadline=None, max_examples=300)
@given(intent=INTENTS, pools=POOLS, loss_s=LOSSES)
def test_the_total_is_the_exact_sum_and_no_line_is_negative_or_above_its_bound(
    intent: Intent, pools: list[Pool], loss_s: int | None
) -> None:
    cost = priced(intent, pools, loss_s)
    known = [line.usd_per_hour for line in cost.lines if line.usd_per_hour is not None]
    assert cost.total == sum(known, Decimal(0))
    assert {line.part for line in cost.lines} == set(PARTS)
    assert cost.total == sum((cost.part(part) or Decimal(0) for part in PARTS), Decimal(0))
    for line in cost.lines:
        assert line.part in PARTS
        assert line.source
        for amount in (line.quantity, line.unit_price, line.usd_per_hour, line.upper_usd_per_hour):
            assert amount is None or amount >= 0
        if line.usd_per_hour is not None:
            assert line.quality != "unknown"
            assert line.upper_usd_per_hour is not None
            assert line.upper_usd_per_hour >= line.usd_per_hour
        else:
            assert line.quality == "unknown"
            assert line.item in cost.unknown
    assert cost.upper_total is None or cost.upper_total >= cost.total
    assert cost.judged >= cost.total
    hours = intent.model.hours
    assert cost.run_total == (None if hours is None else cost.total * hours)


@settings(deadline=None, max_examples=300)
@given(intent=INTENTS, index=st.integers(0, 10**6), count=st.integers(1, 60), loss_s=st.integers(0, 86_400))
def test_one_node_more_never_costs_less_and_its_machine_costs_what_the_others_do(
    intent: Intent, index: int, count: int, loss_s: int
) -> None:
    offer = offers()[index % len(offers())]
    fewer, more = (priced(intent, [Pool(offer, number)], loss_s) for number in (count, count + 1))
    assert more.total >= fewer.total + offer.usd_per_hour
    assert more.lines[0].usd_per_hour == (count + 1) * offer.usd_per_hour
    for part in PARTS:
        before, after = fewer.part(part), more.part(part)
        assert (before is None) == (after is None)
        assert before is None or after is None or after >= before
    if fewer.upper_total is not None:
        assert more.upper_total is not None
        assert more.upper_total >= fewer.upper_total


@settings(deadline=None, max_examples=300)
@given(intent=INTENTS, pools=POOLS, less=st.integers(0, 86_400), more=st.integers(0, 86_400))
def test_more_lost_time_never_costs_less(intent: Intent, pools: list[Pool], less: int, more: int) -> None:
    low, high = sorted((less, more))
    assert priced(intent, pools, low).total <= priced(intent, pools, high).total


@settings(deadline=None, max_examples=300)
@given(intent=INTENTS, pools=POOLS, loss_s=LOSSES)
def test_on_demand_the_same_machines_cost_as_much_as_their_on_demand_price_says(
    intent: Intent, pools: list[Pool], loss_s: int | None
) -> None:
    cost = priced(intent, pools, loss_s)
    instead = on_demand_cost(pools, cost)
    spot = [pool for pool in pools if pool.offer.market is Market.SPOT]
    if not spot:
        assert instead is None
        return
    assert instead is not None
    assert len(instead.lines) == len(cost.lines)
    for pool, line in zip(pools, instead.lines, strict=False):
        usd = pool.offer.on_demand_usd_per_hour if pool in spot else pool.offer.usd_per_hour
        assert line.usd_per_hour == (None if usd is None else usd * pool.count)
