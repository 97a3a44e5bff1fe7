"""A price list with anything at all in any of its places: rows or an error of the adapter, never a traceback."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from typing import Any

import pytest
from cloud_ask import NOW, FakeAsk
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from emporion.components.aws.price_list import on_demand_prices
from emporion.components.azure.offers import ADAPTER as AZURE
from emporion.components.gcp.offers import Login, fetch_with
from emporion.market.errors import UserError

METER = {
    "currencyCode": "USD",
    "tierMinimumUnits": 0.0,
    "retailPrice": 98.32,
    "armRegionName": "eastus",
    "effectiveStartDate": "2024-05-01T00:00:00Z",
    "effectiveEndDate": None,
    "meterId": "1",
    "meterName": "ND96isr H100 v5",
    "productName": "Virtual Machines NDsr H100 v5 Series",
    "skuName": "ND96isr H100 v5",
    "unitOfMeasure": "1 Hour",
    "type": "Consumption",
    "isPrimaryMeterRegion": True,
    "armSkuName": "Standard_ND96isr_H100_v5",
}
AZURE_PAGE = {"Items": [METER, {**METER, "meterName": "ND96isr H100 v5 Spot"}], "NextPageLink": None, "Count": 2}


def sku(description: str, unit: str) -> dict[str, Any]:
    price = {"currencyCode": "USD", "units": "1", "nanos": 5}
    expression = {"usageUnit": unit, "tieredRates": [{"startUsageAmount": 0, "unitPrice": price}]}
    return {
        "description": f"{description} running in Iowa",
        "category": {"usageType": "OnDemand"},
        "serviceRegions": ["us-central1"],
        "pricingInfo": [{"effectiveTime": "2026-11-01T00:00:00Z", "pricingExpression": expression}],
    }


SKUS = {
    "skus": [sku("G2 Instance Core", "h"), sku("G2 Instance Ram", "GiBy.h"), sku("Nvidia L4 GPU", "h")],
    "nextPageToken": "",
}
G2 = {
    "name": "g2-standard-4",
    "description": "1 GPU",
    "guestCpus": 4,
    "memoryMb": 16384,
    "zone": "us-central1-a",
    "architecture": "X86_64",
    "deprecated": {"state": "DEPRECATED"},
    "accelerators": [{"guestAcceleratorType": "nvidia-l4", "guestAcceleratorCount": 1}],
    "bundledLocalSsds": {"partitionCount": 0},
}
MACHINES = {
    "items": {"zones/us-central1-a": {"machineTypes": [G2], "warning": {"code": "NO_RESULTS_ON_PAGE"}}},
    "unreachables": [],
    "warning": {"code": "NO_RESULTS_ON_PAGE"},
}
ACCELERATORS = {
    "items": {"zones/us-central1-a": {"acceleratorTypes": [{"name": "nvidia-l4", "zone": "us-central1-a"}]}}
}
LINE = {
    "product": {"attributes": {"instanceType": "p5.48xlarge", "regionCode": "us-east-1", "operatingSystem": "Linux"}},
    "terms": {
        "OnDemand": {
            "a": {
                "effectiveDate": "2026-11-01T00:00:00Z",
                "priceDimensions": {"b": {"unit": "Hrs", "pricePerUnit": {"USD": "98.32"}}},
            }
        }
    },
}

ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=12),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=5,
)
fuzzed = settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def places(document: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the path of every value within a document."""
    if path:
        yield path
    if isinstance(document, dict):
        for key, value in document.items():
            yield from places(value, (*path, key))
    elif isinstance(document, list):
        for index, value in enumerate(document):
            yield from places(value, (*path, index))


@st.composite
def damaged(draw: st.DrawFn, document: Any) -> Any:
    """Return a document with something else in one of its places, or with the place gone."""
    path = draw(st.sampled_from(list(places(document))))
    changed = copy.deepcopy(document)
    within = changed
    for step in path[:-1]:
        within = within[step]
    if draw(st.booleans()):
        within[path[-1]] = draw(ANYTHING)
    else:
        del within[path[-1]]
    return changed


def is_told(rows: Any) -> bool:
    """Return whether rows come, or the adapter says what is wrong."""
    try:
        return all(isinstance(cell, str) for row in rows for cell in row.values())
    except UserError as error:
        return error.code == "E-ADAPTER"


@fuzzed
@given(damaged(AZURE_PAGE))
def test_azure(page: Any) -> None:
    assert is_told(AZURE.fetch(FakeAsk(lambda *_: page)))


@fuzzed
@given(damaged({"skus": SKUS, "machineTypes": MACHINES, "acceleratorTypes": ACCELERATORS}))
def test_google_cloud(bodies: Any) -> None:
    ask = FakeAsk(lambda url, *_: bodies.get(url.rpartition("/")[2]))
    assert is_told(fetch_with(ask, lambda _: Login({}, "a-project")))


@fuzzed
@given(damaged(LINE))
def test_aws(line: Any) -> None:
    def rows() -> Iterator[dict[str, str]]:
        for key, price in on_demand_prices([json.dumps(line)], NOW).items():
            yield {"place": key[0], "type": key[1], "price": str(price.amount), "currency": price.currency}

    assert is_told(rows())


@pytest.mark.parametrize("rows", [{"a": 1}, {"a": None}])
def test_a_cell_that_is_no_text_would_be_seen(rows: Any) -> None:
    assert not is_told([rows])


def test_the_whole_documents_give_rows() -> None:
    bodies = {"skus": SKUS, "machineTypes": MACHINES, "acceleratorTypes": ACCELERATORS}
    assert list(AZURE.fetch(FakeAsk(lambda *_: AZURE_PAGE)))
    [row] = fetch_with(FakeAsk(lambda url, *_: bodies[url.rpartition("/")[2]]), lambda _: Login({}, "a-project"))
    assert row["on_demand_usd_hr"] == "21.000000105"
    assert on_demand_prices([json.dumps(LINE)], NOW)
