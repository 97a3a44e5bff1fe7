"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from emporion.market.errors import UserError

__all__ = [
    "json_option",
    "node_options",
    "policies_option",
    "project_option",
    "rate_option",
    "wish_options",
    "world_options",
    "yes_option",
]

Command = TypeVar("Command", bound=Callable[..., Any])

json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON to stdout.")
policies_option = click.option(
    "--policies/--no-policies", "policies", default=True, help="Judge by the policy packs (the default), or do not."
)
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


def wish_options(command: Command) -> Command:
    """Add the versions that are wished for in an image."""
    for option in reversed(_WISHES):
        command = option(command)
    return command


def node_options(command: Command) -> Command:
    """Add what is known of the node that an image is for."""
    for option in reversed(_NODES):
        command = option(command)
    return command


_WISHES = (
    click.option("--pytorch", metavar="2.8", help="The release of torch, or its minor version; the newest by default."),
    click.option("--cuda", metavar="12.8", help="The CUDA that torch is built with."),
    click.option("--python", metavar="3.12", help="The Python that it runs in."),
    click.option("--ops", metavar="flash-attn,rope", help="Kernels that must be there."),
    click.option("--compat-layer", is_flag=True, help="Allow the CUDA compat layer (data-centre GPUs on old drivers)."),
    click.option("--compile-kernels", is_flag=True, help="Allow compiling kernels of which no wheel is published."),
)
_NODES = (
    click.option("--gpu", metavar="h100", help="The GPU that it runs on."),
    click.option("--driver", metavar="550.54.14", help="The driver on the node."),
    click.option("--arch", type=click.Choice(["x86_64", "aarch64"]), help="The node's processor; told by most GPUs."),
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
