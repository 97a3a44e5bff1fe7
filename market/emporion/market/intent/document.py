"""YAML text to a tree, with the line of every key. Imported only when there is a file: PyYAML costs 35 ms to import.

The text goes through PyYAML's event stream and never through its constructors: no tag makes an object, an alias is the
same node and not a copy of it, and depth, size and number of nodes are bounded before anything is built.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import yaml

from emporion.market.errors import UserError
from emporion.market.intent.tree import At, Entry, Fields, Items, Node, Problems, Scalar
from emporion.market.units import shown

__all__ = ["INTENT", "DocumentKind", "read_document", "read_text"]


@dataclass(frozen=True, slots=True)
class DocumentKind:
    """What a YAML document is, for what is said about one that cannot be read."""

    name: str
    """With its article: `an intent`."""
    example: str
    """The least that it may say."""


INTENT = DocumentKind("an intent", "resources: {gpus: a100:4}")
MAX_BYTES = 1 << 20
MAX_DEPTH = 32
MAX_NODES = 20_000
_PLAIN_TAGS = frozenset(f"tag:yaml.org,2002:{kind}" for kind in ("str", "int", "float", "bool", "null", "map", "seq"))
_NULLS = frozenset({"", "~", "null", "Null", "NULL"})
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # libyaml's where it was built: four times faster


def read_document(path: Path, problems: Problems, kind: DocumentKind = INTENT) -> Fields:
    """Return the tree of a YAML file, an intent or another `kind` of document.

    Problems inside a document that can be read go to `problems`.

    Raises: UserError E-FILE: when the file does not exist, is a directory, cannot be read, is not UTF-8 or too large;
    E-YAML: when it does not parse, is empty or is not a mapping of keys.
    """
    return read_text(_text(path, kind), str(path), problems, kind)


def _text(path: Path, kind: DocumentKind) -> str:
    where = str(path)
    try:
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except FileNotFoundError:
        made = ", or make one: emporion init DIR" if kind is INTENT else ""
        fix = f"give the path of a file with {kind.name}{made}"
        raise UserError("E-FILE", f"{shown(where, 200)} does not exist", where, fix) from None
    except IsADirectoryError:
        raise UserError(
            "E-FILE", f"{shown(where, 200)} is a directory", where, f"give the path of a file with {kind.name} in it"
        ) from None
    except (OSError, ValueError) as error:
        said = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise UserError(
            "E-FILE", f"{shown(where, 200)} cannot be read: {said.lower()}", where, "give a readable file"
        ) from None
    if len(data) > MAX_BYTES:
        raise UserError(
            "E-FILE", f"{shown(where, 200)} is larger than {MAX_BYTES >> 20} MiB", where, f"{kind.name} is a few lines"
        )
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise UserError(
            "E-FILE",
            f"not UTF-8 text: byte {error.start + 1} is 0x{data[error.start]:02x}",
            f"{where}:{line}",
            "save the file as UTF-8",
        ) from None


def read_text(text: str, source: str, problems: Problems, kind: DocumentKind = INTENT) -> Fields:
    """Return the tree of a document's text; as `read_document`."""
    builder = _Builder(source, problems, kind)
    try:
        for event in yaml.parse(text, Loader=_LOADER):
            builder.take(event)
    except yaml.YAMLError as error:
        raise _does_not_parse(error, source) from None
    root = builder.root
    if root is None or (isinstance(root, Scalar) and root.text is None):
        raise UserError("E-YAML", "the file is empty", source, f"write at least: {kind.example}")
    if not isinstance(root, Fields):
        said = "a list" if isinstance(root, Items) else "a single value"
        raise UserError(
            "E-YAML",
            f"the document is {said}, a mapping of keys is expected",
            f"{source}:{root.at.line}",
            f"write keys, as: {kind.example}",
        )
    return root


def _does_not_parse(error: yaml.YAMLError, source: str) -> UserError:
    where, said = source, "it holds a character that YAML does not allow"
    if isinstance(error, yaml.MarkedYAMLError):
        mark = error.problem_mark or error.context_mark
        where = f"{source}:{mark.line + 1}:{mark.column + 1}" if mark else source
        begun = error.context_mark
        began = f" that begins in line {begun.line + 1}" if begun and mark and begun.line != mark.line else ""
        said = ", ".join(part for part in (f"{error.context or ''}{began}", error.problem) if part)
    elif isinstance(error, yaml.reader.ReaderError):
        said = f"the character {error.character!r} is not allowed" if error.character else said
    return UserError("E-YAML", f"not YAML: {said}", where, "check quotes, brackets and the indentation of this line")


@dataclass(slots=True)
class _Open:
    """A list or mapping that is still being read."""

    at: At
    anchor: str | None
    values: list[Node] | None = None
    fields: Fields | None = None
    key: tuple[str, At] | None = None


@dataclass(slots=True)
class _Builder:
    """Builds the tree from YAML events, without recursion."""

    source: str
    problems: Problems
    kind: DocumentKind
    root: Node | None = None
    open: list[_Open] = field(default_factory=list)
    anchors: dict[str, Node] = field(default_factory=dict)
    nodes: int = 0
    documents: int = 0

    def take(self, event: yaml.Event) -> None:
        at = At(line=event.start_mark.line + 1 if event.start_mark else None)
        if isinstance(event, yaml.DocumentStartEvent):
            self.documents += 1
            if self.documents > 1:
                raise self._refused("a second document begins here", at, f"keep {self.kind.name} in a file of its own")
        elif isinstance(event, yaml.AliasEvent):
            if event.anchor not in self.anchors:
                raise self._refused(f"the alias {event.anchor!r} has no anchor", at, "write the value itself")
            self._place(self.anchors[str(event.anchor)], at)
        elif isinstance(event, yaml.NodeEvent):
            self._check(event, at)
            if isinstance(event, yaml.ScalarEvent):
                empty = not event.style and event.value in _NULLS
                self._finish(Scalar(None if empty else event.value, at), event.anchor)
            elif isinstance(event, yaml.SequenceStartEvent):
                self.open.append(_Open(at, event.anchor, values=[]))
            else:
                self.open.append(_Open(at, event.anchor, fields=Fields(at)))
        elif isinstance(event, yaml.CollectionEndEvent):
            done = self.open.pop()
            self._finish(
                done.fields if done.fields is not None else Items(tuple(done.values or ()), done.at), done.anchor
            )

    def _refused(self, what: str, at: At, fix: str) -> UserError:
        return UserError("E-YAML", what, f"{self.source}:{at.line}", fix)

    def _check(self, event: yaml.NodeEvent, at: At) -> None:
        self.nodes += 1
        if self.nodes > MAX_NODES:
            raise self._refused(f"more than {MAX_NODES} values", at, f"{self.kind.name} is a few lines")
        if len(self.open) >= MAX_DEPTH:
            raise self._refused(f"nested deeper than {MAX_DEPTH} levels", at, f"{self.kind.name} needs four")
        tag = getattr(event, "tag", None)
        if tag is not None and tag != "!" and tag not in _PLAIN_TAGS:
            raise self._refused(f"the tag {shown(tag)} is not allowed", at, "write the plain value without a tag")

    def _finish(self, node: Node, anchor: str | None) -> None:
        if anchor:
            self.anchors[anchor] = node
        self._place(node, node.at)

    def _place(self, node: Node, at: At) -> None:
        if not self.open:
            self.root = node
            return
        parent = self.open[-1]
        if parent.values is not None:
            parent.values.append(node)
        elif parent.fields is not None and parent.key is None:
            parent.key = (self._key(node, at), at)
        elif parent.fields is not None and parent.key is not None:
            key, key_at = parent.key
            parent.key = None
            self._enter(parent.fields, key, key_at, node)

    def _key(self, node: Node, at: At) -> str:
        if not isinstance(node, Scalar) or node.text is None:
            raise self._refused("a key must be a word", at, f"write keys as words, as: {self.kind.example}")
        return node.text

    def _enter(self, fields: Fields, key: str, at: At, node: Node) -> None:
        if key in fields.entries:
            first = fields.entries[key].at.line
            self.problems.add(
                UserError("E-DUPLICATE", f"the key {shown(key)} stands twice, first in line {first}", fix="keep one"),
                ".".join([*self._path(), key]),
                at,
            )
        else:
            fields.entries[key] = Entry(at, node)

    def _path(self) -> Iterator[str]:
        for level in self.open:
            if level.key is not None:
                yield level.key[0]
