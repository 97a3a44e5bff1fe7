"""What machines emit, carbon as an objective, and the ceiling on it."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pytest
from plans import AWS, NOW, plan_of, written

from emporion.market.carbon import carbon_warnings, emission
from emporion.market.intent import intent_from_flags, load_intent
from emporion.market.intent.model import Intent
from emporion.market.offer import Offer
from emporion.market.offers import Catalogue
from emporion.market.placement.front import dominates
from emporion.market.plan import Plan, explain, make_plan, plan_json

IRELAND = "aws,eu-west-1,euw1-az1,p4d.24xlarge,a100-40gb,8,40,96,1152,30,,test,2026-11-30"
STOCKHOLM = "aws,eu-north-1,eun1-az1,p4d.24xlarge,a100-40gb,8,40,96,1152,32,,test,2026-11-30"
NOWHERE = "aws,xx-nowhere-1,,p4d.24xlarge,a100-40gb,8,40,96,1152,20,,test,2026-11-30"


def first(catalogue: Catalogue) -> Offer:
    return next(iter(catalogue.offers))


def with_ceiling(catalogue: Catalogue, grams: str, **flags: object) -> Plan:
    intent = intent_from_flags(**flags)
    places = replace(intent.constraints, max_carbon_g_per_hour=Decimal(grams))
    return make_plan(replace(intent, constraints=places, scheduler="none"), catalogue, clouds=AWS, now=NOW)


def test_a_machine_emits_its_power_at_its_grid(tmp_path: Path) -> None:
    # 8 x 400 W + 96 x 4.26 W + 1152 GB x 0.392 W = 4060.544 W, times 1.135, times 316 g/kWh
    known = emission(first(written(tmp_path, (IRELAND,))))
    assert known.unknown == ()
    grid = next(row for row in _regions() if row["provider"] == "aws" and row["region"] == "eu-west-1")
    watts = 8 * 400 + 96 * 4.26 + 1152 * 0.392
    assert known.mg_per_hour == math.ceil(watts / 1000 * 1.135 * float(grid["grid_gco2_kwh"]) * 1000)


def _regions() -> list[dict[str, str]]:
    import csv  # noqa: PLC0415 - read once, here

    from emporion.market.tables import DATA  # noqa: PLC0415

    with (DATA / "regions.csv").open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


@pytest.mark.parametrize(
    ("change", "unknown"),
    [
        ({"region": "xx-nowhere-1"}, ("grid of aws xx-nowhere-1",)),
        ({"gpu": "gh200-96gb"}, ("power of gh200-96gb",)),
        ({"gpu": None}, ("power of its GPUs",)),
        ({"vcpus": None}, ("vCPUs or memory of the host",)),
        ({"gpu_count": 0, "gpu": None, "ram_gb": None}, ("vCPUs or memory of the host",)),
    ],
)
def test_what_is_not_known_is_bounded_and_named(
    tmp_path: Path, change: dict[str, object], unknown: tuple[str, ...]
) -> None:
    offer = first(written(tmp_path, (IRELAND,)))
    found = emission(replace(offer, **change))  # type: ignore[arg-type]
    assert found.unknown == unknown
    assert found.mg_per_hour > 0
    if offer.gpu_count and "gpu_count" not in change:
        assert found.mg_per_hour > emission(offer).mg_per_hour


def test_no_offer_of_the_market_emits_nothing(bundled: Catalogue) -> None:
    assert all(emission(offer).mg_per_hour > 0 for offer in bundled.offers)


def test_nothing_changes_where_carbon_is_not_asked(bundled: Catalogue) -> None:
    document = plan_json(plan_of(bundled, gpus="a100:8"))
    for each in document["solutions"]:
        assert "carbon_g_per_hour" not in each["objectives"]
        assert "carbon" not in each
    assert not any("carbon" in warning for warning in document["warnings"])


@pytest.mark.parametrize("prefer", ["carbon", "cost=1,carbon=3"])
def test_carbon_is_a_fourth_objective_when_the_preference_asks(bundled: Catalogue, prefer: str) -> None:
    intent = intent_from_flags(gpus="h100:8")
    plan = make_plan(intent, bundled, clouds=AWS, now=NOW, prefer=prefer)
    plain = make_plan(intent, bundled, clouds=AWS, now=NOW)
    vectors = [each.vector for each in plan.solutions]
    assert all(vector.carbon > 0 for vector in vectors)
    assert not any(dominates(one, other) for one in vectors for other in vectors)
    assert {each.vector[:3] for each in plain.solutions} <= {vector[:3] for vector in vectors}
    assert plan.recommended is not None
    if prefer == "carbon":
        assert plan.recommended.vector.carbon == min(vector.carbon for vector in vectors)
    for each, told in zip(plan.solutions, plan_json(plan)["solutions"], strict=True):
        milligrams = sum(emission(pool.offer).mg_per_hour * pool.count for pool in each.pools)
        assert told["objectives"]["carbon_g_per_hour"] == each.vector.carbon == -(-milligrams // 1000)
        assert told["carbon"]["bound"] is bool(told["carbon"]["unknown"])


def test_a_ceiling_keeps_out_what_emits_more_and_says_so(tmp_path: Path) -> None:
    market = written(tmp_path, (IRELAND, STOCKHOLM, NOWHERE))
    plan = with_ceiling(market, "100", gpus="a100:8")
    assert [each.pools[0].offer.region for each in plan.solutions] == ["eu-north-1"]
    reasons = {each.reason for each in plan.rejected}
    assert "every placement with it emits more than 100 g/h" in reasons
    assert "carbon not known: grid of its region" in reasons
    offer = next(each.id for each in market.offers if each.region == "xx-nowhere-1")
    assert "not known: grid of aws xx-nowhere-1" in repr(explain(plan, offer))


def test_the_ceiling_holds_for_the_whole_placement(tmp_path: Path) -> None:
    market = written(tmp_path, (STOCKHOLM,))
    grams = -(-emission(first(market)).mg_per_hour // 1000)
    assert with_ceiling(market, str(grams), gpus="a100:8").feasible
    assert not with_ceiling(market, str(grams), gpus="a100:16").feasible
    assert with_ceiling(market, str(2 * grams), gpus="a100:16").feasible


def test_a_ceiling_that_nothing_keeps_is_relaxed_to_the_least_that_serves(tmp_path: Path) -> None:
    market = written(tmp_path, (IRELAND, STOCKHOLM, NOWHERE))
    plan = with_ceiling(market, "1", gpus="a100:8")
    assert plan.error is not None
    assert plan.error.code == "E-CARBON"
    assert not any(each.reason.startswith("another placement") for each in plan.rejected)
    change = next(each for each in plan.relaxations if each.change == "constraints.max_carbon")
    assert change.before == "1g/h"
    grams = change.after.removesuffix("g/h")
    assert with_ceiling(market, grams, gpus="a100:8").feasible
    assert not with_ceiling(market, str(int(grams) - 1), gpus="a100:8").feasible


def test_the_intents_key_is_acted_on(intent_of: Callable[..., Intent]) -> None:
    intent = intent_of("resources: {gpus: a100:8}\nconstraints: {max_carbon: 1.5kg/h}\n")
    assert intent.constraints.max_carbon_g_per_hour == Decimal(1500)
    assert not [key for key in intent.not_acted_on if "carbon" in key]


def test_grids_measured_in_different_ways_are_not_ranked_in_silence(bundled: Catalogue) -> None:
    there = {offer.provider: offer for offer in bundled.offers if not emission(offer).unknown}
    assert carbon_warnings([there["aws"], there["azure"]]) == []
    mixed = carbon_warnings([there["aws"], there["gcp"]])
    assert mixed == [
        "carbon: the grids of aws and gcp come from different methods: do not rank one against the other by it"
    ]
    lambda_offer = next(offer for offer in bundled.offers if offer.provider == "lambda")
    assert carbon_warnings([lambda_offer])[0].startswith("carbon: not known, bounded above: grid of lambda")


def test_an_intent_file_with_a_ceiling_plans(tmp_path: Path, bundled: Catalogue) -> None:
    path = tmp_path / "green.yaml"
    path.write_text("name: green\nresources: {gpus: h100:8}\nconstraints: {max_carbon: 2kg/h}\n")
    plan = make_plan(load_intent(path), bundled, clouds=AWS, now=NOW)
    assert plan.solutions
    assert all(each.vector.carbon <= 2000 for each in (*plan.solutions, *plan.not_deployable))
