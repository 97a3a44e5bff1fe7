"""The cluster's life: preview, up, refresh, recover, status, ssh, down."""

from __future__ import annotations

import os
import shutil
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from emporion.cli import render
from emporion.cli.context import now
from emporion.cli.options import json_option, policies_option, project_option, world_options, yes_option
from emporion.market.cost_lines import HOURS_PER_MONTH
from emporion.market.errors import ExitCode, UserError

if TYPE_CHECKING:
    from emporion.cli.session import Session
    from emporion.market.pin import PinnedPlacement
    from emporion.operations.clusters import Status
    from emporion.operations.pulumi import Outcome

__all__ = ["down", "preview", "recover", "refresh", "ssh", "status", "up"]


@click.command(short_help="Show what `up` would change.")
@click.argument("target")
@world_options
@policies_option
@project_option
@json_option
def preview(target: str, world: str | None, policies: bool, project: Path | None, as_json: bool) -> None:
    """Show what `up TARGET` would change. TARGET is a stack or an intent file (planned and pinned first).

    Exit code 3: a mandatory rule of the policy packs is violated.
    """
    session = _session(target, world, project, as_json=as_json, policies=policies)
    _note_stale(session)
    session.pin()
    _done("preview", session, session.cluster.preview(), as_json=as_json)


@click.command(short_help="Make the cluster of a stack or an intent file.")
@click.argument("target")
@world_options
@yes_option
@policies_option
@project_option
@json_option
def up(target: str, world: str | None, yes: bool, policies: bool, project: Path | None, as_json: bool) -> None:
    """Make the cluster of TARGET: a stack, or an intent file (planned and pinned first).

    Finishes what a killed run left behind, asks before it spends, changes nothing when nothing changed. Nothing is made
    while a mandatory rule of the policy packs is violated (exit code 3).
    """
    session = _session(target, world, project, as_json=as_json, policies=policies)
    render.can_ask(yes=yes, where="emporion up")  # before anything is pinned or previewed for the question
    cluster = session.cluster
    for change in session.pinned.changes if session.pinned else ():
        render.note(f"  {change}")
    _note_stale(session)
    if not yes:
        with cluster.pulumi.project.on_trial(cluster.stack):  # a no leaves the stack as it was
            session.pin()
            cluster.preview()
            render.confirm(_price(session), yes=yes, where="emporion up")
    session.pin()
    _done("up", session, cluster.up(previewed=not yes), as_json=as_json)


@click.command(short_help="Read a stack's resources from the cloud into its state.")
@click.argument("stack")
@world_options
@project_option
@json_option
def refresh(stack: str, world: str | None, project: Path | None, as_json: bool) -> None:
    """Read the resources of STACK from the cloud into its state."""
    session = _session(stack, world, project, as_json=as_json)
    _done("refresh", session, session.cluster.refresh(), as_json=as_json)


@click.command(short_help="Mend the state after a killed update.")
@click.argument("stack")
@click.option(
    "--new-generation",
    is_flag=True,
    help="Give everything made from now on a new identity and new names. Only for a stack that is down: for names that "
    "the cloud still holds after a deletion.",
)
@world_options
@project_option
@json_option
def recover(stack: str, new_generation: bool, world: str | None, project: Path | None, as_json: bool) -> None:
    """Bring the state of STACK in line with what a killed update left behind, without going on with the update."""
    session = _session(stack, world, project, as_json=as_json)
    cluster = session.cluster
    recovered = cluster.recover(always=True)
    generation = cluster.raise_generation() if new_generation else cluster.generation
    if as_json:
        render.json_out(
            "emporion.recover/1",
            {
                "stack": stack,
                "lock_removed": recovered.lock_removed,
                "adopted": list(recovered.adopted),
                "dropped": list(recovered.dropped),
                "read_again": list(recovered.looked_again),
                "generation": generation,
            },
        )
    elif not recovered.anything and not new_generation:
        click.echo(f"nothing to recover: no update of {stack} died")
    else:
        click.echo(f"{stack}: {len(recovered.adopted)} taken over, {len(recovered.dropped)} had made nothing")
        click.echo(f"next: emporion up {stack}, or emporion down {stack}")


@click.command(short_help="Remove everything that a stack made.")
@click.argument("stack")
@click.option("--delete-data", is_flag=True, help="Delete checkpoints and data in the stack's stores too.")
@world_options
@yes_option
@project_option
@json_option
def down(stack: str, delete_data: bool, world: str | None, yes: bool, project: Path | None, as_json: bool) -> None:
    """Remove everything that STACK made. A store that holds data is kept and said, unless --delete-data."""
    session = _session(stack, world, project, as_json=as_json)
    question = f"remove everything of stack {stack!r} in the {session.cluster.pulumi.world} world"
    render.confirm(question + (" and its data" if delete_data else ""), yes=yes, where="emporion down")
    _done("down", session, session.cluster.down(delete_data=delete_data), as_json=as_json)


@click.command(short_help="Show nodes, addresses, storage, role and hourly cost.")
@click.argument("stack", required=False)
@click.option("--verbose", is_flag=True, help="Every cost line and output.")
@project_option
@json_option
def status(stack: str | None, verbose: bool, project: Path | None, as_json: bool) -> None:
    """Show the nodes, addresses, storage, role and hourly cost of STACK, or the project's stacks."""
    from emporion.cli.session import open_project

    opened = open_project(project)
    stacks = opened.stacks()
    if stack is None and len(stacks) != 1:
        _list_stacks(opened, as_json=as_json)
        return
    session = _session(stack or stacks[0], None, project, as_json=as_json)
    current = session.cluster.status()
    if as_json:
        render.json_out("emporion.status/1", _status_json(current))
    else:
        _print_status(current, verbose=verbose)
        _note_stale(session)


@click.command(short_help="Open a shell on a node.")
@click.argument("stack")
@click.argument("node", required=False)
@project_option
def ssh(stack: str, node: str | None, project: Path | None) -> None:
    """Open a shell on NODE of STACK (the controller by default) through the cloud's session service."""
    from emporion.market.clouds import short_ids

    session = _session(stack, None, project, as_json=False)
    cluster = session.cluster
    places = {one.id: (place, one) for place, one in cluster.nodes() if one.state == "running"}
    nodes = [one for _, one in places.values()]
    short = short_ids([one.id for one in nodes])
    names = ", ".join(short.values()) or "none"
    default = next((one for one in nodes if one.pool == "controller"), nodes[0] if nodes else None)
    chosen = next((one for one in nodes if node in {one.id, short[one.id], one.private_ip}), None) if node else default
    if chosen is None:
        raise UserError(
            "E-NODE",
            f"stack {stack!r} has no running node {node or ''}; running: {names}".replace("  ", " "),
            "NODE",
            f"emporion status {stack} lists them",
        )
    if cluster.pulumi.world == "local":
        raise UserError(
            "E-LOCAL-NODE",
            f"{chosen.id} is a node of the local cloud: a record of its world, not a machine to log in to",
            f"stack {stack}",
            f"emporion status {stack} --verbose shows what it is",
            ExitCode.FAILED,
        )
    place, _ = places[chosen.id]
    cloud = cluster.clouds[place.provider]
    argv = cloud.shell_command(place.region, chosen.id)
    for tool in (argv[0], *cloud.shell_tools):
        if shutil.which(tool) is None:
            raise UserError(
                "E-TOOL", f"{tool!r} is not on PATH, it opens the session", "emporion ssh", f"install {tool}"
            )
    os.execvp(argv[0], list(argv))  # noqa: S606 - an argument list, no shell


def _session(target: str, world: str | None, project: Path | None, *, as_json: bool, policies: bool = False) -> Session:
    from emporion.cli.session import open_project, open_session

    opened = open_project(project)
    return open_session(target, project=opened, world=world, as_json=as_json, now=now, policies=policies)


def _note_stale(session: Session) -> None:
    """Say on stderr that the pinned prices are old: the stack stays what it is, its price may have moved."""
    from emporion.market.plan import stale_note

    stack = session.cluster.stack
    stale = stale_note(session.cluster.placement, now())
    if stale:
        hint = "" if session.pinned else f"; emporion plan --diff {stack} shows how the market moved"
        render.note(f"{stack}: {stale}{hint}")


def _price(session: Session) -> str:
    """Return the question that states what `up` will cost."""
    placement = session.cluster.placement
    hourly = placement.usd_per_hour
    upper = placement.upper_usd_per_hour
    monthly = hourly * HOURS_PER_MONTH
    most = f", at most ${render.money(upper)}/hr" if upper is not None and upper != hourly else ""
    what = "; ".join(
        ", ".join(f"{pool.count} x {pool.instance_type} {pool.market.value}" for pool in each.pools)
        + f" at {each.region}"
        for _, each in placement.clusters
    )
    world = session.cluster.pulumi.world
    free = " (priced as on the real cloud; the local one costs nothing)" if world == "local" else ""
    return (
        f"{what}: ${render.money(hourly)}/hr{most}, ${render.money(monthly)} a month{free}. "
        f"Make stack {session.cluster.stack!r} in the {world} world"
    )


def _done(operation: str, session: Session, outcome: Outcome, *, as_json: bool) -> None:
    cluster = session.cluster
    if as_json:
        render.json_out(
            f"emporion.{operation}/1",
            {
                "stack": cluster.stack,
                "world": cluster.pulumi.world,
                "changes": dict(outcome.changes),
                "changed": outcome.changed,
                "usd_per_hour": cluster.placement.usd_per_hour,
            },
        )
    elif operation == "up":
        render.note(f"next: emporion status {cluster.stack}; emporion down {cluster.stack} removes it all")
    elif operation == "preview" and session.pinned:
        render.note(f"next: emporion up {cluster.stack}")


def _list_stacks(project: Any, *, as_json: bool) -> None:  # noqa: ANN401 - loaded late
    rows = []
    for name in project.stacks():
        config = project.read(name)
        pinned = config.pinned(project.config_path(name)) if config else None
        rows.append((name, config.world if config else None, pinned))
    if as_json:
        stacks = [
            {"stack": name, "world": world, "usd_per_hour": pinned.usd_per_hour if pinned else None}
            for name, world, pinned in rows
        ]
        render.json_out("emporion.stacks/1", {"stacks": stacks})
        return
    if not rows:
        click.echo("no stacks yet: emporion up INTENT.yaml makes one")
        return
    lines = [
        (name, world, _regions(pinned) if pinned else None, render.money(pinned.usd_per_hour) if pinned else None)
        for name, world, pinned in rows
    ]
    click.echo(render.table(["STACK", "WORLD", "REGION", "$/HR PINNED"], lines, right=["$/HR PINNED"]))


def _regions(pinned: PinnedPlacement) -> str:
    return ", ".join(dict.fromkeys(place.region for place in pinned.places))


def _status_json(status: Status) -> dict[str, Any]:
    from emporion.market.plan import pricing

    placement = status.placement
    return {
        "stack": status.stack,
        "world": status.world,
        "up": status.resources > 0,
        "resources": status.resources,
        "pending_operations": status.pending,
        "nodes": [
            {"provider": place.provider, "region": place.region}
            | {field: getattr(node, field) for field in node.__slots__}
            for place, node in status.nodes
        ],
        "missing": dict(status.missing),
        "outputs": dict(status.outputs),
        "usd_per_hour": placement.usd_per_hour,
        "upper_usd_per_hour": placement.upper_usd_per_hour,
        "usd_per_month": placement.usd_per_hour * HOURS_PER_MONTH,
        "cost_lines": list(placement.cost_lines),
        "planned_at": placement.planned_at,
        "pricing": pricing(placement, now()),
        "catalogue": {"version": placement.catalogue_version, "as_of": placement.catalogue_as_of},
    }


def _print_status(status: Status, *, verbose: bool) -> None:
    from emporion.market.clouds import short_ids

    placement = status.placement
    short = short_ids([node.id for _, node in status.nodes])
    state = "up" if status.resources else "down"
    click.echo(f"{status.stack}  {state}  {', '.join(map(str, placement.places))}  {status.world} world")
    if status.pending:
        click.echo(f"{status.pending} operations of a killed update are pending: emporion recover {status.stack}")
    if status.nodes:
        click.echo()
        several = len(placement.places) > 1  # of one the first line has said it
        rows = []
        for place, one in status.nodes:
            first = [short[one.id], str(place)] if several else [short[one.id]]
            rows.append((*first, one.pool, one.state, one.zone, one.instance_type, one.market, one.private_ip))
        columns = ["NODE", *(["PLACE"] if several else []), "POOL", "STATE", "ZONE", "TYPE", "MARKET", "ADDRESS"]
        click.echo(render.table(columns, rows))
    for pool, count in status.missing.items():
        click.echo(f"{count} of pool {pool} missing: emporion up {status.stack} after emporion refresh {status.stack}")
    outputs = {
        key: value
        for key, value in status.outputs.items()
        if verbose or (value != "" and not isinstance(value, (dict, list)))
    }
    if outputs:
        click.echo()
        width = max(len(key) for key in outputs)
        for key, value in sorted(outputs.items()):
            click.echo(f"{key.ljust(width)}  {value}")
    click.echo()
    hourly = placement.usd_per_hour
    click.echo(
        f"${render.money(hourly)}/hr, ${render.money(hourly * HOURS_PER_MONTH)} a month while it is up, "
        f"planned {placement.planned_at[:10]} with prices of {placement.catalogue_as_of}"
    )
    if verbose:
        lines = [
            (line["item"], line["quantity"], line["unit"], _amount(line["usd_per_hour"]), line["quality"])
            for line in placement.cost_lines
        ]
        click.echo(render.table(["ITEM", "QUANTITY", "UNIT", "$/HR", "QUALITY"], lines, right=["QUANTITY", "$/HR"]))


def _amount(value: str | None) -> str | None:
    return None if value is None else render.money(Decimal(value), 4)
