"""`pulumi preview` of the demo beside an empty program and beside the same resources written by hand."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from by_hand import program
from measure import Cost, measure
from report import Section

REPO = Path(__file__).resolve().parents[1]
EMPORION = str(Path(sys.executable).with_name("emporion"))
RUNS = 7
SHARE_LIMIT = 0.15
"""DESIGN.md section 9: our share above the same resources written by hand."""
VOLATILE = frozenset({"content", "source", "value", "valueWo"})


def sections() -> list[Section]:
    """Measure and return the section of this benchmark. Raises: RuntimeError: when the two programs are not equal."""
    with tempfile.TemporaryDirectory(prefix="emporion-bench-") as name:
        folder = Path(name)
        ours = folder / "shop"
        home = _home(folder / "made")
        _run([EMPORION, "init", str(ours)], home)
        shutil.copy(REPO / "stacks" / "intents" / "demo.yaml", ours / "demo.yaml")
        _run([EMPORION, "up", "demo.yaml", "--local", "--yes"], home, ours)
        state = json.loads(_run(["pulumi", "stack", "export", "-s", "demo"], _engine(home), ours))
        fresh = _engine(_home(folder / "fresh"))
        hand, empty = folder / "hand", folder / "empty"
        _stack(fresh, ours, "demo")
        wanted = _inputs(fresh, ours)
        _project(hand, program(state["deployment"]["resources"], wanted), ours / "Pulumi.demo.yaml")
        _project(empty, "import pulumi\n", None)
        _stack(fresh, hand, "demo")
        _stack(fresh, empty, "demo")
        count = _assert_equal(wanted, _inputs(fresh, hand))
        costs = {where.name: _preview(fresh, where) for where in (empty, hand, ours)}
    return [_section(costs["empty"], costs["hand"], costs["shop"], count)]


def _home(folder: Path) -> dict[str, str]:
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("EMPORION_", "PULUMI_", "AWS_"))}
    path = f"{Path(sys.executable).parent}{os.pathsep}{kept.get('PATH', '')}"
    return {**kept, "PATH": path, "EMPORION_HOME": str(folder)}


def _engine(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the environment of plain `pulumi` in a home, as `eval "$(emporion engine env)"` sets it."""
    lines = _run([EMPORION, "engine", "env"], environ)
    shell = subprocess.run(
        ["/bin/sh", "-c", f"{lines}\nexec env -0"], env=dict(environ), capture_output=True, check=True, text=True
    )
    return dict(entry.split("=", 1) for entry in shell.stdout.split("\0") if entry)


def _run(argv: list[str], environ: Mapping[str, str], cwd: Path | None = None) -> str:
    done = subprocess.run(argv, cwd=cwd, env=dict(environ), capture_output=True, text=True, check=False)
    if done.returncode:
        message = f"{argv}: {done.stdout}\n{done.stderr}"
        raise RuntimeError(message)
    return done.stdout


def _project(folder: Path, code: str, config: Path | None) -> None:
    folder.mkdir()
    (folder / "Pulumi.yaml").write_text("name: shop\nruntime: python\n", encoding="utf-8")
    (folder / "__main__.py").write_text(code, encoding="utf-8")
    if config is not None:
        shutil.copy(config, folder / config.name)


def _stack(environ: Mapping[str, str], project: Path, stack: str) -> None:
    own = {**environ, "PULUMI_BACKEND_URL": f"file://{project.parent / ('state-' + project.name)}"}
    (project.parent / f"state-{project.name}").mkdir()
    config = project / f"Pulumi.{stack}.yaml"
    if config.is_file():  # its salt belongs to the passphrase of the home that made it
        lines = config.read_text(encoding="utf-8").splitlines(keepends=True)
        config.write_text("".join(line for line in lines if not line.startswith("encryptionsalt")), encoding="utf-8")
    _run(["pulumi", "stack", "init", stack, "--non-interactive"], own, project)


def _preview(environ: Mapping[str, str], project: Path) -> Cost:
    own = {**environ, "PULUMI_BACKEND_URL": f"file://{project.parent / ('state-' + project.name)}"}
    pulumi = shutil.which("pulumi", path=own["PATH"]) or "pulumi"
    return measure([pulumi, "preview", "-s", "demo", "--non-interactive", "-C", str(project)], runs=RUNS, environ=own)


def _inputs(environ: Mapping[str, str], project: Path) -> dict[tuple[str, str], Any]:
    own = {**environ, "PULUMI_BACKEND_URL": f"file://{project.parent / ('state-' + project.name)}"}
    steps = json.loads(_run(["pulumi", "preview", "-s", "demo", "--json"], own, project))["steps"]
    found = {}
    for step in steps:
        new = step.get("newState") or {}
        if new.get("custom") and not new["type"].startswith("pulumi:"):
            given = new.get("inputs") or {}
            given = {key: value for key, value in given.items() if key not in VOLATILE | {"__defaults"}}
            found[new["type"], new["urn"].split("::")[-1]] = given
    return found


def _assert_equal(one: Mapping[tuple[str, str], Any], other: Mapping[tuple[str, str], Any]) -> int:
    """Return how many resources both programs make. Raises: RuntimeError: when resources or inputs differ."""
    if set(one) != set(other):
        message = f"not the same resources: {sorted(set(one) ^ set(other))}"
        raise RuntimeError(message)
    for key, given in one.items():
        if json.dumps(given, sort_keys=True) != json.dumps(other[key], sort_keys=True):
            message = f"{key}: {json.dumps(given, sort_keys=True)}\n{json.dumps(other[key], sort_keys=True)}"
            raise RuntimeError(message)
    return len(one)


def _section(empty: Cost, hand: Cost, ours: Cost, count: int) -> Section:
    share = ours.wall_s / hand.wall_s - 1
    met = "met" if share <= SHARE_LIMIT else "missed"
    rows = [
        [name, f"{cost.wall_s:.2f}", f"{cost.wall_s / empty.wall_s:.2f}", f"{cost.wall_s / hand.wall_s:.2f}"]
        for name, cost in (("empty program", empty), ("written by hand", hand), ("Emporion", ours))
    ]
    return Section(
        "preview",
        "`pulumi preview` of the demo",
        f"{count} resources, not yet made, on the local cloud; whole command, wall time, best of {RUNS}. The program "
        "written by hand makes the same resources with equal inputs (checked in the run) through the same SDK classes.",
        ["program", "wall s", "x empty", "x by hand"],
        rows,
        [f"our share above the same resources by hand: {share:+.0%} (target: at most {SHARE_LIMIT:.0%}, {met})"],
    )
