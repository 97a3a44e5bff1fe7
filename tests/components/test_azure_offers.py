"""Azure's list prices, against answers in the shape that the Retail Prices API documents."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from cloud_ask import NOW, FakeAsk, imported, prices
from hypothesis import given, settings
from hypothesis import strategies as st

from emporion.components.azure.offers import ADAPTER
from emporion.market.errors import UserError
from emporion.market.money import Rate

H100 = "Standard_ND96isr_H100_v5"
A100 = "Standard_NC24ads_A100_v4"


def meter(**changes: Any) -> dict[str, Any]:
    """Return a meter as the API lists it (documented fields; the figures are made up)."""
    return {
        "currencyCode": "USD",
        "tierMinimumUnits": 0.0,
        "retailPrice": 98.32,
        "unitPrice": 98.32,
        "armRegionName": "eastus",
        "location": "US East",
        "effectiveStartDate": "2024-05-01T00:00:00Z",
        "meterId": "11111111-0000-0000-0000-000000000001",
        "meterName": "ND96isr H100 v5",
        "productId": "DZH318Z0CQ6B",
        "skuId": "DZH318Z0CQ6B/0012",
        "productName": "Virtual Machines NDsr H100 v5 Series",
        "skuName": "ND96isr H100 v5",
        "serviceName": "Virtual Machines",
        "serviceId": "DZH313Z7MMC8",
        "serviceFamily": "Compute",
        "unitOfMeasure": "1 Hour",
        "type": "Consumption",
        "isPrimaryMeterRegion": True,
        "armSkuName": H100,
        **changes,
    }


def page(*items: Mapping[str, Any], following: str | None = None) -> dict[str, Any]:
    return {
        "BillingCurrency": "USD",
        "CustomerEntityId": "Default",
        "CustomerEntityType": "Retail",
        "Items": list(items),
        "NextPageLink": following,
        "Count": len(items),
    }


def asked(*items: Mapping[str, Any]) -> FakeAsk:
    """Return an API with these GPU meters and no CPU ones."""
    return FakeAsk(lambda _url, params, _headers: page(*(items if "Standard_N" in params["$filter"] else ())))


SPOT = meter(meterName="ND96isr H100 v5 Spot", skuName="ND96isr H100 v5 Spot", retailPrice=19.66)


def test_the_linux_prices_are_found_among_their_relatives() -> None:
    ask = asked(
        meter(),
        SPOT,
        meter(meterName="ND96isr H100 v5 Low Priority", skuName="ND96isr H100 v5 Low Priority", retailPrice=9.83),
        meter(productName="Virtual Machines NDsr H100 v5 Series Windows", retailPrice=102.74),
        meter(
            productName="Virtual Machines NDsr H100 v5 Series Windows",
            meterName="ND96isr H100 v5 Spot",
            skuName="ND96isr H100 v5 Spot",
            retailPrice=24.1,
        ),
        meter(productName="NDsr H100 v5 Series Cloud Services", retailPrice=105.0),
        meter(productName="NDsr H100 v5 Series Dedicated Host", retailPrice=130.0),
        meter(type="Reservation", reservationTerm="1 Year", retailPrice=550000.0),
        meter(type="DevTestConsumption", retailPrice=90.0),
        meter(unitOfMeasure="1/Month", retailPrice=70000.0),
        meter(tierMinimumUnits=1000.0, retailPrice=80.0),
        meter(armRegionName="", retailPrice=1.0),
    )
    assert prices(ADAPTER.fetch(ask)) == {("eastus", H100): ("98.32", "19.66")}


def test_of_several_meters_in_force_the_newest_counts() -> None:
    ask = asked(
        meter(effectiveStartDate="2023-08-01T00:00:00Z", retailPrice=120.0),
        meter(effectiveStartDate="2026-11-01T00:00:00Z", retailPrice=91.5),
        meter(effectiveStartDate="2027-01-01T00:00:00Z", retailPrice=60.0),
        meter(
            effectiveStartDate="2026-11-20T00:00:00Z",
            effectiveEndDate="2026-11-30T00:00:00Z",
            retailPrice=50.0,
        ),
    )
    assert prices(ADAPTER.fetch(ask)) == {("eastus", H100): ("91.5", "")}


def test_of_equally_new_meters_the_primary_one_counts_then_the_dearer() -> None:
    ask = asked(
        meter(retailPrice=99.0, isPrimaryMeterRegion=False),
        meter(retailPrice=97.0, meterId="a"),
        meter(retailPrice=96.0, meterId="b"),
    )
    assert prices(ADAPTER.fetch(ask)) == {("eastus", H100): ("97", "")}


def test_a_row_says_what_the_machine_is_from_our_own_table_and_when_it_was_asked(tmp_path: Path) -> None:
    [row] = ADAPTER.fetch(asked(meter(), SPOT))
    assert (row["gpu_count"], row["vcpus"]) == ("8", "96"), "cases/market.md 07: not 12"
    assert row["as_of"] == "2026-12-01T06:00:00Z"
    assert row["source"] == "Azure Retail Prices API"
    offers = imported([row], tmp_path).offers
    assert {(offer.market.value, offer.gpu, offer.gpu_count, offer.usd_per_hour) for offer in offers} == {
        ("on_demand", "h100-80gb-sxm", 8, Decimal("98.32")),
        ("spot", "h100-80gb-sxm", 8, Decimal("19.66")),
    }


def test_a_type_that_no_table_describes_is_left_out_and_named(caplog: pytest.LogCaptureFixture) -> None:
    other = meter(armSkuName="Standard_NX9000", meterName="NX9000")
    with caplog.at_level(logging.WARNING):
        assert set(prices(ADAPTER.fetch(asked(meter(), other)))) == {("eastus", H100)}
    assert "Standard_NX9000" in caplog.text


def test_machines_without_gpu_that_a_cluster_uses_are_asked_for_by_name() -> None:
    cpu = meter(armSkuName="Standard_D4s_v5", meterName="D4s v5", skuName="D4s v5", retailPrice=0.192)
    ask = FakeAsk(
        lambda _url, params, _headers: page(cpu if "armSkuName eq 'Standard_D4s_v5'" in params["$filter"] else meter())
    )
    rows = {row["instance_type"]: row for row in ADAPTER.fetch(ask)}
    assert set(rows) == {H100, "Standard_D4s_v5"}
    assert (rows["Standard_D4s_v5"]["gpu_count"], rows["Standard_D4s_v5"]["vcpus"]) == ("0", "4")
    assert all("priceType eq 'Consumption'" in params["$filter"] for _, params, _ in ask.asked)


def test_pages_are_followed_to_the_last() -> None:
    second = "https://prices.azure.com:443/api/retail/prices?$filter=x&$skip=1000"

    def answer(url: str, params: Mapping[str, str], _headers: Mapping[str, str]) -> Any:
        if "skip=1000" in url:
            assert params == {}, "the link holds all parameters"
            return page(SPOT)
        return page(meter(), following=second) if "Standard_N" in params["$filter"] else page()

    ask = FakeAsk(answer)
    assert prices(ADAPTER.fetch(ask)) == {("eastus", H100): ("98.32", "19.66")}
    assert ask.told[-1] == ("pages of meters", 3, None)


def test_another_currency_is_named_and_converted_with_its_rate_only(tmp_path: Path) -> None:
    rows = list(ADAPTER.fetch(asked(meter(currencyCode="EUR", retailPrice=90.0))))
    assert rows[0]["currency"] == "EUR"
    [offer] = imported(rows, tmp_path, {"EUR": Rate(Decimal("1.1"), "2026-11-30")}).offers
    assert offer.usd_per_hour == Decimal("99.00")
    with pytest.raises(UserError, match="no rate for EUR"):
        imported(rows, tmp_path)


def test_a_price_of_zero_is_no_price(tmp_path: Path) -> None:
    rows = list(ADAPTER.fetch(asked(meter(), meter(armRegionName="westus2", retailPrice=0.0))))
    catalogue = imported(rows, tmp_path)
    assert [offer.region for offer in catalogue.offers] == ["eastus"]
    assert any(note.kind == "unpriced" for note in catalogue.notes)


@pytest.mark.parametrize(
    ("body", "why"),
    [
        pytest.param("<html>busy</html>", "without items", id="html"),
        pytest.param({"error": {"code": "400"}}, "without items", id="an error"),
        pytest.param(page(), "names no price", id="an empty list"),
        pytest.param({**page(meter()), "Count": 100}, "1 of 100 items", id="a partial page"),
        pytest.param(page(meter(), following="https://example.org/next"), "next page", id="a page elsewhere"),
        pytest.param(page(meter(retailPrice="a lot")), "'a lot' as retailPrice", id="no number"),
        pytest.param(page(meter(retailPrice=-1.0)), "-1.0", id="below zero"),
        pytest.param(page(meter(retailPrice=float("nan"))), "nan", id="not a number"),
        pytest.param(page(meter(effectiveStartDate="soon")), "'soon' as a date", id="no date"),
        pytest.param(page(meter(), meter(currencyCode="EUR")), "several currencies: EUR, USD", id="two currencies"),
        pytest.param(page(meter(currencyCode=None)), "without currencyCode", id="no currency"),
    ],
)
def test_an_answer_that_is_not_as_documented_is_an_error(body: Any, why: str) -> None:
    with pytest.raises(UserError, match=why) as caught:
        list(ADAPTER.fetch(FakeAsk(lambda *_: body)))
    assert (caught.value.code, caught.value.exit_code) == ("E-ADAPTER", 1)


def test_a_page_that_leads_back_to_itself_is_an_error() -> None:
    here = "https://prices.azure.com/api/retail/prices?$skip=1000"
    with pytest.raises(UserError, match="next page"):
        list(ADAPTER.fetch(FakeAsk(lambda *_: page(meter(), following=here))))


def test_what_the_api_refuses_reaches_the_refresh_as_it_is() -> None:
    def busy(*_: object) -> Any:
        raise UserError("E-ADAPTER", "prices.azure.com answers 429 after 5 attempts")

    with pytest.raises(UserError, match="429"):
        list(ADAPTER.fetch(FakeAsk(busy)))


METERS = [
    meter(),
    meter(retailPrice=97.5),
    SPOT,
    meter(armSkuName=A100, meterName="NC24ads A100 v4", retailPrice=3.673, effectiveStartDate="2026-01-01T00:00:00Z"),
    meter(armSkuName=A100, meterName="NC24ads A100 v4", retailPrice=4.0),
    meter(armRegionName="westeurope", isPrimaryMeterRegion=False, retailPrice=101.0),
    meter(armRegionName="westeurope", retailPrice=100.0),
]


@settings(max_examples=40, deadline=None)
@given(st.permutations(METERS))
def test_the_order_of_meters_changes_nothing(items: list[Mapping[str, Any]]) -> None:
    assert list(ADAPTER.fetch(asked(*items))) == list(ADAPTER.fetch(asked(*METERS)))


def test_now_is_the_only_clock() -> None:
    ask = asked(meter(effectiveStartDate="2026-12-01T06:00:00Z"))
    assert ask.now == NOW
    assert prices(ADAPTER.fetch(ask)) == {("eastus", H100): ("98.32", "")}
