"""The stub of a driver, built once from C, and the health check run against it as an image runs it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from emporion.nodes.bundle import health_check

__all__ = ["StubNode", "build_stub"]

SOURCES = Path(__file__).parents[1] / "nodes" / "stub"


def build_stub(folder: Path) -> bool:
    """Build both libraries into a folder, CUDA's also without a way to start kernels; False: there is no C compiler."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        return False
    flags = ["-O2", "-Wall", "-Wextra", "-Werror", "-fPIC", "-shared", "-fvisibility=hidden"]
    for source, name, place, define in (
        ("nvml_stub.c", "libnvidia-ml.so.1", folder, []),
        ("cuda_stub.c", "libcuda.so.1", folder, []),
        ("cuda_stub.c", "libcuda.so.1", folder / "no-launch", ["-DNO_LAUNCH"]),
    ):
        place.mkdir(parents=True, exist_ok=True)
        command = [compiler, *flags, *define, f"-Wl,-soname,{name}", "-o", str(place / name), str(SOURCES / source)]
        subprocess.run(command, check=True)
    shutil.copy(folder / "libnvidia-ml.so.1", folder / "no-launch")
    return True


@dataclass
class StubNode:
    """A node whose driver is the stub."""

    libraries: Path
    folder: Path

    def check(self, conf: str, *arguments: str, **environment: str) -> tuple[int, dict[str, Any]]:
        """Return exit code and report of the health check on a node that is as `conf` says."""
        program, node = self.folder / "healthcheck.py", self.folder / "node.conf"
        program.write_text(health_check())
        node.write_text(conf)
        done = subprocess.run(
            [sys.executable, program, "--json", "--load-seconds", "0.05", "--lock", self.folder / "lock", *arguments],
            capture_output=True, text=True, check=False, timeout=60,
            env={**os.environ, "LD_LIBRARY_PATH": str(self.libraries), "NVML_STUB_CONF": str(node), **environment},
        )  # fmt: skip
        assert not done.stderr, done.stderr
        return done.returncode, json.loads(done.stdout)
