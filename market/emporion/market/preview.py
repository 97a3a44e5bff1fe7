"""A `pulumi preview --json` file as resources, read piece by piece: one of 20,000 resources is 100 MB and more."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from emporion.market.errors import UserError
from emporion.market.resources import Resource, plain

__all__ = ["Preview", "read_preview"]

_PIECE = 1 << 20
_PROVIDER = "pulumi:providers:"
_GONE = frozenset({"delete", "delete-replaced", "discard", "discard-replaced", "remove-pending-replace", "replace"})
"""Steps after which nothing new stands (of a replacement, `create-replacement` tells what does)."""
_START = re.compile(r'"steps"\s*:\s*\[')
_NEXT = re.compile(r"[\s,]*")


@dataclass(frozen=True, slots=True)
class Preview:
    """What stands after an update, as a preview tells it."""

    resources: tuple[Resource, ...]
    left_out: int
    """Unchanged resources that the file does not tell (it was made without `--show-sames`)."""
    region_source: Mapping[str, str] = field(default_factory=dict)
    """URN -> where its region comes from, where that is not the resource itself."""


def read_preview(path: Path, regions: Mapping[str, tuple[str, str]] | None = None) -> Preview:
    """Read a preview file.

    `regions` is plugin -> (region, where it was found), for resources of which neither they nor their provider say one.
    Raises: UserError E-PREVIEW: when it cannot be read, is none, or is cut in the middle.
    """
    try:
        with path.open(encoding="utf-8") as file:
            steps, left_out = _read(file, path)
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is no UTF-8 text"
        raise UserError(
            "E-PREVIEW", f"{path} cannot be read: {reason}", str(path), "pulumi preview --json --show-sames > FILE"
        ) from error
    providers = {urn: inputs for urn, kind, inputs, *_ in steps if kind.startswith(_PROVIDER)}
    found, sources = [], {}
    for urn, kind, inputs, provider, references, protect in steps:
        settings = providers.get(provider.rpartition("::")[0], {})
        plugin = provider.split("::")[2].removeprefix(_PROVIDER) if provider.count("::") > 1 else kind.partition(":")[0]
        if "region" not in inputs and "location" not in inputs:
            if "region" in settings:
                sources[urn] = "its provider"
            elif regions and plugin in regions:
                settings = {**settings, "region": regions[plugin][0]}
                sources[urn] = regions[plugin][1]
        found.append(Resource(urn, kind, inputs, settings, references, protect))
    return Preview(tuple(found), left_out, sources)


Step = tuple[str, str, Mapping[str, Any], str, Mapping[str, Any], bool]


def _read(file: IO[str], path: Path) -> tuple[list[Step], int]:
    """Return the steps after which something stands, and how many unchanged resources have no step."""
    source = _Pieces(file)
    start = source.find(_START)
    if start is None:
        raise UserError(
            "E-PREVIEW", f"{path.name} is no preview: it has no steps", str(path), "pulumi preview --json > FILE"
        )
    steps: list[Step] = []
    ops: list[str] = []
    while not source.ends():
        step = source.value()
        if step is None:
            raise UserError(
                "E-PREVIEW",
                f"{path.name} is cut off in step {len(ops) + 1}",
                str(path),
                "let the preview end, and write its standard output alone",
            )
        ops.append(str(step.get("op")))
        made = _step(step)
        if made is not None:
            steps.append(made)
    try:
        rest = json.loads("{" + source.rest().lstrip("] \n\r\t,"))
    except ValueError as error:
        raise UserError(
            "E-PREVIEW", f"{path.name} is cut off after step {len(ops)}", str(path), "let the preview end"
        ) from error
    same = (rest.get("changeSummary") or {}).get("same") or 0
    return steps, max(0, same - ops.count("same"))


def _step(step: Mapping[str, Any]) -> Step | None:
    state = step.get("newState")
    if not isinstance(state, dict) or step.get("op") in _GONE:
        return None
    references = {key: tuple(urns) for key, urns in (state.get("propertyDependencies") or {}).items() if urns}
    inputs = {key: value for key, value in (state.get("inputs") or {}).items() if not key.startswith("__")}
    return (
        str(state.get("urn")), str(state.get("type")), plain(inputs), str(state.get("provider") or ""), references,
        bool(state.get("protect")),
    )  # fmt: skip


class _Pieces:
    """A long JSON text of which one value after the other is taken."""

    def __init__(self, file: IO[str]) -> None:
        self._file = file
        self._text = ""
        self._at = 0
        self._decoder = json.JSONDecoder()

    def _more(self) -> bool:
        piece = self._file.read(_PIECE)
        self._text = self._text[self._at :] + piece
        self._at = 0
        return bool(piece)

    def find(self, pattern: re.Pattern[str]) -> int | None:
        """Go behind the first match; None: there is none."""
        while True:
            match = pattern.search(self._text, self._at)
            if match is not None:
                self._at = match.end()
                return self._at
            if not self._more():
                return None

    def ends(self) -> bool:
        """Return whether the list is over."""
        while True:
            match = _NEXT.match(self._text, self._at)
            self._at = match.end() if match else self._at
            if self._at < len(self._text):
                return self._text[self._at] == "]"
            if not self._more():
                return False

    def value(self) -> dict[str, Any] | None:
        """Return the next object; None: the text ends before it does."""
        while True:
            try:
                value, self._at = self._decoder.raw_decode(self._text, self._at)
            except ValueError:
                if not self._more():
                    return None
            else:
                return value if isinstance(value, dict) else {}

    def rest(self) -> str:
        """Return what is left."""
        return self._text[self._at :] + self._file.read()
