"""Exceptions as the user sees them: click's usage errors, the machine's faults and our own bugs in one form."""

from __future__ import annotations

import errno
import sys
import traceback
from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeGuard

import click

from emporion.cli.context import home, now
from emporion.cli.render import error_json, json_out, print_error
from emporion.market.errors import ExitCode, UserError, did_you_mean

if TYPE_CHECKING:
    from emporion.engine import EngineError

__all__ = ["as_fault", "as_user_error", "show", "wants_json"]

_DISK = {
    errno.ENOSPC: "the disk is full",
    errno.EDQUOT: "the disk quota is used up",
    errno.EROFS: "the disk is read-only",
}
_ACCESS = {errno.EACCES: "permission denied", errno.EPERM: "not permitted"}


def wants_json(arguments: Sequence[str]) -> bool:
    """Return whether a command line asks for JSON; it may be too wrong to be parsed."""
    before = arguments[: arguments.index("--")] if "--" in arguments else arguments
    return "--json" in before


def show(error: UserError, *, as_json: bool) -> None:
    """Print an error: text to stderr, or `emporion.error/1` to stdout."""
    if as_json:
        json_out("emporion.error/1", error_json(error))
    else:
        print_error(error)


def as_user_error(error: Exception) -> UserError | None:
    """Return what the user can mend about an exception, or None when it is a bug."""
    if isinstance(error, UserError):
        return error
    if _is_engine_error(error):
        return UserError(error.code, error.what, error.where, error.fix, ExitCode.FAILED)
    if isinstance(error, click.exceptions.NoArgsIsHelpError):
        return _no_command(error)
    if isinstance(error, click.ClickException):
        return _usage(error)
    if isinstance(error, OSError | MemoryError):
        return _machine(error)
    return _half_character(error)


def _half_character(error: Exception) -> UserError | None:
    """Return what to say of a name that no file can have, or None when the exception is another."""
    if not isinstance(error, UnicodeEncodeError) or error.reason != "surrogates not allowed":
        return None
    what = f"{error.object[:60]!r} holds half a character, which no file and no terminal takes"
    return UserError("E-USAGE", what, None, "write the name in UTF-8")


def as_fault(error: Exception, *, debug: bool) -> UserError:
    """Return a bug as one line; its traceback goes to stderr with `debug`, else to a file of the log folder."""
    text = "".join(traceback.format_exception(error))
    what = f"a fault in emporion itself: {type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"
    what = what.removesuffix(": ")
    if debug:
        sys.stderr.write(text)
        return UserError("E-BUG", what, None, "report it with the traceback above", ExitCode.FAILED)
    path = home() / "log" / f"fault-{now():%Y%m%dT%H%M%S%f}.txt"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    except OSError:
        return UserError("E-BUG", what, None, "run it again with `emporion --debug` and report it", ExitCode.FAILED)
    return UserError("E-BUG", what, str(path), "report it with that file", ExitCode.FAILED)


def _is_engine_error(error: Exception) -> TypeGuard[EngineError]:
    """Return whether an exception is the engine room's own; that room is loaded when it raised one."""
    room = sys.modules.get("emporion.engine.errors")
    return room is not None and isinstance(error, room.EngineError)


def _no_command(error: click.exceptions.NoArgsIsHelpError) -> UserError:
    context = error.ctx
    path = context.command_path if context else "emporion"
    known = context.command.list_commands(context) if context and isinstance(context.command, click.Group) else []
    return UserError(
        "E-USAGE",
        f"`{path}` needs a command: {', '.join(known)}" if known else f"`{path}` needs arguments",
        path,
        f"{path} --help",
    )


def _usage(error: click.ClickException) -> UserError:
    context = error.ctx if isinstance(error, click.UsageError) else None
    path = context.command_path if context else "emporion"
    fix = f"{path} --help"
    if isinstance(error, click.NoSuchOption):
        what = f"no option {error.option_name!r}"
        known = (
            [name for parameter in context.command.get_params(context) for name in parameter.opts] if context else []
        )
        names = [name.removeprefix("--") for name in known if name.startswith("--")]
        near = did_you_mean(error.option_name.lstrip("-"), names)
        if near:
            fix = f"did you mean --{near}?"
    elif isinstance(error, click.MissingParameter):
        what = _missing(error)
    else:
        what = error.message if isinstance(error, click.BadParameter) else error.format_message()
    return UserError("E-USAGE", _sentence(what), _place(error, path), fix)


def _missing(error: click.MissingParameter) -> str:
    if error.param is None:
        return error.format_message()
    kind = "argument" if isinstance(error.param, click.Argument) else "option"
    name = error.param.human_readable_name if kind == "argument" else max(error.param.opts, key=len)
    return f"the {kind} {name} is missing"


def _place(error: click.ClickException, path: str) -> str:
    if isinstance(error, click.BadParameter) and isinstance(error.param, click.Option):
        return f"{path} {max(error.param.opts, key=len)}"
    if isinstance(error, click.BadParameter) and isinstance(error.param, click.Argument):
        return f"{path} {error.param.human_readable_name}"
    return path


def _machine(error: OSError | MemoryError) -> UserError | None:
    if isinstance(error, MemoryError):
        fix = "ask for fewer offers (--providers, --regions, a smaller --offers file), or give it more memory"
        return UserError("E-MEMORY", "memory is used up", None, fix, ExitCode.FAILED)
    where = str(error.filename) if error.filename else None
    if error.errno in _DISK:
        return UserError("E-DISK", _DISK[error.errno], where, "free space there, then run it again", ExitCode.FAILED)
    if error.errno in _ACCESS and where:
        return UserError("E-ACCESS", f"{_ACCESS[error.errno]}: {where}", where, "check who owns it", ExitCode.FAILED)
    return None


def _sentence(text: str) -> str:
    """Return a message of click's in our form: lower case at the front, no full stop."""
    text = " ".join(text.split()).removesuffix(".")
    return text[:1].lower() + text[1:] if text[1:2].islower() or text[1:2] == " " else text
