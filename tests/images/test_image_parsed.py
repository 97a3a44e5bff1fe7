"""Every recipe is read by BuildKit's own parser, which knows what a builder takes better than any linter."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from emporion.images.recipe import recipe_of
from emporion.images.render import render

SOURCE = Path(__file__).with_name("go")
RECIPES: list[dict[str, Any]] = [
    *(
        {"gpu": gpu, "cloud": cloud}
        for gpu in ("a100", "h100", "b200", "l4", "t4")
        for cloud in ("aws", "azure", "gcp")
    ),
    {"gpu": "h100", "cloud": "aws", "pytorch": "2.8", "ops": "flash-attn,rope", "deterministic": True},
    {"gpu": "b200", "cloud": "gcp", "pytorch": "2.12", "cuda": "13.0", "ops": "flash-attn", "compile_kernels": True},
    {"gpu": "a100", "cloud": "azure", "driver": "535.183.01", "cuda": "13.0", "compat_layer": True},
    {"gpu": "t4", "cloud": "azure", "framework": "none", "env": {"SAYS": 'a "b" $c \\'}},
]


@pytest.fixture(scope="session")
def parser(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The parser, built from its Go modules."""
    if shutil.which("go") is None:
        pytest.skip("go is not on PATH: BuildKit's parser cannot be built")
    program = tmp_path_factory.mktemp("parser") / "parse"
    environment = {**os.environ, "CGO_ENABLED": "0"}
    done = subprocess.run(
        ["go", "build", "-o", program, "."], cwd=SOURCE, env=environment, capture_output=True, text=True, check=False
    )
    if done.returncode and "dial tcp" in done.stderr:
        pytest.skip("the Go modules of BuildKit's parser cannot be fetched")
    assert done.returncode == 0, done.stderr
    return program


@pytest.mark.build
def test_buildkit_reads_every_recipe_and_has_nothing_to_say(parser: Path, tmp_path: Path) -> None:
    paths = []
    for number, said in enumerate(RECIPES):
        path = tmp_path / str(number)
        path.write_text(render(recipe_of(said), "").files["Dockerfile"])
        paths.append(path)
    done = subprocess.run([parser, *paths], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    told = [line for line in done.stdout.splitlines() if line.startswith(str(tmp_path))]
    assert told == []
    assert done.stdout.count("HEALTHCHECK") == done.stdout.count("USER") == len(RECIPES)


@pytest.mark.build
@pytest.mark.parametrize("text", ["FROM a\nBOGUS x\n", "FROM a\nCOPY --foo a b\n", "RUN x\n"])
def test_the_parser_refuses_what_a_builder_would(parser: Path, tmp_path: Path, text: str) -> None:
    (tmp_path / "Dockerfile").write_text(text)
    assert subprocess.run([parser, tmp_path / "Dockerfile"], capture_output=True, check=False).returncode == 1
