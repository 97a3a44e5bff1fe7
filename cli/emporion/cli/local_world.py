"""`emporion local world`: the state of the local cloud, and scenarios that shape it."""

from __future__ import annotations

import json
from pathlib import Path

import click

from emporion.cli.context import home
from emporion.cli.lazy import Group
from emporion.cli.options import json_option
from emporion.cli.render import json_out

__all__ = ["world"]


@click.group(cls=Group, short_help="The state of the local cloud, and scenarios.")
def world() -> None:
    """Look at the local cloud as a whole, and shape it by a scenario file."""


@world.command(short_help="Make the world as a scenario file says.")
@click.argument("scenario", metavar="FILE", type=click.Path(path_type=Path))
@json_option
def apply(*, scenario: Path, as_json: bool) -> None:
    """Make the world as the scenario FILE (YAML) says: clock, seed, capacity, quotas, faults.

    All of it or, when something in it is wrong, none. What it does not name stays as it is.
    """
    from emporion.localcloud import World
    from emporion.localcloud.scenario import apply as apply_to
    from emporion.localcloud.scenario import load_scenario

    wanted = load_scenario(scenario)
    with World.open(home()) as opened:
        apply_to(opened, wanted)
    counts = {name: len(getattr(wanted, name)) for name in ("capacity", "quotas", "faults")}
    if as_json:
        json_out("emporion.scenario-applied/1", {"scenario": wanted.name, **counts})
    else:
        said = ", ".join(f"{name}: {number}" for name, number in counts.items())
        click.echo(f"the world is as {wanted.name} says ({said})")


@world.command(short_help="Print the JSON Schema of scenario files.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON to stdout (it always does).")
def schema(*, as_json: bool) -> None:  # noqa: ARG001 - every command takes --json
    """Print the JSON Schema of scenario files: every key, its units and default."""
    from emporion.localcloud.scenario import scenario_schema

    click.echo(json.dumps(scenario_schema(), indent=2, ensure_ascii=False))
