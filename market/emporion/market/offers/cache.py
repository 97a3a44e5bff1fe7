"""Compiled catalogues on disk: never needed, never trusted, thrown away when anything they were made from changes."""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping
from functools import cache
from hashlib import sha256
from pathlib import Path

from emporion.market import dates, gpu_names, gpus, money, sites
from emporion.market.offers.columns import Table, decode, write
from emporion.market.tables import DATA

__all__ = ["cache_folder", "cached", "compile_key", "store"]

_LOG = logging.getLogger(__name__)
_KEPT = 8
"""Files kept: the bundled snapshot and the last few `--offers` files."""
_TABLES = (
    "arch.csv", "countries.csv", "gpu_memory.csv", "gpus.csv", "instance_topology.csv", "offers.csv", "providers.csv",
    "regions.csv",
)  # fmt: skip
"""What the import looks at beside the file itself (offers.csv: for what a plausible price is)."""


def cache_folder(environ: Mapping[str, str]) -> Path:
    """Return `${XDG_CACHE_HOME:-~/.cache}/emporion/catalogue` for an environment."""
    home = environ.get("XDG_CACHE_HOME") or os.path.join(environ.get("HOME") or "~", ".cache")  # noqa: PTH118
    return Path(home).expanduser() / "emporion" / "catalogue"


@cache
def _code_and_tables() -> bytes:
    here = Path(__file__).parent
    files = [*sorted(here.glob("*.py")), Path(dates.__file__), Path(money.__file__), Path(sites.__file__)]
    files += [Path(gpus.__file__), Path(gpu_names.__file__)]
    files += [DATA / name for name in _TABLES]
    digest = sha256()
    for file in files:
        content = file.read_bytes()
        digest.update(f"{file.name} {len(content)}\n".encode())
        digest.update(content)
    return digest.digest()


def compile_key(version: str) -> str:
    """Return the key under which the catalogue of this content version is kept: content, tables and code."""
    return sha256(_code_and_tables() + version.encode()).hexdigest()[:32]


def cached(folder: Path | None, key: str) -> Table | None:
    """Return the compiled table, or None when there is no good one."""
    if folder is None:
        return None
    try:
        data = (folder / f"{key}.cat").read_bytes()
    except OSError:
        return None
    table = decode(data, key)
    if table is None:
        _LOG.debug("catalogue cache unusable file=%s.cat", key)
    return table


def store(folder: Path | None, key: str, table: Table) -> None:
    """Keep a compiled table; a disk that takes no files only costs time."""
    if folder is None:
        return
    try:
        folder.mkdir(parents=True, exist_ok=True)
        unfinished = folder / f".new-{os.getpid()}-{key}"
        try:
            with unfinished.open("wb") as file:
                write(file, table, key)
            unfinished.replace(folder / f"{key}.cat")
        except OSError:
            unfinished.unlink(missing_ok=True)
            raise
        _forget_old(folder)
    except OSError as error:
        _LOG.debug("catalogue cache not written folder=%s error=%s", folder, error)


def _forget_old(folder: Path) -> None:
    found = sorted(folder.glob("*.cat"), key=lambda file: file.stat().st_mtime, reverse=True)
    for file in found[_KEPT:]:
        file.unlink(missing_ok=True)
