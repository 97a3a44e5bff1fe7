"""Warnings of a plan in a few lines: those that differ only in whom they are about are told once."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

__all__ = ["grouped"]

SHOWN_WARNINGS = 8
_NAMED = 3
_AGE = re.compile(r"prices of (?P<who>\S+) are of (?P<when>\S+): (?P<then>.*)")
_ABOUT = re.compile(r"(?P<who>\S+/\S+|\d+ x [^:]+): (?P<what>.*)")
_NOT_ACTED_ON = re.compile(r"(?P<what>not acted on in this version): (?P<who>.*)")


def grouped(warnings: Iterable[str], most: int = SHOWN_WARNINGS) -> list[str]:
    """Return the warnings as a screen shows them: at most `most` lines, the last one telling how many are left out.

    Ages of prices become one line over all providers, warnings about several offers one line with the first ones.
    """
    ages: list[str] = []
    about: dict[str, list[str]] = {}
    unread: list[str] = []
    order: list[tuple[str, str]] = []
    for warning in warnings:
        if (old := _AGE.fullmatch(warning)) is not None:
            ages.append(f"{old['who']} {old['when']}")
        elif (key := _NOT_ACTED_ON.fullmatch(warning)) is not None:
            unread.append(key["who"])
        elif (found := _ABOUT.fullmatch(warning)) is not None:
            if found["what"] not in about:
                order.append(("about", found["what"]))
            about.setdefault(found["what"], []).append(found["who"])
        else:
            order.append(("text", warning))
    lines = [f"{_some(about[text])}: {text}" if kind == "about" else text for kind, text in order]
    if unread:
        lines.append(f"not acted on in this version: {', '.join(unread)}")
    if ages:
        lines.append(_aged(ages))
    if len(lines) <= most:
        return lines
    last = lines[-1:] if ages else []  # the ages stay, whatever else is left out
    shown = lines[: most - 1 - len(last)]
    return [*shown, f"and {len(lines) - len(shown) - len(last)} more: --json lists all", *last]


def _aged(ages: Sequence[str]) -> str:
    if len(ages) == 1:
        who, when = ages[0].split(" ", 1)
        return f"prices of {who} are of {when}: check before you rely on them"
    return f"prices are more than a week old: {', '.join(ages)}: check before you rely on them"


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return ", ".join(names[:_NAMED]) + more
