"""Placements on Azure that tests start from."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from typing import Any

from placements import PLACEMENT

from emporion.market.offer import Market
from emporion.market.pin import PinnedController, PinnedImage, PinnedPlacement, PinnedPool, PinnedStorage

GPU_IMAGE = PinnedImage("microsoft-dsvm:ubuntu-hpc:2404:24.04.2026110101", "ubuntu-hpc 2404", "2026-11-01T00:00:00Z")
CPU_IMAGE = PinnedImage("canonical:ubuntu-24_04-lts:server:24.04.202611010", "ubuntu 24.04", "2026-11-01T00:00:00Z")

AZURE_POOL = PinnedPool(
    name="gpu-0",
    provider="azure",
    region="eastus",
    zone=None,
    instance_type="Standard_ND96asr_v4",
    gpu="a100-40gb-sxm",
    gpus_per_node=8,
    count=2,
    market=Market.SPOT,
    usd_per_hour=Decimal("8.1"),
    on_demand_usd_per_hour=Decimal("27.197"),
    offer_id="azure/eastus/Standard_ND96asr_v4/spot",
    image=GPU_IMAGE,
    fabric="infiniband",
    rdma=True,
)
AZURE = replace(
    PLACEMENT,
    name="azure-demo",
    pools=(AZURE_POOL,),
    controller=PinnedController("Standard_D2s_v5", Decimal("0.096"), CPU_IMAGE),
)


def azure_pool(**changes: Any) -> PinnedPlacement:
    """Return the placement with its pool changed."""
    return replace(AZURE, pools=(replace(AZURE_POOL, **changes),))


def azure_storage(**changes: Any) -> PinnedPlacement:
    """Return the placement with its storage changed."""
    return replace(AZURE, storage=PinnedStorage(**changes))
