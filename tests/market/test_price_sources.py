from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from cloud_ask import NOW, FakeAsk, imported
from price_answers import COREWEAVE, NEBIUS, lambda_type, lambda_types, runpod_type, runpod_types, vast_offer

from emporion.market.errors import UserError
from emporion.market.offers.adapter import Adapter, Row
from emporion.market.offers.adapters import coreweave, lambda_cloud, nebius, runpod, vast

KEYS = {"LAMBDA_API_KEY": "secret-l", "RUNPOD_API_KEY": "secret-r", "VAST_API_KEY": "secret-v"}


def fetched(adapter: Adapter, answer: Any) -> list[dict[str, str]]:
    ask = FakeAsk(answer if callable(answer) else lambda _url, _asked, _headers: answer, KEYS)
    return [dict(row) for row in adapter.fetch(ask)]


def vast_market(*offers: dict[str, Any], cap: int = 1000) -> Callable[..., Any]:
    """Answer searches as Vast does: by machine, from the one asked for, at most `cap` at once."""

    def answer(_url: str, asked: Mapping[str, Any], _headers: Mapping[str, str]) -> Any:
        found = [offer for offer in offers if offer["machine_id"] >= asked["machine_id"]["gte"]]
        return {"offers": sorted(found, key=lambda offer: offer["machine_id"])[: min(cap, asked["limit"])]}

    return answer


def test_lambda_offers_are_types_where_there_is_capacity() -> None:
    rows = fetched(lambda_cloud.ADAPTER, lambda_types())
    assert [(row["instance_type"], row["region"], row["on_demand_usd_hr"]) for row in rows] == [
        ("gpu_1x_a10", "us-east-1", "0.75"),
        ("gpu_1x_a10", "us-west-1", "0.75"),
        ("gpu_8x_h100_sxm5", "us-west-3", "23.92"),
    ]
    assert {(row["as_of"], row["source"], row["spot_usd_hr"]) for row in rows} == {
        ("2026-12-01T06:00:00Z", "Lambda Cloud API", "")
    }


def test_the_key_goes_into_the_header_alone() -> None:
    for adapter, answer in (
        (lambda_cloud.ADAPTER, lambda_types()),
        (runpod.ADAPTER, runpod_types()),
        (vast.ADAPTER, {"offers": []}),
    ):
        ask = FakeAsk(lambda *_asked, given=answer: given, KEYS)
        list(adapter.fetch(ask))
        url, asked, headers = ask.asked[0]
        assert headers == {"Authorization": f"Bearer {KEYS[adapter.needs[0]]}"}
        assert "secret" not in url
        assert "secret" not in json.dumps(asked)


def test_lambda_without_any_capacity_is_no_empty_market() -> None:
    with pytest.raises(UserError, match="no capacity for any of its 1 types now"):
        fetched(lambda_cloud.ADAPTER, lambda_types(lambda_type("gpu_1x_a10", "A10 (24 GB PCIe)", 1, 75)))


def test_a_gpu_count_that_contradicts_the_type_is_refused_case_29(tmp_path: Path) -> None:
    wrong = lambda_type("gpu_4x_a6000", "A6000 (48 GB)", 1, 320, "us-east-1")
    right = lambda_type("gpu_2x_a6000", "A6000 (48 GB)", 2, 160, "us-east-1")
    catalogue = imported(fetched(lambda_cloud.ADAPTER, lambda_types(wrong, right)), tmp_path)
    assert [(offer.instance_type, offer.gpu_count) for offer in catalogue.offers] == [("gpu_2x_a6000", 2)]
    assert "names 4 devices, gpu_count is 1" in catalogue.refused[0].reason


def test_a_model_that_no_table_knows_stays_as_unknown(tmp_path: Path) -> None:
    answer = lambda_types(lambda_type("gpu_1x_z9", "Z9 (512 GB)", 1, 999, "us-east-1"))
    offer = imported(fetched(lambda_cloud.ADAPTER, answer), tmp_path).offers[0]
    assert (offer.gpu, offer.gpu_count, offer.usd_per_hour) == (None, 1, Decimal("9.99"))


def test_a_makers_name_is_no_model(tmp_path: Path) -> None:
    answer = lambda_types(lambda_type("gpu_1x_new", "NVIDIA", 1, 100, "us-east-1"))
    assert imported(fetched(lambda_cloud.ADAPTER, answer), tmp_path).offers[0].gpu is None


def test_runpods_tiers_are_two_offers_of_two_prices_case_19(tmp_path: Path) -> None:
    answer = runpod_types(
        runpod_type(
            "RTX A6000", 48,
            communityCloud=True, communityPrice=0.49, communitySpotPrice=0.25, maxGpuCountCommunityCloud=2,
            secureCloud=True, securePrice=0.76, secureSpotPrice=0.38, maxGpuCountSecureCloud=2,
            secure={"minVcpu": 9, "minMemory": 50},
        )
    )  # fmt: skip
    catalogue = imported(fetched(runpod.ADAPTER, answer), tmp_path)
    prices = {(offer.id, offer.market.value): str(offer.usd_per_hour) for offer in catalogue.offers}
    assert {offer.gpu for offer in catalogue.offers} == {"a6000-48gb"}
    two = {name: price for name, price in prices.items() if "rtx-a6000-x2" in name[0]}
    assert sorted(two.values()) == ["0.5", "0.76", "0.98", "1.52"]
    assert all(("community" in name) == (price in {"0.98", "0.5"}) for (name, _), price in two.items())
    sizes = {(row["instance_type"], row["tier"]): row["vcpus"] for row in fetched(runpod.ADAPTER, answer)}
    assert sizes["rtx-a6000-x1", "secure"] == "9"
    assert sizes["rtx-a6000-x2", "secure"] == "", "what one GPU comes with says nothing of two"


def test_runpods_spot_that_is_dearer_is_warned_of_and_a_price_of_nothing_is_none(tmp_path: Path) -> None:
    dear = runpod_type("A40", 48, secureCloud=True, securePrice=0.44, secureSpotPrice=0.49)
    free = runpod_type("L4", 24, secureCloud=True, securePrice=0, secureSpotPrice=0.2)
    closed = runpod_type("H100 SXM", 80, securePrice=2.99)
    catalogue = imported(fetched(runpod.ADAPTER, runpod_types(dear, free, closed)), tmp_path)
    told = {(note.kind, note.reason) for note in catalogue.notes}
    assert ("warning", "spot 0.49 is dearer than on-demand 0.44") in told
    assert ("unpriced", "on_demand price is 0") in told
    assert {(offer.gpu, offer.market.value) for offer in catalogue.offers} == {
        ("a40-48gb", "on_demand"), ("a40-48gb", "spot"), ("l4-24gb", "spot"),
    }  # fmt: skip


def test_a_question_that_runpod_refuses_is_told_in_its_words() -> None:
    answer = {"errors": [{"message": "Unauthorized\x1b[31m request"}], "data": None}
    with pytest.raises(UserError, match=r"refuses the question: Unauthorized\[31m request") as caught:
        fetched(runpod.ADAPTER, answer)
    assert caught.value.fix == "check RUNPOD_API_KEY"


def test_vasts_pages_follow_each_other_whatever_the_server_allows() -> None:
    offers = [vast_offer(number, geolocation=f"Place {number}, US") for number in range(1, 200)]
    asked: list[Any] = []

    def answer(url: str, question: Mapping[str, Any], headers: Mapping[str, str]) -> Any:
        asked.append(question)
        return vast_market(*offers, cap=64)(url, question, headers)

    rows = fetched(vast.ADAPTER, answer)
    assert len(rows) == 199
    assert [question["machine_id"]["gte"] for question in asked] == [0, 64, 127, 190, 199]


def test_a_machine_of_vast_that_straddles_two_pages_is_taken_once() -> None:
    offers = [
        vast_offer(number, machine_id=number // 3, num_gpus=number % 3 + 1, geolocation=f"P{number // 3}, US")
        for number in range(30)
    ]
    rows = fetched(vast.ADAPTER, vast_market(*offers, cap=4))
    assert len(rows) == 30


def test_of_like_machines_of_vast_the_cheapest_counts_with_its_own_bid() -> None:
    offers = (
        vast_offer(1, dph_total=1.2, min_bid=0.1), vast_offer(2, dph_total=0.9, min_bid=0.5),
        vast_offer(3, dph_total=0, min_bid=0.01), vast_offer(4, dph_total=0.9, min_bid=0.2),
    )  # fmt: skip
    (row,) = fetched(vast.ADAPTER, vast_market(*offers))
    assert (row["on_demand_usd_hr"], row["spot_usd_hr"]) == ("0.9", "0.5")


def test_vasts_memory_is_mib_and_its_place_is_the_tables(tmp_path: Path) -> None:
    offers = (
        vast_offer(1), vast_offer(2, gpu_ram=40960, geolocation="US", gpu_frac=0.5),
        vast_offer(3, gpu_name="RTX 4090", gpu_ram=24564, geolocation=None, min_bid=0),
        vast_offer(4, gpu_name="Q RTX 9000X", gpu_ram=49152, geolocation="Mars/North, ZZ"),
    )  # fmt: skip
    rows = fetched(vast.ADAPTER, vast_market(*offers))
    catalogue = imported(rows, tmp_path)
    found = {(offer.gpu, str(offer.gpu_vram_gb), offer.region) for offer in catalogue.offers}
    assert ("a100-80gb", "80", "Czechia,CZ,EU") in found
    assert ("a100-40gb", "40", "US,NA") in found
    assert ("rtx4090-24gb", "24", "unknown") in found
    assert {gpu for gpu, _, region in found if region == "Mars North,ZZ"} == {None}
    first = next(row for row in rows if row["region"] == "Czechia,CZ,EU")
    assert (first["instance_type"], first["ram_gb"], first["cuda"]) == ("1x-A100_SXM4-32-65536", "64", "12.4")


@pytest.mark.parametrize("broken", [{"num_gpus": "many"}, {"gpu_name": ""}, {"dph_total": -1}, {"machine_id": None}])
def test_an_offer_of_vast_that_is_not_as_documented_ends_the_refresh(broken: dict[str, Any]) -> None:
    with pytest.raises(UserError) as caught:
        fetched(vast.ADAPTER, {"offers": [vast_offer(1, **broken)]})
    assert caught.value.code == "E-ADAPTER"


def test_vast_that_answers_the_same_full_page_for_ever_is_no_market() -> None:
    page = [vast_offer(number, machine_id=7) for number in range(1000)]
    with pytest.raises(UserError, match="answers page 2 a second time"):
        fetched(vast.ADAPTER, {"offers": page})


def test_nebius_prices_are_those_in_force_in_usd_for_whole_machines() -> None:
    rows = fetched(nebius.ADAPTER, NEBIUS)
    prices = {(row["instance_type"], row["region"]): (row["on_demand_usd_hr"], row["spot_usd_hr"]) for row in rows}
    assert prices["gpu-b200-sxm_8gpu-160vcpu-1792gb", "us-central1"] == ("68", "31.6")
    assert prices["gpu-h200-sxm_1gpu-16vcpu-200gb", "eu-west1"] == ("4.5", "")
    assert prices["gpu-l40s-a_1gpu-8vcpu-32gb", "eu-north1"] == ("1.5484", ""), "as Nebius bills the parts"
    assert {name.partition("_")[0] for name, _ in prices} == {"gpu-b200-sxm", "gpu-h200-sxm", "gpu-l40s-a"}


def test_nebius_prices_before_a_change_are_the_old_ones() -> None:
    ask = FakeAsk(lambda _url, _asked, _headers: NEBIUS, now=NOW.replace(month=9))
    b200 = [row for row in nebius.ADAPTER.fetch(ask) if row["instance_type"].startswith("gpu-b200-sxm_")]
    assert [(row["on_demand_usd_hr"], row["spot_usd_hr"]) for row in b200] == [("57.2", "26.4")]


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("####", "**", "no section of a GPU platform"),
        ('<Tab title="USD">', '<Tab title="EUR">', "no table in USD for gpu-b200-sxm"),
        ("1 GPU hour", "1 GPU month", "no price of gpu-b200-sxm that is in force"),
        ("October 1, 2026", "Octember 1, 2026", "gives 'Octember 1, 2026' as a date"),
        ("gpu-h200-sxm", "gpu-b200-sxm", "two sections for gpu-b200-sxm"),
        ("| 1 vCPU hour", "| 1 GPU hour", "two prices of gpu-l40s-a"),
    ],
)
def test_a_price_page_of_nebius_in_another_form_is_refused(old: str, new: str, says: str) -> None:
    with pytest.raises(UserError, match=says):
        fetched(nebius.ADAPTER, NEBIUS.replace(old, new))


def test_a_private_region_of_nebius_is_not_offered() -> None:
    page = NEBIUS.replace("in the `us-central1` [region]", "in the `uk-south9` private [region]")
    places = {row["region"] for row in fetched(nebius.ADAPTER, page) if "b200-sxm_" in row["instance_type"]}
    assert places == {"us-central1"}


def test_coreweaves_machines_have_the_prices_of_their_region(tmp_path: Path) -> None:
    rows = fetched(coreweave.ADAPTER, COREWEAVE)
    assert [(row["region"], row["instance_type"], row["on_demand_usd_hr"], row["spot_usd_hr"]) for row in rows] == [
        ("north-america", "nvidia-gb200-nvl72", "42", ""),
        ("north-america", "nvidia-b200", "68.8", "34.11"),
        ("north-america", "nvidia-h100", "49.24", "19.71"),
        ("north-america", "nvidia-l40s", "18", "0"),
        ("europe", "nvidia-h100", "51", "60"),
    ]
    catalogue = imported(rows, tmp_path)
    assert {(offer.instance_type, offer.gpu, offer.gpu_count) for offer in catalogue.offers} == {
        ("nvidia-gb200-nvl72", None, 4), ("nvidia-b200", "b200-192gb", 8), ("nvidia-h100", "h100-80gb-sxm", 8),
        ("nvidia-l40s", "l40s-48gb", 8),
    }  # fmt: skip
    reasons = {note.reason for note in catalogue.notes}
    assert {"spot price is 0", "spot 60 is dearer than on-demand 51"} <= reasons
    assert rows[1]["ram_gb"] == "2048"


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("kubernetes-gpu-pricing", "gpu-price-list", "no list of machines with GPUs"),
        ("REGION: ", "Where: ", "without model or region"),
        ("table-model-name", "model", "without model or region"),
        ("GPU Count", "Cards", "does not say how many GPUs"),
    ],
)
def test_a_price_page_of_coreweave_in_another_form_is_refused(old: str, new: str, says: str) -> None:
    with pytest.raises(UserError, match=says):
        fetched(coreweave.ADAPTER, COREWEAVE.replace(old, new))


@pytest.mark.parametrize("adapter", [lambda_cloud.ADAPTER, runpod.ADAPTER, vast.ADAPTER], ids=lambda one: one.provider)
@pytest.mark.parametrize(
    "answer", [None, [], "text", 7, {}, {"data": None}, {"data": []}, {"offers": {}}, {"offers": [1]}]
)
def test_json_of_another_shape_is_one_clear_error(adapter: Adapter, answer: Any) -> None:
    with pytest.raises(UserError) as caught:
        fetched(adapter, answer)
    assert (caught.value.code, int(caught.value.exit_code)) == ("E-ADAPTER", 1)
    assert adapter.source in caught.value.what


def test_every_spot_price_has_a_source_and_a_time_of_its_own() -> None:
    rows: list[Row] = [*fetched(coreweave.ADAPTER, COREWEAVE), *fetched(vast.ADAPTER, vast_market(vast_offer(1)))]
    for row in rows:
        assert (row["spot_usd_hr"] != "") == (row.get("spot_as_of", "") == "2026-12-01T06:00:00Z")
