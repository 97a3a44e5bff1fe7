"""`emporion local clock`: the time of the local cloud."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from emporion.cli.context import home
from emporion.cli.lazy import Group
from emporion.cli.options import json_option
from emporion.cli.render import json_out

if TYPE_CHECKING:
    from emporion.localcloud import World

__all__ = ["clock"]


@click.group(cls=Group, short_help="The time of the local cloud.")
def clock() -> None:
    """Let the local cloud's time go as this machine's (the default), faster, or by steps. It only goes forward."""


@clock.command(short_help="Show the world's time and how it goes.")
@json_option
def show(*, as_json: bool) -> None:
    """Show the world's time, how fast it goes and how far ahead of this machine's it is."""
    from emporion.localcloud import World

    with World.open(home()) as world:
        _say(world, as_json=as_json)


@clock.command(name="set", short_help="Set the world's time.")
@click.argument("moment", metavar="MOMENT")
@json_option
def set_(*, moment: str, as_json: bool) -> None:
    """Set the world's time to MOMENT (2026-12-01T12:00:00Z), or to this machine's clock (`real`).

    It goes on from there as fast as before.
    """
    from emporion.localcloud import World
    from emporion.localcloud.time_control import follow_real, move_to, read_moment

    with World.open(home()) as world:
        if moment == "real":
            follow_real(world)
        else:
            move_to(world, read_moment(moment))
        _say(world, as_json=as_json)


@clock.command(short_help="Move the world's time on.")
@click.argument("duration", metavar="DURATION")
@json_option
def step(*, duration: str, as_json: bool) -> None:
    """Move the world's time on by DURATION (90s, 10m, 2h, 1d). It goes on from there as fast as before."""
    from emporion.localcloud import World
    from emporion.localcloud.time_control import step as step_by
    from emporion.market.units import parse_duration

    seconds = parse_duration(duration)
    with World.open(home()) as world:
        step_by(world, seconds)
        _say(world, as_json=as_json)


@clock.command(short_help="Set how fast the world's time goes.")
@click.argument("rate", metavar="RATE")
@json_option
def rate(*, rate: str, as_json: bool) -> None:
    """Let the world's time go at RATE seconds a second: 60 is a minute a second, 1 the real speed.

    With 0 it stands still: it moves by `clock step`, and when a call has to wait.
    """
    from emporion.localcloud import World
    from emporion.localcloud.time_control import set_rate
    from emporion.market.units import parse_number

    number = float(parse_number(rate, zero=True))
    with World.open(home()) as world:
        set_rate(world, number)
        _say(world, as_json=as_json)


def _say(world: World, *, as_json: bool) -> None:
    from emporion.localcloud.time_control import clock_status

    told = clock_status(world)
    if as_json:
        json_out(told["schema"], told)
    else:
        click.echo(f"{told['now']}  {_pace(told)}")


def _pace(told: dict[str, Any]) -> str:
    ahead = f", {abs(told['ahead_s']):.0f} s {'ahead of' if told['ahead_s'] > 0 else 'behind'} this machine's clock"
    if told["mode"] == "real":
        return "real: this machine's clock"
    pace = "it stands still" if told["mode"] == "stepped" else f"{told['rate']:g} s a second"
    return f"{told['mode']}: {pace}{ahead}"
