"""Queries over offers: what they say, what they answer, and what is wrong with them."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal

import pytest

from emporion.market.errors import UserError
from emporion.market.offer import Fabric, Market, Nvlink, Offer, Software
from emporion.market.query import FIELDS, parse_query
from emporion.market.query.versions import compare_versions, matches

NOW = datetime(2026, 12, 1, tzinfo=UTC)
BOX = Offer(
    id="acme/us-east-1/box/spot", provider="acme", region="r1", zone=None, instance_type="box", market=Market.SPOT,
    usd_per_hour=Decimal(16), gpu="h100-80gb-sxm", gpu_count=8, gpu_vram_gb=Decimal(80), vcpus=Decimal(96),
    ram_gb=None, source="a test", as_of="2026-11-28", nvlink=Nvlink.NVSWITCH, fabric=Fabric.INFINIBAND,
    fabric_gbps=Decimal(3200),
    software=Software("12.4", "550.54", "ubuntu-22.04", ("nccl", "pytorch==2.1.0", "tensorflow"), Decimal("99.5")),
)  # fmt: skip
BARE = replace(BOX, software=None, as_of=None)
CPU = replace(BOX, gpu=None, gpu_count=0, gpu_vram_gb=None)


@pytest.mark.parametrize(
    "query",
    [
        'cuda >= 12.1 and "pytorch==2.1.0" in preinstalled',
        "12.1 <= cuda",
        "cuda < 12.10",
        "cuda == 12.4.0",
        "cuda == 12.*",
        "driver > 550",
        '"pytorch" in preinstalled',
        '"PyTorch >= 2.0" in preinstalled and "pytorch<2.2" in preinstalled',
        '"jax" not in preinstalled',
        "nccl in preinstalled",
        "vram_gb >= 80 and vram_gb <= 80gb and vram_gb > 70gib",
        "usd_per_hour < $16.01 and usd_per_hour >= 16 and usd_per_hour <= $16/hr",
        "usd_per_gpu_hour == 2",
        "gpus in (4, 8)",
        "gpus not in [4, 16]",
        "provider == ACME",
        "region != us-*",
        "type == b?x",
        "market == spot or market == on-demand",
        "gpu == h100 and gpu != a100",
        "gpu in (a100, H100-SXM)",
        "label == h100-80gb",
        "nvlink == nvswitch and fabric in (efa, infiniband)",
        "fabric_gbps >= 400GB/s and fabric_gbps >= 3200",
        "os == ubuntu-*",
        "sla >= 99.5% and sla < 99.9",
        "age > 2d and age <= 72h",
        "not (gpus < 8 or vcpus < 96)",
        "not not gpus == 8",
        "ram_gb is unknown and cuda is known",
        "ram_gb > 1 or gpus == 8",
        "GPUS >= 8 AND NOT market == 'on_demand'",
        "gpus == 8 and gpus == 8 or gpus == 0",
        "gpus == 0 and gpus == 0 or gpus == 8",
    ],
)
def test_what_holds(query: str) -> None:
    assert parse_query(query).test(BOX, NOW) is True
    assert parse_query(f"not ({query})").test(BOX, NOW) is False


@pytest.mark.parametrize(
    ("query", "answer"),
    [
        ("ram_gb > 1", None),
        ("not ram_gb > 1", None),
        ("ram_gb > 1 and gpus == 8", None),
        ("ram_gb > 1 and gpus == 4", False),
        ("ram_gb > 1 or gpus == 4", None),
        ("ram_gb in (64, 128)", None),
        ('"tensorflow==2.16" in preinstalled', None),
        ("gpus == 8 and not ram_gb is known", True),
    ],
)
def test_unknown_is_neither_true_nor_false(query: str, answer: bool | None) -> None:
    assert parse_query(query).test(BOX, NOW) is answer


def test_an_offer_that_says_nothing_of_its_software_passes_no_test_of_it() -> None:
    for query in ("cuda >= 1", "not cuda >= 1", '"nccl" in preinstalled', '"nccl" not in preinstalled', "age < 1w"):
        assert parse_query(query).test(BARE, NOW) is None
    assert parse_query('cuda >= 12 and "nccl" in preinstalled').unknown(BARE, NOW) == ("cuda", "preinstalled")


def test_a_machine_without_gpus_is_known_to_have_none() -> None:
    assert parse_query("gpu == a100 or label == a100-80gb or vram_gb > 0 or gpus > 0").test(CPU, NOW) is False
    assert parse_query("usd_per_gpu_hour > 0").test(CPU, NOW) is None
    unknown_model = replace(BOX, gpu=None)
    assert parse_query("gpu == a100").test(unknown_model, NOW) is None


@pytest.mark.parametrize(
    ("one", "other", "order"),
    [
        ("12.10", "12.9", 1), ("12.1", "12.1.0", 0), ("2.1.0rc1", "2.1.0", -1), ("2.1.0+cu121", "2.1.0", 0),
        ("v2", "2", 0), ("1.0a2", "1.0b1", -1), ("1.0.post1", "1.0", 1), ("570", "550.54.14", 1), ("x", "1", None),
    ],
)  # fmt: skip
def test_versions_compare_as_versions(one: str, other: str, order: int | None) -> None:
    assert compare_versions(one, other) == order
    assert compare_versions(other, one) == (None if order is None else -order)


def test_a_version_with_a_star_is_a_prefix() -> None:
    assert matches("12.4", "==", "12.*") is True
    assert matches("12", "==", "12.*") is True
    assert matches("1.2", "==", "12.*") is False
    assert matches("120.1", "!=", "12.*") is True


@pytest.mark.parametrize(
    ("spelling", "text"),
    [
        ("((gpus>=8))", "gpus >= 8"),
        ("8<=GPUS", "gpus >= 8"),
        ("vram_gb >= 80GB", "vram_gb >= 80"),
        ("region in ('us-*',EU-WEST)", "region in (eu-west, us-*)"),
        ("not(gpus==1 or gpus==2)and vcpus>2", "not (gpus == 1 or gpus == 2) and vcpus > 2"),
        ("gpus==1 and(vcpus>2 and(ram_gb>3))", "gpus == 1 and vcpus > 2 and ram_gb > 3"),
        ("(gpus==1 or vcpus>2)and ram_gb>3", "(gpus == 1 or vcpus > 2) and ram_gb > 3"),
        ("age < 48h", "age < 2d"),
        ('type == "a b"', 'type == "a b"'),
        ("type == 'and'", 'type == "and"'),
    ],
)
def test_a_query_is_normalised_to_one_text_that_reads_back(spelling: str, text: str) -> None:
    assert parse_query(spelling).text == text
    assert parse_query(text).text == text


def test_what_all_must_hold_is_told_part_by_part_with_what_decides_it() -> None:
    query = parse_query("region == us-* and (vcpus > 8 and usd_per_hour < 3) and (gpus == 1 or zone == z)")
    assert [(part.text, part.scope) for part in query.parts] == [
        ("region == us-*", "place"),
        ("vcpus > 8", "machine"),
        ("usd_per_hour < 3", "offer"),
        ("gpus == 1 or zone == z", "offer"),
    ]


@pytest.mark.parametrize(
    ("query", "says", "under", "fix"),
    [
        ("vrm_gb >= 80", "no field is called 'vrm_gb'", "vrm_gb", "did you mean vram_gb"),
        ("price < 2", "no field is called 'price'", "price", "did you mean usd_per_hour"),
        ("gpus > 1 and prise < 2", "no field is called 'prise'", "prise", None),
        ("vram_gb = 80", "'=' compares nothing", "=", "write == for equal"),
        ("vram_gb => 80", "=> is no operator", "=>", "write >="),
        ("vram_gb >= 80 gb", "'gb' is not expected here", "gb", None),
        ("vram_gb >= 80gbps", "vram_gb: 'gbps' is not a unit of memory", "80gbps", None),
        ("usd_per_hour < nan", "usd_per_hour: 'nan' is not a finite amount", "nan", None),
        ("usd_per_hour < inf", "usd_per_hour: 'inf' is not a finite amount", "inf", None),
        ("usd_per_hour < 2,5", "',' is not expected here", ",", "check the brackets"),
        ("usd_per_hour < $2/gpu/hr", "usd_per_hour: '$2/gpu/hr' is not per hour", "$2/gpu/hr", None),
        ("age < 3", "age: '3' has no unit", "3", None),
        ("cuda >= twelve", "cuda: 'twelve' is not a version", "twelve", None),
        ("market == spto", "market: 'spto' is none of on_demand, spot, reserved", "spto", "did you mean spot"),
        ("label == a100-81gb", "label: no capability label is 'a100-81gb'", "a100-81gb", "did you mean a100-80gb"),
        ("gpu == a100x", "gpu: no GPU is called 'a100x'", "a100x", None),
        ("region < us", "region has no order, < compares by order", "<", "write ==, !="),
        ("preinstalled == nccl", "preinstalled is a list, == compares single values", "==", None),
        ('"a" in gpus', "gpus is one value, not a list", "gpus", "write gpus >= 8, or gpus in (a, b)"),
        ("gpus > vcpus", "two fields are compared", "vcpus", "compare gpus with a value"),
        ("(gpus > 1", "a bracket is not closed", "(", "write ) at the end"),
        ("gpus > 1)", "')' is not expected here", ")", "check the brackets"),
        ("gpus in (1, 2", "a list is not closed", "(", "write ) at its end"),
        ('type == "abc', "a quote is not closed", '"abc', 'write " at the end of the text'),
        ("gpus > 1 && vcpus > 1", "&& joins nothing", "&&", "write and"),
        ("gpus", "gpus is compared with nothing", "^", "write gpus >= 8"),
        ("gpus > 1 and", "the query ends where a comparison is expected", "^", None),
        ("and", "'and' stands where a field or a value is expected", "and", None),
        ("cuda is new", "`is` asks only whether a field is known", "new", None),
        ("gpus not 8", "`not` stands where `in` or an operator is expected", "8", None),
        ("not " * 50 + "gpus > 1", "brackets and nots are nested deeper than 40", "not", None),
        ("a" * 3000, "the query is longer than 2000 characters", "", None),
        ("", "the query is empty", "", "write a comparison, as vram_gb >= 80"),
        ("gpus > 1\x00", "the query holds the control character '\\x00'", " ", "take it out"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_shown_in_its_place_with_a_way_out(query: str, says: str, under: str, fix: str | None) -> None:
    with pytest.raises(UserError) as caught:
        parse_query(query)
    error = caught.value
    assert (error.code, error.what) == ("E-WHERE", says)
    assert fix is None or error.fix == fix
    if under:
        _, line, carets = (error.where or "").split("\n")
        pointed = line[carets.index("^") : carets.rindex("^") + 1]
        assert pointed == ("" if under == "^" else under)


def test_every_field_is_described_with_a_value_that_it_takes() -> None:
    for field in FIELDS.values():
        assert field.doc
        assert field.kind.read(field.kind.example).text
