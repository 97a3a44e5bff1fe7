"""What a plan warns of: data and checkpoints elsewhere or on NFS, figures that are old or a third party's."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal

import pytest
from plans import AWS, NOW, plan_of

from emporion.market.intent import Intent
from emporion.market.offers import Catalogue
from emporion.market.plan import Plan, make_plan

EAST_1 = "aws,us-east-1,use1-az1,p4d.24xlarge,a100-40gb,8,40,96,1152,20,,test,2026-12-01"
EAST_2 = "aws,us-east-2,use2-az1,p4d.24xlarge,a100-40gb,8,40,96,1152,20,,test,2026-12-01"
WEST_2 = "aws,us-west-2,usw2-az1,p4d.24xlarge,a100-40gb,8,40,96,1152,20,,test,2026-12-01"


@pytest.fixture
def plan(market: Callable[..., Catalogue], intent_of: Callable[..., Intent]) -> Callable[..., Plan]:
    def made(text: str, *rows: str) -> Plan:
        intent = intent_of(text if "resources:" in text else "gpu: a100:8\n" + text)
        return make_plan(intent, market(*(rows or (EAST_1,))), clouds=AWS, now=NOW)

    return made


def test_a_bucket_in_another_region_is_told_with_both_regions_and_its_cost(plan: Callable[..., Plan]) -> None:
    made = plan("data: [{source: s3://b/us-west-2, size: 500gb}]\nmodel: {hours: 10}\n")
    assert (
        "s3://b/us-west-2 lies in aws us-west-2, the cluster stands in aws us-east-1: "
        "moving its 500 GB costs 10.00 USD once"
    ) in made.warnings


def test_the_region_of_the_data_is_preferred_at_equal_price_and_its_line_says_why(plan: Callable[..., Plan]) -> None:
    for region, rows in (("us-east-1", (EAST_1, WEST_2)), ("us-west-2", (EAST_1, WEST_2))):
        made = plan(f"data: [{{source: s3://b/{region}, size: 500gb}}]\nmodel: {{hours: 10}}\nscheduler: none\n", *rows)
        best = made.recommended
        assert best is not None
        assert best.pools[0].offer.region == region
        (line,) = [each for each in best.cost.lines if each.item.startswith("data from")]
        assert (line.usd_per_hour, "the cluster stands there" in line.source) == (Decimal(0), True)
        assert not [text for text in made.warnings if "lies in" in text]


def test_data_of_an_unsaid_region_are_told_with_the_most_that_moving_them_costs(plan: Callable[..., Plan]) -> None:
    made = plan("data: [{source: s3://b/x, size: 100gb}, {source: gs://c/y, size: 1gb}]\n")
    told = [text for text in made.warnings if "is not said" in text]
    stands = "is not said, the cluster stands in aws us-east-1: moving its"
    say = "; say data[].region; it is in no total, model.hours does not say over how long"
    assert told == [
        f"the region of s3://b/x {stands} 100 GB costs at most 14.70 USD once, nothing within one region{say}",
        f"the region of gs://c/y {stands} 1 GB costs at most 0.19 USD once{say}",
    ]


CPU = "aws,us-west-2,,m5.large,,0,,2,8,0.1,,test,2026-12-01"


def test_data_of_the_only_stage_are_looked_at_too(plan: Callable[..., Plan]) -> None:
    made = plan("stages: [{name: a, resources: {gpus: a100:8}, data_in: [{source: s3://b/us-east-2}]}]\n")
    assert any("what moving it costs is not known without its size" in text for text in made.warnings)


def test_data_are_looked_at_where_their_stage_stands(plan: Callable[..., Plan]) -> None:
    text = (
        "stages:\n"
        "  - {name: a, hours: 1, resources: {cpus: 2}, data_in: [{source: s3://b/us-west-2, size: 1gb}]}\n"
        "  - {name: b, hours: 1, needs: [a], resources: {gpus: a100:8}, "
        "data_in: [{source: s3://c/us-west-2, size: 1gb}]}\n"
        "scheduler: none\n"
    )
    made = plan(text, EAST_1, CPU)
    (told,) = [text for text in made.warnings if "lies in" in text]
    assert told.startswith("s3://c/us-west-2 lies in aws us-west-2, the cluster stands in aws us-east-1: ")
    assert told.endswith("moving its 1 GB costs 0.02 USD once")


def test_checkpoints_in_another_region_are_told_with_what_their_traffic_costs(plan: Callable[..., Plan]) -> None:
    path = "checkpoint_path: s3://bucket/us-west-2/x\n"
    known = plan(path + "model: {parameters: 1b}\nlifecycle: {checkpoint_interval: 1h}\n")
    assert (
        "checkpoints go to s3://bucket/us-west-2/x in aws us-west-2, the cluster stands in aws us-east-1: "
        "their traffic costs $0.28/hr"
    ) in known.warnings
    assert any("their traffic costs $0.02 per GB, the volume is not known" in text for text in plan(path).warnings)
    assert not any("checkpoints go to" in text for text in plan("checkpoint_path: s3://bucket/us-east-1\n").warnings)
    assert not any("checkpoints go to" in text for text in plan("checkpoint_path: s3://bucket/x\n").warnings)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("checkpoint_path: nfs://server/export\n", "checkpoints at nfs://server/export lie on NFS"),
        ("data: [{source: nfs://server/export, size: 1tb}]\n", "data at nfs://server/export lie on NFS"),
        (
            "resources: {gpus: a100:8, storage_type: nfs}\n",
            "resources.storage_type nfs: this version makes no NFS file system",
        ),
    ],
)
def test_nfs_is_warned_about(plan: Callable[..., Plan], text: str, told: str) -> None:
    assert any(each.startswith(told) for each in plan(text).warnings)


def test_what_lies_on_an_nfs_server_has_no_price_and_holds_up_no_bound(plan: Callable[..., Plan]) -> None:
    cost = plan("checkpoint_path: nfs://server/export\nmodel: {parameters: 1b}\n").solutions[0].cost
    (line,) = [each for each in cost.lines if each.item == "checkpoints"]
    assert (line.usd_per_hour, line.quality) == (None, "unknown")
    assert "checkpoints" in cost.unknown
    assert cost.upper_total is not None


def test_figures_of_third_parties_and_old_ones_are_named(market: Callable[..., Catalogue]) -> None:
    warnings = plan_of(market(EAST_1), gpus="a100:8").warnings
    assert "priced by a third party's figure, not by the provider's list: NAT public IPv4" in warnings
    assert "priced by figures of more than a year ago: NAT public IPv4 of 2024-05-21 and 4 more" in warnings


def test_a_run_that_is_longer_than_it_may_be_is_told(plan: Callable[..., Plan]) -> None:
    told = "model.hours 30 is longer than lifecycle.max_run, 2 hours"
    assert told in plan("model: {hours: 30}\nlifecycle: {max_run: 2h}\n").warnings
    assert not any("longer than" in text for text in plan("model: {hours: 2}\nlifecycle: {max_run: 2h}\n").warnings)


def test_a_size_of_storage_that_makes_nothing_is_told(market: Callable[..., Catalogue]) -> None:
    told = "resources.storage is the size of a lustre file system: without storage_type lustre none is made"
    assert told in plan_of(market(EAST_1), gpus="a100:8", storage="2tb").warnings
    assert told not in plan_of(market(EAST_1), gpus="a100:8", storage="2tb", storage_type="lustre").warnings
