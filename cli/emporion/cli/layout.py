"""Tables that fit a screen: which columns stay, how wide they are, and what becomes of cells that are too long."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence

__all__ = ["WIDE", "clean", "fold", "grid"]

WIDE = 1 << 20
"""Wide enough for everything: what a pipe gets."""
_GAP = 2
_LEAST = 14
"""Characters that a shortened column keeps while others can still be left out."""
_WRAPPED = 20
"""The same of a column whose cells go on in the next line."""
_CUT = "…"


def clean(text: str) -> str:
    """Return text without characters that would move a cursor or change a screen; each stands there by its number."""
    if text.isprintable():
        return text
    return "".join(one if one.isprintable() else one.encode("unicode_escape").decode() for one in text)


def grid(
    heads: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    width: int,
    right: Collection[str] = (),
    drop: Sequence[str] = (),
    wrap: Collection[str] = (),
) -> str:
    """Return rows under heads, two spaces between columns, no line longer than `width` where that can be.

    Numbers (columns in `right`) are never shortened. What is too wide loses the columns in `drop`, first ones first.
    Texts go on in the next line, those in `wrap` before others; the last column, which tells most and names least, is
    cut with an ellipsis unless it is in `wrap`. Lines carry no trailing blanks.
    """
    cells = [[clean(cell) for cell in row] for row in ([*heads], *rows)]
    natural = [max(len(row[column]) for row in cells) for column in range(len(heads))]
    columns = _kept(heads, natural, width, right, drop, wrap)
    folded = {column for column in columns if column < len(heads) - 1 or heads[column] in wrap}
    widths = _widths({column: natural[column] for column in columns}, heads, width, right, wrap)
    lines = []
    for row in cells:
        parts = [_lines(row[column], widths[column], folds=column in folded) for column in columns]
        for number in range(max(map(len, parts), default=0)):
            line = [
                (part[number] if number < len(part) else "").rjust(widths[column])
                if heads[column] in right
                else (part[number] if number < len(part) else "").ljust(widths[column])
                for column, part in zip(columns, parts, strict=True)
            ]
            lines.append((" " * _GAP).join(line).rstrip())
    return "\n".join(lines)


def _floor(head: str, natural: int, right: Collection[str], wrap: Collection[str]) -> int:
    if head in right:
        return natural
    return min(natural, max(len(head), _WRAPPED if head in wrap else _LEAST))


def _kept(
    heads: Sequence[str],
    natural: Sequence[int],
    width: int,
    right: Collection[str],
    drop: Sequence[str],
    wrap: Collection[str],
) -> list[int]:
    """Return the columns that stay: those in `drop` go, one after the other, until the rest fits when shortened."""
    kept = list(range(len(heads)))
    for name in drop:
        least = sum(_floor(heads[column], natural[column], right, wrap) for column in kept)
        if least + _GAP * (len(kept) - 1) <= width:
            break
        kept = [column for column in kept if heads[column] != name]
    return kept


def _widths(
    natural: dict[int, int], heads: Sequence[str], width: int, right: Collection[str], wrap: Collection[str]
) -> dict[int, int]:
    """Return the width of each column: wrapped ones give way first, then the widest, and at last below the floor."""
    room = width - _GAP * (len(natural) - 1)
    widths = dict(natural)
    floors = {column: _floor(heads[column], natural[column], right, wrap) for column in widths}
    soft = [column for column in widths if heads[column] in wrap]
    texts = [column for column in widths if heads[column] not in right]
    for columns, least in ((soft, floors), (texts, floors), (texts, dict.fromkeys(widths, 4))):
        while sum(widths.values()) > room:
            over = [column for column in columns if widths[column] > least[column]]
            if not over:
                break
            widths[max(over, key=widths.__getitem__)] -= 1
    return widths


def _lines(cell: str, width: int, *, folds: bool) -> list[str]:
    if len(cell) <= width:
        return [cell]
    return fold(cell, width) if folds else [cell[: max(width - 1, 0)] + _CUT]


def fold(text: str, width: int, indent: str = "") -> list[str]:
    """Return a text as lines of at most `width`, the later ones behind `indent`; ids break where their parts do."""
    lines, line = [], ""
    for part in _PARTS.findall(text):
        rest = part
        while rest:
            room = width - len(line)
            if len(rest.rstrip()) <= room:
                line += rest
                break
            if not line.strip():  # nothing to break at: cut
                line, rest = line + rest[:room], rest[room:]
            lines.append(line.rstrip())
            line = indent
            rest = rest.lstrip()
    return [*lines, line.rstrip()] if line.strip() else lines


_PARTS = re.compile(r"[^ /_+-]*[ /_+-]|[^ /_+-]+")
