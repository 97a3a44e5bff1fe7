"""`emporion offers explain`: everything that is known of a machine type."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from emporion.cli.context import now
from emporion.cli.offers_list import file_option, gpus_text, offer_fields, per_gpu_text, plain_text
from emporion.cli.options import json_option, rate_option
from emporion.cli.planning import catalogue, exchange
from emporion.cli.render import age, json_out, money, table

if TYPE_CHECKING:
    from emporion.market.offer import Offer
    from emporion.market.offers import TypeInfo

__all__ = ["explain"]


@click.command(short_help="Show everything that is known of a machine type.")
@click.argument("type_name", metavar="TYPE")
@click.option("--provider", metavar="aws", help="Only of this provider.")
@file_option
@rate_option
@json_option
def explain(type_name: str, provider: str | None, file: Path | None, rates: tuple[str, ...], as_json: bool) -> None:
    """Show everything that is known of a machine type: shape, GPUs, network, software, and each of its offers.

    INTERRUPTIONS are those expected in a day; one in brackets is assumed.
    """
    found, at = catalogue(file, exchange(rates)).explain_type(type_name, provider), now()
    if as_json:
        json_out("emporion.type/1", {"types": [_fields(one, at) for one in found]})
        return
    click.echo("\n\n".join(_text(one, at) for one in found))


def _facts(info: TypeInfo) -> dict[str, str | None]:
    """Return what is known of the machine, by name with its unit; None: unknown."""
    from emporion.market.gpus import gpu_info, label_of

    shape, first = info.topology, info.offers[0]
    facts: dict[str, Any] = {
        "gpus": gpus_text(first),
        "label": label_of(first.gpu) if first.gpu else None,
        "vram_gb": first.gpu_vram_gb,
        "vcpus": first.vcpus,
        "ram_gb": first.ram_gb,
        "arch": first.arch,
        "nvlink": first.nvlink.value if first.nvlink else None,
        "nvlink_gb_s_per_gpu": first.nvlink_gb_s_per_gpu,
        "fabric": first.fabric.value if first.fabric else None,
        "fabric_gbps": first.fabric_gbps,
        "network_gbps": first.network_gbps,
        "fabric_interfaces": shape.nics if shape else None,
        "local_nvme_gb": shape.local_nvme_gb if shape else None,
        "shape_source": shape.source if shape else None,
    }
    if not first.gpu_count:
        facts = {
            name: fact
            for name, fact in facts.items()
            if name not in ("label", "vram_gb", "nvlink", "nvlink_gb_s_per_gpu")
        }
    if first.gpu is not None:
        gpu = gpu_info(first.gpu)
        facts |= {
            "gpu_architecture": gpu.architecture,
            "gpu_compute_capability": gpu.compute_capability,
            "gpu_memory_bandwidth_gb_s": gpu.mem_bw_gb_s,
            "gpu_bf16_dense_tflops": gpu.bf16_dense_tflops,
            "gpu_power_w": gpu.tdp_w,
            "gpu_resnet50_images_s": gpu.resnet50_fp16_img_s,
            "gpu_source": gpu.source,
        }
    return {name: plain_text(fact) for name, fact in (facts | _software(first)).items()}


def _software(offer: Offer) -> dict[str, Any]:
    told = offer.software
    if told is None:
        return dict.fromkeys(("cuda", "driver", "os", "preinstalled", "sla_percent"))
    packages = None if told.preinstalled is None else " ".join(told.preinstalled) or "none"
    return {
        "cuda": told.cuda, "driver": told.driver, "os": told.os, "preinstalled": packages,
        "sla_percent": told.sla_percent,
    }  # fmt: skip


def _stand_up(offer: Offer) -> str | None:
    """Return why a cluster of such machines cannot be stood up by this version, None: it can."""
    from emporion.market.clouds import installed_clouds, stand_up_problem

    return stand_up_problem(installed_clouds(), offer)


def _text(info: TypeInfo, at: datetime) -> str:
    facts: Mapping[str, str | None] = {**_facts(info), "stood up by `up`": _stand_up(info.offers[0]) or "yes"}
    width = max(map(len, facts))
    lines = [f"{info.provider} {info.instance_type}"]
    lines += [f"  {name.ljust(width)}  {'?' if value is None else value}" for name, value in facts.items()]
    lines += ["", _offers(info.offers, at)]
    return "\n".join([*lines, *(f"{one.kind}: {one}" for one in info.notes)])


def _offers(offers: tuple[Offer, ...], at: datetime) -> str:
    rows = [
        [
            one.zone or one.region, one.market.value, money(one.usd_per_hour, 4),
            per_gpu_text(one), _interruptions(one),
            age(one.as_of, at.date()), one.source,
        ]
        for one in offers
    ]  # fmt: skip
    heads = ["SITE", "MARKET", "$/HR", "$/GPU/HR", "INTERRUPTIONS", "AGE", "SOURCE"]
    return table(heads, rows, right=("$/HR", "$/GPU/HR", "INTERRUPTIONS", "AGE"), wrap=("SOURCE",))


def _interruptions(offer: Offer) -> str:
    from emporion.market.offer import Market
    from emporion.market.stability import hazard

    if offer.market is not Market.SPOT:
        return "-"
    found = hazard(offer)
    return f"({found.per_day:.3f})" if found.assumed else f"{found.per_day:.3f}"


def _fields(info: TypeInfo, at: datetime) -> dict[str, Any]:
    from dataclasses import asdict

    return {
        "provider": info.provider,
        "instance_type": info.instance_type,
        "facts": _facts(info),
        "deploy_problem": _stand_up(info.offers[0]),
        "topology": asdict(info.topology) if info.topology else None,
        "offers": [offer_fields(offer, at) for offer in info.offers],
        "notes": [asdict(one) for one in info.notes],
    }
