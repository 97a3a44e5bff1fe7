"""Queries as a constraint of a plan."""

from __future__ import annotations

from pathlib import Path

import pytest
from plans import AWS, NOW, plan_of

from emporion.market.errors import UserError
from emporion.market.intent import intent_from_flags, intent_from_json, intent_hash, intent_json, load_intent
from emporion.market.offers import Catalogue, load_bundled, load_csv
from emporion.market.offers.document import REQUIRED
from emporion.market.plan import make_plan
from emporion.market.plan.explain import explain
from emporion.market.query import parse_query


@pytest.fixture(scope="module")
def market() -> Catalogue:
    return load_bundled()


@pytest.fixture
def software(tmp_path: Path) -> Catalogue:
    path = tmp_path / "offers.csv"
    row = "acme,r1,,{},A100,1,40,8,64,{},,a test,2026-11-30,{},{}\n"
    path.write_text(
        f"{','.join(REQUIRED)},cuda,preinstalled\n"
        + row.format("old", "1.00", "11.8", "pytorch==1.13")
        + row.format("new", "1.20", "12.4", "pytorch==2.1.0 nccl")
        + row.format("mute", "0.90", "", "")
    )
    return load_csv(path)


def test_every_solution_passes_the_query_and_every_loser_says_which_part_it_fails(software: Catalogue) -> None:
    plan = plan_of(software, gpus="a100:1", where='cuda >= 12.1 and "pytorch==2.1.0" in preinstalled')
    assert [each.pools[0].offer.instance_type for each in plan.solutions] == ["new"]
    assert {(each.reason, each.offers) for each in plan.rejected} == {("not cuda >= 12.1", 1), ("cuda unknown", 1)}


def test_on_the_snapshot_the_query_is_a_filter_like_any_other(market: Catalogue) -> None:
    query = parse_query("usd_per_gpu_hour < 2 and region == us-* and fabric in (efa, infiniband)")
    plan = plan_of(market, gpus="a100:16", where=query.text)
    pools = [pool for each in (*plan.solutions, *plan.not_deployable) for pool in each.pools]
    assert pools
    assert all(query.test(pool.offer, NOW) for pool in pools)
    assert any(each.reason == "not usd_per_gpu_hour < 2" for each in plan.rejected)


def test_what_cannot_be_served_gives_way_by_one_part_of_the_query(software: Catalogue) -> None:
    plan = plan_of(software, gpus="a100:1", where="cuda >= 12.1 and usd_per_hour < 1")
    changes = {(each.change, each.after) for each in plan.relaxations}
    assert ("constraints.where", "cuda >= 12.1") in changes or ("constraints.where", "usd_per_hour < 1") in changes


def test_explain_shows_what_the_offer_says_of_each_part(software: Catalogue) -> None:
    plan = plan_of(software, gpus="a100:1", where='cuda >= 12.1 and "nccl" in preinstalled')
    checks = {
        check.asked: (check.seen, check.passed)
        for check in explain(plan, "acme/r1/mute/on_demand").checks
        if check.key == "constraints.where"
    }
    assert checks == {"cuda >= 12.1": ("cuda ?", False), '"nccl" in preinstalled': ("preinstalled ?", False)}


def test_equal_queries_are_one_intent_and_an_intent_without_one_is_what_it_was(tmp_path: Path) -> None:
    one, other = (intent_from_flags(gpus="a100", where=text) for text in ("8<=vcpus", "(vcpus >= 8)"))
    assert intent_hash(one) == intent_hash(other) != intent_hash(intent_from_flags(gpus="a100"))
    assert intent_from_json(intent_json(one)).constraints.where == "vcpus >= 8"
    assert "where" not in intent_json(intent_from_flags(gpus="a100"))["constraints"]
    path = tmp_path / "intent.yaml"
    path.write_text("gpu: a100\nconstraints:\n  where: vcpus >= 8\n")
    assert load_intent(path).constraints.where == "vcpus >= 8"


def test_a_query_that_cannot_be_read_is_shown_under_its_line(tmp_path: Path) -> None:
    path = tmp_path / "intent.yaml"
    path.write_text("gpu: a100\nconstraints:\n  where: vcpus => 8\n  regions: [us-*]\n")
    with pytest.raises(UserError) as caught:
        load_intent(path)
    assert caught.value.where == f"{path}:3  constraints.where\n      vcpus => 8\n            ^^"


def test_a_stage_passes_the_query_of_the_intent_and_its_own(tmp_path: Path, market: Catalogue) -> None:
    path = tmp_path / "intent.yaml"
    path.write_text(
        "constraints: {where: usd_per_hour < 100}\n"
        "stages:\n"
        "  - {name: train, resources: {gpus: a100:8}, hours: 1, constraints: {where: fabric == efa or gpus < 8}}\n"
        "  - {name: check, needs: [train], resources: {gpus: t4:1}, hours: 1}\n"
    )
    plan = make_plan(load_intent(path), market, clouds=AWS, now=NOW)
    assert plan.stages is not None
    asked = [
        {each.asked for each in choice.constraints if each.key == "constraints.where"}
        for choice in plan.stages.graph.choices
    ]
    assert asked == [{"usd_per_hour < 100", "fabric == efa or gpus < 8"}, {"usd_per_hour < 100"}]
