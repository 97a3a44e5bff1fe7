from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from terminal import Emporion


@pytest.fixture
def no_engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.fixture
def engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder on PATH with programs that look like a recent engine."""
    folder = tmp_path / "pulumi" / "bin"
    folder.mkdir(parents=True)
    for name in ("pulumi", "pulumi-language-python", "pulumi-language-python-exec"):
        (folder / name).write_text("#!/bin/sh\necho v3.280.0\n")
        (folder / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")
    return folder


@pytest.mark.usefixtures("no_engine")
def test_no_engine_is_told_with_the_way_to_get_one(emporion: Emporion) -> None:
    ran = emporion("engine", "status")
    assert ran.code == 1
    assert "no engine" in ran.out
    assert "emporion engine install" in ran.err
    assert emporion("engine", "status", "--json").document["installed"] is False


@pytest.mark.usefixtures("no_engine")
def test_there_are_no_exports_without_an_engine(emporion: Emporion) -> None:
    ran = emporion("engine", "env")
    assert (ran.code, ran.out) == (1, "")
    assert "[E-ENGINE-MISSING]" in ran.err


def test_the_engine_on_the_path_is_used(emporion: Emporion, engine: Path) -> None:
    document = emporion("engine", "status", "--json").document
    assert (document["version"], document["source"], document["bin_dir"]) == ("3.280.0", "path", str(engine))
    assert str(engine) in emporion("engine", "install").out


def test_the_exports_are_lines_for_a_shell(emporion: Emporion, engine: Path, tmp_path: Path) -> None:
    out = emporion("engine", "env").out
    done = subprocess.run(
        ["sh", "-c", f"{out}\necho $PULUMI_BACKEND_URL $EMPORION_WORLD; command -v pulumi"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.splitlines() == [f"file://{tmp_path}/home/state local", f"{engine}/pulumi"]


def test_the_real_world_has_a_folder_of_its_own(emporion: Emporion, engine: Path) -> None:
    assert engine.is_dir()
    out = emporion("engine", "env", "--world", "real").out
    assert "/pulumi/real" in out
    assert "EMPORION_WORLD=real" in out
