"""Values read from a file against the types of the dataclass that is made of them."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from types import UnionType
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

__all__ = ["amount", "made", "mapping"]

_Made = TypeVar("_Made")


def made(kind: type[_Made], values: Mapping[str, object]) -> _Made:
    """Return a dataclass made of values that have the types of its fields; the items of containers are not looked at.

    Raises: TypeError: when a value has another type, or a field is missing or unknown.
    """
    hints: Mapping[str, Any] = get_type_hints(kind)
    for name, value in values.items():
        if name in hints and not _fits(hints[name], value):
            message = f"{name} is {type(value).__name__} {str(value)[:40]!r}"
            raise TypeError(message)
    return kind(**values)


def _fits(hint: Any, value: object) -> bool:  # noqa: ANN401 - a type, or a form of typing
    origin, args = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        return any(_fits(each, value) for each in args)
    if origin is Literal:
        return any(value == each and type(value) is type(each) for each in args)
    if origin is not None:
        return isinstance(value, origin)
    return type(value) is hint if hint in (bool, int) else isinstance(value, hint)


def mapping(value: object) -> dict[str, Any]:
    """Return a mapping of a document. Raises: TypeError: when it is something else."""
    if not isinstance(value, dict):
        message = f"{type(value).__name__} {str(value)[:40]!r} is not a mapping"
        raise TypeError(message)
    return value


def amount(value: object) -> Decimal:
    """Return an amount that is written as text or as a number. Raises: ValueError: when it is below 0, or none."""
    if isinstance(value, (str, int, float, Decimal)) and not isinstance(value, bool):
        found = Decimal(str(value))
        if found.is_finite() and found >= 0:
            return found
    message = f"{str(value)[:40]!r} is not an amount"
    raise ValueError(message)
