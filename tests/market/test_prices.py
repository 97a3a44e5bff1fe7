"""The price book: a region's own price or a marked one, and traffic in marginal bands."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emporion.market.prices import Band, EgressRate, price_book
from emporion.market.tables import rows

BOOK = price_book()


def test_a_regions_own_price_is_quoted_with_source_and_date() -> None:
    price = BOOK.find("aws", "eu-central-1", "block_disk_gb_month", "gp3")
    assert price is not None
    assert (price.usd, price.unit, price.quality) == (Decimal("0.0952"), "usd/GB-month", "quoted")
    assert (price.price_region, price.as_of, price.reference) == ("eu-central-1", "2022-09-03", False)
    assert "cortex" in price.source


def test_of_several_sources_the_quoted_one_wins_then_the_newest() -> None:
    price = BOOK.find("aws", "us-east-1", "block_disk_gb_month", "gp3")
    assert price is not None
    assert (price.quality, price.as_of) == ("quoted", "2024-07-01")


@pytest.mark.parametrize(
    ("provider", "region", "item", "variant", "price_region"),
    [
        ("aws", "eu-west-1", "nat_gb", "nat_gateway", "us-east-1"),
        ("aws", "eu-west-1", "vpc_endpoint_hour", "interface", "us-east-1"),
        ("aws", "us-east-1", "ipv4_hour", "any_public_ipv4", "*"),
        ("azure", "eastus", "nat_hour", "standard", "westeurope"),
        ("azure", "westeurope", "block_disk_gb_month", "standard_ssd", "eastus"),
        ("gcp", "europe-west4", "nat_hour", "cloud_nat_per_vm", "us-central1"),
        ("aws", "eu-west-1", "object_gb_month", "hot", "us-east-1"),
    ],
)
def test_another_regions_price_is_never_passed_off_as_the_regions(
    provider: str, region: str, item: str, variant: str, price_region: str
) -> None:
    price = BOOK.find(provider, region, item, variant)
    assert price is not None
    assert (price.region, price.price_region, price.reference) == (region, price_region, True)


def test_what_has_no_price_has_none() -> None:
    assert BOOK.find("azure", "eastus", "lustre_gb_month", "azure_managed_lustre") is None
    assert BOOK.find("lambda", "us-east-1", "nat_hour", "nat_gateway") is None


def test_every_figure_of_the_snapshot_is_found_in_its_region() -> None:
    for row in rows("ancillary.csv"):
        price = BOOK.find(row["provider"], row["region"], row["item"], row["variant"])
        assert price is not None
        assert price.price_region == row["region"]


@pytest.mark.parametrize(
    ("provider", "region", "to", "usd_per_gb"),
    [
        ("aws", "us-east-1", None, "0.09"),
        ("aws", "us-east-1", ("gcp", "us-central1"), "0.09"),
        ("aws", "us-east-1", ("aws", "eu-west-1"), "0.02"),
        ("aws", "af-south-1", None, "0.154"),
        ("aws", "us-east-1", ("aws", "il-central-1"), "0.02"),
        ("azure", "eastus", None, "0.087"),
        ("azure", "westeurope", None, "0.0875"),
        ("azure", "westeurope", ("azure", "northeurope"), "0.02"),
        ("azure", "westeurope", ("azure", "eastus"), "0.05"),
        ("gcp", "us-central1", None, "0.12"),
        ("gcp", "us-central1", ("gcp", "us-east1"), "0.01"),
        ("gcp", "us-central1", ("gcp", "europe-west4"), "0.08"),
        ("gcp", "us-central1", ("gcp", "australia-southeast1"), "0.15"),
        ("gcp", "australia-southeast1", ("gcp", "us-central1"), "0.15"),
    ],
)
def test_28_traffic_has_the_rate_of_its_way(
    provider: str, region: str, to: tuple[str, str] | None, usd_per_gb: str
) -> None:
    rate = BOOK.egress(provider, region, to)
    assert rate is not None
    assert rate.first_usd_per_gb == Decimal(usd_per_gb)
    assert rate.cost(Decimal(500)) == 500 * Decimal(usd_per_gb)


def test_traffic_without_a_figure_has_no_rate() -> None:
    assert BOOK.egress("lambda", "us-east-1", None) is None
    assert BOOK.egress("gcp", "me-west1", ("gcp", "me-central1")) is None


def test_a_volume_pays_each_band_at_its_own_rate_and_the_free_one_is_taken_as_used() -> None:
    rate = BOOK.egress("aws", "us-east-1", None)
    assert rate is not None
    assert rate.cost(Decimal(9_900)) == Decimal(891)
    assert rate.cost(Decimal(10_000)) == Decimal(891) + 100 * Decimal("0.085")
    assert rate.cost(Decimal(0)) == 0


RATES = [
    rate
    for row in rows("egress.csv")
    if row["scope_to"] == "internet" and (rate := BOOK.egress(row["provider"], row["scope_from"], None)) is not None
]
VOLUMES = st.decimals(min_value=0, max_value=1_000_000, places=3)


@given(st.sampled_from(RATES), VOLUMES, VOLUMES)
def test_more_traffic_never_costs_less_and_pays_no_more_than_its_dearest_band(
    rate: EgressRate, one: Decimal, other: Decimal
) -> None:
    low, high = sorted((one, other))
    assert rate.cost(low) <= rate.cost(high)
    assert rate.cost(high) <= high * max(band.usd_per_gb for band in rate.bands)


@given(st.sampled_from(RATES), st.lists(VOLUMES, min_size=1, max_size=6))
def test_what_lines_add_one_after_the_other_is_the_price_of_the_whole(rate: EgressRate, sizes: list[Decimal]) -> None:
    added, before = [], Decimal(0)
    for size in sizes:
        added.append(rate.beyond(before, size))
        before += size
    assert sum(added) == rate.cost(before)
    assert all(usd >= 0 for usd in added)


@given(st.sampled_from(RATES), VOLUMES)
def test_each_band_is_paid_at_its_own_rate(rate: EgressRate, volume: Decimal) -> None:
    bands = rate.bands[1:] if len(rate.bands) > 1 and rate.bands[0].usd_per_gb == 0 else rate.bands
    expected, left = Decimal(0), volume
    for number, band in enumerate(bands):
        last = number == len(bands) - 1
        size = left if last or band.end_gb is None else min(left, band.end_gb - band.start_gb)
        expected += size * band.usd_per_gb
        left -= size
    assert rate.cost(volume) == expected


@given(VOLUMES)
def test_beyond_the_last_known_band_its_rate_goes_on(volume: Decimal) -> None:
    rate = EgressRate((Band(Decimal(0), Decimal(10), Decimal("0.1")),), "quoted", "a test", None, "r")
    assert rate.cost(volume) == volume * Decimal("0.1")


def test_every_line_of_a_chain_has_a_price_except_the_known_hole() -> None:
    without = [
        (row["provider"], row["line"])
        for row in rows("chain.csv")
        if row["item"] and BOOK.find(row["provider"], "nowhere", row["item"], row["variant"]) is None
    ]
    assert without == [("azure", "file system")]
