"""Capability labels: a model and its memory, derived from the table of GPUs."""

from __future__ import annotations

import pytest

from emporion.market.errors import UserError
from emporion.market.gpu_names import resolve_gpu
from emporion.market.gpus import all_gpus, gpu_info, label_of, labels


@pytest.mark.parametrize(
    ("label", "ids"),
    [
        ("a100-40gb", ("a100-40gb",)),
        ("v100-32gb", ("v100-32gb",)),
        ("h100-80gb", ("h100-80gb-pcie", "h100-80gb-sxm")),
        ("h100-94gb", ("h100-94gb-nvl",)),
        ("rtx6000-24gb", ("quadro-rtx6000-24gb",)),
        ("rtx6000ada-48gb", ("rtx6000ada-48gb",)),
        ("rtxpro6000-96gb", ("rtxpro6000-96gb",)),
        ("a6000-48gb", ("a6000-48gb",)),
    ],
)
def test_a_label_is_one_kind_of_gpu_whatever_its_board(label: str, ids: tuple[str, ...]) -> None:
    assert labels()[label] == ids
    assert {label_of(gpu) for gpu in ids} == {label}


def test_every_label_is_a_name_for_its_gpus_and_every_gpu_has_one() -> None:
    for label, ids in labels().items():
        assert set(resolve_gpu(label).ids) == set(ids)
    assert {gpu for ids in labels().values() for gpu in ids} == {gpu.id for gpu in all_gpus()}
    for label, ids in labels().items():
        assert len({gpu_info(gpu).vram_gb for gpu in ids}) == 1, label


@pytest.mark.parametrize(
    "name", ["rtx6000-24gb", "RTX6000:24GB", "rtx 6000 24gb", "Quadro RTX 6000", "NVIDIA RTX6000-24GB"]
)
def test_the_rtx_6000_of_24_gb_is_one_part(name: str) -> None:
    assert resolve_gpu(name).ids == ("quadro-rtx6000-24gb",)


@pytest.mark.parametrize("name", ["rtx6000", "rtx6000-48gb", "rtx6000-96gb", "rtx6000-24gib", "a100-24gb"])
def test_a_name_that_may_mean_several_parts_means_none(name: str) -> None:
    with pytest.raises(UserError) as caught:
        resolve_gpu(name)
    assert "did you mean" in (caught.value.fix or "")
