"""The market cases that choose (cases/market.md)."""

from __future__ import annotations

import json
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path

import pytest
from plans import NOW, cheapest_type, plan_of, plan_with

from emporion.market.intent import Intent, intent_from_flags, intent_hash
from emporion.market.money import parse_rates
from emporion.market.offers import Catalogue, load_csv
from emporion.market.plan import Plan, explain, make_plan, plan_json


def test_case_01_a_family_covers_its_variants_and_a_variant_only_itself(market: Callable[..., Catalogue]) -> None:
    catalogue = market(
        "nebius,eu-north1,,x1,A100,1,40,8,64,1.00,,test,2026-07",
        "nebius,eu-north1,,x2,A100,1,80,8,64,1.60,,test,2026-07",
    )
    assert cheapest_type(plan_of(catalogue, gpus="A100-80GB:1")) == "x2"
    assert cheapest_type(plan_of(catalogue, gpus="A100:1")) == "x1"
    assert plan_json(plan_of(catalogue, gpus="A100:1"))["solutions"][0]["nodes"][0]["vram_gb_per_gpu"] == 40


def test_case_04_nvl_has_94_gb(market: Callable[..., Catalogue]) -> None:
    catalogue = market(
        "runpod,global,,n,H100-NVL,1,94,8,64,2.6,,test,2026-07", "runpod,global,,s,H100-SXM,1,80,8,64,2.4,,test,2026-07"
    )
    assert cheapest_type(plan_of(catalogue, gpus="H100:1", min_vram="90GB")) == "n"
    assert cheapest_type(plan_of(catalogue, gpus="H100:1", min_vram="94GB")) == "n"
    none = plan_of(catalogue, gpus="H100:1", min_vram="95GB")
    assert none.error is not None
    assert "the largest H100 seen has 94 GB" in none.error.what
    assert [(each.change, each.after) for each in none.relaxations] == [("resources.gpus.min_vram", "94gb")]
    few = plan_of(catalogue, gpus="H100:1", min_vram="90GB")
    assert [(each.reason, each.offers) for each in few.rejected] == [("less than 90 GB of memory per GPU", 1)]
    checks = {check.key: check.passed for check in explain(few, "runpod/global/s/on_demand").checks}
    assert (checks["resources.gpus.type"], checks["resources.gpus.min_vram"]) == (True, False)


def test_case_09_mig_slices_are_not_gpus(market: Callable[..., Catalogue]) -> None:
    catalogue = market("onprem,here,,k,A100-80GB,1,10,8,64,10,,test,2026-07,1g.10gb,7", more=",mig,advertised")
    assert not plan_of(catalogue, gpus="A100:2").feasible
    (found,) = plan_of(catalogue, gpus="A100:3", mig="1g.10gb").solutions
    assert (found.gpus, found.pools[0].count, found.pools[0].offer.gpu_count) == (3, 1, 7)
    assert found.pools[0].offer.gpu_vram_gb == 10
    assert any(
        "3 of 7 MIG slices are used" in warning for warning in plan_of(catalogue, gpus="A100:3", mig="1g.10gb").warnings
    )


def test_case_12_mi325x_has_256_gb(market: Callable[..., Catalogue]) -> None:
    catalogue = market("nebius,eu-north1,,c,MI300X,8,192,8,64,16,,test,2026-07")
    assert not plan_of(catalogue, gpus="any:8", min_vram="260GB").feasible
    assert cheapest_type(plan_of(catalogue, gpus="MI300X:8")) == "c"
    assert cheapest_type(plan_of(catalogue, gpus="amd:192GB:8")) == "c"
    unnamed = market("nebius,eu-north1,,u,MI999X,8,256,8,64,20,,test,2026-07")
    assert [each.reason for each in plan_of(unnamed, gpus="amd:8").rejected] == ["not known who makes its GPUs"]


def test_case_14_a_range_takes_a_whole_box_inside_it(market: Callable[..., Catalogue]) -> None:
    catalogue = market("onprem,here,,w,H100-SXM,8,80,8,64,20,,test,2026-07")
    (whole,) = plan_of(catalogue, gpus="H100:4..8").solutions
    assert (whole.gpus, whole.surplus) == (8, 4)
    none = plan_of(catalogue, gpus="H100:2..4")
    assert not none.feasible
    assert any(each.reason == "no whole number of machines with 8 GPUs makes 2..4" for each in none.rejected)
    shared = plan_of(catalogue, gpus="H100:2..4", share=True)
    (part,) = shared.solutions
    assert (part.gpus, part.cost.part("compute")) == (4, Decimal(20))
    assert any("4 of 8 GPUs are used" in warning for warning in shared.warnings)


def test_case_17_spot_that_is_dearer_loses_and_is_warned_about(market: Callable[..., Catalogue]) -> None:
    catalogue = market("runpod,global,,t,A40,1,48,8,64,0.44,0.49,test,2026-07")
    for rule in ("any", "on_demand"):
        (found,) = plan_of(catalogue, gpus="A40:1", market=rule).solutions
        assert found.pools[0].offer.market == "on_demand"
    spot = plan_of(catalogue, gpus="A40:1", market="spot")
    assert spot.solutions[0].pools[0].usd_per_hour == Decimal("0.49")
    assert any("dearer than on-demand" in warning for warning in spot.warnings)


def test_case_17_at_equal_price_spot_loses(market: Callable[..., Catalogue]) -> None:
    catalogue = market("runpod,global,,t,A40,1,48,8,64,0.44,0.44,test,2026-07")
    (found,) = plan_of(catalogue, gpus="A40:1").solutions
    assert found.pools[0].offer.market == "on_demand"


def test_case_19_the_tier_is_part_of_the_offer_and_another_tier_does_not_take_its_place(
    market: Callable[..., Catalogue],
) -> None:
    community = "runpod,global,,A6000x2,rtx-a6000,2,48,8,64,0.98,,test,2026-12-01,community"
    secure = "runpod,global,,A6000x2,rtx-a6000,2,48,8,64,1.52,,test,2026-12-01,secure"
    both = plan_of(market(community, secure, more=",tier"), gpus="A6000:2", max_cost="1.00", scheduler="none")
    (found,) = both.solutions
    (pool,) = found.pools
    assert (pool.offer.id, pool.usd_per_hour) == (
        "runpod/global/A6000x2@community/on_demand", Decimal("0.98"),
    )  # fmt: skip
    refused = plan_of(market(secure, more=",tier"), gpus="A6000:2", max_cost="1.00", scheduler="none")
    assert refused.error is not None
    assert (refused.error.code, "the cheapest left is 1.52" in refused.error.what) == ("E-BUDGET", True)


@pytest.mark.parametrize(
    ("floor", "type_"),
    [({}, "h6"), ({"memory": "64GB"}, "h24"), ({"cpus": "32"}, "h48")],
    ids=["none", "memory", "cpus"],
)
def test_case_21_the_host_decides_among_machines_with_one_gpu(
    market: Callable[..., Catalogue], floor: dict[str, str], type_: str
) -> None:
    catalogue = market(
        "nebius,eu-north1,,h6,RTXPRO6000,1,96,6,24,1.52,,test,2026-07",
        "nebius,eu-north1,,h24,RTXPRO6000,1,96,24,90,3.0,,test,2026-07",
        "nebius,eu-north1,,h48,RTXPRO6000,1,96,48,180,4.5,,test,2026-07",
    )
    assert cheapest_type(plan_of(catalogue, gpus="RTXPRO6000:1", **floor)) == type_


def test_case_22_what_is_sold_on_spot_only_is_not_taken_on_demand(market: Callable[..., Catalogue]) -> None:
    catalogue = market("nebius,eu-north1,,h,H100-SXM,1,80,8,64,11,3,test,2026-07,spot", more=",purchase")
    assert not plan_of(catalogue, gpus="H100:1", market="on_demand").feasible
    assert plan_of(catalogue, gpus="H100:1").solutions[0].pools[0].usd_per_hour == 3


def test_case_23_a_currency_is_converted_at_the_rate_given_and_refused_without(tmp_path: Path) -> None:
    path = tmp_path / "offers.csv"
    columns = "provider,region,zone,instance_type,gpu,gpu_count,gpu_vram_gb,vcpus,ram_gb,on_demand_usd_hr,spot_usd_hr"
    path.write_text(
        f"{columns},source,as_of,currency\n"
        "ovh,x,,e,L4,1,24,8,64,10,,test,2026-11-30,EUR\naws,us-east-1,,u,L4,1,24,8,64,10.50,,test,2026-11-30,USD\n"
    )
    prices = {}
    for text in ("1.10", "1.00"):
        rates = parse_rates([f"EUR={text}@2026-11-29"], NOW.date())
        plan = make_plan(
            intent_from_flags(gpus="L4:1", scheduler="none"),
            load_csv(path, rates=rates),
            clouds={},
            now=NOW,
            rates=rates,
        )
        offer = plan.solutions[0].pools[0].offer
        prices[text] = (offer.instance_type, offer.usd_per_hour)
        assert plan_json(plan)["catalogue"]["rates"] == [{"currency": "EUR", "usd": text, "as_of": "2026-11-29"}]
    assert prices == {"1.10": ("u", Decimal("10.50")), "1.00": ("e", Decimal(10))}
    without = plan_of(load_csv(path), gpus="L4:1")
    assert cheapest_type(without) == "u"
    assert any("ovh/x/e: no rate for EUR" in warning for warning in without.warnings)
    assert "rates" not in plan_json(without)["catalogue"]


def test_case_26_old_prices_are_warned_about_or_refused(market: Callable[..., Catalogue]) -> None:
    catalogue = market(
        "azure,eastus,,Standard_NC24ads_A100_v4,a100-80gb,1,80,24,220,2.50,,test,2026-11-20",
        "aws,us-east-1,use1-az1,x1,a100-80gb,1,80,24,220,3.36,,test,2026-12-01",  # 2 % dearer, azure's Bastion counted
    )
    fresh = plan_of(catalogue, gpus="a100:1", max_price_age="24h")
    assert {each.pools[0].offer.provider for each in fresh.solutions} == {"aws"}
    any_age = plan_with({}, catalogue, {"gpus": "a100:1"})
    assert any_age.solutions[0].pools[0].offer.provider == "azure"
    assert any("prices of azure are of 2026-11-20" in warning for warning in any_age.warnings)


def test_case_26_a_date_still_to_come_is_no_date(market: Callable[..., Catalogue]) -> None:
    catalogue = market("aws,us-east-1,,w,A100,1,40,8,64,1.00,,test,2031-01-01")
    told = "prices of aws are dated 2031-01-01, which is still to come, and count as old"
    assert told in plan_of(catalogue, gpus="A100:1").warnings
    assert not plan_of(catalogue, gpus="A100:1", max_price_age="24h").feasible


@pytest.mark.parametrize(
    ("row", "gpus", "providers", "budget", "left"),
    [
        ("aws,eu-west-1,,p,H100,8,80,96,1000,60,,test,2026-12-01", 8, "aws", "57", "60"),
        ("gcp,us-central1,,a3,H100,8,80,96,1000,48,,test,2026-12-01", 8, "gcp", "44", "48"),
        ("aws,us-east-1,,p,H100,8,80,96,1000,56,,test,2026-12-01", 32, "aws", "57", "224"),
    ],
    ids=["after the failover", "host and GPUs together", "over all nodes"],
)
def test_case_31_the_budget_is_on_the_total(
    market: Callable[..., Catalogue], row: str, gpus: int, providers: str, budget: str, left: str
) -> None:
    plan = plan_of(market(row), gpus=f"H100:{gpus}", max_cost=budget, scheduler="none", providers=(providers,))
    assert plan.error is not None
    assert plan.error.exit_code == 3
    assert f"the cheapest left is {left}." in plan.error.what


def test_case_31_the_budget_is_blamed_with_the_cheapest_left_though_another_place_is_cheaper(
    market: Callable[..., Catalogue],
) -> None:
    catalogue = market(
        "aws,us-east-1,,p,H100,8,80,96,1000,56,,test,2026-07", "aws,eu-west-1,,p,H100,8,80,96,1000,60,,test,2026-07"
    )
    plan = plan_of(catalogue, gpus="H100:8", max_cost="57", regions=("eu-*",), scheduler="none")
    assert plan.error is not None
    assert (plan.error.code, plan.error.where) == ("E-BUDGET", "--max-cost")
    assert plan.error.what == "nothing serves 8 x H100 in eu-*; the cheapest left is 60.1563 USD an hour"


def test_case_36_rdma_required_is_not_served_by_plain_ethernet(bundled: Catalogue) -> None:
    two = plan_of(bundled, gpus="a100:16", rdma="required", providers=("aws",))
    assert all(pool.offer.fabric == "efa" for each in two.solutions for pool in each.pools)
    assert all(len(each.sites) == 1 for each in two.solutions)
    none = plan_of(bundled, gpus="t4g:2", rdma="required", providers=("aws",))
    assert not none.feasible
    assert any(each.reason == "no RDMA fabric" for each in none.rejected)


def test_case_37_a_spot_run_of_30_hours_has_no_cap_of_24(market: Callable[..., Catalogue]) -> None:
    catalogue = market("gcp,us-central1,us-central1-a,a2-highgpu-8g,a100-40gb,8,40,96,680,20,8,test,2026-12-01")
    plan = plan_of(catalogue, gpus="a100:8", market="spot", hours="30")
    (found,) = plan.solutions
    assert found.cost.run_total == found.cost.total * 30


def test_case_38_an_arm_host_needs_software_that_is_built_for_it(
    market: Callable[..., Catalogue], intent_of: Callable[..., Intent]
) -> None:
    catalogue = market(
        "nebius,eu-north1,,gh,GH200,1,96,8,64,1.5,,test,2026-07,arm64",
        "nebius,eu-north1,,h,H100-SXM,1,80,8,64,2.5,,test,2026-07,x86_64",
        more=",arch",
    )
    wish = "name: a\nresources: {gpus: {type: [gh200, h100], count: 1}}\nscheduler: none\n"

    def planned(more: str) -> Plan:
        return make_plan(intent_of(wish + more), catalogue, clouds={}, now=NOW)

    x86 = planned("image: {arch: x86_64}\n")
    assert cheapest_type(x86) == "h"
    assert [(each.reason, each.offers) for each in x86.rejected] == [("image has no arm64", 1)]
    assert cheapest_type(planned("image: {arch: [x86_64, arm64]}\n")) == "gh"
    assert cheapest_type(planned("")) == "gh"


@pytest.mark.parametrize("wish", ["tpu-v5e:8", "tpu-v5litepod-8", "v5e-8"])
def test_case_13_every_name_of_a_tpu_counts_its_chips(market: Callable[..., Catalogue], wish: str) -> None:
    catalogue = market("gcp,us-central1,,tpu-v5litepod-8,tpu v5litepod-8,8,16,,,9.6,,test,2026-07")
    (found,) = plan_of(catalogue, gpus=wish, scheduler="none").solutions
    assert (found.gpus, found.pools[0].count, found.pools[0].usd_per_hour) == (8, 1, Decimal("9.6"))


@pytest.mark.parametrize(
    ("wish", "type_"),
    [
        ({"gpus": "any:1", "min_vram": "24GB"}, "l4"),
        ({"gpus": "any:1", "min_vram": "24GiB"}, "h"),
        ({"gpus": "any:1", "min_vram": "24576MiB"}, "h"),
        ({"gpus": "any:1", "min_vram": "80GB"}, "h"),
        ({"gpus": "H100:80GB"}, "h"),
    ],
    ids=["nominal", "gib", "mib", "80gb", "with the name"],
)
def test_case_05_memory_is_nominal_and_units_with_an_i_are_strict(
    market: Callable[..., Catalogue], wish: dict[str, str], type_: str
) -> None:
    catalogue = market(
        "nebius,eu-north1,,l4,L4,1,22888 MiB,8,32,0.8,,test,2026-07",
        "nebius,eu-north1,,h,H100-SXM,1,81559 MiB,8,64,2.5,,test,2026-07",
    )
    assert cheapest_type(plan_of(catalogue, scheduler="none", **wish)) == type_


def test_case_10_a_makers_name_is_served_by_the_types_model(market: Callable[..., Catalogue]) -> None:
    catalogue = market("aws,us-east-1,,p5en.48xlarge,NVIDIA,8,144384 MiB,192,2048,84.8,,test,2026-07")
    for wish in ({"gpus": "H200:8"}, {"gpus": "any:8", "min_vram": "141GB"}):
        (found,) = plan_of(catalogue, scheduler="none", **wish).solutions
        assert found.pools[0].offer.gpu == "h200-141gb"


def test_case_02_every_spelling_of_one_request_gives_one_placement(market: Callable[..., Catalogue]) -> None:
    catalogue = market(
        "nebius,eu-north1,,x1,A100,1,40,8,64,1.00,,test,2026-07",
        "nebius,eu-north1,,x2,A100,1,80,8,64,1.60,,test,2026-07",
    )
    told = set()
    for wish in (
        {"gpus": "A100-80GB"}, {"gpus": "A100:80GB"}, {"gpus": "a100 80gb"}, {"gpus": "A100", "min_vram": "80GB"},
        {"gpus": "A100:80GB:1"},
    ):  # fmt: skip
        plan = plan_of(catalogue, scheduler="none", **wish)
        assert cheapest_type(plan) == "x2"
        told.add((intent_hash(plan.intent), json.dumps(plan_json(plan)["solutions"])))
    assert len({solutions for _, solutions in told}) == 1
    assert len({hashed for hashed, _ in told}) == 1
