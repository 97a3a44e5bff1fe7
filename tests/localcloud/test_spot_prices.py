from __future__ import annotations

import statistics
from dataclasses import replace
from decimal import Decimal
from math import log
from pathlib import Path

import pytest
from clock import Clock

from emporion.localcloud.models import set_model
from emporion.localcloud.prices import load_history, price
from emporion.localcloud.time_control import set_rate, step
from emporion.localcloud.world import World
from emporion.market.errors import UserError
from emporion.market.offer import Market, Offer

DAY_S = 86_400
SPOT = Offer(
    id="aws/us-east-1/use1-az1/p4d.24xlarge/spot", provider="aws", region="us-east-1", zone="use1-az1",
    instance_type="p4d.24xlarge", market=Market.SPOT, usd_per_hour=Decimal("10.00"), gpu="a100-40gb", gpu_count=8,
    gpu_vram_gb=Decimal(40), vcpus=Decimal(96), ram_gb=Decimal(1152), source="test", as_of="2026-07",
)  # fmt: skip


@pytest.fixture(autouse=True)
def stepped(world: World) -> None:
    set_rate(world, 0)


def daily(world: World, offer: Offer, days: int) -> list[Decimal]:
    now_s = world.time_s()
    return [price(world, offer, now_s + day * DAY_S) for day in range(days)]


def test_prices_are_the_catalogues_until_they_are_asked_to_move(world: World) -> None:
    assert set(daily(world, SPOT, 400)) == {Decimal("10.00")}


def test_moving_prices_begin_at_the_catalogues_and_go_round_it(world: World) -> None:
    world.set_seed("7")
    set_model(world, "prices", "moving")
    prices = daily(world, SPOT, 4000)
    assert prices[0] == Decimal("10.0000")
    logs = [log(each / 10) for each in prices]
    assert abs(statistics.mean(logs)) < 0.03
    assert 0.1 < statistics.stdev(logs) < 0.14
    lag = statistics.correlation(logs[:-3], logs[3:])
    assert 0.4 < lag < 0.6  # half of a deviation is left after the half-life of 3 days
    assert all(each == each.quantize(Decimal("0.0001")) for each in prices)


def test_equal_seeds_move_alike_and_each_offer_by_itself(tmp_path: Path, clock: Clock) -> None:
    told = []
    for name, seed in (("a", "7"), ("b", "7"), ("c", "8")):
        with World.open(tmp_path / name, clock) as world:
            world.set_seed(seed)
            set_model(world, "prices", "moving")
            told.append(daily(world, SPOT, 30))
            assert daily(world, replace(SPOT, zone="use1-az2"), 30) != told[-1]
    assert told[0] == told[1] != told[2]


def test_a_price_never_exceeds_the_on_demand_price_and_on_demand_never_moves(world: World) -> None:
    set_model(world, "prices", "moving")
    capped = replace(SPOT, on_demand_usd_per_hour=Decimal("10.20"))
    assert max(daily(world, capped, 400)) == Decimal("10.20")
    fixed = replace(SPOT, market=Market.ON_DEMAND)
    assert set(daily(world, fixed, 100)) == {Decimal("10.00")}


HISTORY = """provider,region,zone,instance_type,observed_at,spot_usd_hr,on_demand_usd_hr,source
aws,us-east-1,use1-az1,p4d.24xlarge,2022-05-31T00:00:00+00:00,8.5,,somewhere
aws,us-east-1,use1-az1,p4d.24xlarge,2022-06-02T00:00:00+00:00,9.25,,somewhere
aws,us-east-1,,p4d.24xlarge,2022-06-01T00:00:00,7,,somewhere
aws,us-east-1,,p5.48xlarge,2022-06-01T00:00:00,,98.32,somewhere
"""


def test_recorded_prices_are_replayed_from_the_moment_they_are_loaded(world: World, tmp_path: Path) -> None:
    path = tmp_path / "history.csv"
    path.write_text(HISTORY)
    step(world, 12_345)
    assert load_history(world, path) == 3
    assert daily(world, SPOT, 4) == [Decimal("8.5"), Decimal("8.5"), Decimal("9.25"), Decimal("9.25")]
    elsewhere = replace(SPOT, zone="use1-az2")
    assert daily(world, elsewhere, 2) == [Decimal("10.00"), Decimal(7)]
    assert price(world, replace(SPOT, instance_type="p5.48xlarge")) == Decimal("10.00")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        pytest.param("provider,region\naws,x\n", "no column zone, instance_type", id="columns"),
        pytest.param(HISTORY.split("\n", maxsplit=1)[0] + "\n", "it holds no spot price", id="empty"),
        pytest.param(HISTORY.replace("8.5", "cheap"), "no moment or no price", id="no price"),
        pytest.param(HISTORY.replace("8.5", "-1"), "-1 is no price", id="negative"),
        pytest.param(HISTORY.replace("2022-05-31T00", "May"), "no moment or no price", id="no moment"),
    ],
)
def test_a_file_without_usable_prices_is_one_clear_error_and_changes_nothing(
    text: str, says: str, world: World, tmp_path: Path
) -> None:
    path = tmp_path / "history.csv"
    path.write_text(text)
    with pytest.raises(UserError, match=says) as refused:
        load_history(world, path)
    assert refused.value.code == "E-PRICES"
    assert price(world, SPOT) == Decimal("10.00")


def test_a_file_that_is_not_there_is_one_clear_error(world: World, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="it cannot be read"):
        load_history(world, tmp_path / "none.csv")
