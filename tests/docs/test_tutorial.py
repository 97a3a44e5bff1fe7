"""Every command of the tutorial is run as it is written."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from desk import REPO, Desk

TUTORIAL = REPO / "docs" / "tutorial" / "first-cluster.md"
COMMAND = re.compile(r"^\$ (?P<command>.*?)(?:  # exit (?P<code>\d+))?$", re.MULTILINE)


@pytest.mark.engine
def test_the_tutorial_does_what_it_says(tmp_path: Path) -> None:
    where = tmp_path
    desk = Desk(tmp_path, tmp_path / "home")
    path = f"{Path(sys.executable).parent}:{desk.environ()['PATH']}"
    ran = 0
    for match in COMMAND.finditer(TUTORIAL.read_text(encoding="utf-8")):
        words = shlex.split(match["command"])
        if words[0] == "cd":
            where /= words[1]
            continue
        done = subprocess.run(
            words,
            cwd=where,
            env={**desk.environ(), "PATH": path},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=300,
        )
        assert done.returncode == int(match["code"] or 0), f"{match['command']}\n{done.stdout}\n{done.stderr}"
        ran += 1
    assert ran > 8


def test_links_between_documents_lead_somewhere() -> None:
    broken = [
        f"{document.relative_to(REPO)}: {target}"
        for document in [*REPO.glob("*.md"), *(REPO / "docs").rglob("*.md")]
        for target in re.findall(r"\]\((?!https?:|#|mailto:)([^)#\s]+)", document.read_text(encoding="utf-8"))
        if not (document.parent / target).exists()
    ]
    assert not broken
