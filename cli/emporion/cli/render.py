"""How Emporion prints: tables, money, ages, JSON, errors, questions. Data to stdout, the rest to stderr."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from decimal import Decimal
from typing import IO, Any

import click

from emporion.cli.layout import WIDE, clean, fold, grid
from emporion.market.errors import ExitCode, UserError

__all__ = [
    "age",
    "can_ask",
    "confirm",
    "error_json",
    "json_out",
    "money",
    "note",
    "paint",
    "print_error",
    "screen_width",
    "table",
    "warn",
]

UNKNOWN = "?"
_STYLES = {"red": "31;1", "yellow": "33;1", "green": "32", "cyan": "36", "bold": "1", "dim": "2"}


def paint(text: str, style: str, stream: IO[str]) -> str:
    """Return `text` in a style (`red`, `bold`, …) when `stream` is a terminal that wants colour, else unchanged."""
    plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb" or not stream.isatty()
    return text if plain else f"\x1b[{_STYLES[style]}m{text}\x1b[0m"


def money(usd: Decimal | str | None, places: int = 2) -> str:
    """Return an amount in USD with a fixed number of places, `?` when it is unknown."""
    if usd is None:
        return UNKNOWN
    return format(Decimal(usd), f".{places}f")


def age(as_of: str | None, today: date) -> str:
    """Return how old a source dated `YYYY[-MM[-DD]]` is (`3 d`, `5 mo`, `2 y`), counted from its earliest day."""
    if as_of is None:
        return UNKNOWN
    parts = [int(part) for part in as_of[:10].split("-")]
    then = date(parts[0], parts[1] if len(parts) > 1 else 1, parts[2] if len(parts) > 2 else 1)  # noqa: PLR2004 - y, m, d
    days = (today - then).days
    for unit, length in (("y", 730), ("mo", 60)):
        if days >= length:
            return f"{days * 2 // length} {unit}"
    return f"{max(days, 0)} d"


def screen_width() -> int:
    """Return the columns of the terminal that stdout is (`COLUMNS` says so first); a pipe is as wide as it takes."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else WIDE


def _stderr_width() -> int:
    return shutil.get_terminal_size().columns if sys.stderr.isatty() else WIDE


def table(
    heads: Sequence[str],
    rows: Iterable[Sequence[str | None]],
    *,
    right: Iterable[str] = (),
    width: int | None = None,
    drop: Sequence[str] = (),
    wrap: Iterable[str] = (),
) -> str:
    """Return rows under heads without borders, two spaces between; columns named in `right` are aligned right.

    None is printed as `?`. Lines carry no trailing blanks and are no longer than `width` (None: the screen): columns in
    `drop` go first, texts go on in the next line (`wrap`: before others), the last text is cut with an ellipsis.
    """
    cells = [[UNKNOWN if cell is None else str(cell) for cell in row] for row in rows]
    room = screen_width() if width is None else width
    return grid(heads, cells, width=room, right=frozenset(right), drop=drop, wrap=frozenset(wrap))


def json_out(schema: str, payload: Mapping[str, Any]) -> None:
    """Print one JSON document of a named schema to stdout; decimals become strings."""
    document = {"schema": schema, **{key: value for key, value in payload.items() if key != "schema"}}
    sys.stdout.write(json.dumps(document, indent=2, ensure_ascii=False, default=_plain) + "\n")


def error_json(error: UserError) -> dict[str, Any]:
    """Return the `emporion.error/1` document of an error: its problems with code, what, where and fix."""
    return {
        "schema": "emporion.error/1",
        "errors": [
            {"code": one.code, "what": one.what, "where": one.where, "fix": one.fix} for one in error.problems()
        ],
    }


def print_error(error: UserError, stream: IO[str] | None = None) -> None:
    """Print each problem of an error in the form of DESIGN.md section 7 to stderr."""
    sys.stdout.flush()
    out = sys.stderr if stream is None else stream
    for one in error.problems():
        first, *rest = str(one).split("\n")
        out.write("\n".join([f"{paint('error:', 'red', out)} {first}", *rest]) + "\n")


def warn(text: str) -> None:
    """Print a warning to stderr."""
    lines = fold(f"warning: {clean(text)}", _stderr_width(), " " * len("warning: "))
    lines[0] = paint("warning:", "yellow", sys.stderr) + lines[0].removeprefix("warning:")
    _say("\n".join(lines) + "\n")


def note(text: str) -> None:
    """Print a line for people to stderr."""
    _say("\n".join(line for one in text.split("\n") for line in fold(one, _stderr_width(), "  ") or [""]) + "\n")


def _say(text: str) -> None:
    """Write to stderr after what stdout holds back, so that a terminal shows both in their order."""
    sys.stdout.flush()
    sys.stderr.write(text)


def can_ask(*, yes: bool, where: str) -> None:
    """See to it that a question that comes later can be answered, before any work is done for it.

    Raises: UserError E-CONFIRM: when `yes` does not answer it beforehand and there is no terminal.
    """
    if not yes and not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise UserError(
            "E-CONFIRM",
            f"`{where}` asks before it goes on, and there is no terminal",
            where,
            "add --yes to go on unasked",
        )


def confirm(question: str, *, yes: bool, where: str) -> None:
    """Ask a yes-or-no question on the terminal; `yes` answers it beforehand.

    Raises: UserError E-CONFIRM: when there is no terminal to ask, or the answer is no (exit code 2 and 1).
    """
    can_ask(yes=yes, where=where)
    if not yes and not click.confirm(question, err=True):
        raise UserError("E-CONFIRM", "stopped, nothing was changed", where, "answer y to go on", ExitCode.FAILED)


def _plain(value: object) -> str:
    if isinstance(value, Decimal):
        return format(value, "f")
    return str(value)
