"""A document before it is understood: scalars as they were written, lists and mappings, each with its place.

Scalars stay text: `2.80` is exactly 2.80, `no` is the word that was written, a number in a name stays a name.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from emporion.market.errors import UserError

__all__ = ["At", "Entry", "Fields", "Items", "Node", "Problems", "Scalar", "merge"]


@dataclass(frozen=True, slots=True)
class At:
    """Where something was written: a line of the file, or a flag."""

    line: int | None = None
    flag: str | None = None
    written: str | None = None
    """The key as it was written, when it is another spelling of the key that it stands for."""


@dataclass(frozen=True, slots=True)
class Scalar:
    """Text; None: YAML's null, nothing written."""

    text: str | None
    at: At


@dataclass(frozen=True, slots=True)
class Items:
    """A list."""

    values: tuple[Node, ...]
    at: At


@dataclass(slots=True)
class Fields:
    """A mapping, keys in the order they were written."""

    at: At
    entries: dict[str, Entry] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Entry:
    """One key of a mapping: where the key stands, and its value."""

    at: At
    value: Node


Node = Scalar | Items | Fields


@dataclass(slots=True)
class Problems:
    """Collects what is wrong with a document, each with its place."""

    source: str | None
    found: list[UserError] = field(default_factory=list)

    def add(self, error: UserError, path: str, at: At) -> None:
        """Take an error up, saying where: `intent.yaml:5  resources.gpus`, or the flag.

        What the error itself shows of a long text, in lines of its own, follows.
        """
        excerpt = error.where if error.where and error.where.startswith("\n") else ""
        error.where = self.where(path, at) + excerpt
        self.found.append(error)

    def where(self, path: str, at: At) -> str:
        """Return the place as an error shows it."""
        if at.flag:
            return at.flag
        shown = at.written or path
        if not self.source:
            return shown
        line = f":{at.line}" if at.line else ""
        return f"{self.source}{line}  {shown}".rstrip()


def merge(base: Fields, over: Fields) -> Fields:
    """Return `base` with every key of `over` in place of its own, mapping by mapping."""
    merged = Fields(base.at, dict(base.entries))
    for key, entry in over.entries.items():
        below = merged.entries.get(key)
        if below and isinstance(below.value, Fields) and isinstance(entry.value, Fields):
            merged.entries[key] = Entry(below.at, merge(below.value, entry.value))
        else:
            merged.entries[key] = entry
    return merged
