"""A small Pulumi program of its own against the stand-in, run by the real engine."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from emporion.engine import locate, pulumi_env
from emporion.localcloud import World, install_stand_ins

__all__ = ["RawProgram", "make_program"]

TIMEOUT_S = 240
PROJECT = """\
name: raw
runtime:
  name: python
  options: {{virtualenv: {virtualenv}}}
config:
  pulumi:disable-default-providers: {{value: ["*"]}}
"""
HEAD = """\
import json
import pulumi
import pulumi_aws as aws
provider = aws.Provider("west", region="us-west-2")
opts = pulumi.ResourceOptions(provider=provider)
"""


@dataclass(frozen=True)
class RawProgram:
    """A project folder, an Emporion home and the environment of the engine."""

    folder: Path
    home: Path
    environ: Mapping[str, str] = field(repr=False)

    def write(self, text: str) -> None:
        """Let the program be `text`, below a provider `west` in us-west-2 and `opts` for it."""
        (self.folder / "__main__.py").write_text(HEAD + text)

    def pulumi(self, *arguments: str, stack: str = "dev", **environ: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["pulumi", *arguments, "--stack", stack, "--non-interactive", "--color", "never"],
            cwd=self.folder,
            env={**self.environ, **environ},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=TIMEOUT_S,
            check=False,
        )

    def start(self, *arguments: str, stack: str = "dev") -> subprocess.Popen[str]:
        return subprocess.Popen(
            ["pulumi", *arguments, "--stack", stack, "--non-interactive", "--color", "never"],
            cwd=self.folder,
            env=dict(self.environ),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def done(self, *arguments: str, stack: str = "dev") -> str:
        result = self.pulumi(*arguments, stack=stack)
        assert result.returncode == 0, result.stdout + result.stderr
        return result.stdout

    def refused(self, *arguments: str, **environ: str) -> str:
        """Return what was printed by a command that must fail without a traceback."""
        result = self.pulumi(*arguments, **environ)
        said = result.stdout + result.stderr
        assert result.returncode not in (0, None), said
        return said

    def up(self, stack: str = "dev") -> str:
        return self.done("up", "--yes", "--skip-preview", stack=stack)

    def new_stack(self, stack: str) -> None:
        subprocess.run(
            ["pulumi", "stack", "init", stack], cwd=self.folder, env=dict(self.environ), check=True, capture_output=True
        )

    def state(self, stack: str = "dev") -> dict[str, dict[str, Any]]:
        """Return the state's resources by logical name."""
        deployment = json.loads(self.done("stack", "export", stack=stack))["deployment"]
        return {one["urn"].rpartition("::")[2]: one for one in deployment.get("resources", [])}

    def world(self) -> World:
        return World.open(self.home)


def make_program(folder: Path) -> RawProgram:
    """Make a project with an empty stack `dev` in `folder`, and a home beside it."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("PULUMI_", "EMPORION_", "AWS_"))}
    engine = locate(kept)
    assert engine, "the engine is not installed: ./run test installs it"
    project, home = folder / "raw", folder / "home"
    project.mkdir(parents=True)
    (project / "Pulumi.yaml").write_text(PROJECT.format(virtualenv=sys.prefix))
    environ = pulumi_env(engine, home, "local", kept)
    install_stand_ins(Path(environ["PULUMI_HOME"]), Path(sys.executable))
    program = RawProgram(project, home, environ)
    program.new_stack("dev")
    return program
