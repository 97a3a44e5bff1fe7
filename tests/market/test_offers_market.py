"""The market as a whole: the bundled snapshot, what was refreshed in its place, and what was registered."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pytest
from plans import plan_of

from emporion.market.errors import UserError
from emporion.market.offer import Fabric, Market, Nvlink, Software
from emporion.market.offers import Catalogue, OfferFilter, Rate, load_bundled, load_market
from emporion.market.offers.document import REQUIRED

HEADER = ",".join(REQUIRED)
GPU_ROW = "aws,us-east-1,,p4d.24xlarge,a100-40gb,8,40,96,1152,30,12,the price list,2026-12-01T05:00:00Z"
CPU_ROW = "aws,us-east-1,,m6i.xlarge,,0,,4,16,0.2,,the price list,2026-12-01T05:00:00Z"


def put(folder: Path, name: str, *rows: str, header: str = HEADER) -> None:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join([header, *rows]) + "\n")


def of(catalogue: Catalogue, provider: str, machines: str) -> set[str]:
    found = catalogue.find_offers(OfferFilter(providers=frozenset({provider}), machines=machines))
    return {offer.instance_type for offer in found}


def test_without_refreshed_or_registered_offers_the_market_is_the_bundled_snapshot(tmp_path: Path) -> None:
    bundled = load_bundled()
    (tmp_path / "empty" / "registered").mkdir(parents=True)
    for folder in (None, tmp_path / "missing", tmp_path / "empty"):
        market = load_market(folder)
        assert (market.version, market.source) == (bundled.version, "bundled")
        assert market.offers == bundled.offers


def test_refreshed_offers_take_the_place_of_that_providers_machines_with_gpus(tmp_path: Path) -> None:
    put(tmp_path, "aws.csv", GPU_ROW)
    market, bundled = load_market(tmp_path), load_bundled()
    assert of(market, "aws", "gpu") == {"p4d.24xlarge"}
    assert of(market, "aws", "cpu") == of(bundled, "aws", "cpu")
    assert of(market, "gcp", "any") == of(bundled, "gcp", "any")
    assert market.version != bundled.version


def test_refreshed_machines_without_gpus_take_the_place_of_those(tmp_path: Path) -> None:
    put(tmp_path, "aws.csv", CPU_ROW)
    market = load_market(tmp_path)
    assert of(market, "aws", "cpu") == {"m6i.xlarge"}
    assert of(market, "aws", "gpu") == of(load_bundled(), "aws", "gpu")


def test_registered_offers_come_on_top(tmp_path: Path) -> None:
    put(tmp_path, "registered/cellar.csv", "onprem,berlin,,rack,a100-80gb,8,80,,,0,,an invoice,2026-11-01")
    market = load_market(tmp_path)
    assert of(market, "onprem", "gpu") == {"rack"}
    assert len(market.offers) == len(load_bundled().offers) + 1


def test_a_spot_price_may_have_a_source_and_a_time_of_its_own(tmp_path: Path) -> None:
    put(
        tmp_path,
        "aws.csv",
        f"{GPU_ROW},spot history,2026-12-01T04:59:00Z",
        header=f"{HEADER},spot_source,spot_as_of",
    )
    offers = {
        offer.market: offer for offer in load_market(tmp_path).offers if offer.provider == "aws" and offer.gpu_count
    }
    assert (offers[Market.SPOT].source, offers[Market.SPOT].as_of) == ("spot history", "2026-12-01T04:59:00Z")
    assert (offers[Market.ON_DEMAND].source, offers[Market.ON_DEMAND].as_of) == (
        "the price list",
        "2026-12-01T05:00:00Z",
    )


def test_the_age_that_counts_is_that_of_the_price_that_would_be_paid(tmp_path: Path) -> None:
    old = GPU_ROW.replace("2026-12-01T05:00:00Z", "2026-07-20")
    put(tmp_path, "aws.csv", f"{old},spot history,2026-11-30T23:59:00Z", header=f"{HEADER},spot_source,spot_as_of")
    plan = plan_of(load_market(tmp_path), gpus="a100:8", providers=("aws",), max_price_age="1h")
    assert {pool.offer.market for each in plan.solutions for pool in each.pools} == {Market.SPOT}
    assert ("price older than constraints.max_price_age", 1) in {(each.reason, each.offers) for each in plan.rejected}
    assert not any("aws" in warning and "rely on" in warning for warning in plan.warnings)


def test_what_a_row_says_of_its_machine_is_in_the_offer(tmp_path: Path) -> None:
    header = f"{HEADER},cuda,driver,os,preinstalled,sla_percent,nvlink,fabric,fabric_gbps,network_gbps"
    row = "onprem,berlin,,rack,a100-80gb,8,80,,,0,,an invoice,2026-11-01"
    put(
        tmp_path,
        "registered/cellar.csv",
        f"{row},12.4,550.54,Ubuntu-22.04,pytorch==2.1.0; NCCL,99.5%,nvswitch,infiniband,1600,100",
        header=header,
    )
    (offer,) = load_market(tmp_path).find_offers(OfferFilter(providers=frozenset({"onprem"})))
    assert offer.software == Software("12.4", "550.54", "ubuntu-22.04", ("nccl", "pytorch==2.1.0"), Decimal("99.5"))
    assert (offer.nvlink, offer.fabric) == (Nvlink.NVSWITCH, Fabric.INFINIBAND)
    assert (offer.fabric_gbps, offer.network_gbps) == (Decimal(1600), Decimal(100))


def test_prices_in_another_currency_are_converted_in_registered_files_too(tmp_path: Path) -> None:
    row = "onprem,berlin,,rack,a100-80gb,1,80,,,2,,an invoice,2026-11-01,EUR"
    put(tmp_path, "registered/cellar.csv", row, header=f"{HEADER},currency")
    market = load_market(tmp_path, rates={"EUR": Rate(Decimal("1.5"))})
    (offer,) = market.find_offers(OfferFilter(providers=frozenset({"onprem"})))
    assert offer.usd_per_hour == 3


def test_the_file_of_one_provider_has_no_offers_of_another(tmp_path: Path) -> None:
    put(tmp_path, "gcp.csv", GPU_ROW, GPU_ROW.replace("aws,us-east-1", "gcp,us-central1").replace("p4d", "new"))
    market = load_market(tmp_path)
    assert [(note.file, note.row, note.reason) for note in market.refused] == [
        ("gcp.csv", 2, "provider is 'aws', this is the file of gcp")
    ]
    assert "market: refused: gcp.csv line 2: aws/us-east-1" in market.warnings[0]


def test_a_file_of_no_use_is_an_error_and_not_silence(tmp_path: Path) -> None:
    put(tmp_path, "aws.csv", GPU_ROW.replace("p4d.24xlarge", ""))
    with pytest.raises(UserError) as caught:
        load_market(tmp_path)
    assert str(tmp_path / "aws.csv") in str(caught.value)


def test_every_change_of_a_file_makes_another_version_and_is_seen_through_the_cache(tmp_path: Path) -> None:
    folder, cache = tmp_path / "offers", tmp_path / "cache"
    put(folder, "aws.csv", GPU_ROW)
    first = load_market(folder, cache=cache)
    again = load_market(folder, cache=cache)
    assert (again.version, again.offers) == (first.version, first.offers)
    put(folder, "aws.csv", GPU_ROW.replace(",30,", ",31,"))
    second = load_market(folder, cache=cache)
    (folder / "aws.csv").rename(folder / "registered.tmp")
    (folder / "registered").mkdir()
    (folder / "registered.tmp").rename(folder / "registered" / "aws.csv")
    third = load_market(folder, cache=cache)
    assert len({first.version, second.version, third.version}) == 3
    assert len(third.offers) > len(second.offers) == len(first.offers)
