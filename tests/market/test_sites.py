"""Regions, their areas, zones."""

from __future__ import annotations

import pytest

from emporion.market.errors import UserError
from emporion.market.intent import intent_from_flags
from emporion.market.sites import (
    check_regions,
    is_local_zone,
    region_glob,
    region_info,
    region_matches,
    regions,
    store_of,
    zone_problem,
)
from emporion.market.tables import rows


@pytest.mark.parametrize(
    ("glob", "provider", "region", "matches"),
    [
        ("us-*", "aws", "us-east-1", True),
        ("us-*", "azure", "eastus", True),
        ("us-*", "vast", "Oregon,US,NA", True),
        ("us-east*", "azure", "westus", False),
        ("US-*", "gcp", "us-central1", True),
        ("us-*", "azure", "canadaeast", False),
        ("us-*", "gcp", "europe-west4", False),
        ("eu-*", "gcp", "europe-west4", True),
        ("eu-*", "vast", "Sverdlovsk Oblast,RU,EU", False),
        ("eastus", "azure", "eastus2", False),
        ("eastus*", "azure", "eastus2", True),
        ("*", "runpod", "global", True),
        ("us-*", "runpod", "global", False),
        ("us-*", "acme", "us-1", True),
    ],
)
def test_a_glob_names_a_region_or_its_area(glob: str, provider: str, region: str, *, matches: bool) -> None:
    assert region_matches((glob,), provider, region) is matches


def test_no_glob_names_every_region() -> None:
    assert region_matches((), "aws", "us-east-1")


def test_every_region_in_the_united_states_is_in_an_area_of_the_us_and_no_other() -> None:
    for row in rows("regions.csv"):
        assert row["area"].startswith("us-") == (row["country"] in ("United States", "US")), row


def test_every_region_has_a_name_that_an_intent_takes_and_that_means_it() -> None:
    for provider, region in regions():
        named = load_regions(region_glob(region))
        assert region_matches(named, provider, region), region


def load_regions(glob: str) -> tuple[str, ...]:
    return intent_from_flags(gpus="a100:1", regions=(glob,)).constraints.regions


def test_an_unknown_region_names_the_nearest() -> None:
    with pytest.raises(UserError) as caught:
        check_regions(["us-*", "us-east-11"], [])
    with pytest.raises(UserError) as both:
        check_regions(["us-esat-1", "mars", "us-esat-1"], [], where="--regions")
    assert [(each.what, each.where, each.fix) for each in both.value.problems()] == [
        ("no region is called 'us-esat-1'", "--regions", "did you mean us-east-1"),
        ("no region is called 'mars'", "--regions", "`emporion offers list` shows the regions"),
    ]
    assert (caught.value.code, caught.value.fix) == ("E-REGION", "did you mean us-east-1")


def test_a_region_of_the_catalogue_alone_is_known() -> None:
    check_regions(["mars-1"], [("acme", "mars-1")])


@pytest.mark.parametrize(
    ("provider", "zone", "fine"),
    [
        ("aws", "use1-az1", True),
        ("aws", "usw2-lax1-az2", True),
        ("aws", "us-east-1a", False),
        ("gcp", "us-central1-a", True),
        ("gcp", "use1-az1", False),
        ("acme", "anything", True),
    ],
)
def test_35_only_ids_are_zones(provider: str, zone: str, *, fine: bool) -> None:
    assert (zone_problem(provider, zone) is None) is fine


def test_every_zone_of_the_snapshot_is_an_id() -> None:
    zones = {(row["provider"], row["zone"]) for name in ("offers.csv", "cpu_offers.csv") for row in rows(name)}
    assert [site for site in zones if site[1] and zone_problem(*site)] == []


def test_local_zones() -> None:
    assert is_local_zone("aws", "use1-atl2-az1")
    assert not is_local_zone("aws", "use1-az1")
    assert not is_local_zone("aws", None)
    assert not is_local_zone("gcp", "us-central1-a")


def test_places_and_stores() -> None:
    info = region_info("aws", "us-east-1")
    assert info is not None
    assert (info.continent, info.area, str(info.lat)) == ("north-america", "us-east", "39.0288")
    assert region_info("aws", "nowhere") is None
    assert len(regions()) == 181


@pytest.mark.parametrize(
    ("url", "place"),
    [
        ("s3://b/x", ("aws", None)),
        ("gs://b/x", ("gcp", None)),
        ("az://b/x", ("azure", None)),
        ("abfss://c@account.dfs.core.windows.net/x", ("azure", None)),
        ("https://b.s3.eu-west-1.amazonaws.com/x", ("aws", "eu-west-1")),
        ("https://s3-us-west-2.amazonaws.com/b/x", ("aws", "us-west-2")),
        ("https://b.s3.us-gov-west-1.amazonaws.com/x", ("aws", "us-gov-west-1")),
        ("https://b.s3.amazonaws.com/x", ("aws", None)),
        ("https://storage.googleapis.com/b/x", ("gcp", None)),
        ("https://account.blob.core.windows.net/c/x", ("azure", None)),
        ("https://example.org/x", None),
        ("https://s3.example.org/x", None),
        ("hf://datasets/x", None),
        ("nfs://server/export", None),
        ("/mnt/data", None),
    ],
)
def test_the_provider_of_a_store_is_told_by_its_address(url: str, place: tuple[str, str | None] | None) -> None:
    assert store_of(url) == place


@pytest.mark.parametrize(
    ("region", "area"),
    [
        ("Texas,US", "us-other"), ("Texas, US", "us-other"), ("Texas,US,NA", "us-other"), ("US,NA", "us-other"),
        ("Windhoek,NA", "af-other"), ("Ulaanbaatar,MN", "ap-other"), ("Atlantis,XX", None), ("nowhere", None),
        ("US", None),
    ],
)  # fmt: skip
def test_a_place_that_no_table_has_lies_where_its_country_does(region: str, area: str | None) -> None:
    info = region_info("vast", region)
    assert (info.area if info else None) == area
    assert region_matches(("us-*",), "vast", region) is (area == "us-other")
