"""Secret values on the way back: what came in marked goes out marked, and so does everything made from it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from emporion.localcloud.plugin.values import plain
from emporion.market.wire import SECRET, SIGNATURE, UNKNOWN_TEXT

__all__ = ["marked"]


def marked(values: Mapping[str, Any], came: Mapping[str, Any]) -> dict[str, Any]:
    """Return plain `values` with the marks of what `came` from the engine.

    A value that is still the one that came keeps its own marks, and what stands where a secret came is secret whatever
    it is now, as the engine has it for providers that take no secrets (`annotateSecrets`); any other that holds a
    secret text (all tags of a resource with a secret tag) is secret as a whole.
    """
    if not _has_mark(came):
        return dict(values)
    texts = set(_secret_texts(came)) - {UNKNOWN_TEXT}
    return {key: _marked(value, came.get(key), texts) for key, value in values.items()}


def _marked(value: Any, came: Any, texts: set[str]) -> Any:  # noqa: ANN401 - JSON
    if _has_mark(came) and plain(came) == value:
        return came
    if value is not None and isinstance(came, Mapping) and came.get(SIGNATURE) == SECRET:
        return {SIGNATURE: SECRET, "value": value}
    return {SIGNATURE: SECRET, "value": value} if any(_holds(value, text) for text in texts) else value


def _has_mark(value: Any) -> bool:  # noqa: ANN401 - JSON
    if isinstance(value, Mapping):
        return value.get(SIGNATURE) == SECRET or any(_has_mark(inner) for inner in value.values())
    return isinstance(value, list) and any(_has_mark(inner) for inner in value)


def _secret_texts(value: Any) -> Iterator[str]:  # noqa: ANN401 - JSON
    if isinstance(value, Mapping):
        if value.get(SIGNATURE) == SECRET:
            yield from _texts(plain(value.get("value")))
        for inner in value.values():
            yield from _secret_texts(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _secret_texts(inner)


def _texts(value: Any) -> Iterator[str]:  # noqa: ANN401 - JSON
    if isinstance(value, str):
        if value:
            yield value
    elif isinstance(value, Mapping):
        for inner in value.values():
            yield from _texts(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _texts(inner)
    elif value is not None and not isinstance(value, bool):
        yield str(value)


def _holds(value: Any, text: str) -> bool:  # noqa: ANN401 - JSON
    if isinstance(value, str):
        return text in value
    if isinstance(value, Mapping):
        return any(_holds(inner, text) for inner in value.values())
    if isinstance(value, list):
        return any(_holds(inner, text) for inner in value)
    return value is not None and not isinstance(value, bool) and str(value) == text
