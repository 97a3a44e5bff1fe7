"""Why the recommended solution is recommended."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from plans import AWS, NOW, written

from emporion.market.intent import intent_from_flags
from emporion.market.offers import Catalogue
from emporion.market.plan import Plan, make_plan, plan_json

ROWS = (
    "aws,us-east-1,use1-az1,p4d.24xlarge,a100-40gb,8,40,96,1152,20,6,test,2026-11",
    "aws,us-east-1,use1-az1,p4de.24xlarge,a100-80gb,8,80,96,1152,25,,test,2026-11",
)


@pytest.fixture
def market(tmp_path: Path) -> Callable[..., Catalogue]:
    return lambda *rows: written(tmp_path, rows)


def made(catalogue: Catalogue, prefer: str, **flags: object) -> Plan:
    wish = intent_from_flags(gpus="a100:8", scheduler="none", **flags)
    return make_plan(wish, catalogue, clouds=AWS, now=NOW, prefer=prefer)


@pytest.mark.parametrize(
    ("prefer", "says"),
    [
        pytest.param("balanced", r"cheapest per useful image, \$0\.\d+ per million images; next is 2: ", id="balanced"),
        pytest.param("cost", r"cheapest, \$6\.\d+/hr; next is 2: \$20\.\d+/hr \(\+2\d\d%\)", id="cost"),
        pytest.param("speed", r"fastest, 12420 images/s; next is 1: 10960 images/s \(-12%\)", id="speed"),
        pytest.param(
            "stability", r"least time lost to interruptions, \d+ s a day; next is \d: \d+ s a day", id="stability"
        ),
        pytest.param(
            "speed=1,stability=1",
            r"nearest to the best of the front by the weights speed=1,stability=1; next",
            id="weights",
        ),
    ],
)
def test_the_reason_names_the_figure_that_was_compared_and_the_next_one(
    prefer: str, says: str, market: Callable[..., Catalogue]
) -> None:

    plan = made(market(*ROWS), prefer)
    told = plan_json(plan)["recommendation"]
    assert re.match(says, told["why"]), told
    assert told["prefer"] == prefer
    (best,) = [one for one in plan_json(plan)["solutions"] if one["recommended"]]
    assert best["rank"] == told["rank"]


def test_a_front_of_one_says_so(market: Callable[..., Catalogue]) -> None:
    told = plan_json(made(market(ROWS[1]), "balanced"))["recommendation"]
    assert told["why"] == "the only placement of the front that can be stood up"


def test_nothing_is_recommended_where_nothing_can_be_stood_up(market: Callable[..., Catalogue]) -> None:
    catalogue = market("gcp,us-east1,,a2-highgpu-8g,a100-40gb,8,40,96,1152,20,6,test,2026-11")
    document = plan_json(made(catalogue, "balanced"))
    assert document["recommendation"] is None
    assert document["solutions"]


def test_machines_without_gpus_are_recommended_by_their_price(tmp_path: Path) -> None:
    catalogue = written(
        tmp_path,
        (
            "aws,us-east-1,use1-az1,small,,0,,4,16,1,,test,2026-11",
            "aws,us-east-1,use1-az1,large,,0,,8,32,2,0.9,test,2026-11",
        ),
    )
    plan = make_plan(intent_from_flags(cpus="4", scheduler="none"), catalogue, clouds=AWS, now=NOW)
    assert plan_json(plan)["recommendation"]["why"].startswith("cheapest, $")
