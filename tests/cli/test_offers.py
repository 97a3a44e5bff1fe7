from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pytest
from terminal import Emporion


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
