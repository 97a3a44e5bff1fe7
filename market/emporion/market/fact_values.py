"""What the clouds' `facts.py` share: reading values that may be unknown, and finding secrets in start scripts."""

from __future__ import annotations

import base64
import binascii
import gzip
import re
from collections.abc import Callable, Mapping
from decimal import Decimal, InvalidOperation
from typing import TypeVar

from emporion.market.resources import UNKNOWN, Value, has_unknown

__all__ = [
    "amount",
    "either",
    "first",
    "of",
    "quantity",
    "secrets_in_script",
    "tags",
    "text",
    "times",
    "truth",
    "whole",
]

T = TypeVar("T")
_SECRETS: Mapping[str, re.Pattern[str]] = {
    "an AWS access key": re.compile(r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b"),
    "an AWS secret key": re.compile(r"(?i)aws_?secret_?access_?key\W{1,4}[A-Za-z0-9/+=]{40}"),
    "a Google API key": re.compile(r"\bAIza[0-9A-Za-z_-]{35}\b"),
    "an Azure storage key": re.compile(r"(?i)AccountKey=[A-Za-z0-9+/]{40,}={0,2}"),
    "a private key": re.compile(r"-----BEGIN (?:[A-Z]+ )*PRIVATE KEY-----"),
    "a GitHub token": re.compile(r"\bgh[oprsu]_[A-Za-z0-9]{36}\b|\bgithub_pat_[A-Za-z0-9_]{60,}"),
    "a Hugging Face token": re.compile(r"\bhf_[A-Za-z0-9]{30,}\b"),
    "a Slack token": re.compile(r"\bxox[abprs]-[A-Za-z0-9-]{10,}"),
    "a password": re.compile(
        r"(?im)^[^#\n]*?\b(?:[a-z0-9]+_)*(?:password|passwd|secret|api_?key|auth_?token)\s*[=:]\s*"
        r"""["']?(?![$"'<{\s]|\\\$)(?=[^\s"']*\d)[^\s"'${}<>();|&]{8,}"""
    ),
}
"""Kind -> what it looks like. A reference to a variable or to a secret store is none."""


def truth(value: Value) -> Value:
    """Return a yes or no that may be written as a text."""
    return value.lower() == "true" if isinstance(value, str) else value


def either(value: Value, default: T) -> Value:
    """Return a value, or what the cloud takes when none is set."""
    return default if value is None else value


def of(value: Value, change: Callable[[Value], T]) -> T:
    """Return `change(value)`; what is unknown stays unknown."""
    if value is UNKNOWN or has_unknown(value):
        unknown: T = UNKNOWN
        return unknown
    return change(value)


def first(*values: Value) -> Value:
    """Return the first value that is set."""
    return next((value for value in values if value is not None), None)


def amount(value: Value) -> Value:
    """Return an amount written as number or text; one that is neither is unknown."""
    if value is None or value is UNKNOWN:
        return value
    try:
        return Decimal(str(value))
    except InvalidOperation:
        return UNKNOWN


def text(value: Value) -> Value:
    """Return a text; what is none is unknown, None stays None."""
    return value if value is None or isinstance(value, str) else UNKNOWN


def whole(value: Value) -> Value:
    """Return a whole number written as number or text; what is neither is unknown, None stays None."""
    number = amount(value)
    return number if number is None or number is UNKNOWN else int(number) if number.is_finite() else UNKNOWN


def quantity(value: Value) -> Value:
    """Return how much of something, as a decimal; what is not said is not known."""
    return UNKNOWN if value is None else of(value, lambda one: Decimal(str(one)))


def times(count: Value, size: Value) -> Value:
    """Return a product of two quantities; unknown when one of them is."""
    return UNKNOWN if UNKNOWN in (count, size) else count * size


def tags(*values: Value) -> Value:
    """Return the tags that a resource gets, later ones over earlier ones; an unknown value is an empty text.

    They are written as a mapping, or as a list of keys and values.
    """
    found: dict[str, str] = {}
    for value in values:
        if value is UNKNOWN or (isinstance(value, list) and UNKNOWN in value):
            return UNKNOWN
        given = {one["key"]: one.get("value") for one in value} if isinstance(value, list) else value or {}
        for key, text in given.items():
            found[key] = "" if text is UNKNOWN else str(text)
    return found


def secrets_in_script(*scripts: Value) -> Value:
    """Return the kinds of secrets in start scripts, plain or in base64; unknown when one is and no other holds any."""
    found: set[str] = set()
    for script in scripts:
        if isinstance(script, str):
            text = _decoded(script)
            found |= {kind for kind, pattern in _SECRETS.items() if pattern.search(text)}
    if not found and any(script is UNKNOWN for script in scripts):
        return UNKNOWN
    return tuple(sorted(found))


def _decoded(script: str) -> str:
    """Return a script as its machine sees it: plain, or from base64, or from gzip in base64."""
    try:
        data = base64.b64decode("".join(script.split()), validate=True)
        if data[:2] == b"\x1f\x8b":
            data = gzip.decompress(data)
        return data.decode()
    except (binascii.Error, ValueError, OSError, EOFError):
        return script
