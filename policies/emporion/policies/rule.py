"""A rule: one small function over neutral facts, with its name, level, severity, fix and parameters.

::

    @rule("gpu-node-no-public-ip", severity=Severity.HIGH, level=Level.MANDATORY, fix="use the bastion")
    def gpu_node_no_public_ip(node: Node) -> Iterator[str]:
        '''GPU nodes have no public address.'''
        if node.gpus and node.public_ip:
            yield f"{node.name} has {node.gpus} GPUs and a public address"

What it judges is the type of its first argument: a kind of fact, or `Stack` for the whole. Keyword arguments with their
defaults are its parameters. Reading a fact that is not known ends it: the machinery reports that, it never passes.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from enum import StrEnum
from types import NoneType
from typing import Any, get_args, get_type_hints

from emporion.market.facts import Fact
from emporion.policies.stack import Stack

__all__ = ["Level", "Parameter", "Rule", "Severity", "rule"]


class Level(StrEnum):
    """What a violation does."""

    MANDATORY = "mandatory"
    """It stops the update."""
    ADVISORY = "advisory"
    """It is told."""
    DISABLED = "disabled"


class Severity(StrEnum):
    """How bad a violation is."""

    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"
    CRITICAL = "critical"


@dataclass(frozen=True, slots=True)
class Kind:
    """A type of parameter: how JSON schema names it, and how a JSON value becomes it."""

    schema: Mapping[str, Any]
    says: str
    read: Callable[[Any], Any]


def _text(value: Any) -> str:  # noqa: ANN401 - JSON
    if not isinstance(value, str):
        raise TypeError(value)
    return value


def _truth(value: Any) -> bool:  # noqa: ANN401 - JSON
    if not isinstance(value, bool):
        raise TypeError(value)
    return value


def _whole(value: Any) -> int:  # noqa: ANN401 - JSON
    if isinstance(value, bool) or not isinstance(value, int | float) or value != int(value):
        raise TypeError(value)
    return int(value)


def _amount(value: Any) -> Decimal:  # noqa: ANN401 - JSON
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise TypeError(value)
    amount = Decimal(str(value))
    if not amount.is_finite() or amount < 0:
        raise ValueError(value)
    return amount


def _texts(value: Any) -> tuple[str, ...]:  # noqa: ANN401 - JSON
    if not isinstance(value, list):
        raise TypeError(value)
    return tuple(_text(item) for item in value)


def _amounts(value: Any) -> Mapping[str, Decimal]:  # noqa: ANN401 - JSON
    if not isinstance(value, Mapping):
        raise TypeError(value)
    return {_text(key): _amount(item) for key, item in value.items()}


KINDS: Mapping[Any, Kind] = {
    bool: Kind({"type": "boolean"}, "true or false", _truth),
    int: Kind({"type": "integer"}, "a whole number", _whole),
    Decimal: Kind({"type": ["number", "string"]}, "an amount, 0 or more", _amount),
    str: Kind({"type": "string"}, "a text", _text),
    Sequence[str]: Kind({"type": "array", "items": {"type": "string"}}, "a list of texts", _texts),
    Mapping[str, Decimal]: Kind({"type": "object"}, "an amount for each name", _amounts),
}


@dataclass(frozen=True, slots=True)
class Parameter:
    """Something that users set for a rule."""

    name: str
    kind: Kind
    default: Any

    def read(self, value: Any) -> Any:  # noqa: ANN401 - JSON in, the parameter's type out
        """Return a value from a configuration. Raises: ValueError: when it is of another type."""
        try:
            return self.kind.read(value)
        except (TypeError, ValueError, OverflowError, InvalidOperation) as error:
            message = f"{self.name} is {self.kind.says}"
            raise ValueError(message) from error


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule; calling it returns what it finds wrong with a fact."""

    name: str
    severity: Severity
    level: Level
    """Unless it is configured."""
    fix: str
    description: str
    """One line."""
    subject: type[Fact | Stack]
    parameters: Mapping[str, Parameter]
    profile: str | None
    """The compliance profile that it belongs to: it is off until that is chosen."""
    like: Sequence[str]
    """What other tools call the same check."""
    check: Callable[..., Iterable[str]]

    def __call__(self, subject: Fact | Stack, **parameters: Any) -> list[str]:  # noqa: ANN401 - of its parameters
        """Return the problems of a subject."""
        return list(self.check(subject, **parameters))


def rule(
    name: str,
    *,
    severity: Severity,
    fix: str,
    level: Level = Level.ADVISORY,
    profile: str | None = None,
    like: Sequence[str] = (),
) -> Callable[[Callable[..., Iterable[str]]], Rule]:
    """Return the decorator that makes a rule of a function."""

    def make(check: Callable[..., Iterable[str]]) -> Rule:
        first, *rest = inspect.signature(check).parameters.values()
        hints = get_type_hints(check)
        parameters = {one.name: Parameter(one.name, _kind(hints[one.name]), one.default) for one in rest}
        description = " ".join((check.__doc__ or "").split())
        return Rule(name, severity, level, fix, description, hints[first.name], parameters, profile, like, check)

    return make


def _kind(hint: Any) -> Kind:  # noqa: ANN401 - a type
    """Return the kind of an annotation; `X | None` is X, whose default says that it is not set.

    Raises: TypeError: when no configuration can be read as it.
    """
    (inner, *rest) = [one for one in get_args(hint) if one is not NoneType] if NoneType in get_args(hint) else [hint]
    if rest or inner not in KINDS:
        known = ", ".join(getattr(one, "__name__", str(one)) for one in KINDS)
        message = f"a rule's parameter is annotated as {hint}; allowed, with or without `| None`: {known}"
        raise TypeError(message)
    return KINDS[inner]
