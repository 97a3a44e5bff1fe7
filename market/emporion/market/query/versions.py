"""Versions, compared as versions: 12.10 is after 12.9, 2.1 is 2.1.0, 2.1.0rc1 comes before it."""

from __future__ import annotations

import re
from functools import lru_cache

__all__ = ["compare_versions", "is_version", "matches"]

_VERSION = re.compile(r"v?([0-9]{1,9}(?:\.[0-9]{1,9})*)[-_.]?([a-z][0-9a-z.]*)?(?:\+[0-9a-z._-]+)?", re.IGNORECASE)
_BEFORE = ("a", "b", "c", "rc", "alpha", "beta", "pre", "preview", "dev")
"""Suffixes of what comes before a release; any other comes after it (`post1`, Debian's `p1`)."""

_Key = tuple[tuple[int, ...], int, tuple[tuple[int, int | str], ...]]


def is_version(text: str) -> bool:
    """Return whether a text is a version."""
    return _VERSION.fullmatch(text) is not None


@lru_cache(maxsize=4096)
def _key(text: str) -> _Key | None:
    match = _VERSION.fullmatch(text.strip())
    if match is None:
        return None
    numbers = [int(number) for number in match[1].split(".")]
    while len(numbers) > 1 and numbers[-1] == 0:
        numbers.pop()
    suffix = (match[2] or "").lower()
    letters = re.match(r"[a-z]*", suffix)
    stage = 1 if not suffix else 0 if letters and letters[0] in _BEFORE else 2
    rest = tuple((0, int(part)) if part.isdigit() else (1, part) for part in re.findall(r"[0-9]{1,9}|[a-z]+", suffix))
    return tuple(numbers), stage, rest


def compare_versions(one: str, other: str) -> int | None:
    """Return -1, 0 or 1 as the first is before, equal to or after the other; None: one of them is not a version."""
    left, right = _key(one), _key(other)
    if left is None or right is None:
        return None
    return (left > right) - (left < right)


def matches(version: str, op: str, wanted: str) -> bool | None:
    """Return whether `version op wanted` holds, op one of `< <= > >= == !=`; None: not both are versions.

    `12.*` is equal to every version that begins with 12.
    """
    if wanted.endswith(".*"):
        inside = version == wanted[:-2] or version.startswith(wanted[:-1])
        return {"==": inside, "!=": not inside}.get(op)
    order = compare_versions(version, wanted)
    if order is None:
        return None
    return {"<": order < 0, "<=": order <= 0, ">": order > 0, ">=": order >= 0, "==": order == 0, "!=": order != 0}[op]
