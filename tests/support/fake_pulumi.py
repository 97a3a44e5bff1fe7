"""A `pulumi` that is a small script over JSON files: what it is asked to write is what is judged."""

from __future__ import annotations

import io
import json
import os
import stat
import sys
from pathlib import Path
from typing import Any

from emporion.operations.project import Project
from emporion.operations.pulumi import Pulumi

__all__ = ["PROVIDER", "deploy", "fake_pulumi"]

PROVIDER = "urn:pulumi:dev::shop::pulumi:providers:aws::aws"

FAKE = """#!{python}
import json, os, pathlib, sys
home = pathlib.Path(os.environ["FAKE"])
state = home / "state.json"
args = sys.argv[1:]
with (home / "calls.log").open("a") as log: log.write(json.dumps(args) + "\\n")
if args[:2] == ["stack", "export"]: print(state.read_text())
elif args[:2] == ["stack", "import"]: state.write_text(sys.stdin.read())
elif args[0] == "cancel":
    for lock in home.glob("backend/.pulumi/locks/organization/shop/*/*.json"): lock.unlink()
elif args[0] == "refresh": sys.exit(0)
elif args[:2] == ["stack", "ls"]: print(json.dumps([{{"name": "dev"}}]))
elif args[:2] == ["stack", "history"]: print((home / "history.json").read_text())
elif args[0] == "preview":
    if not (home / "planned.json").exists(): sys.exit(1)
    print((home / "planned.json").read_text())
else: sys.exit(3)
"""


def fake_pulumi(folder: Path) -> Pulumi:
    """Return Pulumi over files of a folder."""
    script = folder / "pulumi"
    script.write_text(FAKE.format(python=sys.executable))
    script.chmod(script.stat().st_mode | stat.S_IXUSR)
    (folder / "history.json").write_text('[{"result": "succeeded"}]')
    environ = {**os.environ, "FAKE": str(folder), "PULUMI_BACKEND_URL": f"file://{folder}/backend"}
    return Pulumi(Project(folder, "shop", folder), script, environ, "local", sys.__stderr__ or io.StringIO())


def deploy(pulumi: Pulumi, resources: list[dict[str, Any]], pending: list[dict[str, Any]]) -> None:
    """Put resources, and what was under way, into its state."""
    provider = {"urn": PROVIDER, "type": "pulumi:providers:aws", "id": "p1", "inputs": {"region": "us-east-1"}}
    deployment = {"resources": [provider, *resources], "pending_operations": pending}
    state = pulumi.project.directory / "state.json"
    state.write_text(json.dumps({"version": 3, "deployment": deployment}))
