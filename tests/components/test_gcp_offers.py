"""Google Cloud's list prices: a machine is the sum of its parts, of one region and one way of selling."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

import pytest
from cloud_ask import NOW
from hypothesis import given, settings
from hypothesis import strategies as st

from emporion.components.gcp.price_list import Amounts, PriceList, components_of
from emporion.market.errors import UserError

US = ("us-central1", "us-east1")
SPOT = " attached to Spot Preemptible VMs"


def sku(description: str, price: str, *, usage: str = "OnDemand", regions: tuple[str, ...] = US, **changes: Any) -> Any:
    """Return a SKU as the Cloud Billing Catalog lists it (documented fields); `price` per unit in USD."""
    amount = Decimal(price)
    group = "RAM" if description.endswith("Ram") else "GPU"
    expression = {
        "usageUnit": "GiBy.h" if " Ram" in description else "GiBy.mo" if "Storage" in description else "h",
        "displayQuantity": 1,
        "tieredRates": [
            {
                "startUsageAmount": 0,
                "unitPrice": {
                    "currencyCode": "USD",
                    "units": str(int(amount)),
                    "nanos": int((amount - int(amount)) * 10**9),
                },
            }
        ],
        **changes,
    }
    return {
        "name": "services/6F81-5844-456A/skus/0000-0000-0000",
        "skuId": "0000-0000-0000",
        "description": description,
        "category": {
            "serviceDisplayName": "Compute Engine",
            "resourceFamily": "Compute",
            "resourceGroup": group,
            "usageType": usage,
        },
        "serviceRegions": list(regions),
        "pricingInfo": [{"summary": "", "effectiveTime": "2026-11-01T00:00:00Z", "pricingExpression": expression}],
        "serviceProviderName": "Google",
    }


def priced(*skus: Mapping[str, Any]) -> PriceList:
    found = PriceList(NOW)
    found.take(skus)
    return found


def cost(prices: PriceList, name: str, amounts: Amounts, market: str = "on_demand", region: str = US[0]) -> str | None:
    billed = components_of(name)
    assert billed is not None
    total = prices.per_hour(billed, amounts, region, market)
    return None if total is None else str(round(total, 6))


def machine(cores: int, ram: int, devices: int = 0, ssd: int = 0) -> Amounts:
    return Amounts(Decimal(cores), Decimal(ram), devices, ssd)


G4 = [
    sku("G4 Instance Core running in Iowa", "0.04891"),
    sku("G4 Instance Ram running in Iowa", "0.00587"),
    sku("RTX 6000 96GB running in Iowa", "1.09565"),
]
H100 = [
    sku("A3 Instance Core running in Americas", "0.03"),
    sku("A3 Instance Ram running in Americas", "0.0025"),
    sku("Nvidia H100 80GB GPU running in Americas", "9.8"),
    sku("SSD backed Local Storage", "0.08"),
]


def test_a_machine_is_the_sum_of_its_cores_memory_and_gpus() -> None:
    # The total that karpenter-provider-gcp printed for it on 2026-08-03.
    assert cost(priced(*G4), "g4-standard-48", machine(48, 180, 1)) == "4.499930"


def test_a_gpu_that_a_machine_includes_counts_once() -> None:
    """cases/market.md 29: the card of a g2 is in no other SKU, and is added once."""
    prices = priced(
        sku("G2 Instance Core running in Americas", "0.025"),
        sku("G2 Instance Ram running in Americas", "0.003"),
        sku("Nvidia L4 GPU running in Americas", "0.56"),
    )
    assert cost(prices, "g2-standard-4", machine(4, 16, 1)) == "0.708000"
    assert cost(prices, "g2-standard-24", machine(24, 96, 2)) == "2.008000"


def test_a_slice_of_a_whole_machine_is_all_that_it_costs() -> None:
    prices = priced(
        sku("A4 Nvidia B200 (1 gpu slice) running in Americas", "16.11"),
        sku("A4 Instance Core running in Americas", "0.03"),
        sku("Spot Preemptible A4 Nvidia B200 (1 gpu slice) running in Americas", "4.9542"),
    )
    amounts = machine(224, 3968, 8, 12000)
    assert cost(prices, "a4-highgpu-8g", amounts) == "128.880000"
    assert cost(prices, "a4-highgpu-8g", amounts, "spot") == "39.633600", "listed as OnDemand, described as spot"


def test_bundled_local_ssd_is_paid_by_the_month() -> None:
    total = Decimal(208) * Decimal("0.03") + 1872 * Decimal("0.0025") + 8 * Decimal("9.8")
    total += 6000 * Decimal("0.08") / 730
    assert cost(priced(*H100), "a3-highgpu-8g", machine(208, 1872, 8, 6000)) == str(round(total, 6))


@pytest.mark.parametrize("missing", range(len(H100)), ids=["core", "ram", "gpu", "ssd"])
def test_without_one_of_its_parts_a_machine_has_no_price(missing: int) -> None:
    skus = [found for index, found in enumerate(H100) if index != missing]
    assert cost(priced(*skus), "a3-highgpu-8g", machine(208, 1872, 8, 6000)) is None


def test_one_regions_host_and_another_regions_gpu_are_never_added() -> None:
    skus = [
        sku("G4 Instance Core running in Iowa", "0.04", regions=("us-central1",)),
        sku("G4 Instance Ram running in Iowa", "0.005", regions=("us-central1",)),
        sku("RTX 6000 96GB running in Belgium", "1.0", regions=("europe-west1",)),
    ]
    for region in ("us-central1", "europe-west1"):
        assert cost(priced(*skus), "g4-standard-48", machine(48, 180, 1), region=region) is None


def test_spot_and_on_demand_are_never_added() -> None:
    prices = priced(
        *G4,
        sku("Spot Preemptible G4 Instance Core running in Iowa", "0.01", usage="Preemptible"),
        sku(f"RTX 6000 96GB{SPOT} running in Iowa", "0.4", usage="Preemptible"),
    )
    assert cost(prices, "g4-standard-48", machine(48, 180, 1), "spot") is None
    prices.take([sku("Spot Preemptible G4 Instance Ram running in Iowa", "0.001", usage="Preemptible")])
    assert cost(prices, "g4-standard-48", machine(48, 180, 1), "spot") == "1.060000"
    assert cost(prices, "g4-standard-48", machine(48, 180, 1)) == "4.499930"


@pytest.mark.parametrize(
    ("description", "usage"),
    [
        ("Commitment v1: Nvidia H100 80GB GPU running in Americas for 1 Year", "Commit1Yr"),
        ("Commitment v1: Nvidia H100 80GB GPU running in Americas for 1 Year", "OnDemand"),
        ("Nvidia H100 80GB GPU attached to DWS Defined Duration VMs running in Americas", "OnDemand"),
        ("Reserved Nvidia H100 80GB GPU in Americas in Calendar Mode", "OnDemand"),
        ("Nvidia H100 80GB GPU attached to Sole Tenancy VMs running in Americas", "OnDemand"),
        ("Nvidia H100 80GB Plus GPU running in Americas", "OnDemand"),
        ("DWS Defined Duration A3 Core running in Americas", "OnDemand"),
        ("Capacity Optimized Nvidia H100 80GB GPU running in Americas", "OnDemand"),
        ("A3 Sole Tenancy Instance Core running in Americas", "OnDemand"),
        ("A3 Custom Instance Ram running in Americas", "OnDemand"),
        ("SSD backed Local Storage attached to DWS Defined Duration VMs", "OnDemand"),
    ],
)
def test_a_relative_of_a_sku_is_another_price(description: str, usage: str) -> None:
    prices = priced(*H100, sku(description, "0.5", usage=usage))
    assert cost(prices, "a3-highgpu-8g", machine(208, 1872, 8, 6000)) == cost(
        priced(*H100), "a3-highgpu-8g", machine(208, 1872, 8, 6000)
    )


def test_an_h100_of_a3_mega_goes_by_two_names() -> None:
    for name in ("Mega", "Plus"):
        prices = priced(
            sku("A3Plus Instance Core running in Americas", "0.03"),
            sku("A3Plus Instance Ram running in Americas", "0.002"),
            sku(f"Nvidia H100 80GB {name} GPU running in Americas", "10.3"),
            sku("SSD backed Local Storage in Iowa", "0.08"),
        )
        assert cost(prices, "a3-megagpu-8g", machine(208, 1872, 8, 730)) == "92.464000"


def test_local_ssd_of_a_place_is_named_after_it() -> None:
    places = [
        sku("SSD backed Local Storage in Finland", "0.09", regions=("europe-north1",)),
        sku(f"SSD backed Local Storage{SPOT} in Finland", "0.03", usage="Preemptible", regions=("europe-north1",)),
    ]
    host = [{**found, "serviceRegions": ["europe-north1"]} for found in H100[:3]]
    assert cost(priced(*host, *places), "a3-highgpu-8g", machine(1, 1, 1, 730), region="europe-north1") == "9.922500"


def test_two_shared_vcpus_are_billed_as_one() -> None:
    prices = priced(
        sku("E2 Instance Core running in Americas", "0.02181159"),
        sku("E2 Instance Ram running in Americas", "0.00292353"),
    )
    assert cost(prices, "e2-medium", machine(2, 4)) == "0.033506", "the bundled price of us-central1"
    assert cost(prices, "e2-standard-2", machine(2, 8)) == "0.067011"


def test_a_tpu_is_priced_by_the_chip() -> None:
    prices = priced(
        sku("TpuV5e running in Las Vegas", "1.2", regions=("us-west4",)),
        sku(f"TpuV5e{SPOT} running in Las Vegas", "0.5", usage="Preemptible", regions=("us-west4",)),
    )
    assert cost(prices, "tpu-v5litepod-8", machine(0, 0, 8), region="us-west4") == "9.600000"
    assert cost(prices, "tpu-v5litepod-8", machine(0, 0, 8), "spot", region="us-west4") == "4.000000"


def test_a_free_tier_is_not_the_price() -> None:
    free = {"startUsageAmount": 0, "unitPrice": {"currencyCode": "USD", "units": "0", "nanos": 0}}
    paid = {"startUsageAmount": 744, "unitPrice": {"currencyCode": "USD", "nanos": 20_000_000}}
    prices = priced(
        sku("E2 Instance Core running in Americas", "0", tieredRates=[paid, free]),
        sku("E2 Instance Ram running in Americas", "0.01"),
    )
    assert cost(prices, "e2-standard-2", machine(2, 8)) == "0.120000"


def test_a_price_of_zero_is_no_price() -> None:
    assert (
        cost(priced(*G4[:2], sku("RTX 6000 96GB running in Iowa", "0")), "g4-standard-48", machine(48, 180, 1)) is None
    )


def test_memory_by_the_decimal_gigabyte_is_converted() -> None:
    ram = sku("G4 Instance Ram running in Iowa", "0.00587", usageUnit="GBy.h")
    total = 48 * Decimal("0.04891") + Decimal("1.09565") + 180 * Decimal("0.00587") * 2**30 / 10**9
    assert cost(priced(G4[0], ram, G4[2]), "g4-standard-48", machine(48, 180, 1)) == str(round(total, 6))


def test_a_price_per_another_unit_is_no_price() -> None:
    monthly = sku("RTX 6000 96GB running in Iowa", "800", usageUnit="mo")
    assert cost(priced(*G4[:2], monthly), "g4-standard-48", machine(48, 180, 1)) is None


def test_of_several_prices_the_newest_in_force_counts() -> None:
    gpu = sku("RTX 6000 96GB running in Iowa", "1.09565")
    old, new, later = (
        {
            **gpu["pricingInfo"][0],
            "effectiveTime": at,
            "pricingExpression": sku("x", price)["pricingInfo"][0]["pricingExpression"],
        }
        for at, price in (("2025-01-01T00:00:00Z", "3"), ("2026-11-15T00:00:00Z", "2"), ("2026-12-05T00:00:00Z", "1"))
    )
    prices = priced(*G4[:2], {**gpu, "pricingInfo": [old, new, later]})
    assert cost(prices, "g4-standard-48", machine(48, 180, 1)) == "5.404280"


@settings(max_examples=40, deadline=None)
@given(st.permutations([*G4, *H100, sku("RTX 6000 96GB running in Iowa", "1.2"), *H100[2:]]))
def test_the_order_of_skus_changes_nothing(skus: list[Any]) -> None:
    prices = priced(*skus)
    assert cost(prices, "g4-standard-48", machine(48, 180, 1)) == "4.604280", "of two equally new prices the dearer"
    assert cost(prices, "a3-highgpu-8g", machine(208, 1872, 8, 6000)) == cost(
        priced(*H100), "a3-highgpu-8g", machine(208, 1872, 8, 6000)
    )


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"pricingInfo": "none"}, "without a price"),
        ({"pricingInfo": [{"effectiveTime": "2026-11-01T00:00:00Z"}]}, "without a price"),
        ({"pricingInfo": [{"effectiveTime": "soon", "pricingExpression": {}}]}, "'soon' as a date"),
        ({"pricingInfo": [{"effectiveTime": "2026-11-01", "pricingExpression": {"usageUnit": "h"}}]}, "without rates"),
        (
            {
                "pricingInfo": [
                    {"effectiveTime": "2026-11-01", "pricingExpression": {"usageUnit": "h", "tieredRates": [{}]}}
                ]
            },
            "without a unit price",
        ),
    ],
)
def test_a_sku_that_is_not_as_documented_is_an_error(changed: Mapping[str, Any], why: str) -> None:
    with pytest.raises(UserError, match=why) as caught:
        priced({**G4[0], **changed})
    assert caught.value.code == "E-ADAPTER"


@pytest.mark.parametrize("price", [{"units": "many"}, {"units": "-1"}, {"nanos": "NaN"}])
def test_an_amount_that_is_none_is_an_error(price: Mapping[str, Any]) -> None:
    with pytest.raises(UserError, match="Cloud Billing Catalog API gives"):
        priced(sku("RTX 6000 96GB running in Iowa", "1", tieredRates=[{"unitPrice": price}]))


def test_two_currencies_in_one_list_are_an_error() -> None:
    euro = [{"unitPrice": {"currencyCode": "EUR", "units": "1"}}]
    with pytest.raises(UserError, match="several currencies"):
        priced(*G4, sku("RTX 6000 96GB running in Belgium", "1", tieredRates=euro))
