"""`emporion local fault`: what goes wrong in the local cloud."""

from __future__ import annotations

from typing import Any

import click

from emporion.cli.context import home
from emporion.cli.lazy import Group
from emporion.cli.options import json_option
from emporion.cli.render import json_out, note, table
from emporion.market.errors import UserError

__all__ = ["fault"]

SCHEMA = "emporion.faults/1"
_OPTIONS = (
    ("--provider", "aws", "The cloud; every one by default."),
    ("--region", "us-east-1", "The region; every one by default."),
    ("--zone", "use1-az1", "The zone, by its id or name; every one by default."),
    ("--operation", "create", "create, read, update, delete, or api: what operations ask."),
    ("--type", "aws:ec2/vpc:Vpc", "The type token; every one by default."),
    ("--instance-type", "p5.48xlarge", "The machine's type; every one by default."),
    ("--market", "spot", "on_demand, spot or capacity_block; every one by default."),
    ("--node", "i-0123456789abcdef0", "The machine's id."),
    ("--times", "3", "How many calls or machines it strikes; 0: all."),
    ("--skip", "2", "How many calls it lets pass first."),
    ("--delay", "20s", "How long that takes, in the world's time."),
    ("--code", "CODE", "The cloud's error code."),
    ("--text", "TEXT", "The cloud's words."),
    ("--after", "5m", "When it begins, from now on in the world's time."),
    ("--for", "1h", "How long it lasts in the world's time; until it is cleared by default."),
)


@click.group(cls=Group, short_help="What goes wrong in the local cloud.")
def fault() -> None:
    """Let things go wrong in the local cloud: nothing does until it is asked to."""


def _options(command: Any) -> Any:  # noqa: ANN401 - as click's decorators
    for flag, example, text in reversed(_OPTIONS):
        command = click.option(flag, flag.removeprefix("--").replace("-", "_"), metavar=example, help=text)(command)
    return command


@fault.command(short_help="Let something go wrong.")
@click.argument("kind", metavar="KIND")
@_options
@json_option
def add(*, kind: str, as_json: bool, **said: str | None) -> None:
    """Let something go wrong from now on (`--after`: later). KIND is one of:

    \b
    throttle        the cloud throttles calls
    server-error    the cloud fails inside (5xx)
    timeout         calls never reach the cloud
    slow            calls take longer (--delay)
    lost-answer     the cloud does it, but the answer never comes
    stale           what was made is not seen for a while (--delay)
    error           the cloud answers an error code (--code)
    no-capacity     the cloud has no machines left
    interruption    spot machines that run then are taken back
    quota           the account may start no more machines
    region-outage   a region is lost (--region)
    zone-outage     a zone is lost: its machines, and launches in it (--region, --zone)
    network-outage  machines of a region cannot be reached (--region)
    storage-outage  object storage of a region is lost (--region)
    """  # noqa: D301, D400 - click's mark of a block that is kept as it is
    from emporion.localcloud import World
    from emporion.localcloud.fault_reading import fault_kind, read_fault
    from emporion.localcloud.faults import add_fault

    wanted = read_fault(fault_kind(kind), _read(said))
    with World.open(home()) as world:
        number = add_fault(world, **wanted)
        (made,) = (each for each in _documents(world) if each["number"] == number)
    if as_json:
        json_out("emporion.fault/1", made)
    else:
        click.echo(f"fault {number}: {_line(made)}")


@fault.command(name="list", short_help="List the faults.")
@json_option
def list_(*, as_json: bool) -> None:
    """List the faults of the world: those that strike now, those that come and those that are over."""
    from emporion.localcloud import World

    with World.open(home()) as world:
        documents = _documents(world)
    if as_json:
        json_out(SCHEMA, {"faults": documents})
    elif documents:
        rows = [[str(one["number"]), one["state"], one["kind"], _where(one), _rest(one)] for one in documents]
        click.echo(table(["#", "STATE", "KIND", "WHERE", "WHAT"], rows, right=("#",)))
    else:
        note("no faults")


@fault.command(short_help="Forget faults.")
@click.argument("numbers", metavar="[N]...", nargs=-1)
@json_option
def clear(*, numbers: tuple[str, ...], as_json: bool) -> None:
    """Forget the faults with these numbers, or all of them."""
    from emporion.localcloud import World
    from emporion.localcloud.faults import clear_faults

    wanted = [_number(text) for text in numbers]
    with World.open(home()) as world:
        known = {one["number"] for one in _documents(world)}
        unknown = [number for number in wanted if number not in known]
        if unknown:
            raise UserError(
                "E-FAULT",
                f"there is no fault {unknown[0]}",
                "local fault clear N",
                "emporion local fault list shows the numbers",
            )
        cleared = clear_faults(world, wanted or None)
    if as_json:
        json_out("emporion.faults-cleared/1", {"cleared": cleared})
    else:
        click.echo(f"{cleared} fault{'' if cleared == 1 else 's'} cleared")


def _read(said: dict[str, str | None]) -> dict[str, Any]:
    """Return what is said, read by the table of fields; an error names the flag."""
    from emporion.localcloud.fault_kinds import FIELDS

    values = {}
    for key in FIELDS:
        text = said[key.name]
        if text is None:
            continue
        try:
            values[key.name] = key.read(text)
        except UserError as error:
            error.where = error.where or f"--{key.name.replace('_', '-')}"
            raise
    return values


def _number(text: str) -> int:
    if not (text.isascii() and text.isdigit()):
        raise UserError("E-COUNT", f"{text!r} is not the number of a fault", "local fault clear N", "a whole number")
    return int(text)


def _documents(world: Any) -> list[dict[str, Any]]:  # noqa: ANN401 - World, which is not imported at start-up
    from emporion.localcloud.fault_view import fault_documents

    return fault_documents(world)


def _line(told: dict[str, Any]) -> str:
    return ", ".join(part for part in (f"{told['kind']} {_where(told)}", _rest(told)) if part)


def _where(told: dict[str, Any]) -> str:
    return " ".join(told[name] for name in ("provider", "region", "zone") if name in told) or "everywhere"


def _rest(told: dict[str, Any]) -> str:
    shown = ("operation", "type", "instance_type", "market", "times", "skip", "node", "delay_s", "code", "text")
    parts = [f"{name} {told[name]}" for name in shown if told.get(name) is not None]
    parts += [f"{word} {told[name]}" for name, word in (("starts", "from"), ("ends", "until")) if told[name]]
    return ", ".join(parts)
