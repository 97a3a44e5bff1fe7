"""What the clouds' `facts.py` are made from: a reader for each type of resource, what is paid for, what is free."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import TypedDict

from emporion.market.facts import Fact, FactSource, Purchase
from emporion.market.resources import Others, Resource, Value
from emporion.market.tables import read_rows

__all__ = ["Common", "Payer", "Reader", "fact_source"]

Reader = Callable[[Resource, Others | None], Iterable[Fact]]
Payer = Callable[[Resource, Others], Iterable[Purchase]]


class Common(TypedDict):
    """The fields of every fact."""

    name: str
    urn: str
    type: str
    provider: str
    region: Value
    tags: Value


def fact_source(
    prefix: str,
    readers: Mapping[str, Reader],
    payers: Mapping[str, Payer],
    *,
    free: Path,
    common: Callable[[Resource], Common],
    spelled: Callable[[str], str] = str,
) -> FactSource:
    """Return a cloud's facts: of its types, told by `prefix` and spelled in one way.

    What is paid for is told with the whole stack. A type that nobody pays and that the table `free` (globs, with source
    and date) does not name is a purchase without a price.
    """

    def facts(resource: Resource, others: Others | None) -> Iterator[Fact]:
        kind = spelled(resource.type)
        if kind in readers:
            yield from readers[kind](resource, others)
        if others is not None and kind.startswith(prefix):
            if kind in payers:
                yield from payers[kind](resource, others)
            elif not _is_free(kind, free):
                yield Purchase(**common(resource))

    return facts


@cache
def _is_free(kind: str, table: Path) -> bool:
    return any(fnmatchcase(kind, row["type"]) for row in read_rows(table))
