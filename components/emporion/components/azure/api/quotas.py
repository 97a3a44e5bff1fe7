"""Core quotas: of the size's family, of the region, and for spot of low-priority cores.

Azure spells the names of quotas differently in different answers, and with spaces around some: they are compared
trimmed and without case.
"""

from __future__ import annotations

from collections.abc import Mapping

from emporion.components.azure.api.rest import Body, Rest

__all__ = ["machines_allowed"]

COMPUTE, SKUS = "2024-11-01", "2021-07-01"
SPOT, REGION = "lowprioritycores", "cores"
_NOT_FOR_US = "NotAvailableForSubscription"


def machines_allowed(rest: Rest, size: str, market: str) -> int | None:
    """Return how many machines of a size the subscription's quotas allow, running ones included; None: not told."""
    if market not in ("on_demand", "spot"):
        return None
    sku = _sku(rest, size)
    if sku is None:
        return None
    if any(limit.get("type") == "Location" and limit.get("reasonCode") == _NOT_FOR_US for limit in sku["restrictions"]):
        return 0
    cores = next((int(each["value"]) for each in sku["capabilities"] if each["name"] == "vCPUs"), 0)
    limits = _limits(rest)
    names = (_plain(str(sku.get("family"))), SPOT if market == "spot" else REGION)
    known = [limits[name] for name in names if name in limits]
    return min(known) // cores if known and cores else None


def _sku(rest: Rest, size: str) -> Body | None:
    asked = {"$filter": f"location eq '{rest.region}'"}
    for sku in rest.all(f"{rest.subscription}/providers/Microsoft.Compute/skus", SKUS, **asked):
        if sku.get("resourceType") == "virtualMachines" and _plain(str(sku.get("name"))) == _plain(size):
            return {**sku, "restrictions": sku.get("restrictions") or [], "capabilities": sku.get("capabilities") or []}
    return None


def _limits(rest: Rest) -> Mapping[str, int]:
    path = f"{rest.subscription}/providers/Microsoft.Compute/locations/{rest.region}/usages"
    return {_plain(str(item["name"]["value"])): int(item["limit"]) for item in rest.all(path, COMPUTE)}


def _plain(name: str) -> str:
    return name.strip().casefold()
