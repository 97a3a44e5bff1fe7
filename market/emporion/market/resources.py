"""One resource of a Pulumi program, Emporion's or not, as a rule or a price sees it: plain values, unknown ones marked.

Values come from the engine (policies/) or from a `pulumi preview --json` file; both speak the engine's wire format.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

from emporion.market.wire import OUTPUT, SECRET, SECRET_SHOWN, SIGNATURE, UNKNOWN_TEXTS

__all__ = ["UNKNOWN", "Others", "Resource", "Value", "at", "has_unknown", "plain", "secrets_in"]


Value: TypeAlias = Any
"""A value of a resource: JSON, `UNKNOWN`, or JSON that holds it."""


class _Unknown:
    """The type of `UNKNOWN`; it has no truth value, so that no rule takes it for a yes or a no by accident."""

    def __repr__(self) -> str:
        return "UNKNOWN"

    def __bool__(self) -> bool:
        message = "an unknown value is neither true nor false"
        raise TypeError(message)


UNKNOWN: Final[Any] = _Unknown()
"""A value that is only known once something else is made."""


def plain(value: Value) -> Value:
    """Return a wire value with secrets and outputs looked through and unknown ones as `UNKNOWN`."""
    if isinstance(value, str):
        return UNKNOWN if value in UNKNOWN_TEXTS or value == SECRET_SHOWN else value
    if isinstance(value, Mapping):
        if value.get(SIGNATURE) in {SECRET, OUTPUT}:
            return plain(value["value"]) if "value" in value else UNKNOWN
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [plain(item) for item in value]
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value


def secrets_in(value: Value, *, secret: bool = False) -> Iterator[str]:
    """Yield the text of every value that is marked as a secret, so that nobody prints it."""
    if isinstance(value, Mapping):
        marked = value.get(SIGNATURE) in {SECRET, OUTPUT}
        hidden = secret or value.get(SIGNATURE) == SECRET or value.get("secret") is True
        for key, item in value.items():
            if not marked or key == "value":
                yield from secrets_in(item, secret=hidden)
    elif isinstance(value, list):
        for item in value:
            yield from secrets_in(item, secret=secret)
    elif secret and value not in (None, True, False) and value not in UNKNOWN_TEXTS:
        yield str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def has_unknown(value: object) -> bool:
    """Return whether a value is unknown, or holds something that is."""
    if isinstance(value, Mapping):
        return any(has_unknown(item) for item in value.values())
    if isinstance(value, list | tuple):
        return any(has_unknown(item) for item in value)
    return value is UNKNOWN


@dataclass(frozen=True, slots=True)
class Resource:
    """What a program asks of a cloud in one place."""

    urn: str
    type: str
    """Pulumi's type token (`aws:ec2/instance:Instance`)."""
    inputs: Mapping[str, Value]
    """By camelCase name, as `plain` returns them."""
    provider: Mapping[str, Value] = field(default_factory=dict)
    """The inputs of its provider (`region`)."""
    references: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """Property -> URNs of the resources that its value comes from, known even when the value is not."""
    protect: bool = False

    @property
    def name(self) -> str:
        """Its name in the program."""
        return self.urn.rpartition("::")[2]

    def get(self, *path: str | int) -> Value:
        """Return the value at a path, None when it is not set, `UNKNOWN` when it or something above it is not known."""
        return at(self.inputs, *path)

    def each(self, *path: str) -> Sequence[Any]:
        """Return the list at a path, empty when it is not set; `(UNKNOWN,)` when it is not known."""
        found = self.get(*path)
        if found is UNKNOWN:
            return (UNKNOWN,)
        return found if isinstance(found, list) else () if found is None else (found,)


def at(value: Value, *path: str | int) -> Value:
    """Return what lies at a path in a value; None: nothing, `UNKNOWN`: not known."""
    for step in path:
        if value is UNKNOWN:
            return UNKNOWN
        if isinstance(step, int):
            value = value[step] if isinstance(value, list) and len(value) > step else None
        else:
            value = value.get(step) if isinstance(value, Mapping) else None
    return value


class Others:
    """The resources of one stack, and which of them belong together."""

    def __init__(self, resources: Iterable[Resource]) -> None:
        self._by_urn = {resource.urn: resource for resource in resources}
        self._users: dict[tuple[str, str], list[Resource]] = {}
        self._texts: dict[tuple[str, str], dict[str, list[Resource]]] = {}
        for resource in self._by_urn.values():
            for name, urns in resource.references.items():
                for urn in urns:
                    self._users.setdefault((urn, name), []).append(resource)

    def __iter__(self) -> Iterator[Resource]:
        """Yield all of them."""
        return iter(self._by_urn.values())

    def behind(self, resource: Resource, name: str, *kinds: str) -> list[Resource]:
        """Return the resources of some types from which a property's value comes."""
        found = (self._by_urn.get(urn) for urn in resource.references.get(name, ()))
        return [one for one in found if one is not None and one.type in kinds]

    def of(self, resource: Resource, kind: str, name: str, *keys: str) -> list[Resource]:
        """Return the resources of a type whose property `name` leads to `resource`.

        It leads there by a reference, or by a text that is the value of one of the `keys` of `resource`.
        """
        found = {one.urn: one for one in self._users.get((resource.urn, name), ()) if one.type == kind}
        for key in keys:
            text = resource.inputs.get(key)
            if isinstance(text, str):
                found |= {one.urn: one for one in self._with_text(kind, name).get(text, ())}
        return list(found.values())

    def _with_text(self, kind: str, name: str) -> dict[str, list[Resource]]:
        """Return text -> the resources of a type of whose property it is the value; made once for each."""
        index = self._texts.get((kind, name))
        if index is None:
            index = self._texts[kind, name] = {}
            for one in self._by_urn.values():
                text = one.inputs.get(name) if one.type == kind else None
                if isinstance(text, str):
                    index.setdefault(text, []).append(one)
        return index
