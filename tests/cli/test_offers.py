from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from terminal import Emporion

from emporion.market.offers.document import REQUIRED


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """The Emporion home of the commands of a test (conftest.py)."""
    return tmp_path / "home"


def test_offers_are_listed_cheapest_per_gpu_first(emporion: Emporion) -> None:
    document = emporion("offers", "list", "--gpu", "a100-80gb", "--limit", "0", "--json").document
    assert document["schema"] == "emporion.offers/1"
    assert document["total"] == len(document["offers"])
    prices = [Decimal(one["usd_per_hour"]) / one["gpu_count"] for one in document["offers"]]
    assert prices == sorted(prices)
    assert {one["gpu"] for one in document["offers"]} == {"a100-80gb"}


def test_filters_hold_together(emporion: Emporion) -> None:
    arguments = ["--provider", "aws", "--region", "us-*", "--market", "spot", "--gpu", "a100", "--json"]
    offers = emporion("offers", "list", *arguments).document["offers"]
    assert offers
    assert {(one["provider"], one["market"], one["region"][:3]) for one in offers} == {("aws", "spot", "us-")}


def test_a_memory_filters_models(emporion: Emporion) -> None:
    offers = emporion("offers", "list", "--gpu", "any:80gb", "--limit", "0", "--json").document["offers"]
    assert offers
    assert all(Decimal(one["gpu_vram_gb"]) >= 80 for one in offers)


def test_the_list_says_how_much_it_leaves_out(emporion: Emporion) -> None:
    ran = emporion("offers", "list", "--limit", "3")
    assert len(ran.out.splitlines()) == 4
    assert "more: --limit 0 lists all" in ran.err


def test_verbose_names_the_source_of_each_price(emporion: Emporion) -> None:
    out = emporion("offers", "list", "--limit", "1", "--verbose").out
    assert out.splitlines()[0].split()[-1] == "SOURCE"
    assert "skypilot" in out


def test_machines_without_gpus(emporion: Emporion) -> None:
    offers = emporion("offers", "list", "--cpu", "--json").document["offers"]
    assert offers
    assert {one["gpu_count"] for one in offers} == {0}


def test_nothing_found_is_said(emporion: Emporion) -> None:
    ran = emporion("offers", "list", "--type", "p4d.24xlarge", "--provider", "gcp")
    assert (ran.code, ran.out) == (0, "")
    assert "no offer is like that" in ran.err


def test_a_type_is_explained_with_its_fabric_and_every_price(emporion: Emporion) -> None:
    ran = emporion("offers", "explain", "p4d.24xlarge")
    assert "8 x a100-40gb" in ran.out
    assert "efa" in ran.out
    (info,) = emporion("offers", "explain", "p4d.24xlarge", "--json").document["types"]
    assert info["topology"]["nics"] == 4
    assert {one["instance_type"] for one in info["offers"]} == {"p4d.24xlarge"}


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        pytest.param(["list", "--gpu", "a100x"], "E-GPU", "did you mean a100", id="gpu"),
        pytest.param(["list", "--provider", "asw"], "E-PROVIDER", "did you mean aws", id="provider"),
        pytest.param(["list", "--region", "us-eas-1"], "E-REGION", "did you mean us-east-1", id="region"),
        pytest.param(["list", "--market", "spott"], "E-USAGE", "'spot'", id="market"),
        pytest.param(["list", "--limit", "-1"], "E-USAGE", "--limit", id="limit"),
        pytest.param(["list", "--cpu", "--gpu", "a100"], "E-CONTRADICTION", "--cpu and --gpu", id="contradiction"),
        pytest.param(["explain", "p4d.24xlarg"], "E-TYPE", "did you mean p4d.24xlarge", id="type"),
        pytest.param(["list", "--offers", "nix.csv"], "E-OFFERS", "does not exist", id="file"),
    ],
)
def test_bad_input_is_told_with_a_way_out(arguments: list[str], code: str, says: str, emporion: Emporion) -> None:
    ran = emporion("offers", *arguments)
    assert (ran.code, ran.out) == (2, "")
    assert f"[{code}]" in ran.err
    assert says in ran.err


def test_a_file_takes_the_place_of_the_catalogue(emporion: Emporion, tmp_path: Path) -> None:
    head = (
        "provider,region,zone,instance_type,gpu,gpu_count,gpu_vram_gb,vcpus,ram_gb,on_demand_usd_hr,spot_usd_hr,"
        "source,as_of"
    )
    (tmp_path / "mine.csv").write_text(f"{head}\naws,us-east-1,,box,a100-80gb,8,80,96,1152,30,10,me,2026-11-01\n")
    offers = emporion("offers", "list", "--offers", str(tmp_path / "mine.csv"), "--json").document["offers"]
    assert [(one["instance_type"], one["market"], one["usd_per_hour"]) for one in offers] == [
        ("box", "spot", "10"),
        ("box", "on_demand", "30"),
    ]


@pytest.mark.parametrize(
    ("arguments", "holds"),
    [
        pytest.param(["--label", "h100-80gb"], lambda one: one["label"] == "h100-80gb", id="label"),
        pytest.param(["--label", "rtx6000-24gb"], lambda one: one["gpu"] == "quadro-rtx6000-24gb", id="quadro"),
        pytest.param(["--max-price", "$2/gpu/hr"], lambda one: Decimal(one["usd_per_gpu_hour"]) <= 2, id="per gpu"),
        pytest.param(["--min-price", "$20/hr"], lambda one: Decimal(one["usd_per_hour"]) >= 20, id="per machine"),
        pytest.param(
            ["--where", "vram_gb >= 80 and region == us-* and market == spot"],
            lambda one: Decimal(one["gpu_vram_gb"]) >= 80 and one["market"] == "spot",
            id="where",
        ),
    ],
)
def test_every_offer_listed_passes_the_filter(
    arguments: list[str], holds: Callable[[dict[str, Any]], bool], emporion: Emporion
) -> None:
    offers = emporion("offers", "list", *arguments, "--limit", "0", "--json").document["offers"]
    assert offers
    assert all(map(holds, offers))


@pytest.mark.parametrize(
    ("sort", "key"),
    [
        ("price", lambda one: Decimal(one["usd_per_hour"])),
        ("vram", lambda one: -Decimal(one["gpu_vram_gb"] or 0)),
        ("gpus", lambda one: -one["gpu_count"]),
        ("provider", lambda one: one["provider"]),
        ("type", lambda one: one["instance_type"]),
    ],
)
def test_offers_are_sorted_as_asked(sort: str, key: Callable[[dict[str, Any]], Any], emporion: Emporion) -> None:
    offers = emporion("offers", "list", "--sort", sort, "--limit", "0", "--json").document["offers"]
    assert offers == sorted(offers, key=key)


def test_the_newest_prices_come_first_and_each_tells_its_age(emporion: Emporion) -> None:
    offers = emporion("offers", "list", "--sort", "age", "--limit", "0", "--json").document["offers"]
    dates = [one["as_of"] for one in offers]
    assert dates == sorted(dates, reverse=True)
    assert all(one["age_s"] > 0 and one["source"] for one in offers)


def test_what_does_not_say_enough_is_counted_and_not_listed(emporion: Emporion) -> None:
    ran = emporion("offers", "list", "--where", "cuda >= 12.1")
    assert (ran.code, ran.out) == (0, "")
    assert "more do not say enough: cuda unknown" in ran.err
    document = emporion("offers", "list", "--where", "cuda >= 12.1", "--json").document
    assert document["offers"] == []
    assert document["unknown"]["cuda"] == emporion("offers", "list", "--json").document["total"]


def test_a_query_that_cannot_be_read_is_shown_with_its_place(emporion: Emporion) -> None:
    for command in (["offers", "list"], ["plan", "--gpus", "a100"]):
        ran = emporion(*command, "--where", "vrm_gb >= 80")
        assert (ran.code, ran.out) == (2, "")
        assert "--> --where\n      vrm_gb >= 80\n      ^^^^^^\n  try: did you mean vram_gb" in ran.err


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        pytest.param(["--label", "a100-81gb"], "E-GPU", "did you mean a100-80gb", id="label"),
        pytest.param(["--max-price", "2,5"], "E-NUMBER", "write '2.5' or '25'", id="comma"),
        pytest.param(["--max-price", "$2/day"], "E-MONEY", "write $16/hr", id="per day"),
        pytest.param(["--min-price", "nan"], "E-RANGE", "--min-price", id="nan"),
        pytest.param(["--sort", "prize"], "E-USAGE", "'price'", id="sort"),
    ],
)
def test_bad_filters_are_told_with_a_way_out(arguments: list[str], code: str, says: str, emporion: Emporion) -> None:
    ran = emporion("offers", "list", *arguments)
    assert (ran.code, ran.out) == (2, "")
    assert f"[{code}]" in ran.err
    assert says in ran.err


def test_a_type_is_explained_with_its_gpus_and_what_stands_it_up(emporion: Emporion) -> None:
    (info,) = emporion("offers", "explain", "p4d.24xlarge", "--json").document["types"]
    assert info["facts"]["label"] == "a100-40gb"
    assert info["facts"]["gpu_memory_bandwidth_gb_s"] == "1560"
    assert info["deploy_problem"] is None
    out = emporion("offers", "explain", "gpu_1x_h100_pcie").out
    assert "no component for lambda in this version" in out


def test_refreshed_offers_are_what_is_listed_and_planned_over(emporion: Emporion, home: Path) -> None:
    folder = home / "offers"
    folder.mkdir(parents=True)
    row = "aws,us-east-1,,p4d.24xlarge,a100-40gb,8,40,96,1152,30.5,12.5,the price list,2026-12-01T05:00:00Z"
    (folder / "aws.csv").write_text(f"{','.join(REQUIRED)}\n{row}\n")
    offers = emporion("offers", "list", "--provider", "aws", "--json").document["offers"]
    assert [one["usd_per_hour"] for one in offers] == ["12.5", "30.5"]
    plan = emporion("plan", "--gpus", "a100:8", "--providers", "aws", "--json").document
    nodes = [node for solution in plan["solutions"] for node in solution["nodes"]]
    assert {node["usd_per_hour"] for node in nodes} <= {"12.50", "30.50", "12.5", "30.5"}
    assert nodes


_MAIN = "import sys; from emporion.cli.main import main; sys.exit(main(sys.argv[1:]))"


def test_standard_input_is_an_offers_file(tmp_path: Path) -> None:
    row = "aws,us-east-1,,box,a100-80gb,8,80,96,1152,30,10,me,2026-11-01"
    ran = subprocess.run(
        [sys.executable, "-c", _MAIN, "offers", "list", "--offers", "-", "--json"],
        input=f"{','.join(REQUIRED)}\n{row}\n",
        env={**os.environ, "EMPORION_HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert [one["usd_per_hour"] for one in json.loads(ran.stdout)["offers"]] == ["10", "30"]
