"""A user's own project in an Emporion home of its own, driven by the `emporion` command as a user would."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

EMPORION = str(Path(sys.executable).with_name("emporion"))
REPO = Path(__file__).resolve().parents[2]
COMMAND_TIMEOUT_S = 300


@dataclass(frozen=True)
class Desk:
    """A project and a home; `run` is a terminal in it."""

    project: Path
    home: Path

    def environ(self) -> dict[str, str]:
        kept = {key: value for key, value in os.environ.items() if not key.startswith(("PULUMI_", "EMPORION_", "AWS_"))}
        return {**kept, "EMPORION_HOME": str(self.home), "NO_COLOR": "1"}

    def run(self, *arguments: str, **more: Any) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [EMPORION, *arguments],
            cwd=self.project,
            env=self.environ(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=COMMAND_TIMEOUT_S,
            check=False,
            **more,
        )

    def done(self, *arguments: str) -> str:
        result = self.run(*arguments)
        assert result.returncode == 0, f"{arguments}: {result.stdout}\n{result.stderr}"
        return result.stdout

    def json(self, *arguments: str) -> Any:
        return json.loads(self.done(*arguments, "--json"))

    def state(self, stack: str) -> Mapping[str, Any]:
        path = self.home / "state" / ".pulumi" / "stacks" / self.project.name / f"{stack}.json"
        document: dict[str, Any] = json.loads(path.read_text())
        latest: Mapping[str, Any] = document["checkpoint"]["latest"] or {}
        return latest


def make_desk(folder: Path) -> Desk:
    """Make a project with the demo intent in `folder`, and a home beside it."""
    desk = Desk(folder / "shop", folder / "home")
    made = subprocess.run(
        [EMPORION, "init", str(desk.project)], env=desk.environ(), capture_output=True, text=True, check=False
    )
    assert made.returncode == 0, made.stderr
    (desk.project / "demo.yaml").write_text((REPO / "stacks" / "intents" / "demo.yaml").read_text())
    return desk
