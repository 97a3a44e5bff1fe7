from __future__ import annotations

from pathlib import Path

import pytest
from terminal import Emporion, Ran

from emporion.cli.main import main


@pytest.fixture(scope="session")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache that all tests share, so that the catalogue is compiled once."""
    return tmp_path_factory.mktemp("cache")


@pytest.fixture
def emporion(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, compiled: Path, monkeypatch: pytest.MonkeyPatch
) -> Emporion:
    """Run a command line in this process, in an empty folder and with an Emporion home of its own."""
    here = tmp_path / "here"
    here.mkdir()
    monkeypatch.chdir(here)
    monkeypatch.setenv("EMPORION_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(compiled))
    monkeypatch.delenv("EMPORION_DEBUG", raising=False)

    def run(*arguments: str) -> Ran:
        capsys.readouterr()
        code = main(list(arguments))
        out, err = capsys.readouterr()
        return Ran(code, out, err)

    return run
