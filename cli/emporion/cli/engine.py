"""`emporion engine`: the Pulumi engine underneath."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from emporion.cli.context import environment
from emporion.cli.lazy import Group
from emporion.cli.options import json_option
from emporion.cli.render import json_out, note
from emporion.market.errors import ExitCode

if TYPE_CHECKING:
    from emporion.engine import Engine

__all__ = ["engine"]


@click.group(cls=Group, short_help="Find, install and use the Pulumi engine.")
def engine() -> None:
    """Find, install and use the Pulumi engine that runs the clusters' programs."""


@engine.command(short_help="Show which engine is used.")
@json_option
def status(*, as_json: bool) -> ExitCode:
    """Show which engine is used and where it comes from. Exits 1 when there is none yet."""
    from emporion.engine import MINIMUM_VERSION, VERSION, cache_dir, locate

    found = locate(environment())
    if as_json:
        json_out("emporion.engine/1", {"installed": found is not None, **_fields(found), "wanted": VERSION})
    elif found is not None:
        click.echo(f"pulumi {found.version} ({found.source})  {found.bin_dir}")
    else:
        click.echo(
            f"no engine: neither a pulumi >= {MINIMUM_VERSION} with a Python host on PATH nor {VERSION} in "
            f"{cache_dir(environment())}"
        )
        note("  try: emporion engine install")
    return ExitCode.DONE if found else ExitCode.FAILED


@engine.command(short_help="Install the engine when there is none.")
@json_option
def install(*, as_json: bool) -> None:
    """Install the engine when there is none: a download with its checksum, else a build from source (minutes)."""
    from emporion.engine import VERSION
    from emporion.engine import install as get

    found = get(environment(), report=note)
    if as_json:
        json_out("emporion.engine/1", {"installed": True, **_fields(found), "wanted": VERSION})
    else:
        click.echo(f"pulumi {found.version} ({found.source})  {found.bin_dir}")


@engine.command(short_help="Print shell lines in which plain pulumi works.")
@click.option(
    "--world",
    type=click.Choice(["local", "real"]),
    default="local",
    show_default=True,
    help="Whose plugins and region to use.",
)
def env(world: str) -> None:
    """Print the `export` lines in which plain `pulumi` works on Emporion's stacks.

    \b
    eval "$(emporion engine env)"
    """  # noqa: D301 - \b is click's mark for text that keeps its lines
    from emporion.cli.worlds import world_environ
    from emporion.engine import exports

    _, environ = world_environ(world)
    sys.stdout.write(exports(environ))


def _fields(found: Engine | None) -> dict[str, str | None]:
    if found is None:
        return {"version": None, "source": None, "bin_dir": None}
    return {"version": found.version, "source": found.source, "bin_dir": str(found.bin_dir)}
