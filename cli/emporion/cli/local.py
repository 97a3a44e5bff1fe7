"""`emporion local`: the local cloud."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from emporion.cli.context import home
from emporion.cli.lazy import Group
from emporion.cli.local_clock import clock
from emporion.cli.local_fault import fault
from emporion.cli.local_world import world
from emporion.cli.options import json_option, yes_option
from emporion.cli.render import confirm, json_out, note, table
from emporion.market.errors import UserError

__all__ = ["local"]


@click.group(cls=Group, short_help="The local cloud: a world on this machine that costs nothing.")
def local() -> None:
    """Run, look at and shape the local cloud: stand-in clouds on this machine that cost nothing."""


@local.command(short_help="Make the world and let its stand-ins answer.")
@json_option
def start(*, as_json: bool) -> None:
    """Make the world where there is none, and let its stand-in clouds answer. `up --local` does it by itself."""
    from emporion.localcloud import start_world

    _show(start_world(home(), home() / "pulumi" / "local", Path(sys.executable)), as_json=as_json)


@local.command(short_help="Let the stand-ins refuse; what they made stays.")
@json_option
def stop(*, as_json: bool) -> None:
    """End the stand-in clouds' processes and let them refuse from now on. What they made stays."""
    from emporion.localcloud import stop_world

    _show(stop_world(home()), as_json=as_json)


@local.command(short_help="Show what exists in the world.")
@json_option
def status(*, as_json: bool) -> None:
    """Show what exists in the world, also when the local cloud is stopped."""
    from emporion.localcloud import status as world_status

    _show(world_status(home()), as_json=as_json)


@local.command(short_help="Forget everything in the world.")
@yes_option
@json_option
def reset(*, yes: bool, as_json: bool) -> None:
    """Forget everything in the world. Stacks still believe in what they made: `emporion down` or `refresh` after it."""
    from emporion.localcloud import reset_world

    confirm("forget everything in the local world", yes=yes, where="emporion local reset")
    _show(reset_world(home()), as_json=as_json)


local.add_command(world)
local.add_command(fault)
local.add_command(clock)


@local.group(cls=Group, short_help="How many machines there are.")
def capacity() -> None:
    """Set how many machines of a type the local cloud has: unlimited until it is set."""


@capacity.command(name="set", short_help="Set how many machines of a type there are.")
@click.argument("provider")
@click.argument("region")
@click.argument("instance_type", metavar="TYPE")
@click.argument("machines", metavar="N")
@click.option("--zone", default="*", show_default=True, help="Only in this zone (its id, use1-az1).")
@json_option
def set_(*, provider: str, region: str, instance_type: str, machines: str, zone: str, as_json: bool) -> None:
    """Set how many machines of TYPE a region has at all, running ones included; N is a number, or `none`: no limit.

    `*` stands for any provider, region or type (quote it for the shell).
    """
    from emporion.localcloud import World
    from emporion.localcloud.capacity import set_capacity
    from emporion.localcloud.places import check_region, check_zone, plugin_of

    plugin = plugin_of(provider)
    check_region(provider, region)
    check_zone(provider, region, zone)
    number = _machines(machines)
    with World.open(home()) as world:
        set_capacity(world, plugin, region, instance_type, number, zone=zone)
    if as_json:
        fields = {"provider": provider, "region": region, "zone": zone, "instance_type": instance_type}
        json_out("emporion.capacity/1", {**fields, "machines": number})
    else:
        limit = "no limit" if number is None else f"at most {number}"
        click.echo(f"{instance_type} in {provider} {region}{'' if zone == '*' else f' {zone}'}: {limit}")


@capacity.command(short_help="Set how many machines of a type the account may run.")
@click.argument("provider")
@click.argument("region")
@click.argument("instance_type", metavar="TYPE")
@click.argument("machines", metavar="N")
@click.option("--market", default="*", show_default=True, help="on_demand, spot or capacity_block.")
@click.option("--request", is_flag=True, help="Ask for it: the cloud answers later, when the world models delays.")
@json_option
def quota(
    *, provider: str, region: str, instance_type: str, machines: str, market: str, request: bool, as_json: bool
) -> None:
    """Set how many machines of TYPE the account may run in a region; N is a number, or `none`: no limit."""
    from emporion.localcloud import World
    from emporion.localcloud.capacity import request_quota, set_quota
    from emporion.localcloud.places import check_region, plugin_of
    from emporion.localcloud.world import iso_time
    from emporion.market.intent.readers import choice

    plugin = plugin_of(provider)
    check_region(provider, region)
    market = choice("on_demand", "spot", "capacity_block", "*")(market)
    number = _machines(machines)
    with World.open(home()) as world:
        answered = world.now()
        if request:
            answered = iso_time(request_quota(world, plugin, region, instance_type, number, market=market))
        else:
            set_quota(world, plugin, region, instance_type, number, market=market)
    if as_json:
        fields = {"provider": provider, "region": region, "instance_type": instance_type, "market": market}
        json_out("emporion.quota/1", {**fields, "machines": number, "answered": answered})
    else:
        limit = "no limit" if number is None else f"at most {number}"
        click.echo(f"quota of {instance_type} in {provider} {region}: {limit}{f', from {answered}' if request else ''}")


def _machines(text: str) -> int | None:
    if text == "none":
        return None
    if not (text.isascii() and text.isdigit()):
        raise UserError(
            "E-COUNT",
            f"{text!r} is not a number of machines",
            "local capacity set … N",
            "a whole number, or none: no limit",
        )
    return int(text)


def _show(world: dict[str, Any], *, as_json: bool) -> None:
    if as_json:
        json_out(world["schema"], world)
        return
    state = "running" if world["running"] else "stopped"
    click.echo(f"{state}, {world['total']} resources, {len(world['plugins'])} plugin processes")
    if world["resources"]:
        rows = [[token, str(count)] for token, count in sorted(world["resources"].items())]
        click.echo(table(["TYPE", "COUNT"], rows, right=("COUNT",)))
    note(world["world"])
