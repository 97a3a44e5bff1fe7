"""Loading a catalogue: the bundled snapshot, or a file that takes its place."""

from __future__ import annotations

import gc
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path

from emporion.market.money import Rate
from emporion.market.offers.cache import cached, compile_key, store
from emporion.market.offers.catalogue import Catalogue
from emporion.market.offers.columns import Table
from emporion.market.offers.document import Document, read_bytes
from emporion.market.offers.importer import Importer
from emporion.market.tables import DATA

__all__ = ["load_bundled", "load_csv"]

_BUNDLED = ("offers.csv", "cpu_offers.csv")


def load_bundled(cache: Path | None = None) -> Catalogue:
    """Return the bundled snapshot; `cache`: the folder of compiled catalogues (`cache_folder`), None: none."""
    return _load([DATA / name for name in _BUNDLED], {}, cache, "bundled")


def load_csv(path: Path, *, rates: Mapping[str, Rate] | None = None, cache: Path | None = None) -> Catalogue:
    """Return the catalogue of a file, which takes the place of the bundled one (columns: data/README.md).

    `rates` say what one unit of a currency is worth in USD; a price in another currency is refused without its rate.

    Raises: UserError E-OFFERS: when the file does not exist, cannot be read, is not CSV, is cut, lacks a column or has
    no usable row. Single bad rows are noted in the catalogue instead.
    """
    return _load([Path(path)], rates or {}, cache, str(path))


def _load(paths: list[Path], rates: Mapping[str, Rate], cache: Path | None, source: str) -> Catalogue:
    contents = [read_bytes(path) for path in paths]
    version = _version(contents, rates)
    key = compile_key(version)
    table = cached(cache, key)
    if table is None:
        table = _import(paths, contents, rates)
        store(cache, key, table)
    return Catalogue(table, version, source)


def _import(paths: list[Path], contents: list[bytes], rates: Mapping[str, Rate]) -> Table:
    importer = Importer(rates)
    collecting = gc.isenabled()
    gc.disable()  # hundreds of thousands of tuples and no cycle among them: looking for one takes a fifth of the time
    try:
        for path, content in zip(paths, contents, strict=True):
            importer.take(Document(str(path), content))
        return importer.builder.table()
    finally:
        if collecting:
            gc.enable()


def _version(contents: list[bytes], rates: Mapping[str, Rate]) -> str:
    digest = sha256()
    for content in contents:
        digest.update(len(content).to_bytes(8, "little"))
        digest.update(content)
    for currency, rate in sorted(rates.items()):
        digest.update(f"{currency} {rate.usd} {rate.as_of}\n".encode())
    return digest.hexdigest()[:16]
