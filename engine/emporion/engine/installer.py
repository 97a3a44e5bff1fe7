"""Install the engine: one process at a time, whole or not at all, from the first source that has it."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import mkdtemp

from filelock import FileLock, Timeout

from emporion.engine.build import build_engine, build_host
from emporion.engine.download import Unreachable, download
from emporion.engine.errors import EngineError, disk_errors
from emporion.engine.find import VERSION, Engine, cache_dir, has_python_host, in_cache, locate, record_source
from emporion.engine.toolchain import toolchain

__all__ = ["install"]

_LOCK_TIMEOUT_S = 3600
_Report = Callable[[str], None]


def install(environ: Mapping[str, str], report: _Report, *, again: bool = False) -> Engine:
    """Return an engine, installing it when there is none: the official download, else a build from the Go modules.

    `report` gets progress, one short line at a time. `again` replaces the engine in the cache. What arrived before an
    interruption (archive, modules, compiled packages) is used by the next run. Raises: `EngineError`: one of its codes.
    """
    if not again and (engine := locate(environ)):
        return engine
    if os.name != "posix":
        raise EngineError(
            "E-ENGINE-PLATFORM",
            "the engine is installed on Linux and macOS only",
            sys.platform,
            "use WSL, or put an official pulumi on PATH",
        )
    root = cache_dir(environ)
    with disk_errors(root):
        root.mkdir(parents=True, exist_ok=True)
        with _only_one(root, report):
            if not again and (engine := in_cache(environ)):  # another process has just made it
                return engine
            _remove_drafts(root)
            draft = Path(mkdtemp(dir=root, prefix=f".{VERSION}-"))
            try:
                draft.chmod(0o755)
                record_source(draft, _fill(draft / "bin", root, environ, report))
                _publish(draft, root / VERSION)
            finally:
                shutil.rmtree(draft, ignore_errors=True)
    installed = in_cache(environ)
    if installed is None:
        raise EngineError("E-ENGINE-BUILD", "the installed engine is not complete", str(root / VERSION))
    report(f"the engine {VERSION} is ready ({installed.source})")
    return installed


def _fill(bin_dir: Path, root: Path, environ: Mapping[str, str], report: _Report) -> str:
    """Put the engine and a Python host into `bin_dir`; return where the engine came from."""
    bin_dir.mkdir()
    go_folder = root.parent / "go"
    try:
        report(f"downloading the Pulumi engine {VERSION}")
        download(root / "download", bin_dir, environ, report)
        source = "download"
    except Unreachable as unreachable:
        report(f"no download: {unreachable}")
        shutil.rmtree(bin_dir)  # half an archive may lie there
        bin_dir.mkdir()
        try:
            build_engine(toolchain(go_folder, environ, report), bin_dir, report)
        except EngineError as error:
            error.what = f"the engine cannot be downloaded ({unreachable}); {error.what}"
            raise
        source = "build"
    if not has_python_host(bin_dir):
        build_host(toolchain(go_folder, environ, report), bin_dir, report)
    return source


@contextmanager
def _only_one(root: Path, report: _Report) -> Iterator[None]:
    """Hold the installation's lock; it falls by itself when its process dies."""
    lock = FileLock(root / f"{VERSION}.lock")
    try:
        lock.acquire(timeout=0)
    except Timeout:
        report("another process is installing the engine; waiting for it")
        try:
            lock.acquire(timeout=_LOCK_TIMEOUT_S)
        except Timeout as timeout:
            raise EngineError(
                "E-ENGINE-LOCK",
                f"another process has been installing the engine for {_LOCK_TIMEOUT_S // 60} minutes",
                lock.lock_file,
                "end that process and run it again",
            ) from timeout
    try:
        yield
    finally:
        lock.release()


def _remove_drafts(root: Path) -> None:
    """Remove what killed processes left; we hold the lock, so nobody works in them."""
    for draft in root.glob(f".{VERSION}-*"):
        shutil.rmtree(draft, ignore_errors=True)


def _publish(draft: Path, target: Path) -> None:
    """Give a finished draft its name. An older folder of that name steps aside first; who runs from it may finish."""
    if target.exists():
        aside = target.with_name(f".{VERSION}-old-{os.getpid()}")
        target.rename(aside)
        draft.rename(target)
        shutil.rmtree(aside, ignore_errors=True)
    else:
        draft.rename(target)
