"""`emporion offers list`: what can be rented, filtered and sorted."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from emporion.cli.context import now
from emporion.cli.options import json_option, rate_option
from emporion.cli.planning import catalogue, exchange
from emporion.cli.render import age, json_out, money, note, table
from emporion.market.errors import UserError

if TYPE_CHECKING:
    from emporion.market.money import Money, Rate
    from emporion.market.offer import Offer
    from emporion.market.offers import Catalogue, OfferFilter
    from emporion.market.query import Query

__all__ = ["file_option", "gpus_text", "list_", "offer_fields", "per_gpu_text", "plain_text"]

file_option = click.option(
    "--offers",
    "file",
    type=click.Path(path_type=Path),
    metavar="FILE.csv",
    help="Look at these offers instead; - reads standard input.",
)
_SHOWN_NOTES = 20


@click.command(name="list", short_help="List offers, cheapest per GPU first.")
@click.option("--gpu", "gpus", multiple=True, metavar="a100", help="Only this model or family; may be repeated.")
@click.option("--label", "labels", multiple=True, metavar="a100-80gb", help="Only this label; may be repeated.")
@click.option("--provider", "providers", multiple=True, metavar="aws", help="Only this provider; may be repeated.")
@click.option("--region", "regions", multiple=True, metavar="us-*", help="Only regions of this glob; may be repeated.")
@click.option("--market", type=click.Choice(["on_demand", "spot", "reserved"]), help="Only this market.")
@click.option("--type", "types", multiple=True, metavar="TYPE", help="Only this machine type; may be repeated.")
@click.option("--cpu", is_flag=True, help="Machines without GPUs.")
@click.option("--where", metavar="QUERY", help="Only what passes: 'cuda >= 12.1 and \"nccl\" in preinstalled'.")
@click.option("--min-price", metavar="$1/hr", help="At least this dear: per machine, or $1/gpu/hr.")
@click.option("--max-price", metavar="$2/gpu/hr", help="At most this dear.")
@click.option(
    "--sort",
    type=click.Choice(["gpu-price", "price", "age", "vram", "gpus", "provider", "type"]),
    default="gpu-price",
    show_default=True,
    help="Least first; vram and gpus: most first.",
)
@click.option("--limit", type=click.IntRange(0), default=40, show_default=True, help="Lines at most; 0: all.")
@click.option(
    "--verbose", is_flag=True, help="Memory, network, software, source of each price, and what the import refused."
)
@file_option
@rate_option
@json_option
def list_(
    *,
    gpus: tuple[str, ...],
    labels: tuple[str, ...],
    providers: tuple[str, ...],
    regions: tuple[str, ...],
    market: str | None,
    types: tuple[str, ...],
    cpu: bool,
    where: str | None,
    min_price: str | None,
    max_price: str | None,
    sort: str,
    limit: int,
    verbose: bool,
    file: Path | None,
    rates: tuple[str, ...],
    as_json: bool,
) -> None:
    """List offers, cheapest per GPU first. Prices are USD per hour of the whole machine; AGE is that of the price.

    An offer that does not say what --where asks for does not pass, and is counted.
    """
    from emporion.market.offers.select import in_order, passing

    at, worth = now(), exchange(rates)
    least, most = _bound(min_price, worth, "--min-price"), _bound(max_price, worth, "--max-price")
    query = _query(where)
    _check_labels(labels)
    wanted = _filter([*gpus, *labels], providers, regions, market, types, cpu=cpu)
    place = catalogue(file, worth)
    place.check_providers(providers, "--provider")
    place.check_regions(regions, providers, "--region")
    passed, unknown = passing(place.find_offers(wanted), least, most, query, at)
    found = in_order(passed, sort)
    shown = found if limit == 0 else found[:limit]
    if as_json:
        json_out(
            "emporion.offers/1",
            {
                "catalogue": {"version": place.version, "as_of": place.as_of},
                "total": len(found),
                "unknown": dict(sorted(unknown.items())),
                "offers": [offer_fields(offer, at) for offer in shown],
            },
        )
        return
    if found:
        click.echo(_verbose_table(shown, at) if verbose else _short_table(shown, at))
    else:
        note("no offer is like that: emporion offers list shows all")
    if len(found) > len(shown):
        note(f"and {len(found) - len(shown)} more: --limit 0 lists all")
    for fields, count in sorted(unknown.items(), key=lambda item: (-item[1], item[0])):
        note(f"{count} more do not say enough: {fields} unknown")
    if verbose:
        _tell_refused(place)


def _query(where: str | None) -> Query | None:
    if where is None:
        return None
    from emporion.market.query import parse_query

    try:
        return parse_query(where)
    except UserError as error:
        error.where = f"--where{error.where or ''}"
        raise


def _bound(text: str | None, rates: Mapping[str, Rate], flag: str) -> Money | None:
    if text is None:
        return None
    from emporion.market.offers.select import hourly_bound

    try:
        return hourly_bound(text, rates)
    except UserError as error:
        error.where = flag
        raise


def _check_labels(labels: tuple[str, ...]) -> None:
    from emporion.market.errors import UserErrors
    from emporion.market.gpus import check_label

    problems = []
    for label in labels:
        try:
            check_label(label)
        except UserError as error:
            error.where = "--label"
            problems.append(error)
    if problems:
        raise UserErrors.of(problems)


def _filter(
    gpus: list[str],
    providers: tuple[str, ...],
    regions: tuple[str, ...],
    market: str | None,
    types: tuple[str, ...],
    *,
    cpu: bool,
) -> OfferFilter:
    from emporion.market.offer import Market
    from emporion.market.offers import OfferFilter
    from emporion.market.offers.select import models_named

    if cpu and gpus:
        raise UserError(
            "E-CONTRADICTION", "--cpu and --gpu ask for different things", "offers list", "give one of them"
        )
    return OfferFilter(
        gpus=models_named(gpus, "--gpu") if gpus else None,
        providers=frozenset(providers),
        regions=regions,
        markets=frozenset({Market(market)} if market else Market),
        instance_types=frozenset(types),
        machines="cpu" if cpu else "any" if types else "gpu",
    )


def gpus_text(offer: Offer) -> str:
    """Return `8 x a100-80gb`, `-` for a machine without GPUs."""
    if not offer.gpu_count:
        return "-"
    return f"{offer.gpu_count} x {offer.gpu or '?'}{f' {offer.mig}' if offer.mig else ''}"


def per_gpu_text(offer: Offer, places: int = 4) -> str:
    """Return the price per GPU, `-` for a machine without GPUs."""
    return "-" if offer.usd_per_gpu_hour is None else money(offer.usd_per_gpu_hour, places)


def _short_table(found: list[Offer], at: datetime) -> str:
    rows = [
        [
            one.provider, one.zone or one.region, one.instance_type, gpus_text(one), one.market.value,
            money(one.usd_per_hour), per_gpu_text(one, 2), age(one.as_of, at.date()),
        ]
        for one in found
    ]  # fmt: skip
    heads = ["PROVIDER", "SITE", "TYPE", "GPUS", "MARKET", "$/HR", "$/GPU/HR", "AGE"]
    return table(heads, rows, right=("$/HR", "$/GPU/HR", "AGE"))


def _verbose_table(found: list[Offer], at: datetime) -> str:
    rows = [
        [
            one.id, gpus_text(one), _label(one), plain_text(one.gpu_vram_gb), plain_text(one.vcpus),
            plain_text(one.ram_gb), one.nvlink.value if one.nvlink else None,
            one.fabric.value if one.fabric else None, plain_text(one.fabric_gbps), _software(one),
            money(one.usd_per_hour, 4), per_gpu_text(one), age(one.as_of, at.date()), one.source,
        ]
        for one in found
    ]  # fmt: skip
    heads = [
        "OFFER", "GPUS", "LABEL", "VRAM GB", "VCPUS", "RAM GB", "NVLINK", "FABRIC", "FABRIC GBPS", "SOFTWARE", "$/HR",
        "$/GPU/HR", "AGE", "SOURCE",
    ]  # fmt: skip
    right = ("VRAM GB", "VCPUS", "RAM GB", "FABRIC GBPS", "$/HR", "$/GPU/HR", "AGE")
    drop = ("VRAM GB", "FABRIC GBPS", "NVLINK", "SOFTWARE", "RAM GB", "VCPUS", "LABEL")
    return table(heads, rows, right=right, drop=drop, wrap=("OFFER", "SOFTWARE", "SOURCE"))


def _label(offer: Offer) -> str | None:
    from emporion.market.gpus import label_of

    if not offer.gpu_count:
        return "-"
    return label_of(offer.gpu) if offer.gpu else None


def _software(offer: Offer) -> str | None:
    """Return what is known of an offer's software in a few words."""
    told = offer.software
    if told is None:
        return None
    parts = [f"cuda {told.cuda}" if told.cuda else "", told.os or "", " ".join(told.preinstalled or ())]
    parts.append(f"sla {plain_text(told.sla_percent)}%" if told.sla_percent is not None else "")
    return ", ".join(filter(None, parts)) or None


def _tell_refused(place: Catalogue) -> None:
    kinds = ("refused", "quarantined", "unsold")
    refused = [one for kind in kinds for one in getattr(place, kind)]
    total = sum(place.noted(kind) for kind in kinds)
    for one in refused[:_SHOWN_NOTES]:
        note(f"{one.kind}: {one}")
    if total > _SHOWN_NOTES:
        note(f"and {total - _SHOWN_NOTES} more rows were left out")


def offer_fields(offer: Offer, at: datetime) -> dict[str, Any]:
    """Return an offer as JSON has it: its fields, and what follows from them."""
    from dataclasses import asdict

    from emporion.market.ages import age_s

    seconds = age_s(offer.as_of, at)
    return {
        **asdict(offer),
        "label": _label(offer) if offer.gpu_count else None,
        "usd_per_gpu_hour": None if offer.usd_per_gpu_hour is None else round(offer.usd_per_gpu_hour, 6),
        "age_s": None if seconds == float("inf") else max(int(seconds), 0),
    }


def plain_text(value: object) -> str | None:
    """Return a figure without exponent, None for what is unknown."""
    return None if value is None else format(value, "f") if hasattr(value, "as_tuple") else str(value)
