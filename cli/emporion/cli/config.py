"""`emporion config`: settings of a project that scripts read and set."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from emporion.cli import render
from emporion.cli.lazy import Group
from emporion.cli.options import json_option, project_option
from emporion.market.errors import UserError, did_you_mean

__all__ = ["config"]

SETTINGS = {"spot-auto-renew": ("spot-auto-renew", "spot_fallback")}
"""Setting -> the rule and the parameter of policies.json in which it stands. Each is `true` or `false`."""
WARNINGS = {
    "spot-auto-renew": "interrupted spot machines may now be renewed, or become on-demand, without being asked for: up "
    "to `max_usd_per_hour` of the rule spot-auto-renew, without which it still refuses them"
}


@click.group(cls=Group, short_help="Read and set what a project allows.")
def config() -> None:
    """Read and set what a project allows: emporion config get spot-auto-renew | grep -qx false."""


@config.command(short_help="Print a setting: true or false.")
@click.argument("name")
@project_option
@json_option
def get(name: str, project: Path | None, as_json: bool) -> None:
    """Print the setting NAME, `true` or `false`; what nobody set is `false`."""
    from emporion.cli.session import project_if_any
    from emporion.operations.policies import read_config

    rule, parameter = _place(name)
    value = bool(_of(read_config(project_if_any(project)), rule).get(parameter, False))
    if as_json:
        render.json_out("emporion.setting/1", {"name": name, "value": value})
    else:
        click.echo("true" if value else "false")


@config.command("set", short_help="Change a setting.")
@click.argument("name")
@click.argument("value", type=click.Choice(["true", "false"]))
@project_option
@json_option
def set_(name: str, value: str, project: Path | None, as_json: bool) -> None:
    """Set NAME to `true` or `false` in the project's policies.json."""
    from emporion.cli.session import open_project
    from emporion.operations.policies import read_config, write_config

    rule, parameter = _place(name)
    opened = open_project(project)
    before = read_config(opened)
    setting = {**_of(before, rule), parameter: value == "true"}
    write_config(opened, {**before, rule: setting})
    if value == "true":
        render.warn(WARNINGS[name])
    if as_json:
        render.json_out("emporion.setting/1", {"name": name, "value": value == "true"})


def _place(name: str) -> tuple[str, str]:
    place = SETTINGS.get(name)
    if place is None:
        near = did_you_mean(name, list(SETTINGS))
        raise UserError(
            "E-SETTING",
            f"there is no setting {name!r}; settings: {', '.join(SETTINGS)}",
            "NAME",
            f"did you mean {near!r}?" if near else "emporion config get spot-auto-renew",
        )
    return place


def _of(document: Mapping[str, Any], rule: str) -> dict[str, Any]:
    """Return what is set for a rule; a bare level is its level."""
    from emporion.policies.settings import LEVEL

    found = document.get(rule, {})
    return dict(found) if isinstance(found, Mapping) else {LEVEL: found}
