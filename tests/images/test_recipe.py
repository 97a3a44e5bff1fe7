from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from emporion.images.recipe import clouds, load_recipe, recipe_of
from emporion.market.errors import UserError

PLAIN: dict[str, Any] = {"gpu": "h100", "cloud": "aws"}


@pytest.mark.parametrize(
    ("said", "code", "what"),
    [
        pytest.param({"cloud": "ews"}, "E-CLOUD", "no fabric is known", id="cloud"),
        pytest.param({"pytorch": 2.1}, "E-RECIPE", "without quotes", id="a version that YAML read as a number"),
        pytest.param({"framework": "jax"}, "E-RECIPE", "framework is", id="framework"),
        pytest.param({"base": "ubuntu:24.04"}, "E-BASE", "not pinned by its digest", id="a tag without digest"),
        pytest.param({"base": "ubuntu:24.04@sha256:abc"}, "E-BASE", "not pinned", id="a short digest"),
        pytest.param({"packages": ["git; rm -rf /"]}, "E-RECIPE", "not a package's name", id="a shell in a package"),
        pytest.param({"pip": ["numpy"]}, "E-PIN", "not pinned to a version", id="no pin"),
        pytest.param({"pip": ["torch==2.1.2"]}, "E-PIN", "would replace", id="torch beside torch"),
        pytest.param({"pip": ["Flash_Attn==2.1.2"]}, "E-PIN", "would replace", id="kernels beside kernels"),
        pytest.param({"env": {"NCCL_PROTO": "simple"}}, "E-ENV", "must not be in an image", id="never baked"),
        pytest.param({"env": {"LD_LIBRARY_PATH": "/x"}}, "E-ENV", "must not be in an image", id="library path"),
        pytest.param({"env": {"HF_TOKEN": "x"}}, "E-SECRET", "looks like a secret", id="token"),
        pytest.param({"env": {"AWS_SECRET_ACCESS_KEY": "x"}}, "E-SECRET", "looks like a secret", id="key"),
        pytest.param({"env": {"A": "1\nUSER root"}}, "E-ENV", "not a variable of one line", id="two lines"),
        pytest.param({"env": {"A": 1}}, "E-RECIPE", "not texts", id="a number"),
        pytest.param({"deterministic": "yes"}, "E-RECIPE", "deterministic is", id="no flag"),
        pytest.param({"ops": 7}, "E-RECIPE", "not a list", id="no list"),
        pytest.param({"gpu": None}, "E-RECIPE", "says no gpu", id="no gpu"),
    ],
)
def test_what_a_recipe_must_not_say_is_refused(said: dict[str, Any], code: str, what: str) -> None:
    with pytest.raises(UserError) as caught:
        recipe_of({**PLAIN, **said})
    assert caught.value.problems()[0].code == code
    assert what in caught.value.problems()[0].what


def test_every_problem_is_told_at_once() -> None:
    with pytest.raises(UserError) as caught:
        recipe_of({**PLAIN, "cloud": "ews", "pip": ["numpy"], "env": {"HF_TOKEN": "x"}})
    assert [one.code for one in caught.value.problems()] == ["E-CLOUD", "E-PIN", "E-SECRET"]


def test_a_harmless_name_with_key_in_it_is_no_secret() -> None:
    assert recipe_of({**PLAIN, "env": {"TOKENIZERS_PARALLELISM": "0", "KEYBOARD": "us"}}).env


def test_a_gpus_count_is_left_out() -> None:
    assert recipe_of({**PLAIN, "gpu": "a100-80gb:8"}).gpu == "a100-80gb"


def test_a_gpus_name_stays_on_its_line() -> None:
    assert recipe_of({**PLAIN, "gpu": "h100\n sxm"}).gpu == "h100 sxm"


@pytest.mark.parametrize(
    ("text", "code", "what"),
    [
        ("gpu: h100\ngpus: 8\n", "E-KEY", "no key 'gpus'"),
        ("gpu: [\n", "E-RECIPE", "is not YAML"),
        ("- h100\n", "E-RECIPE", "holds no keys"),
        ("", "E-RECIPE", "holds no keys"),
    ],
)
def test_a_file_that_is_no_recipe_is_told_with_its_place(tmp_path: Path, text: str, code: str, what: str) -> None:
    path = tmp_path / "recipe.yaml"
    path.write_text(text)
    with pytest.raises(UserError) as caught:
        load_recipe(path)
    assert caught.value.code == code
    assert what in caught.value.what
    assert str(path) in str(caught.value.where)


def test_an_unknown_key_is_told_with_the_near_one(tmp_path: Path) -> None:
    path = tmp_path / "recipe.yaml"
    path.write_text("gpu: h100\ndeterministc: true\n")
    with pytest.raises(UserError, match="did you mean deterministic"):
        load_recipe(path)


def test_a_file_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="cannot be read"):
        load_recipe(tmp_path / "none.yaml")


def test_there_are_clouds() -> None:
    assert {"aws", "azure", "gcp"} <= set(clouds())
