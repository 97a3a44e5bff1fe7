"""A project of its own under the real engine and the stand-in plugins, without the command line."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from emporion.engine import pulumi_env, require
from emporion.localcloud.install import install_stand_ins
from emporion.localcloud.world import World
from emporion.market.pin import PinnedPlacement

REPO = Path(__file__).resolve().parents[2]
TIMEOUT_S = 300
STACK = "dev"


@dataclass
class EngineProject:
    """One stack; `pulumi` runs a command on it."""

    folder: Path
    home: Path
    env: dict[str, str]

    def pin(self, placement: PinnedPlacement | None, **config: object) -> None:
        """Write the stack's configuration."""
        settings: dict[str, object] = {"emporion:world": "local", "pulumi:disable-default-providers": ["*"]}
        settings |= {f"emporion:{key}": value for key, value in config.items()}
        if placement is not None:
            settings["emporion:placement"] = placement.to_json()
        path = self.folder / "stacks" / f"Pulumi.{STACK}.yaml"
        kept = yaml.safe_load(path.read_text()) if path.is_file() else {}
        path.write_text(yaml.safe_dump({**kept, "config": settings}))

    def try_pulumi(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run `pulumi` and return what came of it."""
        return subprocess.run(
            ["pulumi", *arguments, "--non-interactive"], cwd=self.folder, env=self.env, capture_output=True, text=True,
            timeout=TIMEOUT_S, check=False,
        )  # fmt: skip

    def pulumi(self, *arguments: str) -> str:
        """Run `pulumi`, which must succeed, and return its output."""
        done = self.try_pulumi(*arguments)
        assert done.returncode == 0, f"{arguments}: {done.stdout}\n{done.stderr}"
        return done.stdout

    def resources(self) -> list[dict[str, Any]]:
        """Return what the state holds."""
        found: list[dict[str, Any]] = json.loads(self.pulumi("stack", "export"))["deployment"].get("resources", [])
        return found

    def world(self) -> World:
        """Open the world of the local cloud."""
        return World.open(self.home)


def make_engine_project(folder: Path) -> EngineProject:
    """Make a project with the program of this repository and an empty stack."""
    home, project = folder / "home", folder / "project"
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("PULUMI_", "EMPORION_", "AWS_"))}
    kept["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{kept['PATH']}"
    env = pulumi_env(require(kept), home, "local", {**kept, "NO_COLOR": "1"})
    install_stand_ins(home / "pulumi" / "local", Path(sys.executable))
    (project / "stacks").mkdir(parents=True)
    shutil.copy(REPO / "Pulumi.yaml", project)
    shutil.copy(REPO / "stacks" / "__main__.py", project / "stacks")
    made = EngineProject(project, home, env)
    made.pulumi("stack", "init", STACK)
    return made
