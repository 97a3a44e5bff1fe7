"""Versions of drivers, kernels and CUDA as tuples of numbers, and the ranges in which tables write them.

A version is never a float: 550.9 is before 550.54, and `418.87.01` is one (cases/operations.md O27).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache

from emporion.market.errors import UserError
from emporion.market.units import shown

__all__ = ["Range", "Version", "dotted", "kernel_version", "parse_driver", "ranges", "version"]

Version = tuple[int, ...]
_NUMBERS = re.compile(r"[0-9]{1,6}(?:\.[0-9]{1,6})*")
_UNKNOWN = re.compile(r"\[.*\]|n/a|unknown|", re.IGNORECASE)
"""How NVML and nvidia-smi say that they do not tell: `[N/A]`, `[Not Supported]`."""


@cache
def version(text: str) -> Version:
    """Return a version written with dots. Raises: ValueError: when it is something else."""
    if not _NUMBERS.fullmatch(text):
        message = f"{text!r} is not a version"
        raise ValueError(message)
    return tuple(int(part) for part in text.split("."))


def dotted(numbers: Version) -> str:
    """Return a version of CUDA, Python or torch as it is written."""
    return ".".join(str(number) for number in numbers)


def parse_driver(text: str, where: str | None = None) -> Version | None:
    """Return a driver's version, or None where the text says that it is not known (`[N/A]`).

    Raises: UserError E-DRIVER: when the text is neither.
    """
    word = text.strip()
    if _UNKNOWN.fullmatch(word):
        return None
    if not _NUMBERS.fullmatch(word):
        raise UserError("E-DRIVER", f"{shown(text)} is not a driver's version", where, "write it as 550.54.14")
    return version(word)


def kernel_version(text: str) -> Version:
    """Return the numbers at the head of a kernel's release: `6.8.0-87-generic` is 6.8.0.

    Raises: UserError E-KERNEL: when there are none.
    """
    match = re.match(r"[0-9]+(?:\.[0-9]+)+", text.strip())
    if match is None:
        raise UserError("E-KERNEL", f"{shown(text)} is not a kernel's release", fix="write what `uname -r` prints")
    return version(match[0])


@dataclass(frozen=True, slots=True)
class Range:
    """One range of a table: `[535;535.154.05]`, `[6.1.76;6.2)`, `6.15` (and all that begins so), `6.1.0-18-cloud*`."""

    low: Version | None
    high: Version | None
    closed: bool
    """Whether `high` is in it."""
    pattern: str | None = None
    """A glob over the whole text; then there are no bounds."""

    def holds(self, numbers: Version, text: str = "") -> bool:
        """Return whether a version, with its text as it was seen, is in the range."""
        if self.pattern is not None:
            return fnmatchcase(text, self.pattern)
        if self.low is not None and numbers < self.low:
            return False
        if self.high is None:
            return True
        return numbers <= self.high if self.closed else numbers < self.high


@cache
def ranges(text: str) -> tuple[Range, ...]:
    """Return the ranges of a cell, separated by blanks. Raises: ValueError: when one cannot be read."""
    return tuple(_range(word) for word in text.split())


def _range(word: str) -> Range:
    match = re.fullmatch(r"\[([0-9.]*);([0-9.]*)([\])])", word)
    if match:
        low, high = (version(bound) if bound else None for bound in (match[1], match[2]))
        return Range(low, high, match[3] == "]")
    if "*" in word:
        return Range(None, None, closed=False, pattern=word)
    exact = version(word)
    return Range(exact, (*exact[:-1], exact[-1] + 1), closed=False)
