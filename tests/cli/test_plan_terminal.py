"""`emporion plan` on a terminal: what it draws, how wide, in what colours."""

from __future__ import annotations

import os
import re
import select
import subprocess
import sys
from pathlib import Path

import pytest
from terminal import Emporion

pty = pytest.importorskip("pty", reason="needs a pseudo-terminal")

WISH = ("plan", "--gpus", "a100:8", "--min-vram", "40gb")
ESCAPE = re.compile(r"\x1b\[[0-9;]*m")
WAIT_S = 60


def on_terminal(tmp_path: Path, *arguments: str, **environment: str) -> str:
    """Run a command line with a terminal of 80 columns as its stdout and stderr; return what it shows."""
    ours, theirs = os.openpty()
    surroundings = {name: value for name, value in os.environ.items() if name != "NO_COLOR"}
    known = {"EMPORION_HOME": str(tmp_path / "home"), "COLUMNS": "80", "TERM": "xterm-256color", "LANG": "C.UTF-8"}
    process = subprocess.Popen(
        [sys.executable, "-c", "import sys; from emporion.cli.main import main; sys.exit(main())", *arguments],
        stdin=subprocess.DEVNULL,
        stdout=theirs,
        stderr=theirs,
        env={**surroundings, **known, **environment},
    )
    os.close(theirs)
    shown = b""
    while select.select([ours], [], [], WAIT_S)[0]:
        try:
            piece = os.read(ours, 65536)
        except OSError:  # Linux says so when the other end is closed
            break
        if not piece:
            break
        shown += piece
    os.close(ours)
    assert process.wait(WAIT_S) == 0, shown
    return shown.decode().replace("\r\n", "\n")


def test_a_terminal_shows_the_front_in_its_width(tmp_path: Path) -> None:
    text = on_terminal(tmp_path, *WISH)
    assert "★" in text
    assert "\x1b[" in text
    lines = ESCAPE.sub("", text).split("\n")
    assert max(map(len, lines)) <= 80
    assert lines[-3 if lines[-2].startswith("  ") else -2].startswith("recommended: ")


def test_no_color_is_honoured(tmp_path: Path) -> None:
    text = on_terminal(tmp_path, *WISH, NO_COLOR="1")
    assert "★" in text
    assert "\x1b" not in text


def test_the_picture_can_be_left_out(tmp_path: Path) -> None:
    assert "★" not in on_terminal(tmp_path, *WISH, "--no-chart")


def test_an_explanation_fits_as_well(tmp_path: Path) -> None:
    text = on_terminal(tmp_path, *WISH, "--explain", "aws/us-east-1/use1-az1/p4d.24xlarge/spot")
    assert max(map(len, ESCAPE.sub("", text).split("\n"))) <= 80


def test_a_pipe_gets_the_picture_only_when_it_asks(emporion: Emporion) -> None:
    assert "recommended   number = rank" not in emporion(*WISH).out
    drawn = emporion(*WISH, "--chart").out
    assert "recommended   number = rank" in drawn
    assert "\x1b" not in drawn
    assert "recommended" not in emporion(*WISH, "--chart", "--json").err
