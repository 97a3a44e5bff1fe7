"""Lambda's prices: the Cloud API's list of instance types, with the regions that have capacity for each right now.

A type that is free nowhere has no region and is no offer. Lambda sells on demand only.

https://docs.lambda.ai/public-cloud/cloud-api (version 1.10, read 2026-12-01)
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Any

from emporion.market.dates import stamp
from emporion.market.offers.adapter import Adapter, Ask, Row
from emporion.market.offers.answers import listed, mapping, money, odd, row, text

__all__ = ["ADAPTER"]

_log = logging.getLogger(__name__)

_SOURCE = "Lambda Cloud API"
_URL = "https://cloud.lambda.ai/api/v1/instance-types"
_KEY = "LAMBDA_API_KEY"
_COUNT = re.compile(r"gpu_([0-9]{1,3})x_")
_MEMORY = re.compile(r"\b([0-9]{1,4})\s*GB\b", re.IGNORECASE)


def _fetch(ask: Ask) -> Iterator[Row]:
    answer = ask.get(_URL, headers={"Authorization": f"Bearer {ask.env[_KEY]}"}).body
    types = mapping(mapping(answer, _SOURCE, "object").get("data"), _SOURCE, "data")
    away = []
    for name, entry in sorted(types.items()):
        about = mapping(entry, _SOURCE, "entry per type")
        machine = mapping(about.get("instance_type"), _SOURCE, f"instance_type of {name[:40]}")
        regions = listed(about.get("regions_with_capacity_available"), _SOURCE, f"regions of {name[:40]}")
        if not regions:
            away.append(name)
        for region in regions:
            yield _row(machine, text(region, "name", _SOURCE), stamp(ask.now))
    ask.progress("types", len(types), len(types))
    if types and len(away) == len(types):
        raise odd(_SOURCE, f"has no capacity for any of its {len(types)} types now")
    if away:
        _log.warning("provider=lambda left_out=%d reason=%r types=%s", len(away), "free nowhere", ",".join(away))


def _row(machine: Mapping[str, Any], region: str, as_of: str) -> Row:
    name = text(machine, "name", _SOURCE)
    specs = mapping(machine.get("specs"), _SOURCE, f"specs of {name[:40]}")
    count = money(specs.get("gpus"), _SOURCE, "specs.gpus")
    gpu = text(machine, "gpu_description", _SOURCE) if count else ""
    memory = _MEMORY.search(gpu)
    said = _COUNT.match(name)
    return row(
        provider="lambda",
        region=region,
        instance_type=name,
        # The count that the type's own name says goes with the model, so that a contradiction is refused.
        gpu=f"{gpu}:{said[1]}" if said and gpu else gpu,
        gpu_count=count,
        on_demand=money(machine.get("price_cents_per_hour"), _SOURCE, "price_cents_per_hour") / Decimal(100),
        spot=None,
        source=_SOURCE,
        as_of=as_of,
        more={
            "gpu_vram_gb": memory[1] if memory else None,
            "vcpus": money(specs.get("vcpus"), _SOURCE, "specs.vcpus"),
            "ram_gb": money(specs.get("memory_gib"), _SOURCE, "specs.memory_gib"),
        },
    )


ADAPTER = Adapter(provider="lambda", extra="lambda", source=_SOURCE, needs=(_KEY,), fetch=_fetch, lists_stock=True)
"""The adapter, as the entry point names it."""
