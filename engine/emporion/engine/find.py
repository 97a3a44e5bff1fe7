"""Find a Pulumi engine that is already on this machine."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from emporion.engine.errors import EngineError

__all__ = [
    "HOST_FILES",
    "MINIMUM_VERSION",
    "VERSION",
    "Engine",
    "cache_dir",
    "has_python_host",
    "locate",
    "parse_version",
    "require",
]

VERSION = "3.274.1"
"""The engine that Emporion installs and is tested with."""

MINIMUM_VERSION = "3.272.0"
"""The oldest engine on PATH that is used: the release of the pinned Python SDK."""

HOST_FILES = ("pulumi-language-python", "pulumi-language-python-exec")
"""What runs a Python program; the second is looked up beside the first."""

SHIM_FILES = ("pulumi-language-python-exec", "pulumi-resource-pulumi-python")
"""Scripts that the engine's release carries beside the host: program runner and dynamic providers."""

_VERSION_TIMEOUT_S = 30
_SOURCE_FILE = "engine.json"


@dataclass(frozen=True, slots=True)
class Engine:
    """A Pulumi engine with a Python language host, ready to run."""

    bin_dir: Path
    """The folder with `pulumi` and its hosts."""
    pulumi: Path
    version: str
    """Without the leading `v`."""
    source: str
    """`path`: the user's own; `download` or `build`: installed by Emporion; `cache`: installed, origin not recorded."""


def locate(environ: Mapping[str, str]) -> Engine | None:
    """Return the engine to use, or None: a recent enough `pulumi` on PATH with a Python host, else the cache's.

    Runs `pulumi version` (about 0.2 s) for a `pulumi` on PATH that is not the cache's own; changes nothing.
    """
    return _on_path(environ) or in_cache(environ)


def require(environ: Mapping[str, str]) -> Engine:
    """Return the engine to use. Raises: `EngineError` E-ENGINE-MISSING: when there is none."""
    engine = locate(environ)
    if engine is None:
        raise EngineError(
            "E-ENGINE-MISSING",
            f"no Pulumi engine: neither {MINIMUM_VERSION} or newer with a Python host on PATH, nor one in the cache",
            str(cache_dir(environ) / VERSION),
            "run `emporion engine install`",
        )
    return engine


def in_cache(environ: Mapping[str, str]) -> Engine | None:
    """Return the complete engine of `VERSION` in the cache, or None."""
    folder = cache_dir(environ) / VERSION
    bin_dir = folder / "bin"
    if not _executable(bin_dir / "pulumi") or not has_python_host(bin_dir):
        return None
    return Engine(bin_dir, bin_dir / "pulumi", VERSION, _source(folder))


def cache_dir(environ: Mapping[str, str]) -> Path:
    """Return the folder that holds one folder per engine version: `${XDG_CACHE_HOME:-~/.cache}/emporion/engine`."""
    return base_dir(environ, "XDG_CACHE_HOME", ".cache") / "engine"


def base_dir(environ: Mapping[str, str], variable: str, under_home: str) -> Path:
    """Return Emporion's folder below one of the XDG base folders; a relative one is ignored, as its standard says."""
    base = environ.get(variable, "")
    if not os.path.isabs(base):  # noqa: PTH117 - an empty Path is the current folder
        home = environ.get("HOME")
        base = str((Path(home) if home else Path.home()) / under_home)
    return Path(base) / "emporion"


def has_python_host(bin_dir: Path) -> bool:
    """Return whether Python programs can be run with the hosts of this folder."""
    return all(_executable(bin_dir / name) for name in HOST_FILES)


def parse_version(text: str) -> tuple[int, int, int] | None:
    """Return the three numbers of `v3.274.1`, `3.274.1-alpha.1`, `pulumi v3.274.1`; None for anything else.

    An engine built without a version prints an empty line; such a one is unknown and never recent enough.
    """
    match = re.search(r"(?<![\w.])v?(\d+)\.(\d+)\.(\d+)(?![\w.])", text)
    return (int(match[1]), int(match[2]), int(match[3])) if match else None


def record_source(folder: Path, source: str) -> None:
    """Write where the engine in `folder` came from."""
    (folder / _SOURCE_FILE).write_text(json.dumps({"version": VERSION, "source": source}) + "\n", encoding="utf-8")


def _source(folder: Path) -> str:
    try:
        return str(json.loads((folder / _SOURCE_FILE).read_text(encoding="utf-8"))["source"])
    except (OSError, ValueError, KeyError, TypeError):
        return "cache"


def _on_path(environ: Mapping[str, str]) -> Engine | None:
    ours = (cache_dir(environ) / VERSION / "bin").resolve()
    found = shutil.which("pulumi", path=environ.get("PATH", ""))
    if found is None:
        return None
    pulumi = Path(found).resolve()  # installers put a link on PATH and the hosts beside its target
    if pulumi.parent == ours:
        return None
    folder = next((folder for folder in (pulumi.parent, Path(found).parent) if has_python_host(folder)), None)
    if folder is None:
        return None
    version, minimum = _ask_version(pulumi, environ), parse_version(MINIMUM_VERSION)
    if version is None or minimum is None or version < minimum:
        return None
    return Engine(folder, Path(found), ".".join(map(str, version)), "path")


def _ask_version(pulumi: Path, environ: Mapping[str, str]) -> tuple[int, int, int] | None:
    try:
        answer = subprocess.run(
            [pulumi, "version"],
            env={**environ, "PULUMI_SKIP_UPDATE_CHECK": "true"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_VERSION_TIMEOUT_S,
            check=False,
        )
    except (OSError, subprocess.SubprocessError, UnicodeDecodeError):
        return None  # not a program for this machine, or one that hangs: as good as none
    return parse_version(answer.stdout) if answer.returncode == 0 else None


def _executable(path: Path) -> bool:
    return path.is_file() and os.access(path, os.X_OK)
