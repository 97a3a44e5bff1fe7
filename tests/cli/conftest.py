from __future__ import annotations

from pathlib import Path

import pytest
from terminal import Emporion, Ran

from emporion.cli.main import main


@pytest.fixture
def emporion(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Emporion:
    """Run a command line in this process, in an empty folder and with an Emporion home of its own."""
    here = tmp_path / "here"
    here.mkdir()
    monkeypatch.chdir(here)
    monkeypatch.setenv("EMPORION_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("EMPORION_DEBUG", raising=False)

    def run(*arguments: str) -> Ran:
        capsys.readouterr()
        code = main(list(arguments))
        out, err = capsys.readouterr()
        return Ran(code, out, err)

    return run
