"""The wheel is a product: it works in an environment that holds nothing else, far from the checkout."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest

REPO = Path(__file__).parents[1]
ROOMS = sorted(path.parents[2].name for path in REPO.glob("*/emporion/*/__init__.py"))
INSTALL_S = 600
COMMAND_S = 400
CARRIED = {".css", ".csv", ".j2", ".js", ".yaml", ".txt", ".go", ".mod", ".sum", ".lock", ".typed", ".py"}


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the wheel as a release does, with the pinned hatchling."""
    out = tmp_path_factory.mktemp("dist")
    build = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(out)]
    done = subprocess.run(build, cwd=REPO, capture_output=True, text=True, check=False, timeout=INSTALL_S)
    assert done.returncode == 0, done.stdout + done.stderr
    (made,) = out.glob("*.whl")
    return made


def test_the_wheel_holds_every_room_with_its_data_and_nothing_else(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        held = {name for name in archive.namelist() if ".dist-info/" not in name}
    assert all(name.startswith("emporion/") for name in held)
    assert "emporion/__init__.py" not in held
    assert sorted({name.split("/")[1] for name in held}) == ROOMS
    tracked = subprocess.run(["git", "ls-files"], cwd=REPO, check=True, capture_output=True, text=True)
    expected = {
        line.partition("/")[2]
        for line in tracked.stdout.splitlines()
        if line.split("/")[0] in ROOMS and line.split("/")[1:2] == ["emporion"] and Path(line).suffix in CARRIED
    }
    assert expected - held == set()


def test_the_wheels_metadata_names_its_extras_commands_and_clouds(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        info = next(name.split("/")[0] for name in archive.namelist() if ".dist-info/" in name)
        metadata = archive.read(f"{info}/METADATA").decode()
        entry_points = archive.read(f"{info}/entry_points.txt").decode()
        licence = archive.read(f"{info}/licenses/LICENSE").decode()
    assert "Apache License" in licence
    assert {"aws", "all"} <= set(re.findall(r"^Provides-Extra: (\S+)$", metadata, re.MULTILINE))
    assert "emporion = emporion.cli.main:main" in entry_points
    assert "[emporion.clouds]" in entry_points
    assert "[emporion.worlds]" in entry_points


def constraints(folder: Path) -> Path:
    """Write the lock's versions as constraints: what is not needed is not installed, what is has the locked version."""
    lines = (REPO / "requirements.lock").read_text(encoding="utf-8").splitlines()
    pins = [line.partition(" \\")[0].strip() for line in lines if re.match(r"[a-zA-Z0-9].*==", line)]
    path = folder / "constraints.txt"
    path.write_text("\n".join(pins) + "\n", encoding="utf-8")
    return path


@pytest.fixture(scope="session")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Install the wheel with its AWS extra in a new environment and return that one's `bin`."""
    folder = tmp_path_factory.mktemp("installed")
    venv, pins = folder / "venv", constraints(folder)
    wanted = f"emporion[aws] @ {wheel.as_uri()}"
    uv = shutil.which("uv")
    if uv:
        steps = [
            [uv, "venv", "--quiet", "--python", sys.executable, str(venv)],
            [uv, "pip", "install", "--quiet", "--python", str(venv / "bin/python"), "--constraint", str(pins), wanted],
        ]
    else:
        steps = [
            [sys.executable, "-m", "venv", str(venv)],
            [str(venv / "bin/python"), "-m", "pip", "install", "--quiet", "--constraint", str(pins), wanted],
        ]
    for step in steps:
        done = subprocess.run(step, capture_output=True, text=True, check=False, timeout=INSTALL_S)
        assert done.returncode == 0, f"{step}\n{done.stdout}\n{done.stderr}"
    return venv / "bin"


class Terminal:
    """A shell of someone who has the wheel and nothing of the checkout."""

    def __init__(self, bin_folder: Path, folder: Path) -> None:
        self.emporion = str(bin_folder / "emporion")
        self.folder = folder
        dropped = ("AWS_", "EMPORION_", "PULUMI_", "PYTHON", "VIRTUAL_ENV")
        kept = {key: value for key, value in os.environ.items() if not key.startswith(dropped)}
        path = [entry for entry in kept["PATH"].split(os.pathsep) if not entry.startswith(str(REPO))]
        self.environ = {
            **kept,
            "PATH": os.pathsep.join(path),
            "EMPORION_HOME": str(folder / "home"),
            "NO_COLOR": "1",
        }

    def run(self, *arguments: str, code: int = 0) -> str:
        done = subprocess.run(
            [self.emporion, *arguments],
            cwd=self.folder, env=self.environ, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
            timeout=COMMAND_S,
        )  # fmt: skip
        assert done.returncode == code, (
            f"emporion {' '.join(arguments)}: {done.returncode}\n{done.stdout}\n{done.stderr}"
        )
        assert "Traceback" not in done.stderr
        return done.stdout

    def json(self, *arguments: str, code: int = 0) -> dict[str, Any]:
        answer: dict[str, Any] = json.loads(self.run(*arguments, "--json", code=code))
        return answer


@pytest.mark.engine
def test_the_installed_wheel_plans_and_runs_a_cluster(installed: Path, tmp_path: Path) -> None:
    terminal = Terminal(installed, tmp_path)
    assert terminal.run("--version").strip()
    terminal.run("init", "shop")
    terminal.folder = tmp_path / "shop"

    plan = terminal.json("plan", "intents/demo.yaml")
    assert plan["feasible"]
    nodes = next(one for one in plan["solutions"] if one["recommended"])["nodes"]
    assert sum(pool["gpus_per_node"] * pool["count"] for pool in nodes) == 16

    terminal.run("up", "intents/demo.yaml", "--local", "--yes")
    status = terminal.json("status", "demo")
    gpu_nodes = [node for node in status["nodes"] if node["pool"] != "controller"]
    assert len(gpu_nodes) == sum(pool["count"] for pool in nodes)
    assert terminal.json("local", "status")["total"] > 0

    terminal.run("down", "demo", "--yes")
    assert terminal.json("local", "status")["total"] == 0


@pytest.mark.engine
def test_planning_with_the_installed_wheel_loads_no_engine_and_no_cloud(installed: Path, tmp_path: Path) -> None:
    script = (
        "import sys; from emporion.cli.main import main\n"
        "sys.argv = ['emporion', 'plan', '--gpus', 'a100:8', '--json']\n"
        "try:\n    main()\nexcept SystemExit as end:\n    assert not end.code, end.code\n"
        "loaded = {'boto3', 'botocore', 'grpc', 'pulumi', 'pulumi_aws'} & set(sys.modules)\n"
        "assert not loaded, loaded\n"
    )
    done = subprocess.run(
        [str(installed / "python"), "-c", script], cwd=tmp_path, capture_output=True, text=True, check=False,
        env=Terminal(installed, tmp_path).environ, timeout=COMMAND_S,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
