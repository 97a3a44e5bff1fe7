"""The engine and our language host, built from the released Go modules."""

from __future__ import annotations

import shutil
import subprocess
import time
from collections import deque
from collections.abc import Callable
from pathlib import Path

from emporion.engine.errors import EngineError, no_space
from emporion.engine.find import SHIM_FILES, VERSION
from emporion.engine.toolchain import SOURCES, Toolchain

__all__ = ["build_engine", "build_host"]

_ENGINE = "github.com/pulumi/pulumi/pkg/v3/cmd/pulumi"
_SDK = "github.com/pulumi/pulumi/sdk/v3"
_LDFLAGS = f"-s -w -X {_SDK}/go/common/version.Version=v{VERSION}"
"""Without symbols (122 instead of 180 MB), and with the version that a release would carry."""

_SHIM_FOLDERS = ("python/cmd", "python/dist")
_REPORT_EVERY_S = 15.0
_TAIL_LINES = 8
_NETWORK_SIGNS = (
    "dial tcp",
    "no such host",
    "i/o timeout",
    "connection refused",
    "connection timed out",
    "TLS handshake",
    "proxyconnect",
)

_Report = Callable[[str], None]


def build_engine(go: Toolchain, bin_dir: Path, report: _Report) -> None:
    """Build `pulumi` into `bin_dir`: 10 CPU-minutes with empty caches, seconds with warm ones; a rerun resumes.

    Raises: `EngineError`: E-ENGINE-NETWORK, E-ENGINE-DISK or E-ENGINE-BUILD, by what stopped it.
    """
    report("building the engine from its Go modules (10 minutes of CPU when nothing is cached)")
    command = ["build", "-v", "-ldflags", _LDFLAGS, "-o", str(bin_dir / "pulumi"), _ENGINE]
    _go(go, command, "the engine", report)


def build_host(go: Toolchain, bin_dir: Path, report: _Report) -> None:
    """Build our Python language host into `bin_dir` and put the SDK's scripts beside it. Raises: as `build_engine`."""
    report("building the Python language host")
    command = ["build", "-v", "-ldflags", _LDFLAGS, "-o", str(bin_dir / "pulumi-language-python"), "./host"]
    _go(go, command, "the language host", report)
    sdk = Path(_go(go, ["list", "-m", "-f", "{{.Dir}}", _SDK], "the language host", report).strip())
    for name in SHIM_FILES:
        source = next((path for folder in _SHIM_FOLDERS if (path := sdk / folder / name).is_file()), None)
        if source is None:
            raise EngineError("E-ENGINE-BUILD", f"the Pulumi SDK's module lacks {name}", str(sdk))
        shutil.copyfile(source, bin_dir / name)
        (bin_dir / name).chmod(0o755)


def _go(go: Toolchain, arguments: list[str], what: str, report: _Report) -> str:
    """Run `go` in our module, report progress, return its standard output."""
    started = reported = time.monotonic()
    packages, tail = 0, deque[str](maxlen=_TAIL_LINES)
    with subprocess.Popen(
        [go.go, *arguments],
        cwd=SOURCES,
        env=dict(go.env),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    ) as process:
        if process.stdout is None:
            raise AssertionError("asked for a pipe")
        lines: list[str] = []
        try:
            for line in process.stdout:
                lines.append(line)
                if not line.strip():
                    continue
                tail.append(line.strip())
                packages += not line.startswith("go: ")
                if time.monotonic() - reported >= _REPORT_EVERY_S:
                    reported = time.monotonic()
                    doing = "fetching modules" if line.startswith("go: ") else f"{packages} packages compiled"
                    report(f"building {what}: {doing}, {reported - started:.0f} s")
        except BaseException:
            process.terminate()  # Ctrl-C: what is compiled stays in Go's cache
            raise
    if process.returncode != 0:
        raise _failure(what, list(tail), arguments[-1])
    return "".join(lines)


def _failure(what: str, tail: list[str], package: str) -> EngineError:
    said = "\n".join(tail)
    if "no space left on device" in said:
        return no_space(SOURCES)
    last = " / ".join(tail[-3:]) or "go said nothing"
    if any(sign in said for sign in _NETWORK_SIGNS):
        return EngineError(
            "E-ENGINE-NETWORK",
            f"{what} cannot be built: a Go module could not be fetched: {last}",
            fix="check the network and GOPROXY, and run `emporion engine install` again; it goes on where it stopped",
        )
    return EngineError(
        "E-ENGINE-BUILD",
        f"{what} cannot be built: {last}",
        str(SOURCES),
        f"run `CGO_ENABLED=0 go build -o /dev/null {package}` in that folder to see everything that go says",
    )
