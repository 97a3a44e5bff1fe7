"""Loading a catalogue: the bundled snapshot, what was refreshed and registered, or a file that takes its place."""

from __future__ import annotations

import gc
import stat
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from emporion.market.money import Rate
from emporion.market.offers.cache import cached, compile_key, store
from emporion.market.offers.catalogue import Catalogue
from emporion.market.offers.columns import Table
from emporion.market.offers.document import Document, open_offers, pieces
from emporion.market.offers.importer import Importer
from emporion.market.tables import DATA

__all__ = ["REGISTERED", "load_bundled", "load_csv", "load_market"]

_BUNDLED = ("offers.csv", "cpu_offers.csv")
REGISTERED = "registered"
"""The folder of registered offers, in that of the refreshed ones."""
_UNKNOWN_SIZE = (1 << 64) - 1


@dataclass(frozen=True, slots=True)
class _Source:
    """One file of a catalogue."""

    path: Path
    name: str | None = None
    """What notes call it; None: it is the only file, or bundled."""
    provider: str | None = None
    """The only provider of which it may have offers; None: any."""


def load_bundled(cache: Path | None = None) -> Catalogue:
    """Return the bundled snapshot; `cache`: the folder of compiled catalogues (`cache_folder`), None: none."""
    return _load([_Source(DATA / name) for name in _BUNDLED], {}, cache, "bundled")


def load_csv(path: Path, *, rates: Mapping[str, Rate] | None = None, cache: Path | None = None) -> Catalogue:
    """Return the catalogue of a file, which takes the place of the bundled one (columns: data/README.md).

    `rates` say what one unit of a currency is worth in USD; a price in another currency is refused without its rate.
    A pipe is read once, in pieces, and never kept compiled; its version is not that of a file with the same content.

    Raises: UserError E-OFFERS: when the file does not exist, cannot be read, is not CSV, is cut, lacks a column, has no
    usable row or too many. Single bad rows are noted in the catalogue instead.
    """
    return _load([_Source(Path(path))], rates or {}, cache, str(path))


def load_market(
    folder: Path | None, *, cache: Path | None = None, rates: Mapping[str, Rate] | None = None
) -> Catalogue:
    """Return everything on offer: the bundled snapshot, with what was refreshed in its place and what was registered.

    `folder` holds `<provider>.csv` for each provider that was refreshed, whose rows stand in place of that provider's
    bundled rows (its machines with GPUs, those without, or both: of whichever it has any), and `registered/<name>.csv`.
    Without such a file the catalogue is the bundled one. `rates` as for `load_csv`.

    Raises: UserError E-OFFERS: when one of these files cannot be used, as `load_csv`.
    """
    refreshed = [_Source(path, path.name, path.stem) for path in _csv_files(folder)]
    registered = [_Source(path, f"{REGISTERED}/{path.name}") for path in _csv_files(folder and folder / REGISTERED)]
    if not refreshed and not registered:
        return load_bundled(cache)
    bundled = [_Source(DATA / name) for name in _BUNDLED]
    return _load([*refreshed, *bundled, *registered], rates or {}, cache, "market")


def _csv_files(folder: Path | None) -> list[Path]:
    if folder is None or not folder.is_dir():
        return []
    return sorted(path for path in folder.glob("*.csv") if path.is_file() and not path.name.startswith("."))


class _Version:
    """The hash of a catalogue's contents, taken while they are read."""

    def __init__(self) -> None:
        self._digest = sha256()

    def passing(self, source: _Source, content: Iterator[bytes], size: int | None) -> Iterator[bytes]:
        """Yield the pieces of a content as they are, each into the hash."""
        if source.name is not None:
            self._digest.update(f"{source.name}\n".encode())
        self._digest.update((_UNKNOWN_SIZE if size is None else size).to_bytes(8, "little"))
        for piece in content:
            self._digest.update(piece)
            yield piece

    def text(self, rates: Mapping[str, Rate]) -> str:
        """Return the version, once everything has been read."""
        digest = self._digest.copy()
        for currency, rate in sorted(rates.items()):
            digest.update(f"{currency} {rate.usd} {rate.as_of}\n".encode())
        return digest.hexdigest()[:16]


def _load(sources: Sequence[_Source], rates: Mapping[str, Rate], cache: Path | None, name: str) -> Catalogue:
    version = _version(sources, rates)
    table = None if version is None else cached(cache, compile_key(version))
    if table is None or version is None:
        table, version, again = _import(sources, rates)
        if again:
            store(cache, compile_key(version), table)
    return Catalogue(table, version, name)


def _version(sources: Sequence[_Source], rates: Mapping[str, Rate]) -> str | None:
    """Return the version of files without importing them; None: one of them can be read only once.

    Raises: UserError E-OFFERS: when one cannot be read.
    """
    sizes = [_size(source.path) for source in sources]
    version = _Version()
    for source, size in zip(sources, sizes, strict=True):
        if size is None:
            return None
        with open_offers(source.path) as file:
            for _ in version.passing(source, pieces(str(source.path), file, size), size):
                pass
    return version.text(rates)


def _size(path: Path) -> int | None:
    """Return the size of a file that can be read again; None: a pipe, one that does not tell its size, or none at all.

    A pipe must not be opened to learn that: whoever writes into it would be told that the reader is gone.
    """
    try:
        status = path.stat()
    except (OSError, ValueError):
        return None
    return status.st_size or None if stat.S_ISREG(status.st_mode) else None


def _import(sources: Sequence[_Source], rates: Mapping[str, Rate]) -> tuple[Table, str, bool]:
    """Return the table of files, its version, and whether they can be read again."""
    importer, version, again = Importer(rates), _Version(), True
    refreshed: frozenset[tuple[str, bool]] = frozenset()
    collecting = gc.isenabled()
    gc.disable()  # hundreds of thousands of tuples and no cycle among them: looking for one takes a fifth of the time
    try:
        for source in sources:
            size = _size(source.path)
            again = again and size is not None
            importer.builder.file = source.name
            with open_offers(source.path) as file:
                content = version.passing(source, pieces(str(source.path), file, size), size)
                document = Document(str(source.path), content)
                importer.take(document, only=source.provider, without=refreshed if source.name is None else frozenset())
            if source.provider is not None:
                refreshed = frozenset(importer.kinds)
        return importer.builder.table(), version.text(rates), again
    finally:
        if collecting:
            gc.enable()
