"""What the import makes of single rows: cases/market.md, with the right values."""

from __future__ import annotations

import csv
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path

import pytest

from emporion.market.errors import UserError
from emporion.market.offer import Market, Offer
from emporion.market.offers import Catalogue, Rate, load_csv

BASE = {
    "provider": "acme", "region": "r1", "zone": "", "instance_type": "t", "gpu": "A100", "gpu_count": "1",
    "gpu_vram_gb": "40", "vcpus": "8", "ram_gb": "64", "on_demand_usd_hr": "1.00", "spot_usd_hr": "",
    "source": "a test", "as_of": "2026-11-30",
}  # fmt: skip
GOOD = {"instance_type": "good", "on_demand_usd_hr": "1.50"}
Load = Callable[..., Catalogue]


@pytest.fixture
def load(tmp_path: Path) -> Load:
    def write(*rows: dict[str, str], rates: dict[str, Rate] | None = None) -> Catalogue:
        columns = list(dict.fromkeys([*BASE, *(name for row in rows for name in row)]))
        path = tmp_path / "offers.csv"
        with path.open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, columns, lineterminator="\n")
            writer.writeheader()
            writer.writerows([{**dict.fromkeys(columns, ""), **BASE, **row} for row in rows])
        return load_csv(path, rates=rates)

    return write


def only(catalogue: Catalogue) -> Offer:
    (offer,) = catalogue.offers
    return offer


def refusal(catalogue: Catalogue) -> str:
    """The one refused row; the good one, in line 2, is there."""
    assert [offer.instance_type for offer in catalogue.offers] == ["good"]
    (note,) = catalogue.refused
    assert note.row == 3
    return note.reason


def test_a_row_becomes_one_offer_per_market_with_the_machines_own_price(load: Load) -> None:
    on_demand, spot = load({"spot_usd_hr": "0.4"}).offers
    assert (on_demand.id, on_demand.usd_per_hour) == ("acme/r1/t/on_demand", Decimal("1.00"))
    assert (spot.id, spot.usd_per_hour, spot.on_demand_usd_per_hour) == ("acme/r1/t/spot", Decimal("0.4"), Decimal(1))


@pytest.mark.parametrize(
    ("printed", "gpu", "nominal", "mib"),
    [
        ("22888 MiB", "L4", "24", 22888),
        ("81559 MiB", "H100", "80", 81559),
        ("74", "A100-80GB", "80", 81920),
        ("80", "A100", "80", 81920),
        ("40", "A100", "40", 40960),
    ],
)
def test_05_memory_is_the_models_nominal_size_and_the_drivers_figure(
    load: Load, printed: str, gpu: str, nominal: str, mib: int
) -> None:
    offer = only(load({"gpu": gpu, "gpu_vram_gb": printed}))
    assert offer.gpu_vram_gb == Decimal(nominal)
    assert offer.gpu_vram_mib == mib


def test_05_memory_of_another_variant_is_refused(load: Load) -> None:
    reason = refusal(load(GOOD, {"gpu": "A100-80GB", "gpu_vram_gb": "40"}))
    assert reason == "gpu 'A100-80GB' has 80 GB, gpu_vram_gb is 40"


def test_07_a_known_type_with_another_gpu_count_is_refused_with_its_row(load: Load) -> None:
    wrong = {
        "provider": "azure", "region": "eastus", "instance_type": "Standard_ND96isr_H100_v5", "gpu": "H100",
        "gpu_count": "12", "gpu_vram_gb": "80", "on_demand_usd_hr": "98.32",
    }  # fmt: skip
    assert refusal(load(GOOD, wrong)) == "Standard_ND96isr_H100_v5 has 8 GPUs, gpu_count is 12"


def test_07_a_known_type_with_another_model_is_refused(load: Load) -> None:
    wrong = {
        "provider": "aws", "region": "us-east-1", "instance_type": "p4d.24xlarge", "gpu": "H100-SXM", "gpu_count": "8",
        "gpu_vram_gb": "80", "on_demand_usd_hr": "22",
    }  # fmt: skip
    assert refusal(load(GOOD, wrong)) == "p4d.24xlarge has a100-40gb, not h100-80gb-sxm"


def test_09_mig_slices_are_counted_as_slices_with_their_own_memory(load: Load) -> None:
    offer = only(
        load({
            "provider": "onprem", "instance_type": "-", "gpu": "A100-80GB", "mig": "1g.10gb", "advertised": "7",
            "gpu_vram_gb": "10", "on_demand_usd_hr": "0",
        })
    )  # fmt: skip
    assert (offer.gpu, offer.mig, offer.gpu_count) == ("a100-80gb", "1g.10gb", 7)
    assert (offer.gpu_vram_gb, offer.usd_per_hour) == (Decimal(10), Decimal(0))


def test_09_devices_advertised_without_a_profile_are_not_gpus(load: Load) -> None:
    assert refusal(load(GOOD, {"advertised": "7"})) == "advertises 7 devices, gpu_count is 1: name the MIG profile"


def test_09_more_slices_than_a_gpu_can_hold_are_refused(load: Load) -> None:
    reason = refusal(load({**GOOD}, {"mig": "3g.20gb", "advertised": "7"}))
    assert reason == "advertises 7 slices 3g.20gb; 1 GPUs hold at most 2"


def test_10_a_makers_name_is_settled_by_the_type(load: Load) -> None:
    offer = only(
        load({
            "provider": "aws", "region": "us-east-2", "instance_type": "p5en.48xlarge", "gpu": "NVIDIA",
            "gpu_count": "8", "gpu_vram_gb": "144384 MiB", "on_demand_usd_hr": "84.8",
        })
    )  # fmt: skip
    assert (offer.gpu, offer.gpu_vram_gb, offer.gpu_vram_mib) == ("h200-141gb", Decimal(141), 144384)


def test_10_a_makers_name_of_an_unknown_type_keeps_the_row_with_the_model_unknown(load: Load) -> None:
    offer = only(load({"gpu": "NVIDIA", "gpu_count": "8", "gpu_vram_gb": "144384 MiB", "on_demand_usd_hr": "84.8"}))
    assert (offer.gpu, offer.gpu_count, offer.gpu_vram_mib) == (None, 8, 144384)
    assert offer.gpu_vram_gb == Decimal("151.397597184")


def test_12_amd_models_keep_their_own_memory(load: Load) -> None:
    mi325, mi300 = load(
        {"instance_type": "a", "gpu": "MI325X", "gpu_count": "8", "gpu_vram_gb": "256", "on_demand_usd_hr": "20"},
        {"instance_type": "c", "gpu": "MI300X", "gpu_count": "8", "gpu_vram_gb": "192", "on_demand_usd_hr": "16"},
    ).offers
    assert mi325.gpu_vram_gb == Decimal(256)
    assert (mi300.gpu, mi300.gpu_vram_gb) == ("mi300x-192gb", Decimal(192))


def test_13_a_tpu_name_with_its_number_of_chips(load: Load) -> None:
    offer = only(load({"gpu": "tpu v5litepod-8", "gpu_count": "8", "gpu_vram_gb": "16", "on_demand_usd_hr": "9.6"}))
    assert (offer.gpu, offer.gpu_count) == ("tpu-v5e", 8)


def test_13_a_tpu_name_that_contradicts_the_count_is_refused(load: Load) -> None:
    wrong = {"gpu": "tpu v5litepod-8", "gpu_count": "4", "gpu_vram_gb": "16", "on_demand_usd_hr": "9.6"}
    assert refusal(load(GOOD, wrong)) == "gpu 'tpu v5litepod-8' names 8 devices, gpu_count is 4"


@pytest.mark.parametrize("price", ["0", "0.0", "0.000000", ""])
def test_13_a_price_of_0_or_none_is_unpriced(load: Load, price: str) -> None:
    catalogue = load(GOOD, {"on_demand_usd_hr": price})
    assert [offer.instance_type for offer in catalogue.offers] == ["good"]
    assert [note.row for note in catalogue.unpriced] == [3]


def test_17_spot_dearer_than_on_demand_gets_a_warning(load: Load) -> None:
    row = {"gpu": "A40", "gpu_vram_gb": "48", "on_demand_usd_hr": "0.44", "spot_usd_hr": "0.49"}
    catalogue = load(row)
    on_demand, spot = catalogue.offers
    assert on_demand.warnings == ()
    assert spot.warnings == ("spot 0.49 is dearer than on-demand 0.44",)
    assert any("spot 0.49 is dearer than on-demand 0.44" in line for line in catalogue.warnings)


def test_17_spot_equal_to_on_demand_but_for_rounding_gets_none(load: Load) -> None:
    catalogue = load({"on_demand_usd_hr": "27.43298", "spot_usd_hr": "27.4330", "gpu_count": "8"})
    assert catalogue.warnings == ()


def test_19_the_tier_is_part_of_the_offers_id(load: Load) -> None:
    community, secure = load(
        {"gpu": "A6000", "gpu_vram_gb": "48", "tier": "community", "on_demand_usd_hr": "0.98", "gpu_count": "2"},
        {"gpu": "A6000", "gpu_vram_gb": "48", "tier": "secure", "on_demand_usd_hr": "1.52", "gpu_count": "2"},
    ).offers
    assert community.id == "acme/r1/t@community/on_demand"
    assert secure.id == "acme/r1/t@secure/on_demand"


def test_21_every_shape_with_the_gpu_is_an_offer(load: Load) -> None:
    card = {"provider": "gcp", "region": "us-central1", "gpu": "RTXPRO6000", "gpu_vram_gb": "96"}
    found = load(
        {**card, "instance_type": "h6", "vcpus": "6", "ram_gb": "24", "on_demand_usd_hr": "1.52"},
        {**card, "instance_type": "h24", "vcpus": "24", "ram_gb": "90", "on_demand_usd_hr": "3.0"},
        {**card, "instance_type": "h48", "vcpus": "48", "ram_gb": "180", "on_demand_usd_hr": "4.5"},
    ).offers
    shapes = [(offer.instance_type, str(offer.vcpus), str(offer.ram_gb)) for offer in found]
    assert shapes == [("h6", "6", "24"), ("h24", "24", "90"), ("h48", "48", "180")]


def test_22_what_is_not_sold_that_way_is_no_offer_but_has_a_reason(load: Load) -> None:
    row = {"gpu": "H100", "gpu_vram_gb": "80", "on_demand_usd_hr": "11", "spot_usd_hr": "3", "purchase": "spot, flex"}
    catalogue = load(row)
    offer = only(catalogue)
    assert (offer.market, offer.usd_per_hour, offer.on_demand_usd_per_hour) == (Market.SPOT, Decimal(3), Decimal(11))
    (note,) = catalogue.unsold
    assert note.reason == "listed, but not sold on-demand: only spot, flex"


def test_22_an_unknown_way_of_selling_is_refused_with_the_nearest(load: Load) -> None:
    assert refusal(load({**GOOD, "purchase": ""}, {"purchase": "spott"})).endswith("did you mean spot")


@pytest.mark.parametrize(("rate", "usd"), [("1.10", "11.00"), ("1.00", "10.00")])
def test_23_another_currency_is_converted_at_the_given_rate(load: Load, rate: str, usd: str) -> None:
    row = {"provider": "ovh", "gpu": "L4", "gpu_vram_gb": "24", "on_demand_usd_hr": "10", "currency": "EUR"}
    offer = only(load(row, rates={"EUR": Rate(Decimal(rate), "2026-11-30")}))
    assert offer.usd_per_hour == Decimal(usd)
    assert offer.currency_note is not None
    assert "2026-11-30" in offer.currency_note


def test_23_another_currency_without_a_rate_is_refused(load: Load) -> None:
    assert refusal(load({**GOOD, "currency": "usd"}, {"currency": "EUR"})) == "no rate for EUR"


@pytest.mark.parametrize(
    "prices",
    [
        {"price_per_gpu": "2.0", "on_demand_usd_hr": ""},
        {"price_per_instance": "16", "on_demand_usd_hr": ""},
        {"price_per_gpu": "2.0", "price_per_instance": "16", "on_demand_usd_hr": ""},
        {"price_per_gpu": "2.0", "on_demand_usd_hr": "16"},
        {"on_demand_usd_month": "11680", "on_demand_usd_hr": ""},
    ],
)
def test_25_unit_price_and_total_say_the_same(load: Load, prices: dict[str, str]) -> None:
    assert only(load({"provider": "onprem", "gpu_count": "8", **prices})).usd_per_hour == Decimal(16)


def test_25_unit_price_and_total_that_differ_are_refused(load: Load) -> None:
    wrong = {"gpu_count": "8", "price_per_gpu": "2.0", "price_per_instance": "20", "on_demand_usd_hr": ""}
    reason = refusal(load({**GOOD, "price_per_gpu": ""}, wrong))
    assert reason.startswith("prices contradict each other: price_per_instance gives 20 and price_per_gpu gives 16")


def test_35_a_zone_name_is_refused_and_an_id_is_kept(load: Load) -> None:
    site = {"provider": "aws", "region": "us-east-1"}
    catalogue = load(
        {**site, "zone": "use1-az1", "instance_type": "good"}, {**site, "zone": "us-east-1a", "instance_type": "bad"}
    )
    assert refusal(catalogue).startswith("zone 'us-east-1a' is not an id")
    assert only(catalogue).zone == "use1-az1"


@pytest.mark.parametrize(
    ("wrong", "reason"),
    [
        ({"on_demand_usd_hr": "NaN"}, "on_demand_usd_hr 'NaN' is not a plain price in USD per hour"),
        ({"on_demand_usd_hr": "inf"}, "on_demand_usd_hr 'inf' is not a plain price in USD per hour"),
        ({"on_demand_usd_hr": "-1"}, "on_demand_usd_hr '-1' is negative"),
        ({"spot_usd_hr": "-0.5"}, "spot_usd_hr '-0.5' is negative"),
        ({"on_demand_usd_hr": "2,5"}, "on_demand_usd_hr '2,5' is not a plain price in USD per hour"),
        ({"on_demand_usd_hr": "1 EUR"}, "on_demand_usd_hr '1 EUR' is not a plain price in USD per hour"),
        ({"on_demand_usd_hr": "1e3"}, "on_demand_usd_hr '1e3' is not a plain price in USD per hour"),
        ({"gpu_count": "-4"}, "gpu_count '-4' is negative"),
        ({"gpu_count": "0.5"}, "gpu_count '0.5' is not a whole number"),
        ({"gpu_count": "5000"}, "gpu_count 5000 is above 4096"),
        ({"gpu_count": "0"}, "gpu 'A100' with gpu_count 0"),
        ({"gpu_vram_gb": "40 gbps"}, "gpu_vram_gb: 'gbps' is not a unit of memory"),
        ({"vcpus": "-8"}, "vcpus '-8' is negative"),
        ({"ram_gb": "lots"}, "ram_gb 'lots' is not a number"),
        ({"as_of": "yesterday"}, "as_of 'yesterday' is not a date such as 2026-11-30"),
        ({"provider": ""}, "provider is missing"),
        ({"provider": "a b"}, "provider 'a b' is not a name"),
        ({"region": ""}, "region is missing"),
        ({"region": "a/b"}, "region 'a/b' is not a name"),
        ({"instance_type": ""}, "instance_type is missing"),
        ({"instance_type": "x\x1b[31m"}, "instance_type is too long or holds control characters"),
        ({"arch": "arm65"}, "arch 'arm65' is unknown, did you mean arm64"),
    ],
)  # fmt: skip
def test_a_wrong_value_is_refused_with_its_row_and_reason(load: Load, wrong: dict[str, str], reason: str) -> None:
    good = {**GOOD, **({"arch": ""} if "arch" in wrong else {})}
    assert refusal(load(good, wrong)) == reason


@pytest.mark.parametrize(("price", "why"), [("730", "hours for a month"), ("100000", "far off"), ("0.001", "cents")])
def test_an_implausible_price_is_quarantined_with_a_warning(load: Load, price: str, why: str) -> None:
    catalogue = load(GOOD, {"on_demand_usd_hr": price})
    assert [offer.instance_type for offer in catalogue.offers] == ["good"], why
    (note,) = catalogue.quarantined
    assert note.row == 3
    assert f"on_demand price {price} is implausible for 1 x a100-40gb" in note.reason
    assert any(note.reason in line for line in catalogue.warnings)


def test_an_implausible_spot_price_leaves_the_on_demand_one(load: Load) -> None:
    catalogue = load({"spot_usd_hr": "0.0001"})
    assert only(catalogue).market is Market.ON_DEMAND
    assert len(catalogue.quarantined) == 1


def test_an_equal_row_is_taken_once_and_a_contradicting_one_is_refused(load: Load) -> None:
    assert len(load({}, {}).offers) == 1
    assert refusal(load(GOOD, {**GOOD, "on_demand_usd_hr": "1.6"})) == "repeats line 2 with another price or machine"


def test_rows_of_one_type_name_with_two_boards_are_two_offers(load: Load) -> None:
    small, large = load({}, {"gpu": "A100-80GB", "gpu_vram_gb": "80"}).offers
    assert small.id == "acme/r1/t/on_demand"
    assert large.id == "acme/r1/t+a100-80gb-x1/on_demand"


def test_an_unknown_region_of_a_known_provider_is_kept_with_a_suggestion(load: Load) -> None:
    catalogue = load({"provider": "aws", "region": "us-east-9", "instance_type": "own"})
    assert only(catalogue).region == "us-east-9"
    assert any("did you mean us-east-" in line for line in catalogue.warnings)


def test_when_no_row_can_be_used_the_reasons_are_the_error(load: Load) -> None:
    with pytest.raises(UserError) as caught:
        load({"gpu_count": "x"}, {"on_demand_usd_hr": "-1"})
    text = str(caught.value)
    assert "none of the 2 rows" in text
    assert "offers.csv:2" in text
    assert "offers.csv:3" in text


def test_a_cpu_machine_has_no_gpu(load: Load) -> None:
    offer = only(load({"gpu": "", "gpu_count": "0", "gpu_vram_gb": "", "on_demand_usd_hr": "0.05", "vcpus": "2"}))
    assert (offer.gpu, offer.gpu_count, offer.gpu_vram_gb) == (None, 0, None)
