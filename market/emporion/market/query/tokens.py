"""A query's text as tokens, each with its place, and errors that point at a place."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from emporion.market.errors import UserError
from emporion.market.units import shown

__all__ = ["MAX_LENGTH", "Token", "problem", "tokens"]

MAX_LENGTH = 2000
_BEFORE, _AFTER = 60, 40
"""Characters of a query that an error shows around the place."""
_TOKEN = re.compile(
    r"""
    (?P<text>"[^"\n]*"|'[^'\n]*')
  | (?P<op><=|>=|==|!=|<|>)
  | (?P<mark>[()\[\],])
  | (?P<word>[^\s()\[\],<>=!"']+)
    """,
    re.VERBOSE,
)


@dataclass(frozen=True, slots=True)
class Token:
    """A word, a quoted text, an operator or a mark."""

    kind: str
    """`word`, `text`, `op`, `mark`, or `end`."""
    text: str
    """Without its quotes."""
    start: int
    end: int


def tokens(query: str) -> Iterator[Token]:
    """Yield the tokens of a query, the last one of kind `end`.

    Raises: UserError E-WHERE: when the query is empty or too long, or a character begins no token.
    """
    if len(query) > MAX_LENGTH:
        raise UserError("E-WHERE", f"the query is longer than {MAX_LENGTH} characters", fix="write a shorter one")
    for place, sign in enumerate(query):
        if not sign.isprintable() and not sign.isspace():
            raise problem(query, place, place + 1, f"the query holds the control character {sign!r}", "take it out")
    place = 0
    while True:
        while place < len(query) and query[place].isspace():
            place += 1
        if place == len(query):
            yield Token("end", "", place, place)
            return
        match = _TOKEN.match(query, place)
        if match is None:
            raise _no_token(query, place)
        kind = match.lastgroup or ""
        text = match[0][1:-1] if kind == "text" else match[0]
        yield Token(kind, text, match.start(), match.end())
        place = match.end()


def _no_token(query: str, place: int) -> UserError:
    sign = query[place]
    if sign in "\"'":
        return problem(query, place, len(query), "a quote is not closed", f"write {sign} at the end of the text")
    if query[place : place + 2] in ("=>", "=<"):
        return problem(
            query, place, place + 2, f"{query[place : place + 2]} is no operator", f"write {query[place + 1]}="
        )
    if sign == "=":
        return problem(query, place, place + 1, "'=' compares nothing", "write == for equal")
    if sign == "!":
        return problem(query, place, place + 1, "'!' stands alone", "write != for unequal, or not")
    return problem(query, place, place + 1, f"{shown(sign)} is not expected here", "write words, or text in quotes")


def problem(query: str, start: int, end: int, what: str, fix: str | None = None) -> UserError:
    """Return the error for a part of a query; its `where` shows the part, and the caller writes the place before it."""
    low, high = max(start - _BEFORE, 0), min(max(end, start + 1) + _AFTER, len(query))
    before, after = "…" if low else "", "…" if high < len(query) else ""
    line = before + "".join(sign if sign.isprintable() else " " for sign in query[low:high]) + after
    width = max(min(end, high) - start, 1)
    if not line.strip():
        return UserError("E-WHERE", what, "", fix)
    excerpt = f"\n      {line}\n      {' ' * (len(before) + start - low)}{'^' * width}"
    return UserError("E-WHERE", what, excerpt, fix)
