"""A tree and the table of keys to values, all problems collected: unknown keys, wrong shapes, unreadable values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from emporion.market.errors import UserError, did_you_mean
from emporion.market.intent.keys import ROOT, Key, Section
from emporion.market.intent.spellings import SPELLINGS
from emporion.market.intent.tree import At, Entry, Fields, Items, Node, Problems, Scalar
from emporion.market.money import Rate
from emporion.market.units import shown

__all__ = ["Reading", "key_paths"]

_MAX_ITEMS = 1000


@dataclass(slots=True)
class Reading:
    """Values by key, the place of every key path, and the keys that this version does not act on."""

    problems: Problems
    rates: Mapping[str, Rate] = field(default_factory=dict)
    """What other currencies are worth."""
    places: dict[str, At] = field(default_factory=dict)
    not_acted_on: list[str] = field(default_factory=list)
    root: Section = ROOT
    """The table of the whole document."""

    def section(self, fields: Fields, table: Section, path: str = "") -> dict[str, Any]:
        """Return the values of a mapping's keys; a key that was not given, or does not read, is absent."""
        values: dict[str, Any] = {}
        for name, entry in fields.entries.items():
            below = f"{path}.{name}" if path else name
            known = table.find(name)
            if known is None:
                self._unknown(name, entry, table, below)
                continue
            self.places[below] = entry.at
            found = self._key(entry, known, below) if isinstance(known, Key) else self._below(entry, known, below)
            if found is not _ABSENT:
                values[name] = found
            if not known.acted and found not in (_ABSENT, ()):
                self.not_acted_on.append(below)
        return values

    def fail(self, error: UserError, path: str) -> None:
        """Take up a problem of a key path; a key that was not given stands where its nearest parent does."""
        near = path
        while near and near not in self.places:
            near = near.rpartition(".")[0]
        at = self.places.get(near, At())
        self.problems.add(error, path, at if near == path else At(at.line, at.flag))

    def _unknown(self, name: str, entry: Entry, table: Section, path: str) -> None:
        names = [key.name for key in table.keys] + (list(SPELLINGS) if table is ROOT else [])
        near = did_you_mean(name, names)
        if near is None:
            elsewhere = {full.rpartition(".")[2]: full for full in reversed(list(key_paths(self.root)))}
            near = elsewhere.get(name)
        if name == "<<":
            fix = "write the keys themselves: merge keys are not read"
        elif name.isdigit() and isinstance(entry.value, Scalar) and entry.value.text is None:
            fix = "a comma begins another key here: write decimals with a point, as 2.5"
        elif near:
            fix = f"did you mean {near}"
        else:
            fix = f"known keys here: {', '.join(sorted(key.name for key in table.keys))}"
        self.problems.add(UserError("E-KEY", f"unknown key {shown(name)}", fix=fix), path, entry.at)

    def _wrong_shape(self, node: Node, wanted: str, path: str, at: At, example: str) -> Any:  # noqa: ANN401
        seen = {Items: "a list", Fields: "a mapping", Scalar: "a single value"}[type(node)]
        if isinstance(node, Scalar):
            seen = "nothing" if node.text is None else shown(node.text)
        error = UserError("E-TYPE", f"{wanted} is expected, {seen} is there", fix=f"write {example}")
        self.problems.add(error, path, at)
        return _ABSENT

    def _key(self, entry: Entry, key: Key, path: str) -> Any:  # noqa: ANN401 - what the key's reader returns
        node = entry.value
        example = f"{key.name}: {key.example}"
        if not key.many:
            if isinstance(node, Scalar) and node.text is not None:
                return self._value(node.text, key, path, entry.at)
            return self._wrong_shape(node, "one value", path, entry.at, example)
        if isinstance(node, Scalar) and node.text is not None:
            nodes: tuple[Node, ...] = tuple(Scalar(part, node.at) for part in node.text.split(","))
        elif isinstance(node, Items):
            nodes = node.values
        else:
            return self._wrong_shape(node, "a value or a list of values", path, entry.at, example)
        if len(nodes) > _MAX_ITEMS:
            return self._wrong_shape(node, f"a list of at most {_MAX_ITEMS}", path, entry.at, example)
        read = []
        for item in nodes:
            at = At(item.at.line or entry.at.line, entry.at.flag, entry.at.written)
            if isinstance(item, Scalar) and item.text is not None:
                read.append(self._value(item.text, key, path, at))
            else:
                read.append(self._wrong_shape(item, "one value", path, at, example))
        return _ABSENT if _ABSENT in read else tuple(read)

    def _value(self, text: str, key: Key, path: str, at: At) -> Any:  # noqa: ANN401
        try:
            return key.read(text, self.rates) if key.money else key.read(text)
        except UserError as error:
            self.problems.add(error, path, at)
            return _ABSENT

    def _below(self, entry: Entry, table: Section, path: str) -> Any:  # noqa: ANN401 - a mapping or a list of them
        node = entry.value
        if isinstance(node, Scalar) and node.text is None:
            return () if table.many else {}
        if table.open:
            return self._open(entry, path)
        if table.many:
            return self._list(entry, table, path)
        if isinstance(node, Fields):
            return self.section(node, table, path)
        keys = ", ".join(key.name for key in table.keys)
        example = f"{table.name}: {table.shorthand}, or the keys {keys}" if table.shorthand else f"the keys {keys}"
        if table.shorthand and isinstance(node, Scalar) and did_you_mean(node.text or "", [table.shorthand]):
            example = f"{table.name}: {table.shorthand}"
        return self._wrong_shape(node, "a mapping of keys", path, entry.at, example)

    def _list(self, entry: Entry, table: Section, path: str) -> Any:  # noqa: ANN401
        node = entry.value
        if not isinstance(node, Items) or len(node.values) > _MAX_ITEMS:
            return self._wrong_shape(node, f"a list of at most {_MAX_ITEMS}", path, entry.at, f"{table.name}: [...]")
        found = []
        for index, item in enumerate(node.values):
            below = f"{path}[{index}]"
            self.places[below] = At(item.at.line, entry.at.flag)
            if isinstance(item, Fields):
                found.append(self.section(item, table, below))
            else:
                self._wrong_shape(item, "a mapping of keys", below, At(item.at.line, entry.at.flag), "its keys")
        return tuple(found)

    def _open(self, entry: Entry, path: str) -> Any:  # noqa: ANN401
        if not isinstance(entry.value, Fields):
            return self._wrong_shape(entry.value, "a mapping of tags", path, entry.at, "tags: {team: research}")
        found = {}
        for name, below in entry.value.entries.items():
            self.places[f"{path}.{name}"] = below.at
            if isinstance(below.value, Scalar) and below.value.text is not None:
                found[name] = below.value.text
            else:
                self._wrong_shape(below.value, "one value", f"{path}.{name}", below.at, f"{path}: {{team: research}}")
        return found


class _Absent:
    """Marks a value that could not be read: None is a value (`checkpoint_interval: auto`)."""

    __slots__ = ()


_ABSENT = _Absent()


def key_paths(table: Section = ROOT, path: str = "") -> Iterator[str]:
    """Yield every key path of the table, sections before their keys, list items as `data[]`."""
    for key in table.keys:
        below = f"{path}.{key.name}" if path else key.name
        yield below
        if isinstance(key, Section):
            yield from key_paths(key, f"{below}[]" if key.many else below)
