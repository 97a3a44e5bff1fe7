"""Environments of other tools, made once under .run/bench (git-ignored)."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

HOME = Path(__file__).resolve().parents[1] / ".run" / "bench"


def python_with(name: str, *requirements: str) -> Path | None:
    """Return the Python of an environment that has these requirements; None: it could not be made here (said so)."""
    folder = HOME / name
    python = folder / "bin" / "python"
    if not python.is_file() and not _install(folder, python, requirements):
        print(f"{name} could not be installed here: its figures are left out", file=sys.stderr)
        return None
    return python


def _install(folder: Path, python: Path, requirements: tuple[str, ...]) -> bool:
    print(f"installing {', '.join(requirements)}", file=sys.stderr)
    uv = shutil.which("uv")
    steps = [
        [uv, "venv", "--quiet", str(folder), "--python", sys.executable]
        if uv
        else [sys.executable, "-m", "venv", str(folder)],
        [uv, "pip", "install", "--quiet", "--python", str(python), *requirements]
        if uv
        else [str(python), "-m", "pip", "install", "--quiet", *requirements],
        [str(python), "-m", "compileall", "-q", str(folder)],
    ]
    for step in steps:
        if subprocess.run(step, check=False, capture_output=True).returncode and step is not steps[-1]:
            shutil.rmtree(folder, ignore_errors=True)
            return False
    return True
