"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

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
    """Add --local and --real."""
    local = click.option("--local", "world", flag_value="local", help="The local cloud (default for a new stack).")
    real = click.option("--real", "world", flag_value="real", help="The real cloud: needs credentials, costs money.")
    return local(real(command))
