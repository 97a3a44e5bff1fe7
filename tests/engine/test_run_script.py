"""The scripts `run` and `.ci/run`, as far as they go without installing anything."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

REPO = Path(__file__).resolve().parents[2]
RUN = REPO / "run"
CI_RUN = REPO / ".ci" / "run"
TOOLS = ("cat", "cksum", "dirname", "ln", "mkdir", "readlink", "rm", "sh", "sleep")

Program = Callable[..., Path]


def sh(script: Path, *arguments: str, env: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["/bin/sh", str(script), *arguments],
        env=dict(env or {"PATH": "/usr/bin:/bin"}),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """A folder that looks like a fresh clone to the scripts."""
    folder = tmp_path / "clone"
    (folder / ".ci").mkdir(parents=True)
    for name in ("run", ".ci/run", "requirements.lock", "pyproject.toml"):
        shutil.copy(REPO / name, folder / name)
    return folder


@pytest.fixture
def bare(tmp_path: Path) -> dict[str, str]:
    """The environment of a machine without any Python."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name in TOOLS:
        found = shutil.which(name)
        assert found is not None
        (folder / name).symlink_to(found)
    return {"PATH": str(folder)}


@pytest.mark.parametrize("arguments", [[], ["help"], ["--help"]])
def test_run_without_a_command_says_what_there_is(arguments: list[str]) -> None:
    result = sh(RUN, *arguments)
    assert result.returncode == 0
    assert result.stdout.startswith("usage: ./run COMMAND")
    for command in ("demo", "test", "check", "bench", "soak", "shell", "clean"):
        assert f"\n  {command} " in result.stdout
    assert result.stderr == ""


def test_an_unknown_command_is_one_line() -> None:
    result = sh(RUN, "dmeo")
    assert result.returncode == 1
    assert result.stderr == ("run: error: no command 'dmeo'; try: demo, test, check, bench, soak, shell or clean\n")


@pytest.mark.parametrize("command", ["demo", "test", "check", "bench", "soak", "shell"])
def test_without_a_python_every_command_says_what_to_install(clone: Path, bare: dict[str, str], command: str) -> None:
    result = sh(clone / "run", command, env=bare)
    assert result.returncode == 1
    assert result.stdout == ""
    assert "no Python 3.11 or newer on PATH; try: install python3.11" in result.stderr.splitlines()[-1]
    assert not (clone / ".venv").exists()


def test_a_python_that_is_too_old_does_not_count(clone: Path, bare: dict[str, str], program: Program) -> None:
    program(Path(bare["PATH"]) / "python3", "exit 1")
    result = sh(clone / "run", "check", env=bare)
    assert "no Python 3.11 or newer" in result.stderr


def test_an_installation_that_fails_is_one_line_and_leaves_no_lock(
    clone: Path, bare: dict[str, str], program: Program
) -> None:
    program(Path(bare["PATH"]) / "python3", "exit 0")
    program(Path(bare["PATH"]) / "uv", '[ "$1" != pip ] || { echo "no route to the index" >&2; exit 2; }')
    result = sh(clone / "run", "check", env=bare)
    assert result.returncode == 1
    assert result.stderr.splitlines()[-1].startswith("run: error: the dependencies could not be installed; try: ")
    assert list((clone / ".run").iterdir()) == []


def test_the_lock_of_a_process_that_died_does_not_count(clone: Path, bare: dict[str, str], program: Program) -> None:
    program(Path(bare["PATH"]) / "python3", "exit 0")
    program(Path(bare["PATH"]) / "uv", "exit 2")
    gone = subprocess.run(["/bin/sh", "-c", "echo $$"], capture_output=True, text=True, check=True).stdout.strip()
    (clone / ".run").mkdir()
    (clone / ".run" / "lock").symlink_to(gone)
    assert "uv could not make .venv" in sh(clone / "run", "check", env=bare).stderr


def test_clean_removes_only_what_can_be_made_again(clone: Path) -> None:
    for name in (".venv", ".mypy_cache", "market/__pycache__"):
        (clone / name).mkdir(parents=True)
    (clone / "market" / "offer.py").write_text("")
    assert sh(clone / "run", "clean").returncode == 0
    assert sorted(path.name for path in clone.iterdir()) == [
        ".ci",
        "market",
        "pyproject.toml",
        "requirements.lock",
        "run",
    ]
    assert [path.name for path in (clone / "market").iterdir()] == ["offer.py"]


@pytest.mark.parametrize(
    ("body", "code"),
    [
        pytest.param("echo '==== 12 passed, 1 skipped in 3s ===='", 0, id="tests passed"),
        pytest.param("echo 'all passed'", 1, id="no test was executed"),
        pytest.param("echo '0 passed'", 1, id="none"),
        pytest.param("echo '3 passed'; exit 1", 1, id="tests passed and a gate failed"),
        pytest.param("exit 5", 5, id="pytest collected nothing"),
    ],
)
def test_ci_fails_when_tests_fail_or_none_ran(clone: Path, program: Program, body: str, code: int) -> None:
    program(clone / "run", f'[ "$1" = test ] || exit 99\nread -r line && exit 98\n{body}')
    assert sh(clone / ".ci" / "run").returncode == code
