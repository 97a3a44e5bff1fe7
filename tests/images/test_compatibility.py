"""The solver against the tables, read here in the plainest way."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from naive_images import forbidden, read

from emporion.images.frameworks import releases, wheel_cuda
from emporion.images.judge import Combination
from emporion.images.node import Node, node_of
from emporion.images.solve import Verdict, solve
from emporion.images.versions import parse_driver
from emporion.images.wish import Candidate, Wish, candidates, pythons, wish_of
from emporion.market.errors import UserError
from emporion.market.gpus import all_gpus

GPUS = [gpu.id for gpu in all_gpus() if gpu.compute_capability]
DRIVERS = [
    "418.87.01", "450.80.01", "450.80.02", "470.82.01", "525.60.12", "525.60.13", "535.183.01", "545.29.06",
    "550.54.14", "565.57.01", "570.133.20", "575.57.08", "580.95.05", "590.48.01", "595.71.05", "620.10.01",
]  # fmt: skip


@st.composite
def asked(draw: st.DrawFn) -> tuple[Wish, Node]:
    gpu = draw(st.sampled_from([None, *GPUS]))
    driver = draw(st.sampled_from([None, "[N/A]", *DRIVERS]))
    torch = draw(st.sampled_from([None, *(one.text for one in releases())]))
    cuda = draw(st.sampled_from([None, *(row["cuda"] for row in read("cuda_toolkits.csv"))]))
    python = draw(st.sampled_from([None, *("3." + str(one[1]) for one in pythons())]))
    ops = draw(st.sampled_from([(), ("flash-attn",), ("flash-attn", "rope")]))
    layer, build = draw(st.booleans()), draw(st.booleans())
    wish = wish_of(torch=torch, cuda=cuda, python=python, ops=ops, compat_layer=layer, build_kernels=build)
    return wish, Node((gpu,) if gpu else (), parse_driver(driver) if driver else None, driver)


def above(one: Candidate, other: Candidate, wish: Wish) -> bool:
    """Return whether a candidate keeps more of a wish than another."""
    torches = one.torch.version, other.torch.version
    cudas = wheel_cuda(one.wheel), wheel_cuda(other.wheel)
    first, second = (cudas, torches) if wish.cuda and not wish.torch else (torches, cudas)
    return (first[0], second[0], one.python) > (first[1], second[1], other.python)


@given(asked())
def test_a_choice_is_never_forbidden_by_a_table_and_lowers_no_more_than_it_must(case: tuple[Wish, Node]) -> None:
    wish, node = case
    chosen = solve(wish, node).combination
    for candidate in candidates(wish):
        if chosen is None or above(candidate, chosen.candidate, wish):
            assert forbidden(candidate.torch.text, candidate.wheel, candidate.python, node, wish), candidate.name
    if chosen is not None:
        assert not forbidden(chosen.candidate.torch.text, chosen.candidate.wheel, chosen.candidate.python, node, wish)
        assert wish.torch is None or chosen.candidate.torch.version <= wish.torch.version
        assert wish.cuda is None or wheel_cuda(chosen.candidate.wheel) <= wish.cuda


@given(asked())
def test_a_verdict_says_why_and_every_alternative_is_one(case: tuple[Wish, Node]) -> None:
    wish, node = case
    verdict = solve(wish, node)
    assert (verdict.combination is None) == (verdict.status == "blocked")
    if verdict.status in {"blocked", "lowered"}:
        assert verdict.why
    assert (verdict.status == "ok") <= (not verdict.lowered)
    if node.driver_text == "[N/A]" and verdict.combination:
        assert verdict.status == "unknown"
    for other in verdict.alternatives:
        assert other.combination is not None
        assert verdict.combination is None or other.combination.candidate != verdict.combination.candidate


def ask(gpu: str | None, driver: str | None, machine: str | None = None, **wish: Any) -> Verdict:
    return solve(wish_of(**wish), node_of(gpu, driver, machine))


def got(verdict: Verdict) -> Combination:
    assert verdict.combination is not None, verdict.why
    return verdict.combination


ISSUES = [
    pytest.param(
        "rtx4090", "535.183.01", {"torch": "2.14", "cuda": "13.0"}, "2.14.0+cu126", id="1 no layer on a GeForce"
    ),
    pytest.param("a100", "570.124.06", {}, "2.14.0+cu126", id="2 unpinned torch on R570"),
    pytest.param(
        "rtx4090", "550.54.14", {"torch": "2.8", "cuda": "12.8"}, "2.8.0+cu128", id="3 minor version is enough"
    ),
    pytest.param(
        "a100", "550.54.14", {"torch": "2.7", "cuda": "12.8", "ops": ("flash-attn",)}, "2.7.1+cu128", id="4 abi"
    ),
    pytest.param(
        "a100", "550.54.14", {"torch": "2.6", "cuda": "12.4", "ops": ("flash-attn",)}, "2.6.0+cu124", id="5 abi"
    ),
]


@pytest.mark.parametrize(("gpu", "driver", "wish", "name"), ISSUES)
def test_public_issues_have_their_right_result(gpu: str, driver: str, wish: dict[str, Any], name: str) -> None:
    verdict = ask(gpu, driver, **wish)
    assert got(verdict).candidate.name == name
    assert not any("compat layer" in other.how for other in verdict.alternatives if gpu == "rtx4090")


def test_issue_4_takes_the_wheel_of_the_new_abi() -> None:
    flash = got(ask("a100", "550.54.14", torch="2.7", cuda="12.8", python="3.12", ops=("flash-attn",))).flash
    assert flash is not None
    assert flash.name == "flash_attn-2.8.3.post1+cu12torch2.7cxx11abiTRUE-cp312-cp312-linux_x86_64.whl"


def test_issue_5_leaves_the_broken_wheels_out() -> None:
    flash = got(ask("a100", "550.54.14", torch="2.6", cuda="12.4", python="3.12", ops=("flash-attn",))).flash
    assert flash is not None
    assert flash.url.endswith(
        "/v2.7.4.post1/flash_attn-2.7.4.post1+cu12torch2.6cxx11abiFALSE-cp312-cp312-linux_x86_64.whl"
    )


@pytest.mark.parametrize("gpu", ["t4", "v100"])
def test_issue_6_flash_attention_is_refused_before_ampere_with_what_there_is_instead(gpu: str) -> None:
    verdict = ask(gpu, "535.183.01", ops=("flash-attn",))
    assert verdict.status == "blocked"
    assert "scaled_dot_product_attention" in " ".join(verdict.why)
    assert [other.how for other in verdict.alternatives] == ["leave flash-attn out"]


def test_what_was_lowered_is_said_with_its_reason_and_the_layer_is_only_named() -> None:
    verdict = ask("a100", "535.183")
    assert got(verdict).candidate.name == "2.14.0+cu126"
    assert verdict.why == (
        "driver 535.183 is CUDA 12.2 natively and runs any 12.x by minor-version compatibility, not 13.x",
    )
    assert [other.how for other in verdict.alternatives] == ["take the compat layer cuda-compat-13-2"]
    assert got(ask("a100", "535.183", compat_layer=True)).candidate.name == "2.15.0+cu132"


@pytest.mark.parametrize(
    ("gpu", "driver", "wish", "why", "way"),
    [
        pytest.param("b200", "580.95.05", {"cuda": "12.1"}, "no code for sm_100", "take a newer CUDA", id="b200 12.1"),
        pytest.param("h100", "418.87.01", {}, "runs no CUDA of the tables", "driver 450.80.02 or later", id="418"),
        pytest.param("b200", "535.183.01", {}, "it needs R570", "install driver 570 or later", id="b200 R535"),
        pytest.param("v100", "590.48.01", {}, "no code for sm_70", "R580 at the latest", id="v100 R590"),
        pytest.param("rtx5090", "580.95.05", {"torch": "2.6"}, "no code for sm_120", "take a newer torch", id="old"),
        pytest.param("gh200", "550.54.14", {}, "not 13.x", "take the compat layer cuda-compat-13-0", id="grace"),
    ],
)  # fmt: skip
def test_impossible_wishes_are_blocked_with_a_way_out(
    gpu: str, driver: str, wish: dict[str, Any], why: str, way: str
) -> None:
    verdict = ask(gpu, driver, **wish)
    assert verdict.status == "blocked"
    assert why in " | ".join(verdict.why)
    assert way in " | ".join(other.how for other in verdict.alternatives)


@pytest.mark.parametrize(
    ("wish", "code", "what"),
    [
        ({"torch": "2.16"}, "E-TORCH", "no torch 2.16"),
        ({"torch": "2.7.0"}, "E-TORCH", "no torch 2.7.0"),
        ({"torch": "nightly"}, "E-TORCH", "not a release"),
        ({"cuda": "12.7"}, "E-CUDA", "no CUDA 12.7"),
        ({"cuda": "twelve"}, "E-CUDA", "not a version"),
        ({"python": "2.7"}, "E-PYTHON", "no torch"),
        ({"ops": ("flash-atn",)}, "E-OP", "no kernel"),
    ],
)
def test_what_the_tables_do_not_hold_is_refused_by_name(wish: dict[str, Any], code: str, what: str) -> None:
    with pytest.raises(UserError) as caught:
        wish_of(**wish)
    assert caught.value.code == code
    assert what in caught.value.what


def test_every_wrong_version_is_told_at_once() -> None:
    with pytest.raises(UserError) as caught:
        wish_of(torch="9", cuda="99.9", python="2.7", ops=("rop",))
    assert [one.code for one in caught.value.problems()] == ["E-TORCH", "E-CUDA", "E-PYTHON", "E-OP"]


def test_a_gpu_of_another_maker_is_refused() -> None:
    with pytest.raises(UserError, match="recipes are for CUDA alone") as caught:
        node_of("mi300x", None)
    assert (caught.value.code, caught.value.exit_code) == ("E-GPU-VENDOR", 3)
