"""`emporion offers list` and `explain`: what can be rented, and what is known of it."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from emporion.cli.context import now
from emporion.cli.options import json_option, rate_option
from emporion.cli.planning import catalogue, exchange
from emporion.cli.render import age, json_out, money, note, table
from emporion.market.errors import UserError

if TYPE_CHECKING:
    from emporion.market.offer import Offer
    from emporion.market.offers import OfferFilter, TypeInfo

__all__ = ["explain", "list_"]

_FILE = click.option(
    "--offers", "file", type=click.Path(path_type=Path), metavar="FILE.csv", help="Look at these offers instead."
)
_SHOWN_NOTES = 20


@click.command(name="list", short_help="List offers, cheapest per GPU first.")
@click.option("--gpu", "gpus", multiple=True, metavar="a100", help="Only this model or family; may be repeated.")
@click.option("--provider", "providers", multiple=True, metavar="aws", help="Only this provider; may be repeated.")
@click.option("--region", "regions", multiple=True, metavar="us-*", help="Only regions of this glob; may be repeated.")
@click.option("--market", type=click.Choice(["on_demand", "spot", "reserved"]), help="Only this market.")
@click.option("--type", "types", multiple=True, metavar="TYPE", help="Only this machine type; may be repeated.")
@click.option("--cpu", is_flag=True, help="Machines without GPUs.")
@click.option("--limit", type=click.IntRange(0), default=40, show_default=True, help="Lines at most; 0: all.")
@click.option(
    "--verbose", is_flag=True, help="Memory, fabric, age and source of each price, and what the import refused."
)
@_FILE
@rate_option
@json_option
def list_(
    gpus: tuple[str, ...],
    providers: tuple[str, ...],
    regions: tuple[str, ...],
    market: str | None,
    types: tuple[str, ...],
    cpu: bool,
    limit: int,
    verbose: bool,
    file: Path | None,
    rates: tuple[str, ...],
    as_json: bool,
) -> None:
    """List offers, cheapest per GPU first. Prices are USD per hour of the whole machine."""
    market_place = catalogue(file, exchange(rates))
    market_place.check_providers(providers, "--provider")
    market_place.check_regions(regions, providers, "--region")
    found = sorted(market_place.find_offers(_filter(gpus, providers, regions, market, types, cpu=cpu)), key=_by_price)
    shown = found if limit == 0 else found[:limit]
    if as_json:
        json_out(
            "emporion.offers/1",
            {
                "catalogue": {"version": market_place.version, "as_of": market_place.as_of},
                "total": len(found),
                "offers": [_fields(offer) for offer in shown],
            },
        )
        return
    if not found:
        note("no offer is like that: emporion offers list shows all")
        return
    today = now().date()
    click.echo(_verbose_table(shown, today) if verbose else _short_table(shown, today))
    if len(found) > len(shown):
        note(f"and {len(found) - len(shown)} more: --limit 0 lists all")
    if verbose:
        refused = [*market_place.refused, *market_place.quarantined, *market_place.unsold]
        for one in refused[:_SHOWN_NOTES]:
            note(f"{one.kind}: {one}")
        if len(refused) > _SHOWN_NOTES:
            note(f"and {len(refused) - _SHOWN_NOTES} more rows were left out")


@click.command(short_help="Show everything that is known of a machine type.")
@click.argument("type_name", metavar="TYPE")
@click.option("--provider", metavar="aws", help="Only of this provider.")
@_FILE
@rate_option
@json_option
def explain(type_name: str, provider: str | None, file: Path | None, rates: tuple[str, ...], as_json: bool) -> None:
    """Show everything that is known of a machine type: its shape, fabric, and each of its offers."""
    found = catalogue(file, exchange(rates)).explain_type(type_name, provider)
    if as_json:
        json_out("emporion.type/1", {"types": [_type_fields(one) for one in found]})
        return
    click.echo("\n\n".join(_type_text(one, now().date()) for one in found))


def _filter(
    gpus: tuple[str, ...],
    providers: tuple[str, ...],
    regions: tuple[str, ...],
    market: str | None,
    types: tuple[str, ...],
    *,
    cpu: bool,
) -> OfferFilter:
    from emporion.market.offer import Market
    from emporion.market.offers import OfferFilter

    if cpu and gpus:
        raise UserError(
            "E-CONTRADICTION", "--cpu and --gpu ask for different things", "offers list", "give one of them"
        )
    return OfferFilter(
        gpus=_models(gpus) if gpus else None,
        providers=frozenset(providers),
        regions=regions,
        markets=frozenset({Market(market)} if market else Market),
        instance_types=frozenset(types),
        machines="cpu" if cpu else "any" if types else "gpu",
    )


def _models(names: tuple[str, ...]) -> frozenset[str]:
    from emporion.market.errors import UserErrors
    from emporion.market.gpus import all_gpus, meets_vram, resolve_gpu

    found: set[str] = set()
    problems: list[UserError] = []
    for name in names:
        try:
            resolved = resolve_gpu(name)
        except UserError as error:
            error.where = error.where or "--gpu"
            problems.append(error)
            continue
        models = [gpu for gpu in all_gpus() if not resolved.ids or gpu.id in resolved.ids]
        found |= {
            gpu.id
            for gpu in models
            if resolved.vendor in {None, gpu.vendor}
            and (resolved.vram is None or meets_vram(resolved.vram, gpu.vram_gb, gpu.memory_mib))
        }
    if problems:
        raise UserErrors.of(problems)
    return frozenset(found)


def _by_price(offer: Offer) -> tuple[Any, str]:
    return offer.usd_per_hour / max(offer.gpu_count, 1), offer.id


def _gpus(offer: Offer) -> str | None:
    if not offer.gpu_count:
        return "-"
    return f"{offer.gpu_count} x {offer.gpu or '?'}{f' {offer.mig}' if offer.mig else ''}"


def _short_table(found: list[Offer], today: date) -> str:
    rows = [
        [
            one.provider, one.zone or one.region, one.instance_type, _gpus(one), one.market.value,
            money(one.usd_per_hour), money(one.usd_per_hour / max(one.gpu_count, 1)), age(one.as_of, today),
        ]
        for one in found
    ]  # fmt: skip
    heads = ["PROVIDER", "SITE", "TYPE", "GPUS", "MARKET", "$/HR", "$/GPU/HR", "AGE"]
    return table(heads, rows, right=("$/HR", "$/GPU/HR", "AGE"))


def _verbose_table(found: list[Offer], today: date) -> str:
    rows = [
        [
            one.id, _gpus(one), _plain(one.gpu_vram_gb), _plain(one.vcpus), _plain(one.ram_gb),
            one.nvlink.value if one.nvlink else None, one.fabric.value if one.fabric else None,
            _plain(one.fabric_gbps), money(one.usd_per_hour, 4), age(one.as_of, today), one.source,
        ]
        for one in found
    ]  # fmt: skip
    heads = [
        "OFFER", "GPUS", "VRAM GB", "VCPUS", "RAM GB", "NVLINK", "FABRIC", "FABRIC GBPS", "$/HR", "AGE", "SOURCE",
    ]  # fmt: skip
    return table(heads, rows, right=("VRAM GB", "VCPUS", "RAM GB", "FABRIC GBPS", "$/HR", "AGE"))


def _type_text(info: TypeInfo, today: date) -> str:
    shape = info.topology
    first = info.offers[0]
    facts = {
        "gpus": _gpus(first),
        "vram_gb": _plain(first.gpu_vram_gb),
        "vcpus": _plain(first.vcpus),
        "ram_gb": _plain(first.ram_gb),
        "arch": first.arch,
        "nvlink": first.nvlink.value if first.nvlink else None,
        "nvlink_gb_s_per_gpu": _plain(first.nvlink_gb_s_per_gpu),
        "fabric": first.fabric.value if first.fabric else None,
        "fabric_gbps": _plain(first.fabric_gbps),
        "network_gbps": _plain(first.network_gbps),
        "fabric_interfaces": _plain(shape.nics if shape else None),
        "local_nvme_gb": _plain(shape.local_nvme_gb if shape else None),
        "shape_source": shape.source if shape else None,
    }
    width = max(map(len, facts))
    lines = [f"{info.provider} {info.instance_type}"]
    lines += [f"  {name.ljust(width)}  {'?' if value is None else value}" for name, value in facts.items()]
    rows = [
        [one.zone or one.region, one.market.value, money(one.usd_per_hour, 4), age(one.as_of, today), one.source]
        for one in info.offers
    ]
    lines += ["", table(["SITE", "MARKET", "$/HR", "AGE", "SOURCE"], rows, right=("$/HR", "AGE"))]
    return "\n".join([*lines, *(f"{one.kind}: {one}" for one in info.notes)])


def _type_fields(info: TypeInfo) -> dict[str, Any]:
    return {
        "provider": info.provider,
        "instance_type": info.instance_type,
        "topology": _fields(info.topology) if info.topology else None,
        "offers": [_fields(offer) for offer in info.offers],
        "notes": [_fields(one) for one in info.notes],
    }


def _fields(record: Any) -> dict[str, Any]:  # noqa: ANN401 - any frozen record of the market
    from dataclasses import asdict

    return asdict(record)


def _plain(value: object) -> str | None:
    return None if value is None else format(value, "f") if hasattr(value, "as_tuple") else str(value)
