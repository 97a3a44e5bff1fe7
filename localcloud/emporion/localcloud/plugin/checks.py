"""Check a resource's inputs against its SDK schema and its cloud's enums: all that is wrong with them at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from emporion.localcloud.plugin.schema import Schemas
from emporion.market.errors import did_you_mean
from emporion.market.stand_in import TypeRule
from emporion.market.wire import SIGNATURE, UNKNOWN_TEXT

__all__ = ["Failure", "check_inputs"]

Failure = tuple[str, str]
"""Property path and what is wrong with it."""
SHOWN = 8


def check_inputs(schemas: Schemas, token: str, rule: TypeRule, inputs: Mapping[str, Any]) -> list[Failure]:
    """Return every failure of a resource's plain inputs; unknown values pass."""
    schema = schemas.resource(token)
    if schema is None:
        near = did_you_mean(token, schemas.tokens())
        return [("", f"unknown resource type {token!r}" + (f"; did you mean {near!r}?" if near else ""))]
    given = {key: value for key, value in inputs.items() if key not in schema["consts"] or key in schema["inputs"]}
    found = list(_fields(schema, schema["inputs"], given, ""))
    for path, source in rule.enums.items():
        allowed = schemas.enum(source)
        if allowed is not None:
            found.extend(_enum(allowed, given, path))
    return found


def _fields(
    schema: Mapping[str, Any], spec: Mapping[str, Any], values: Mapping[str, Any], path: str
) -> Iterator[Failure]:
    for name, value in values.items():
        if name.startswith("__"):
            continue
        where = f"{path}.{name}" if path else name
        if name in spec:
            yield from _value(schema, spec[name][0], value, where)
        else:
            near = did_you_mean(name, list(spec))
            yield where, f"unknown property {name!r}" + (f"; did you mean {near!r}?" if near else "")
    for name, (_, required) in spec.items():
        if required and values.get(name) is None:
            yield (f"{path}.{name}" if path else name), f"missing required property {name!r}"


def _value(schema: Mapping[str, Any], kind: Any, value: Any, path: str) -> Iterator[Failure]:  # noqa: ANN401 - JSON
    if value is None or value == UNKNOWN_TEXT or kind == "any":
        return
    if isinstance(kind, str):
        if not _is_scalar(kind, value):
            yield path, f"expected {_named(kind)}, got {_shown(value)}"
        return
    ((form, inner),) = kind.items()
    yield from _FORMS[form](schema, inner, value, path)


def _list(schema: Mapping[str, Any], inner: Any, value: Any, path: str) -> Iterator[Failure]:  # noqa: ANN401
    if not isinstance(value, list):
        yield path, f"expected a list, got {_shown(value)}"
        return
    for index, item in enumerate(value):
        yield from _value(schema, inner, item, f"{path}[{index}]")


def _map(schema: Mapping[str, Any], inner: Any, value: Any, path: str) -> Iterator[Failure]:  # noqa: ANN401
    if not isinstance(value, Mapping):
        yield path, f"expected a map, got {_shown(value)}"
        return
    for key, item in value.items():
        yield from _value(schema, inner, item, f'{path}["{key}"]')


def _object(schema: Mapping[str, Any], inner: str, value: Any, path: str) -> Iterator[Failure]:  # noqa: ANN401
    if isinstance(value, Mapping):
        yield from _fields(schema, schema["objects"][inner], value, path)
    else:
        yield path, f"expected an object ({inner.rsplit(':', 1)[-1]}), got {_shown(value)}"


def _union(schema: Mapping[str, Any], kinds: list[Any], value: Any, path: str) -> Iterator[Failure]:  # noqa: ANN401
    """Check a union. A string or an enum is an open enum, whose list is often stale: any string passes."""
    tries = [list(_value(schema, kind, value, path)) for kind in kinds]
    if all(tries):
        yield min(tries, key=len)[0]


def _closed(schema: Mapping[str, Any], inner: str, value: Any, path: str) -> Iterator[Failure]:  # noqa: ANN401
    allowed = schema["enums"][inner]
    if value not in allowed:
        yield path, _refused(value, [str(item) for item in allowed])


_FORMS: Mapping[str, Callable[..., Iterator[Failure]]] = {
    "list": _list,
    "map": _map,
    "obj": _object,
    "enum": _closed,
    "union": _union,
}


def _enum(allowed: list[str], inputs: Mapping[str, Any], path: str) -> Iterator[Failure]:
    for where, value in _leaves(inputs, path, ""):
        if isinstance(value, str) and value != UNKNOWN_TEXT and value not in allowed:
            yield where, _refused(value, allowed)


def _leaves(value: Any, path: str, above: str) -> Iterator[tuple[str, Any]]:  # noqa: ANN401
    if isinstance(value, list):
        for index, item in enumerate(value):
            yield from _leaves(item, path, f"{above}[{index}]")
    elif not path:
        yield above, value
    elif isinstance(value, Mapping):
        head, _, rest = path.partition(".")
        if head in value:
            yield from _leaves(value[head], rest, f"{above}.{head}" if above else head)


def _refused(value: object, allowed: list[str]) -> str:
    near = did_you_mean(str(value), allowed)
    shown = ", ".join(allowed[:SHOWN]) + (f" and {len(allowed) - SHOWN} more" if len(allowed) > SHOWN else "")
    return f"{value!r} is not one of {shown}" + (f"; did you mean {near!r}?" if near else "")


def _is_scalar(kind: str, value: object) -> bool:
    if kind == "str":
        return isinstance(value, str)
    if kind == "bool":
        return isinstance(value, bool)
    if kind == "asset":
        return isinstance(value, Mapping) and SIGNATURE in value
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return number and (kind == "float" or value == int(value))  # type: ignore[call-overload]


def _named(kind: str) -> str:
    return {
        "str": "a string",
        "int": "a whole number",
        "float": "a number",
        "bool": "a boolean",
        "asset": "an asset or archive",
    }[kind]


def _shown(value: object) -> str:
    if isinstance(value, bool):
        return f"the boolean {str(value).lower()}"
    if isinstance(value, Mapping):
        return "a map"
    if isinstance(value, list):
        return "a list"
    if isinstance(value, str):
        return "a string"  # its text may be a secret
    return f"the number {value}"
