"""A stand-in of Azure on a bench: a configured provider, and things made with it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from emporion.components.azure.stand_in_references import GROUP, SUBNET, VNET
from emporion.localcloud.plugin.calls import CloudRefusedError
from emporion.localcloud.plugin.provider import Naming, Provider

__all__ = ["IN_RG", "SIZE", "Bench", "a_set"]

IN_RG: Mapping[str, Any] = {"resourceGroupName": "rg", "location": "eastus"}
SIZE = "Standard_ND96asr_v4"
KEY = "ssh-ed25519 AAAA nobody"


class Bench:
    """A configured provider, and things made with it."""

    def __init__(self, provider: Provider) -> None:
        self.provider = provider

    def urn(self, token: str, name: str) -> str:
        return f"urn:pulumi:dev::shop::{token}::{name}"

    def make(self, token: str, name: str, **inputs: Any) -> str:
        urn = self.urn(token, name)
        checked, failures = self.provider.check(urn, {}, inputs, Naming(b"seed"))
        assert not failures, failures
        return self.provider.create(urn, checked, preview=False)[0].id

    def refused(self, token: str, name: str, **inputs: Any) -> CloudRefusedError:
        with pytest.raises(CloudRefusedError) as caught:
            self.make(token, name, **inputs)
        return caught.value

    def outputs(self, token: str, resource_id: str) -> Mapping[str, Any]:
        made, _ = self.provider.read(self.urn(token, "x"), resource_id, {"id": resource_id})
        assert made is not None
        return made.outputs

    def network(self) -> str:
        """Make a group, a network and a subnet; return the subnet's id."""
        self.make(GROUP, "rg", resourceGroupName="rg", location="eastus")
        space = {"addressPrefixes": ["10.0.0.0/16"]}
        self.make(VNET, "vnet", **IN_RG, virtualNetworkName="vnet", addressSpace=space)
        return self.subnet("nodes", "10.0.0.0/20")

    def subnet(self, name: str, cidr: str, **more: Any) -> str:
        given = {"resourceGroupName": "rg", "virtualNetworkName": "vnet", "subnetName": name, "addressPrefix": cidr}
        return self.make(SUBNET, name, **given, **more)


def a_set(subnet: str, **more: Any) -> dict[str, Any]:
    """Return the inputs of a scale set of two machines."""
    profile = {
        "osProfile": {
            "computerNamePrefix": "gpu-0-", "adminUsername": "emporion",
            "linuxConfiguration": {"ssh": {"publicKeys": [{"keyData": KEY, "path": "/srv/keys"}]}},
        },
        "storageProfile": {
            "imageReference": {"publisher": "p", "offer": "o", "sku": "s", "version": "1.0.0"},
            "osDisk": {"createOption": "FromImage"},
        },
        "networkProfile": {
            "networkInterfaceConfigurations": [
                {"name": "n", "ipConfigurations": [{"name": "i", "subnet": {"id": subnet}}]}
            ]
        },
        **more.pop("profile", {}),
    }  # fmt: skip
    sku = {"name": SIZE, "tier": "Standard", "capacity": more.pop("capacity", 2)}
    given = {"singlePlacementGroup": True, "vmScaleSetName": "set", **more}
    return {**IN_RG, "sku": sku, "virtualMachineProfile": profile, **given}
