"""`emporion local world`: the state of the local cloud, and scenarios that shape it."""

from __future__ import annotations

import json
from pathlib import Path

import click

from emporion.cli.context import home
from emporion.cli.lazy import Group
from emporion.cli.options import json_option
from emporion.cli.render import json_out, money, note, table
from emporion.market.errors import UserError

__all__ = ["world"]


@click.group(cls=Group, short_help="The state of the local cloud, and scenarios.")
def world() -> None:
    """Look at the local cloud as a whole, and shape it by a scenario file."""


@world.command(short_help="Make the world as a scenario file says.")
@click.argument("scenario", metavar="FILE", type=click.Path(path_type=Path))
@json_option
def apply(*, scenario: Path, as_json: bool) -> None:
    """Make the world as the scenario FILE (YAML) says: clock, seed, models, capacity, quotas, faults.

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


@world.command(short_help="Set what the world models.")
@click.argument("name", metavar="MODEL")
@click.argument("value", metavar="VALUE")
@click.option("--history", type=click.Path(path_type=Path), metavar="FILE", help="Recorded prices (CSV) for `replay`.")
@json_option
def model(*, name: str, value: str, history: Path | None, as_json: bool) -> None:
    """Set what the world models from now on. A new world models nothing.

    \b
    delays         none, modelled: how long creating, booting and setting up a machine takes
    interruptions  none, modelled: whether spot machines are taken back by chance
    prices         fixed (the catalogue's), moving (by chance), replay (recorded ones, --history)
    """  # noqa: D301 - click's mark of a block that is kept as it is
    from emporion.localcloud import World
    from emporion.localcloud.models import set_model
    from emporion.localcloud.prices import load_history

    replayed = (name, value) == ("prices", "replay")
    if replayed != (history is not None):
        raise UserError(
            "E-MODEL",
            "recorded prices need a file of them" if replayed else "--history belongs to `prices replay`",
            "local world model",
            "emporion local world model prices replay --history FILE.csv",
        )
    with World.open(home()) as opened:
        if history is not None:
            load_history(opened, history)
        else:
            set_model(opened, name, value)
    if as_json:
        json_out("emporion.model/1", {"model": name, "value": value})
    else:
        click.echo(f"{name}: {value}")


@world.command(short_help="Show spot prices as they are in the world now.")
@click.option("--provider", metavar="aws", help="Only this provider's.")
@click.option("--region", metavar="us-east-1", help="Only in this region.")
@click.option("--type", "instance_type", metavar="p5.48xlarge", help="Only of this type.")
@json_option
def prices(*, provider: str | None, region: str | None, instance_type: str | None, as_json: bool) -> None:
    """Show spot prices as they are in the world now, beside the catalogue's."""
    from emporion.localcloud import World
    from emporion.localcloud.prices import price
    from emporion.market.offer import Market
    from emporion.market.offers import load_bundled

    wanted = {"provider": provider, "region": region, "instance_type": instance_type}
    offers = [
        offer
        for offer in load_bundled().offers
        if offer.market is Market.SPOT and all(value in (None, getattr(offer, name)) for name, value in wanted.items())
    ]
    with World.open(home()) as opened:
        now, mode = opened.now(), opened.meta("prices")
        rows = [(offer, price(opened, offer)) for offer in offers]
    if as_json:
        told = [{"offer": one.id, "usd_per_hour": usd, "catalogue_usd_per_hour": one.usd_per_hour} for one, usd in rows]
        json_out("emporion.world-prices/1", {"now": now, "prices": mode, "offers": told})
        return
    cells = [[one.id, money(usd, 4), money(one.usd_per_hour, 4)] for one, usd in rows]
    click.echo(table(["OFFER", "$/HR", "CATALOGUE"], cells, right=("$/HR", "CATALOGUE")))
    note(f"{mode} prices at {now}")


@world.command(short_help="Print the JSON Schema of scenario files.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON to stdout (it always does).")
def schema(*, as_json: bool) -> None:  # noqa: ARG001 - every command takes --json
    """Print the JSON Schema of scenario files: every key, its units and default."""
    from emporion.localcloud.scenario import scenario_schema

    click.echo(json.dumps(scenario_schema(), indent=2, ensure_ascii=False))
