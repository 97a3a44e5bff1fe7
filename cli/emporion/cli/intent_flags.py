"""Options of a command that takes an intent: one for each flag of the intent's own table, made when they are needed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from emporion.market.intent.keys import Key, Section
    from emporion.market.intent.load import Flag

__all__ = ["IntentCommand", "intent_options"]

_METAVARS = {"gpus": "a100:4"}
"""Flags that take more than their key does: a model with a number."""


class IntentCommand(click.Command):
    """A command whose callback also takes every flag of an intent; importing the command does not import the intent."""

    _flags: list[click.Parameter] | None = None

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """Return the flags of the intent, then the command's own parameters."""
        own = super().get_params(ctx)
        if self._flags is None:
            self._flags = intent_options()
        arguments = [one for one in own if isinstance(one, click.Argument)]
        return [*arguments, *self._flags, *(one for one in own if one not in arguments)]


def intent_options() -> list[click.Parameter]:
    """Return an option for each flag, its help that of the key for which it stands."""
    from emporion.market.intent.load import FLAGS

    return [_option(flag) for flag in FLAGS]


def _option(flag: Flag) -> click.Option:
    key = _key(flag.key)
    name = f"--{flag.name.replace('_', '-')}"
    if flag.switch:
        return click.Option([name, flag.name], is_flag=True, help=key.doc)
    return click.Option(
        [name, flag.name], multiple=flag.many, metavar=_METAVARS.get(flag.name) or _example(key), help=key.doc
    )


def _key(path: str) -> Key | Section:
    from emporion.market.intent.keys import ROOT, Section

    found: Key | Section = ROOT
    for name in path.split("."):
        inner = found.find(name) if isinstance(found, Section) else None
        if inner is None:
            message = f"the flag table names a key that does not exist: {path}"
            raise LookupError(message)
        found = inner
    return found


def _example(key: Key | Section) -> str:
    from emporion.market.intent.keys import Key

    if not isinstance(key, Key):
        return key.shorthand or key.name.upper()
    return "|".join(key.values) or key.example
