"""A command group that imports a command's module only when that command runs or is listed."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

import click

from emporion.market.errors import UserError, did_you_mean

__all__ = ["Group", "LazyGroup"]


class Group(click.Group):
    """A group that names the nearest command when one is mistyped, and lists commands in the order of the source."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """Return the names in the order in which they were added."""
        return list(self.commands)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command that `args` names.

        Raises: UserError E-USAGE: when there is none of that name.
        """
        name = args[0]
        known = self.list_commands(ctx)
        if name in known or name.startswith("-") or ctx.resilient_parsing:
            return super().resolve_command(ctx, args)
        near = did_you_mean(name, known)
        raise UserError(
            "E-USAGE",
            f"no command {name!r} in `{ctx.command_path}`; there are: {', '.join(known)}",
            ctx.command_path,
            f"did you mean `{ctx.command_path} {near}`?" if near else f"{ctx.command_path} --help",
        )


class LazyGroup(Group):
    """A group whose commands are given as `module:attribute` under headings of its help."""

    def __init__(self, *, sections: Mapping[str, Mapping[str, str]], **settings: Any) -> None:  # noqa: ANN401 - click's
        super().__init__(**settings)
        self.sections = sections
        self._places = {name: place for section in sections.values() for name, place in section.items()}

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """Return the names in the order of the sections."""
        return list(self._places)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 - click's signature
        """Import and return a command, or None when there is none of that name."""
        if cmd_name not in self._places:
            return None
        module, _, attribute = self._places[cmd_name].partition(":")
        command: click.Command = getattr(import_module(module), attribute)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write one block of commands for each section."""
        width = max(len(name) for name in self._places)
        for heading, names in self.sections.items():
            rows = []
            for name in names:
                command = self.get_command(ctx, name)
                if command is not None and not command.hidden:
                    rows.append((name.ljust(width), command.get_short_help_str(limit=formatter.width - width - 6)))
            if rows:
                with formatter.section(heading):
                    formatter.write_dl(rows)
