"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from emporion.market.errors import UserError

__all__ = ["json_option", "project_option", "rate_option", "world_options", "yes_option"]

Command = TypeVar("Command", bound=Callable[..., Any])

json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON to stdout.")
yes_option = click.option("-y", "--yes", is_flag=True, help="Do not ask.")
rate_option = click.option(
    "--rate",
    "rates",
    multiple=True,
    metavar="EUR=1.10",
    help="What one unit of a currency is worth in USD, today or as EUR=1.10@2026-11-30; may be repeated.",
)
project_option = click.option(
    "--project",
    "project",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="The project's folder; the nearest one with a Pulumi.yaml by default.",
)


def world_options(command: Command) -> Command:
    """Add --local and --real, of which one may be given, as the parameter `world`."""
    local = click.option(
        "--local", is_flag=True, expose_value=False, callback=_world, help="The local cloud (default for a new stack)."
    )
    real = click.option(
        "--real",
        is_flag=True,
        expose_value=False,
        callback=_world,
        help="The real cloud: needs credentials, costs money.",
    )
    return local(real(command))


def _world(context: click.Context, option: click.Parameter, given: bool) -> None:
    """Set the world to the name of a flag that was given; click alone would let the last of two win."""
    other = context.params.setdefault("world", None)
    if given and other:
        raise UserError(
            "E-CONTRADICTION", "--local and --real ask for different worlds", context.command_path, "give one of them"
        )
    if given:
        context.params["world"] = option.name
