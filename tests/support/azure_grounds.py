"""Where Azure's `CloudApi` is tried: against recorded shapes, and in the local world."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from string import Formatter
from typing import Any

import httpx
from azure_arm import SUBSCRIPTION, Arm, error, open_rest
from grounds import STACK

from emporion.components.azure import CLOUD
from emporion.components.azure.api import AzureApi
from emporion.components.azure.api.find import FINDERS
from emporion.components.azure.images import image_queries
from emporion.components.azure.stand_in import STAND_IN
from emporion.components.azure.stand_in_references import GROUP, NIC, SUBNET, VM, VNET
from emporion.localcloud.faults import clear_faults, throttle
from emporion.localcloud.images import publish_image
from emporion.localcloud.plugin.lifecycle import Lifecycle
from emporion.localcloud.world import World
from emporion.market.clouds import CloudApi, open_api
from emporion.market.stand_in import Refusal

__all__ = ["ArmGround", "LocalAzureGround", "machine_inputs"]

SIZE = "Standard_ND96asr_v4"
LAUNCHED = "2026-12-01T08:00:00.1234567+00:00"
IMAGE = {"publisher": "microsoft-dsvm", "offer": "ubuntu-hpc", "sku": "2404", "version": "24.4.1"}


class ArmGround:
    """Azure as its REST reference records it."""

    account = SUBSCRIPTION

    def __init__(self, region: str = "eastus") -> None:
        self.region = region
        self.arm = Arm(region)
        self.api: CloudApi = AzureApi(region, rest=open_rest(self.arm))
        self._count = 0

    def close(self) -> None:
        """There is nothing to close."""

    def make(self, token: str, emporion_id: str, inputs: Mapping[str, Any]) -> str:
        path = FINDERS[token].path
        fields = {name: inputs[name] for _, name, _, _ in Formatter().parse(path) if name}
        below = path.format(**fields)
        settings = ("isVersioningEnabled", "immutabilityPeriodSinceCreationInDays")
        body: dict[str, Any] = {
            "location": self.region,
            "properties": {"provisioningState": "Succeeded", **{key: inputs[key] for key in settings if key in inputs}},
        }
        if "tags" in inputs:
            body["tags"] = {**inputs["tags"], "emporion-id": emporion_id}
        return self.arm.put(below if path.startswith("{") else f"/subscriptions/{SUBSCRIPTION}{below}", body)

    def remove(self, token: str, found: str) -> None:
        del token
        self.arm.drop(found)

    def run(self, pool: str, *, stack: str = STACK, market: str = "on_demand") -> str:
        self._count += 1
        group = f"/subscriptions/{SUBSCRIPTION}/resourceGroups/rg/providers"
        nic = self.arm.put(
            f"{group}/Microsoft.Network/networkInterfaces/nic{self._count}",
            {"properties": {"ipConfigurations": [{"properties": {"privateIPAddress": f"10.0.0.{self._count}"}}]}},
        )
        made = self.arm.put(
            f"{group}/Microsoft.Compute/virtualMachines/vm{self._count}",
            {
                "location": self.region,
                "zones": ["1"],
                "tags": {"emporion-stack": stack, "emporion-pool": pool},
                "properties": {
                    "provisioningState": "Succeeded",
                    "timeCreated": LAUNCHED,
                    "priority": "Spot" if market == "spot" else "Regular",
                    "hardwareProfile": {"vmSize": SIZE},
                    "storageProfile": {"imageReference": {**IMAGE, "exactVersion": "24.4.1"}},
                    "networkProfile": {"networkInterfaces": [{"id": nic}]},
                },
            },
        )
        running = {"statuses": [{"code": "ProvisioningState/succeeded"}, {"code": "PowerState/running"}]}
        self.arm.put(f"{made}/instanceView", running)
        return made

    def publish(self, purpose: str, arch: str, name_end: str, at: str) -> str:
        del at
        query = image_queries()[purpose, arch]
        properties = {"architecture": "x64" if arch == "x86_64" else "Arm64", "hyperVGeneration": "V2"}
        self.arm.images.setdefault((query.publisher, query.offer, query.sku), {})[f"24.04.{name_end}"] = properties
        return query.urn(f"24.04.{name_end}")

    def throttle(self, calls: int) -> None:
        body = error("TooManyRequests", "The request is being throttled.")
        self.arm.failing = [httpx.Response(429, json=body) for _ in range(calls)]


def machine_inputs(nic: str, **more: Any) -> dict[str, Any]:
    """Return the inputs of a machine with this interface."""
    key = {"keyData": "ssh-ed25519 AAAA nobody", "path": "/srv/keys"}
    return {
        "resourceGroupName": "rg",
        "location": "eastus",
        "hardwareProfile": {"vmSize": SIZE},
        "networkProfile": {"networkInterfaces": [{"id": nic}]},
        "osProfile": {"computerName": "c", "linuxConfiguration": {"ssh": {"publicKeys": [key]}}},
        "storageProfile": {"imageReference": IMAGE, "osDisk": {"createOption": "FromImage"}},
        **more,
    }


class LocalAzureGround:
    """Azure as the local world plays it, in the world of `EMPORION_HOME`."""

    account = STAND_IN.account

    def __init__(self, home: Path, region: str = "eastus") -> None:
        self.region = region
        self.world = World.open(home)
        self.api: CloudApi = open_api(CLOUD, region, "local")
        self._subnet: str | None = None
        self._count = 0

    def close(self) -> None:
        self.world.close()

    def _life(self, token: str, urn: str) -> Lifecycle:
        return Lifecycle(self.world, STAND_IN, STAND_IN.types[token], token, self.region, {}, None, urn)

    def _create(self, token: str, name: str, stack: str, inputs: Mapping[str, Any]) -> str:
        project, _, stack_name = stack.partition("/")
        urn = f"urn:pulumi:{stack_name}::{project}::{token}::{name}"
        made = self._life(token, urn).create(urn, inputs)
        assert not isinstance(made, Refusal), made
        return made.id

    def make(self, token: str, emporion_id: str, inputs: Mapping[str, Any]) -> str:
        return self._create(token, f"thing-{emporion_id}", STACK, inputs)

    def remove(self, token: str, found: str) -> None:
        gone = self._life(token, "").delete(found)
        assert not isinstance(gone, Refusal), gone

    def _a_subnet(self) -> str:
        if self._subnet is None:
            self._create(GROUP, "rg", STACK, {"resourceGroupName": "rg", "location": "eastus"})
            space = {"addressPrefixes": ["10.0.0.0/16"]}
            given = {"resourceGroupName": "rg", "virtualNetworkName": "machines", "addressSpace": space}
            self._create(VNET, "vnet", STACK, given)
            inside = {"virtualNetworkName": "machines", "subnetName": "s", "addressPrefix": "10.0.0.0/20"}
            self._subnet = self._create(SUBNET, "subnet", STACK, {"resourceGroupName": "rg", **inside})
        return self._subnet

    def run(self, pool: str, *, stack: str = STACK, market: str = "on_demand") -> str:
        subnet = self._a_subnet()
        self._count += 1
        configuration = {"name": "p", "subnet": {"id": subnet}}
        given = {"networkInterfaceName": f"nic{self._count}", "ipConfigurations": [configuration]}
        nic = self._create(NIC, "nic", STACK, {"resourceGroupName": "rg", "location": "eastus", **given})
        inputs = machine_inputs(
            nic, vmName=f"vm{self._count}", tags={"emporion-stack": stack, "emporion-pool": pool},
            priority="Spot" if market == "spot" else "Regular",
        )  # fmt: skip
        return self._create(VM, f"{pool}-{self._count}", stack, inputs)

    def publish(self, purpose: str, arch: str, name_end: str, at: str) -> str:
        urn = image_queries()[purpose, arch].urn(f"24.04.{name_end}")
        return publish_image(self.world, STAND_IN, self.region, purpose, arch, name=urn, published_at=at).id

    def throttle(self, calls: int) -> None:
        clear_faults(self.world)
        if calls:
            throttle(self.world, calls, provider=STAND_IN.plugin)
