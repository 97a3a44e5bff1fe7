"""Full-chain cost: every line has its price or says why not, sums are exact, budgets hold on the total."""

from __future__ import annotations

import dataclasses
from decimal import Decimal
from functools import cache
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emporion.market.budget import within_budget
from emporion.market.cost import CostModel, interruption_usd_per_hour, lustre_gib
from emporion.market.cost_lines import Cost, CostLine
from emporion.market.intent.model import (
    Access,
    Budget,
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

A100 = Gpus(("a100-40gb", "a100-80gb"), ("a100",), 16, 16)
DEMO = Intent("demo", Resources(A100), Budget(max_hourly_usd=Decimal(16)))
GB = 10**9


@cache
def snapshot() -> Catalogue:
    return load_bundled()


@pytest.fixture
def bundled() -> Catalogue:
    return snapshot()


def found(bundled: Catalogue, offer_id: str) -> Offer:
    kind = frozenset({offer_id.split("/")[-2]})
    return next(offer for offer in bundled.find_offers(OfferFilter(instance_types=kind)) if offer.id == offer_id)


def p4d(bundled: Catalogue) -> Pool:
    return Pool(found(bundled, "aws/us-east-1/use1-az2/p4d.24xlarge/spot"), 2)


def invented(usd: str, *, market: Market = Market.ON_DEMAND, gpus: int = 8, provider: str = "acme") -> Offer:
    return Offer(
        f"{provider}/r1/t/{market}", provider, "r1", None, "t", market, Decimal(usd), "h100-80gb-sxm", gpus,
        Decimal(80), None, None, "a test", "2026-11-30",
    )  # fmt: skip


def lines_of(cost: Cost) -> dict[str, CostLine]:
    lines = {line.item: line for line in cost.lines}
    assert len(lines) == len(cost.lines)
    return lines


def with_(**changes: Any) -> Intent:
    return dataclasses.replace(DEMO, **changes)


def demo_cost(bundled: Catalogue, loss_s: int | None = 600, **changes: Any) -> Cost:
    return CostModel(with_(**changes), bundled).cost([p4d(bundled)], loss_s_per_day=loss_s)


# The whole chain


def test_the_demo_stays_within_16_dollars_in_its_full_chain_and_at_its_upper_bound(bundled: Catalogue) -> None:
    cost = demo_cost(bundled, loss_s=3600)
    assert cost.part("compute") == 2 * Decimal("6.5323") + Decimal("0.0416")
    assert cost.upper_total is not None
    assert Decimal(13) < cost.total < cost.upper_total < Decimal(16)
    assert within_budget(cost, DEMO) == []


def test_every_item_of_an_aws_cluster_has_its_line(bundled: Catalogue) -> None:
    lines = lines_of(demo_cost(bundled))
    amounts = {item: str(line.usd_per_hour) for item, line in lines.items() if line.usd_per_hour is not None}
    assert amounts == {
        "2 x p4d.24xlarge spot": "13.0646",
        "controller": "0.0416",
        "root disk": "0.043835616",
        "controller disk": "0.003287671",
        "NAT gateway": "0.045000000",
        "NAT public IPv4": "0.005000000",
        "fees": "0",
        "interruptions": "0.090726389",
    }
    assert {item for item, line in lines.items() if line.usd_per_hour is None} == {
        "checkpoints", "NAT data", "data transfer",
    }  # fmt: skip
    assert lines["NAT public IPv4"].quality == "secondary"
    assert lines["NAT public IPv4"].source.startswith("global figure; ")
    assert lines["root disk"].quality == "quoted"


def test_without_nat_six_endpoints_are_priced_instead(bundled: Catalogue) -> None:
    lines = lines_of(demo_cost(bundled, access=Access(nat=False)))
    endpoints = sorted(item for item in lines if item.startswith("endpoint ") and item != "endpoint data")
    assert endpoints == [
        "endpoint ec2messages", "endpoint ecr.api", "endpoint ecr.dkr", "endpoint logs", "endpoint ssm",
        "endpoint ssmmessages",
    ]  # fmt: skip
    assert {lines[item].usd_per_hour for item in endpoints} == {Decimal("0.010000000")}
    assert not any(item.startswith("NAT") for item in lines)


def test_without_a_scheduler_there_is_no_controller(bundled: Catalogue) -> None:
    lines = lines_of(demo_cost(bundled, scheduler="none"))
    assert not {"controller", "controller disk"} & set(lines)


def test_the_controller_is_the_cheapest_machine_with_two_vcpus_in_the_pools_zone(bundled: Catalogue) -> None:
    controller = CostModel(DEMO, bundled).controller("aws", "us-east-1", "use1-az2")
    assert controller is not None
    assert controller.id == "aws/us-east-1/use1-az2/t3.medium/on_demand"


def test_a_controller_without_a_priced_machine_is_unknown(bundled: Catalogue) -> None:
    offer = found(bundled, "aws/us-west-1/usw1-az1/g4dn.xlarge/on_demand")
    cost = CostModel(DEMO, bundled).cost([Pool(offer, 1)], loss_s_per_day=0)
    assert lines_of(cost)["controller"].usd_per_hour is None
    assert "controller" in cost.unknown
    assert cost.upper_total is None


def test_checkpoints_take_14_bytes_per_parameter_twice(bundled: Catalogue) -> None:
    line = lines_of(demo_cost(bundled, model=Model(parameters=13 * 10**9)))["checkpoints"]
    assert line.quantity == Decimal(364)
    assert line.usd_per_hour == Decimal("0.011468493")


def test_checkpoints_of_an_unknown_model_are_bounded_by_the_gpus_memory(bundled: Catalogue) -> None:
    line = lines_of(demo_cost(bundled))["checkpoints"]
    assert (line.usd_per_hour, line.quantity) == (None, None)
    most_gb = Decimal(16 * 80) / 16 * 14 * 2
    assert line.upper_usd_per_hour == (most_gb * Decimal("0.023") / 730).quantize(Decimal("1e-9")) + Decimal("1e-9")


def test_a_lustre_file_system_is_priced_by_the_size_that_is_sold(bundled: Catalogue) -> None:
    asked = Memory(2 * 10**12, binary=False)
    intent = with_(resources=Resources(A100, storage=asked, storage_type="lustre"))
    assert lustre_gib(intent) == 2400
    line = lines_of(CostModel(intent, bundled).cost([p4d(bundled)], loss_s_per_day=0))["file system"]
    assert line.quantity == Decimal(2400 * 2**30) / GB
    assert (line.unit_price, line.quality) == (Decimal("0.145"), "secondary")


@pytest.mark.parametrize(("gib", "sold"), [(1, 1200), (1200, 1200), (1201, 2400), (2401, 4800), (4800, 4800)])
def test_lustre_sizes(gib: int, sold: int) -> None:
    resources = Resources(None, storage=Memory(gib << 30, binary=True), storage_type="lustre")
    assert lustre_gib(with_(resources=resources)) == sold


def test_a_provider_whose_chain_is_unknown_says_so(bundled: Catalogue) -> None:
    cost = CostModel(DEMO, bundled).cost([Pool(invented("20"), 1)], loss_s_per_day=0)
    assert cost.total == Decimal(20)
    assert cost.upper_total is None
    assert [cost.part(name) for name in ("storage", "network", "fees")] == [None, None, None]
    assert {"controller", "storage", "network", "fees"} <= set(cost.unknown)


@pytest.mark.parametrize(
    "offer_id",
    [
        "gcp/us-central1/us-central1-a/a2-highgpu-8g/on_demand",
        "azure/eastus/Standard_ND96asr_v4/on_demand",
        "aws/eu-north-1/eun1-az3/p4d.24xlarge/spot",
    ],
)
def test_the_chain_of_each_cloud_is_priced_or_marked(bundled: Catalogue, offer_id: str) -> None:
    cost = CostModel(DEMO, bundled).cost([Pool(found(bundled, offer_id), 2)], loss_s_per_day=60)
    for part in ("compute", "storage", "network", "fees", "interruptions"):
        assert cost.part(part) is not None, part
    for line in cost.lines:
        assert line.source
        assert (line.quality == "unknown") == (line.usd_per_hour is None), line


def test_regions_that_no_table_knows_are_priced_alike_and_marked(bundled: Catalogue) -> None:
    model = CostModel(DEMO, bundled)
    one, other = (model.overhead("aws", region, 2) for region in ("mars-1", "mars-2"))
    assert one == other
    assert one.upper is None
    for line in one.lines:
        assert line.quality in ("reference", "secondary", "unknown", "assumed"), line


def test_cloud_nat_is_charged_per_machine_up_to_its_cap(bundled: Catalogue) -> None:
    model = CostModel(DEMO, bundled)
    for nodes, quantity in ((2, 3), (31, 32), (100, 32)):
        line = next(line for line in model.overhead("gcp", "us-central1", nodes).lines if line.item == "NAT gateway")
        assert line.quantity == quantity
        assert line.usd_per_hour == Decimal("0.0014") * quantity


# Data


def test_data_without_hours_is_unknown_with_its_sum_told(bundled: Catalogue) -> None:
    data = DataSet(source="s3://b/us-east-2", size=Memory(500 * GB, binary=False))
    line = lines_of(demo_cost(bundled, data=(data,)))["data from s3://b/us-east-2"]
    assert line.usd_per_hour is None
    assert "5 USD once" in line.source


def test_data_from_elsewhere_is_unknown(bundled: Catalogue) -> None:
    data = DataSet(source="https://example.org/x", size=Memory(GB, binary=False))
    cost = demo_cost(bundled, data=(data,), model=Model(hours=Decimal(8)))
    assert cost.unknown[-1] == "data from https://example.org/x"
    assert cost.upper_total is None


def test_checkpoints_to_another_clouds_store_pay_that_store_and_the_traffic(bundled: Catalogue) -> None:
    intent = with_(
        checkpoint_path="s3://b/c",
        model=Model(parameters=10**9),
        lifecycle=Lifecycle(checkpoint_interval_s=3600),
    )
    offer = found(bundled, "gcp/us-central1/us-central1-a/a2-highgpu-8g/on_demand")
    lines = lines_of(CostModel(intent, bundled).cost([Pool(offer, 2)], loss_s_per_day=0))
    assert lines["checkpoints"].unit_price == Decimal("0.023")
    assert lines["checkpoint traffic"].quantity == Decimal(14)
    month = Decimal(14 * 730)
    expected = 1024 * Decimal("0.12") + (10240 - 1024) * Decimal("0.11")
    assert month < 10240
    expected -= (10240 - month) * Decimal("0.11")
    assert lines["checkpoint traffic"].usd_per_hour == (expected / 730).quantize(Decimal("1e-9"))


# Machines


def test_29_an_all_in_machine_is_charged_once_and_an_attached_gpu_is_in_its_price(bundled: Catalogue) -> None:
    offer = found(bundled, "gcp/us-central1/us-central1-a/g2-standard-4/on_demand")
    cost = CostModel(with_(scheduler="none"), bundled).cost([Pool(offer, 1)], loss_s_per_day=0)
    assert cost.part("compute") == offer.usd_per_hour
    month = CostModel(with_(scheduler="none"), bundled).cost([Pool(invented("0.70", gpus=1), 1)], loss_s_per_day=0)
    assert month.total * 730 == Decimal(511)
    attached = CostModel(with_(scheduler="none"), bundled).cost([Pool(invented("0.75", gpus=1), 1)], loss_s_per_day=0)
    assert attached.total * 730 == Decimal("547.50")


def test_30_spot_is_priced_as_spot_with_the_reruns_as_a_line_of_their_own(bundled: Catalogue) -> None:
    pool = Pool(dataclasses.replace(invented("9", market=Market.SPOT), on_demand_usd_per_hour=Decimal(24)), 2)
    cost = CostModel(with_(scheduler="none"), bundled).cost([pool], loss_s_per_day=1800)
    compute, interruptions = cost.part("compute"), cost.part("interruptions")
    assert compute is not None
    assert interruptions is not None
    assert compute * 730 == Decimal(13140)
    assert interruptions * 730 == Decimal("273.75")


def test_unknown_interruptions_are_unknown(bundled: Catalogue) -> None:
    cost = demo_cost(bundled, loss_s=None)
    assert cost.part("interruptions") is None
    assert "interruptions" in cost.unknown


# Budgets


def broken(cost: Cost, **budget: Any) -> list[str]:
    return [breach.text for breach in within_budget(cost, with_(budget=Budget(**budget)))]


def bare(usd: str, count: int = 1, *, hours: Decimal | None = None) -> Cost:
    line = CostLine(
        "compute", "machines", None, Decimal(count), "node-hour", Decimal(usd), Decimal(usd) * count,
        Decimal(usd) * count, "a test", None, "quoted",
    )  # fmt: skip
    return Cost((line,), 8 * count, hours)


@pytest.mark.parametrize(
    ("usd", "count", "ceiling", "kept"),
    [("56", 1, "57", True), ("60", 1, "57", False), ("48", 1, "44", False), ("56", 4, "57", False)],
)
def test_31_the_ceiling_is_on_the_total(usd: str, count: int, ceiling: str, *, kept: bool) -> None:
    assert (broken(bare(usd, count), max_hourly_usd=Decimal(ceiling)) == []) is kept


def test_the_upper_total_is_judged_where_there_is_one(bundled: Catalogue) -> None:
    cost = demo_cost(bundled)
    between = (cost.total + cost.judged) / 2
    assert broken(cost, max_hourly_usd=between) != []
    assert broken(cost, max_hourly_usd=cost.judged) == []


# Sums


AMOUNTS = st.decimals(min_value=0, max_value=10_000, places=9)


@given(st.lists(st.tuples(st.sampled_from(["compute", "storage", "network"]), st.none() | AMOUNTS), max_size=30))
def test_the_parts_and_the_lines_sum_to_the_total_exactly(drawn: list[tuple[str, Decimal | None]]) -> None:
    lines = tuple(
        CostLine(part, f"item {number}", None, None, "", None, amount, amount, "a test", None, "quoted")
        for number, (part, amount) in enumerate(drawn)
    )
    cost = Cost(lines, 0, None)
    shown = cost.to_json()
    known = [Decimal(line["usd_per_hour"]) for line in shown["lines"] if line["usd_per_hour"] is not None]
    assert Decimal(shown["total"]) == sum(known, Decimal(0)) == cost.total
    parts = [Decimal(shown[name]) for name in ("compute", "storage", "network") if shown[name] is not None]
    assert sum(parts, Decimal(0)) == cost.total


@given(data=st.data())
def test_a_cost_is_the_sum_of_machines_sites_and_interruptions(data: st.DataObject) -> None:
    catalogue = snapshot()
    every = catalogue.find_offers(OfferFilter(machines="gpu"))
    drawn = data.draw(st.lists(st.tuples(st.integers(0, len(every) - 1), st.integers(1, 9)), min_size=1, max_size=3))
    loss_s = data.draw(st.integers(0, 86_400))
    pools = [Pool(every[index], count) for index, count in drawn]
    model = CostModel(with_(model=Model(parameters=7 * 10**9)), catalogue)
    nodes: dict[tuple[str, str], int] = {}
    for pool in pools:
        place = (pool.offer.provider, pool.offer.region)
        nodes[place] = nodes.get(place, 0) + pool.count
    compute = sum((pool.usd_per_hour for pool in pools), Decimal(0))
    overheads = [model.overhead(*place, count) for place, count in nodes.items()]
    interruptions = interruption_usd_per_hour(compute, loss_s)
    cost = model.cost(pools, loss_s_per_day=loss_s)
    assert cost.total == compute + sum((each.total for each in overheads), Decimal(0)) + interruptions
    uppers = [each.upper for each in overheads]
    if cost.upper_total is None:
        assert None in uppers
    else:
        assert cost.upper_total == compute + sum(each for each in uppers if each is not None) + interruptions
        assert cost.upper_total >= cost.total


def test_the_json_has_decimal_strings_and_nulls(bundled: Catalogue) -> None:
    shown = demo_cost(bundled).to_json()
    assert list(shown) == [
        "compute", "storage", "transfer", "network", "fees", "interruptions", "total", "upper_total", "per_gpu",
        "run_total", "upper_run_total", "unknown", "lines",
    ]  # fmt: skip
    assert shown["total"] == "13.294049676"
    assert shown["run_total"] is None
    assert shown["upper_run_total"] is None
    run = demo_cost(bundled, model=Model(hours=Decimal(12))).to_json()
    assert Decimal(run["run_total"]) == Decimal(run["total"]) * 12
    assert Decimal(run["upper_run_total"]) == Decimal(run["upper_total"]) * 12
    assert list(shown["lines"][0]) == [
        "item", "stage", "quantity", "unit", "unit_price", "usd_per_hour", "upper_usd_per_hour", "source", "as_of",
        "quality",
    ]  # fmt: skip
