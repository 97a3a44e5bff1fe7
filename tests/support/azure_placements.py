"""Placements on Azure that tests start from."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from typing import Any

from placements import PLACEMENT, Built, Cloud, build
from pulumi.runtime import mocks

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


SUBSCRIPTION = "00000000-0000-0000-0000-000000000000"
PRINCIPAL = "11111111-2222-3333-4444-555555555555"


class AzureCloud(Cloud):
    """Azure under mocks: names and principals are computed, and a set's identities come back as a map."""

    def __init__(self, subscription: str = SUBSCRIPTION) -> None:
        super().__init__(subscription, {})

    def new_resource(self, args: mocks.MockResourceArgs) -> tuple[str | None, dict[Any, Any]]:
        self.built.resources.append(args)
        outputs = dict(args.inputs)
        kind = args.typ.rpartition(":")[2]
        own = [_OWN[kind]] if kind in _OWN else [key for key in args.inputs if key.endswith("Name")]
        outputs["name"] = next((args.inputs[key] for key in own if key not in _PARENTS or kind in _OWN), args.name)
        outputs["principalId"] = PRINCIPAL
        outputs["clientInfo"] = {"mgsAddress": "10.0.252.5", "lustreVersion": "2.15", "mountCommand": "mount"}
        if isinstance(args.inputs.get("identity"), dict):
            used = args.inputs["identity"].get("userAssignedIdentities") or []
            outputs["identity"] = {
                "type": args.inputs["identity"]["type"], "principalId": PRINCIPAL, "tenantId": "tenant",
                "userAssignedIdentities": {one: {"clientId": "c", "principalId": PRINCIPAL} for one in used},
            }  # fmt: skip
        return f"{args.name}-id", outputs

    def call(self, args: mocks.MockCallArgs) -> tuple[dict[Any, Any], list[tuple[str, str]] | None]:
        self.built.calls.append(args.token)
        if args.token == "azure-native:authorization:getClientConfig":
            return {"clientId": "c", "objectId": "o", "subscriptionId": self.account, "tenantId": "tenant"}, []
        raise AssertionError(f"the program asked for {args.token}")


_OWN = {
    "ResourceGroup": "resourceGroupName", "VirtualNetwork": "virtualNetworkName", "StorageAccount": "accountName",
    "BlobContainer": "containerName", "CapacityReservationGroup": "capacityReservationGroupName",
}  # fmt: skip
_PARENTS = {"resourceGroupName", "virtualNetworkName", "accountName", "containerName", "capacityReservationGroupName"}


def build_azure(
    placement: PinnedPlacement = AZURE, *, subscription: str = SUBSCRIPTION, generation: str = "0", world: str = "local"
) -> Built:
    """Run the program for Azure under mocks and return what it registered."""
    return build(placement, cloud=AzureCloud(subscription), generation=generation, world=world)
