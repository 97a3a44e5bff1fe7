"""`emporion offers register`, `registered`, `unregister`: machines of one's own among what can be rented."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from emporion.cli.context import now
from emporion.cli.options import json_option, rate_option
from emporion.cli.planning import exchange, offers_folder
from emporion.cli.render import json_out, money, note, table

if TYPE_CHECKING:
    from emporion.market.offers.registry import Registered

__all__ = ["register", "registered", "unregister"]


@click.command(short_help="Register machines on premises, or of a private provider.")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--name", metavar="my-lab", help="The name to keep them under; the file's name by default.")
@click.option("--replace", is_flag=True, help="Replace what is registered under that name.")
@rate_option
@json_option
def register(file: Path, name: str | None, replace: bool, rates: tuple[str, ...], as_json: bool) -> None:
    """Register machines on premises, or of a private provider, so that plans weigh them like any other offer.

    FILE is a YAML document, or an offers file (.csv). It is kept whole, or not at all: every problem of it is told at
    once. What is owned costs its purchase spread over months, its power and its housing.

    \b
    region: berlin
    latitude: 52.52
    longitude: 13.40
    machines:
      - name: rack-a
        label: a100-80gb
        gpus: 8
        vram: 80gb
        cuda: "12.4"
        os: ubuntu-22.04
        preinstalled: [pytorch==2.1.0, nccl]
        sla: 99.5%
        owned: {purchase: $180000, months: 48, power: 6.5kW, energy: $0.15/kWh, hosting: $900/month}
    """  # noqa: D301 - \b is click's mark for text that keeps its lines
    from emporion.market.offers import registry

    made = registry.register(
        file, offers_folder(), name=name, replace=replace, clouds=_clouds(), rates=exchange(rates), today=now().date()
    )
    if as_json:
        json_out("emporion.registered/1", {"replaced": made.replaced, "registered": [_fields(made)]})
        return
    click.echo(_offers(made))
    verb = "replaced" if made.replaced else "registered"
    note(f"{verb} as {made.name}: {made.path}")
    note(f"next: emporion plan --providers {','.join(made.providers)} --gpus …")


@click.command(short_help="List what is registered.")
@json_option
def registered(as_json: bool) -> None:
    """List what is registered, by name."""
    from emporion.market.offers import registry

    found = registry.registered(offers_folder())
    if as_json:
        json_out("emporion.registered/1", {"registered": [_fields(each) for each in found]})
        return
    if not found:
        note("nothing is registered: emporion offers register FILE")
        return
    rows = [
        [each.name, ", ".join(each.providers), str(len(each.offers)), ", ".join(_machines(each)), str(each.path)]
        for each in found
    ]
    click.echo(table(["NAME", "PROVIDER", "OFFERS", "MACHINES", "FILE"], rows, right=("OFFERS",)))


@click.command(short_help="Remove what is registered under a name.")
@click.argument("name")
@json_option
def unregister(name: str, as_json: bool) -> None:
    """Remove what is registered under NAME."""
    from emporion.market.offers import registry

    path = registry.unregister(offers_folder(), name)
    if as_json:
        json_out("emporion.unregistered/1", {"name": name, "file": path})
        return
    note(f"{name} is registered no more: {path} is removed")


def _clouds() -> set[str]:
    """Return the names of providers that are not the user's own."""
    from importlib.metadata import entry_points

    from emporion.cli.context import environment
    from emporion.market.clouds import installed_clouds
    from emporion.market.offers import cache_folder, load_bundled

    bundled = load_bundled(cache_folder(environment())).providers
    sources = (entry.name for entry in entry_points(group="emporion.offers"))
    return {*bundled, *installed_clouds(), *sources}


def _machines(made: Registered) -> list[str]:
    return list(dict.fromkeys(offer.instance_type for offer in made.offers))


def _fields(made: Registered) -> dict[str, Any]:
    from emporion.cli.offers_list import offer_fields

    return {
        "name": made.name,
        "file": made.path,
        "providers": list(made.providers),
        "offers": [offer_fields(offer, now()) for offer in made.offers],
    }


def _offers(made: Registered) -> str:
    from emporion.cli.offers_list import gpus_text, per_gpu_text

    rows = [
        [
            offer.id, gpus_text(offer), money(offer.usd_per_hour, 4), per_gpu_text(offer), offer.source,
        ]
        for offer in made.offers
    ]  # fmt: skip
    return table(["OFFER", "GPUS", "$/HR", "$/GPU/HR", "SOURCE"], rows, right=("$/HR", "$/GPU/HR"))
