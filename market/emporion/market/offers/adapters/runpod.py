"""RunPod's prices: the GPU types of its GraphQL API, per GPU and hour, in two tiers.

Community machines are other people's, secure ones stand in RunPod's data centres: two prices, two offers, never mixed.
No region is named; the pod goes where there is one.

https://graphql-spec.runpod.io (GpuType), https://docs.runpod.io/references/gpu-types (read 2026-12-01)
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Any

from emporion.market.dates import stamp
from emporion.market.offers.adapter import Adapter, Ask, Row
from emporion.market.offers.answers import amount, listed, mapping, odd, row, text

__all__ = ["ADAPTER"]

_SOURCE = "RunPod GraphQL API"
_URL = "https://api.runpod.io/graphql"
_KEY = "RUNPOD_API_KEY"
_QUERY = """
query Prices {
  gpuTypes {
    id displayName memoryInGb
    communityCloud communityPrice communitySpotPrice maxGpuCountCommunityCloud
    secureCloud securePrice secureSpotPrice maxGpuCountSecureCloud
    community: lowestPrice(input: {gpuCount: 1, secureCloud: false}) { minVcpu minMemory }
    secure: lowestPrice(input: {gpuCount: 1, secureCloud: true}) { minVcpu minMemory }
  }
}
"""
_REGION = "global"
_SIZES = (1, 2, 4, 8)
"""GPUs of a pod that become offers, as far as the type allows; the price is per GPU."""
_TIERS: Mapping[str, tuple[str, str, str, str]] = {
    "community": ("communityCloud", "communityPrice", "communitySpotPrice", "maxGpuCountCommunityCloud"),
    "secure": ("secureCloud", "securePrice", "secureSpotPrice", "maxGpuCountSecureCloud"),
}
"""Tier -> the fields that say whether a type is sold there, at what prices, and how many make a pod."""


def _fetch(ask: Ask) -> Iterator[Row]:
    answer = ask.post(_URL, json={"query": _QUERY}, headers={"Authorization": f"Bearer {ask.env[_KEY]}"}).body
    found = mapping(answer, _SOURCE, "object")
    if found.get("errors"):
        raise odd(_SOURCE, f"refuses the question: {_told(found['errors'])}", f"check {_KEY}")
    types = listed(mapping(found.get("data"), _SOURCE, "data").get("gpuTypes"), _SOURCE, "gpuTypes")
    for number, about in enumerate(types, 1):
        for tier in _TIERS:
            yield from _rows(about, tier, stamp(ask.now))
        ask.progress("GPU types", number, len(types))


def _told(errors: object) -> str:
    first = errors[0] if isinstance(errors, list) and errors else errors
    message = first.get("message") if isinstance(first, dict) else first
    return "".join(each for each in str(message)[:80] if each.isprintable())


def _rows(about: Mapping[str, Any], tier: str, as_of: str) -> Iterator[Row]:
    sold, price, bid, most = _TIERS[tier]
    if not about.get(sold):
        return
    name = text(about, "displayName", _SOURCE)
    per_gpu = amount(about.get(price), _SOURCE, price)
    spot_per_gpu = amount(about.get(bid), _SOURCE, bid)
    memory = amount(about.get("memoryInGb"), _SOURCE, "memoryInGb")
    largest = amount(about.get(most), _SOURCE, most) or 1
    single = about.get(tier) or {}
    slug = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")
    for count in _SIZES:
        if count > largest:
            return
        least = mapping(single, _SOURCE, f"lowestPrice of {name[:40]}") if count == 1 else {}
        yield row(
            provider="runpod",
            region=_REGION,
            instance_type=f"{slug}-x{count}",
            gpu=name,
            gpu_count=count,
            on_demand=_times(per_gpu, count),
            spot=_times(spot_per_gpu, count),
            source=_SOURCE,
            as_of=as_of,
            more={
                "tier": tier,
                "gpu_vram_gb": memory,
                "vcpus": amount(least.get("minVcpu"), _SOURCE, "minVcpu"),
                "ram_gb": amount(least.get("minMemory"), _SOURCE, "minMemory"),
            },
        )


def _times(per_gpu: Decimal | None, count: int) -> Decimal | None:
    return None if per_gpu is None else per_gpu * count


ADAPTER = Adapter(provider="runpod", extra="runpod", source=_SOURCE, needs=(_KEY,), fetch=_fetch)
"""The adapter, as the entry point names it."""
