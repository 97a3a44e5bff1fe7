"""The one Linux line of the AWS Price List among its relatives."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import pytest
from cloud_ask import NOW
from hypothesis import given, settings
from hypothesis import strategies as st

from emporion.components.aws.price_list import FILTERS, on_demand_prices
from emporion.market.errors import UserError

P5 = "p5.48xlarge"
KEY = ("us-east-1", P5)


def term(
    price: str, *, since: str = "2026-11-01T00:00:00Z", unit: str = "Hrs", currency: str = "USD"
) -> dict[str, Any]:
    """Return a term as the price list answers it (documented fields)."""
    return {
        "offerTermCode": "JRTCKXETXF",
        "sku": "ABCDEFGHIJKLMNOP",
        "effectiveDate": since,
        "termAttributes": {},
        "priceDimensions": {
            "ABCDEFGHIJKLMNOP.JRTCKXETXF.6YS6EN2CT7": {
                "rateCode": "ABCDEFGHIJKLMNOP.JRTCKXETXF.6YS6EN2CT7",
                "unit": unit,
                "beginRange": "0",
                "endRange": "Inf",
                "description": f"${price} per On Demand Linux {P5} Instance Hour",
                "appliesTo": [],
                "pricePerUnit": {currency: price},
            }
        },
    }


def line(price: str = "98.3200000000", *terms: dict[str, Any], **attributes: str) -> str:
    """Return an entry of `PriceList`: a product and its terms, as JSON text."""
    found = {
        "instanceType": P5,
        "regionCode": "us-east-1",
        "location": "US East (N. Virginia)",
        "locationType": "AWS Region",
        "operatingSystem": "Linux",
        "tenancy": "Shared",
        "preInstalledSw": "NA",
        "capacitystatus": "Used",
        "licenseModel": "No License required",
        "marketoption": "OnDemand",
        "operation": "RunInstances",
        "usagetype": f"BoxUsage:{P5}",
        "servicecode": "AmazonEC2",
        "vcpu": "192",
        "memory": "2048 GiB",
        "gpu": "8",
        **attributes,
    }
    reserved = {"x": {**term("55.0"), "termAttributes": {"LeaseContractLength": "1yr", "PurchaseOption": "No Upfront"}}}
    return json.dumps({
        "product": {"productFamily": "Compute Instance", "sku": "ABCDEFGHIJKLMNOP", "attributes": found},
        "serviceCode": "AmazonEC2",
        "terms": {
            "OnDemand": {str(at): each for at, each in enumerate(terms or (term(price),))},
            "Reserved": reserved,
        },
        "version": "20261101000000",
        "publicationDate": "2026-11-01T00:00:00Z",
    })  # fmt: skip


RELATIVES = {
    "windows": line("135.6", operatingSystem="Windows", operation="RunInstances:0002"),
    "red hat": line("100.6", operatingSystem="RHEL", operation="RunInstances:0010"),
    "sql server": line("180.0", preInstalledSw="SQL Ent", operation="RunInstances:0100"),
    "linux with a billing code": line("99.5", operation="RunInstances:0004"),
    "dedicated": line("104.2", tenancy="Dedicated", usagetype=f"DedicatedUsage:{P5}"),
    "on a host": line("0.0", tenancy="Host", usagetype=f"HostBoxUsage:{P5}"),
    "an unused reservation": line("97.0", capacitystatus="UnusedCapacityReservation"),
    "a reservation": line("0.0", capacitystatus="AllocatedCapacityReservation"),
    "a capacity block": line("31.46", marketoption="CapacityBlock"),
    "own licence": line("98.0", licenseModel="Bring your own license"),
    "a wavelength zone": line("150.0", locationType="AWS Wavelength Zone"),
}


@pytest.mark.parametrize("relative", RELATIVES.values(), ids=list(RELATIVES))
def test_a_relative_is_not_the_linux_price(relative: str) -> None:
    assert on_demand_prices([relative], NOW) == {}
    assert on_demand_prices([line(), relative], NOW)[KEY].amount == Decimal("98.32")


def test_terms_of_reservations_are_not_the_price() -> None:
    assert on_demand_prices([line("98.32")], NOW)[KEY].amount == Decimal("98.32")


def test_of_several_terms_the_newest_in_force_counts() -> None:
    terms = [
        term("120.0", since="2024-01-01T00:00:00Z"),
        term("98.32", since="2026-06-01T00:00:00Z"),
        term("60.0", since="2027-01-01T00:00:00Z"),
    ]
    assert on_demand_prices([line("", *terms)], NOW)[KEY].amount == Decimal("98.32")


def test_a_price_per_another_unit_is_no_price() -> None:
    assert on_demand_prices([line("", term("700000", unit="Quantity"))], NOW) == {}


def test_a_local_zone_has_its_own_price() -> None:
    local = line("110.0", locationType="AWS Local Zone", regionCode="us-east-1-atl-2", usagetype=f"ATL2-BoxUsage:{P5}")
    found = on_demand_prices([line(), local], NOW)
    assert {key: price.amount for key, price in found.items()} == {
        KEY: Decimal("98.32"),
        ("us-east-1-atl-2", P5): Decimal(110),
    }


def test_a_price_in_another_currency_names_it() -> None:
    found = on_demand_prices([line("", term("640.5", currency="CNY"), regionCode="cn-north-1")], NOW)
    assert found["cn-north-1", P5].currency == "CNY"


def test_what_was_asked_for_is_what_the_filters_say() -> None:
    assert FILTERS == {
        "operatingSystem": "Linux",
        "tenancy": "Shared",
        "preInstalledSw": "NA",
        "capacitystatus": "Used",
        "licenseModel": "No License required",
        "marketoption": "OnDemand",
    }
    other = line("1.0", instanceType="p5.4xlarge")
    assert set(on_demand_prices([line(), other], NOW, {"instanceType": P5})) == {KEY}


LINES = [line(), line("98.5"), line("97.0", regionCode="eu-north-1"), *RELATIVES.values()]


@settings(max_examples=30, deadline=None)
@given(st.permutations(LINES))
def test_the_order_of_lines_changes_nothing(lines: list[str]) -> None:
    assert on_demand_prices(lines, NOW) == on_demand_prices(LINES, NOW)
    assert on_demand_prices(lines, NOW)[KEY].amount == Decimal("98.5"), "of two equally new prices the dearer"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        pytest.param("<html>busy</html>", "not a product: '<html>busy", id="html"),
        pytest.param("[]", "not a product", id="a list"),
        pytest.param('{"product": {"attributes": {"regionCode": "us-east-1"}}}', "not a product", id="no type"),
        pytest.param(line("", {"effectiveDate": "2026-01-01"}), "a term without prices", id="no prices"),
        pytest.param(line("", term("1.0", since="soon")), "'soon' as a date", id="no date"),
        pytest.param(line("", term("much")), "'much' as pricePerUnit", id="no number"),
        pytest.param(line("", term("-5")), "'-5' as pricePerUnit", id="below zero"),
    ],
)
def test_a_line_that_is_not_as_documented_is_an_error(text: str, why: str) -> None:
    with pytest.raises(UserError, match=why) as caught:
        on_demand_prices([text], NOW)
    assert (caught.value.code, caught.value.exit_code) == ("E-ADAPTER", 1)
