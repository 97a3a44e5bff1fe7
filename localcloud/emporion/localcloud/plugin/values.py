"""Property values as the engine sends them: unknowns, secrets, paths, and plain data for the world."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from emporion.market.wire import SIGNATURE, UNKNOWN_TEXT

__all__ = [
    "at_path",
    "covers",
    "from_struct",
    "has_unknown",
    "into_struct",
    "is_unknown",
    "parse_path",
    "plain",
]

STEP = re.compile(r'\["((?:[^"\\]|\\.)*)"\]|\[(\d+|\*)\]|\.?([^.\[\]]+)', re.DOTALL)
ESCAPED = re.compile(r"\\(.)", re.DOTALL)


def from_struct(struct: Any) -> dict[str, Any]:  # noqa: ANN401 - a google.protobuf Struct
    """Return a protobuf Struct as a dict; whole numbers become int."""
    return {key: _from_value(value) for key, value in struct.fields.items()}


def _from_value(value: Any) -> Any:  # noqa: ANN401 - JSON
    kind = value.WhichOneof("kind")
    if kind == "string_value":
        return value.string_value
    if kind == "number_value":
        number = value.number_value
        return int(number) if number.is_integer() else number
    if kind == "bool_value":
        return value.bool_value
    if kind == "struct_value":
        return from_struct(value.struct_value)
    if kind == "list_value":
        return [_from_value(item) for item in value.list_value.values]
    return None


def into_struct(values: Mapping[str, Any], struct: Any) -> Any:  # noqa: ANN401 - a google.protobuf Struct
    """Fill a protobuf Struct and return it."""
    struct.update(values)
    return struct


def plain(value: Any) -> Any:  # noqa: ANN401 - JSON
    """Return a value with secrets and outputs looked through: their content, or the unknown mark."""
    if isinstance(value, Mapping):
        if SIGNATURE in value and ("value" in value or "id" not in value):
            signature = value[SIGNATURE]
            if "value" in value and not _is_asset(value):
                return plain(value["value"])
            return UNKNOWN_TEXT if signature == "d0e6a833031e9bbcd3f4e8bde6ca49a4" else dict(value)
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [plain(item) for item in value]
    return value


def _is_asset(value: Mapping[str, Any]) -> bool:
    return value[SIGNATURE] in ("c44067f5952c0a294b673a41bacd8c17", "0def7320c3a5731c473e5ecbe6d01bc7")


def is_unknown(value: object) -> bool:
    """Return whether a value is the unknown mark itself."""
    return value == UNKNOWN_TEXT


def has_unknown(value: object) -> bool:
    """Return whether a value is, or anywhere holds, the unknown mark."""
    if isinstance(value, Mapping):
        return any(has_unknown(item) for item in value.values())
    if isinstance(value, list):
        return any(has_unknown(item) for item in value)
    return value == UNKNOWN_TEXT


def at_path(value: object, path: str) -> Iterator[Any]:
    """Yield what lies at a dotted path, through lists: `a.b` yields every b of {a: [{b}, {b}]}."""
    head, _, rest = path.partition(".")
    if isinstance(value, list):
        for item in value:
            yield from at_path(item, path)
    elif isinstance(value, Mapping) and head in value:
        found = value[head]
        if rest:
            yield from at_path(found, rest)
        elif isinstance(found, list):
            yield from found
        elif found is not None:
            yield found


def parse_path(path: str) -> tuple[str, ...]:
    """Return the steps of a property path as Pulumi writes it: `a.b[0]["c.d"]` gives a, b, 0, c.d."""
    return tuple(
        ESCAPED.sub(r"\1", match[1]) if match[1] is not None else match[2] or match[3] for match in STEP.finditer(path)
    )


def covers(ignored: tuple[str, ...], path: tuple[str, ...]) -> bool:
    """Return whether an ignored path (`*` matches one step) is `path` or a part above it."""
    return len(ignored) <= len(path) and all(a in ("*", b) for a, b in zip(ignored, path, strict=False))
