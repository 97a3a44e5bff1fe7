from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emporion.market.errors import UserError
from emporion.market.gpu_names import match_model, resolve_gpu
from emporion.market.gpus import all_gpus, gpu_info, meets_vram
from emporion.market.units import Count, parse_memory

A100 = ("a100-40gb", "a100-80gb")
H100 = ("h100-80gb-pcie", "h100-80gb-sxm", "h100-94gb-nvl")


@pytest.mark.parametrize(
    ("text", "ids", "count"),
    [
        ("a100", A100, None),
        ("A100", A100, None),
        ("A100:4", A100, 4),
        ("a100-80gb", ("a100-80gb",), None),
        ("A100-80GB:8", ("a100-80gb",), 8),
        ("A100:80GB", ("a100-80gb",), None),
        ("A100:80GB:1", ("a100-80gb",), 1),
        ("a100 80gb", ("a100-80gb",), None),
        ("A100 80 GB", ("a100-80gb",), None),
        ("8x A100", A100, 8),
        ("A100 x8", A100, 8),
        ("nvidia:a100:8", A100, 8),
        ("NVIDIA A100-SXM4-80GB", ("a100-80gb",), None),
        ("H100", H100, None),
        ("H100 SXM", ("h100-80gb-sxm",), None),
        ("h100-sxm5", ("h100-80gb-sxm",), None),
        ("H100 PCIe", ("h100-80gb-pcie",), None),
        ("H100:80GB", ("h100-80gb-pcie", "h100-80gb-sxm"), None),
        ("nvidia-h100-nvl", ("h100-94gb-nvl",), None),
        ("NVIDIA H100 80GB HBM3", ("h100-80gb-sxm",), None),
        ("H200", ("h200-141gb",), None),
        ("b200-180gb", ("b200-192gb",), None),
        ("MI300X", ("mi300x-192gb",), None),
        ("AMD Instinct MI300X:8", ("mi300x-192gb",), 8),
        ("L40", ("l40-48gb",), None),
        ("L40S", ("l40s-48gb",), None),
        ("Tesla T4", ("t4-16gb",), None),
        ("t4g", ("t4g-16gb",), None),
        ("RTX A6000", ("a6000-48gb",), None),
        ("NVIDIA GeForce RTX 4090", ("rtx4090-24gb",), None),
        ("Quadro RTX 6000", ("quadro-rtx6000-24gb",), None),
        ("RTX 6000 Ada Generation", ("rtx6000ada-48gb",), None),
        ("NVIDIA RTX PRO 6000 Blackwell Server Edition", ("rtxpro6000-96gb",), None),
        ("any", (), None),
        ("any:4", (), 4),
        ("tpu v5e", ("tpu-v5e",), None),
        ("tpu-v5e:8", ("tpu-v5e",), 8),
        ("tpu-v5litepod-8", ("tpu-v5e",), 8),
        ("v5litepod-8", ("tpu-v5e",), 8),
        ("v5e-8", ("tpu-v5e",), 8),
        ("v5p-8", ("tpu-v5p",), 4),
        ("tpu-v6e", ("tpu-v6e",), None),
    ],
)
def test_what_people_write_names_the_part_they_mean(text: str, ids: tuple[str, ...], count: int | None) -> None:
    name = resolve_gpu(text)
    assert name.ids == ids
    assert name.count == (None if count is None else Count(count, count))


@pytest.mark.parametrize("gpu", [gpu.id for gpu in all_gpus()])
def test_every_id_names_itself_alone(gpu: str) -> None:
    assert resolve_gpu(gpu).ids == (gpu,)
    assert resolve_gpu(gpu.upper()).ids == (gpu,)


def test_a_range_of_gpus_is_read() -> None:
    assert resolve_gpu("H100:4..8").count == Count(4, 8)


def test_a_vendor_with_memory_is_a_floor_over_all_its_models() -> None:
    name = resolve_gpu("amd:192GB:8")
    assert (name.ids, name.vendor, name.vram, name.count) == ((), "amd", parse_memory("192gb"), Count(8, 8))


def test_memory_alone_is_a_floor_over_all_models() -> None:
    name = resolve_gpu("24GB:2")
    assert (name.ids, name.vendor, name.vram, name.count) == ((), None, parse_memory("24gb"), Count(2, 2))


@pytest.mark.parametrize(
    ("text", "near"),
    [
        pytest.param("A100-8", "a100-80gb", id="a shared prefix is not a match"),
        pytest.param("A100-80", "a100-80gb", id="memory without unit"),
        pytest.param("a100x", "a100", id="typo"),
        pytest.param("A10 0", "a10", id="two numbers are never joined"),
        pytest.param("A100-96GB", "a100-80gb", id="a size that is not made"),
        pytest.param("a100:80gib", "a100-80gb", id="a variant goes by its gb"),
        pytest.param("H200 NVL", "h200-141gb", id="a board that is not in the table"),
        pytest.param("rtx 6000", "rtx6000ada", id="three parts share the name"),
        pytest.param("MI325X", "mi300x", id="not in the table"),
        pytest.param("tpu", "tpu-v5e", id="which TPU"),
        pytest.param("h10", "h100", id="cut off"),
    ],
)
def test_an_unknown_name_is_refused_with_the_near_ones(text: str, near: str) -> None:
    with pytest.raises(UserError) as caught:
        resolve_gpu(text)
    assert caught.value.code == "E-GPU"
    assert "did you mean" in (caught.value.fix or "")
    assert near in (caught.value.fix or "").split()


@pytest.mark.parametrize("text", ["", " ", ":", "::", "zzz", "😀", "a" * 10_000])
def test_a_name_near_nothing_is_refused(text: str) -> None:
    with pytest.raises(UserError) as caught:
        resolve_gpu(text)
    assert caught.value.code == "E-GPU"
    assert len(caught.value.what) < 200


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("H100:2.5", "E-COUNT"),
        ("H100:0", "E-RANGE"),
        ("H100:-1", "E-RANGE"),
        ("H100:8..4", "E-RANGE"),
        ("v5p-7", "E-GPU"),
    ],
)
def test_a_count_that_is_none_is_refused(text: str, code: str) -> None:
    with pytest.raises(UserError) as caught:
        resolve_gpu(text)
    assert caught.value.code == code


def test_two_counts_in_one_tpu_name_contradict() -> None:
    with pytest.raises(UserError, match="two numbers"):
        resolve_gpu("v5e-8:4")
    assert resolve_gpu("v5e-8:8").count == Count(8, 8)


def test_the_board_is_told_where_the_id_does_not() -> None:
    assert resolve_gpu("A100-SXM4-80GB").board == "sxm"
    assert resolve_gpu("A100 PCIe").board == "pcie"
    assert resolve_gpu("H100 SXM").board is None


@pytest.mark.parametrize(
    ("want", "nominal", "mib", "meets"),
    [
        pytest.param("24GB", 24, 22888, True, id="l4 is sold as 24 GB"),
        pytest.param("24GiB", 24, 22888, False, id="l4 has 22.35 GiB"),
        pytest.param("24576MiB", 24, 22888, False, id="MiB is strict"),
        pytest.param("24GiB", 80, 81559, True, id="h100 has more than 24 GiB"),
        pytest.param("80GB", 80, 81559, True, id="h100 is sold as 80 GB"),
        pytest.param("80GiB", 80, 81559, False, id="h100 has 79.6 GiB"),
        pytest.param("24GB", None, 22888, True, id="nominal unknown: makers round"),
        pytest.param("141GB", None, 144384, True, id="h200 by memory alone"),
        pytest.param("25GB", None, 22888, False, id="not that much"),
        pytest.param("24GiB", 24, None, False, id="nominal 24 GB is not 24 GiB"),
        pytest.param("94GB", 94, None, True, id="nvl"),
        pytest.param("95GB", 94, None, False, id="more than nvl"),
        pytest.param("8GB", None, None, None, id="unknown stays unknown"),
    ],
)
def test_memory_is_nominal_in_gb_and_strict_in_gib(
    want: str, nominal: int | None, mib: int | None, meets: bool | None
) -> None:
    assert meets_vram(parse_memory(want), None if nominal is None else Decimal(nominal), mib) is meets


@pytest.mark.parametrize(
    ("text", "vram", "model"),
    [
        pytest.param("NVIDIA", None, None, id="the maker's name is no model"),
        pytest.param("NVIDIA", 141, None, id="memory alone makes no model"),
        pytest.param("A100", 80, "a100-80gb", id="memory chooses the variant"),
        pytest.param("A100", 40, "a100-40gb", id="memory chooses the smaller variant"),
        pytest.param("A100", None, "a100-40gb", id="a name must not promise more than it says"),
        pytest.param("H100", 80, "h100-80gb-pcie", id="the slower board when none is told"),
        pytest.param("H100", 94, "h100-94gb-nvl", id="nvl by its memory"),
        pytest.param("A100", 96, None, id="memory that the model does not have"),
        pytest.param("MI325X", 256, None, id="unknown model"),
        pytest.param("A100 MIG 1g.5gb", None, None, id="a slice is not its GPU"),
    ],
)
def test_a_catalogues_name_matches_one_id_or_none(text: str, vram: int | None, model: str | None) -> None:
    assert match_model(text, None if vram is None else Decimal(vram)) == model


def test_the_table_says_what_each_gpu_is() -> None:
    gpu = gpu_info("a100-80gb")
    assert (gpu.family, gpu.vendor, gpu.vram_gb, gpu.memory_mib) == ("a100", "nvidia", Decimal(80), 81920)
    assert gpu_info("tpu-v6e").vram_gb is None
    assert all(gpu.source for gpu in all_gpus())


@given(st.one_of(st.text(), st.text("aA1080hHgGbB:- xsmv5elitpodpc.,")))
def test_no_name_raises_anything_but_a_user_error(text: str) -> None:
    match_model(text)
    try:
        name = resolve_gpu(text)
    except UserError as error:
        assert error.what.isprintable()  # noqa: PT017 - what is raised is the point
    else:
        assert name.ids or name.vendor or name.vram or "any" in text.lower()
