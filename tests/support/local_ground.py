"""The local world as a ground of the conformance suite: things are made as the stand-in plugin makes them."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from grounds import STACK

from emporion.localcloud.faults import clear_faults, throttle
from emporion.localcloud.images import publish_image
from emporion.localcloud.plugin.lifecycle import Lifecycle
from emporion.localcloud.world import World
from emporion.market.clouds import CloudApi, installed_clouds, open_api
from emporion.market.stand_in import Refusal, StandIn

__all__ = ["LocalGround"]

INSTANCE = "aws:ec2/instance:Instance"


class LocalGround:
    """AWS as the local world plays it, in the world of `EMPORION_HOME`."""

    account = "000000000000"

    def __init__(self, home: Path, region: str = "us-east-1") -> None:
        self.region = region
        cloud = installed_clouds()["aws"]
        module, _, attribute = cloud.stand_in.partition(":")
        self.rules: StandIn = getattr(import_module(module), attribute)
        self.world = World.open(home)
        self.api: CloudApi = open_api(cloud, region, "local")
        self._subnet: str | None = None

    def close(self) -> None:
        self.world.close()

    def _life(self, token: str, urn: str) -> Lifecycle:
        return Lifecycle(self.world, self.rules, self.rules.types[token], token, self.region, {}, None, urn)

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
            vpc = self._create("aws:ec2/vpc:Vpc", "vpc", STACK, {"cidrBlock": "10.7.0.0/16"})
            zone = next(iter(self.api.zones().values()))
            inputs = {"vpcId": vpc, "cidrBlock": "10.7.1.0/24", "availabilityZone": zone}
            self._subnet = self._create("aws:ec2/subnet:Subnet", "subnet", STACK, inputs)
        return self._subnet

    def run(self, pool: str, *, stack: str = STACK, market: str = "on_demand") -> str:
        inputs: dict[str, Any] = {
            "ami": self.api.image("gpu", "x86_64").id,
            "instanceType": "p4d.24xlarge",
            "subnetId": self._a_subnet(),
            "tags": {"emporion-stack": stack, "emporion-pool": pool},
        }
        if market == "spot":
            inputs["instanceMarketOptions"] = {"marketType": "spot"}
        return self._create(INSTANCE, f"{pool}-{self.world.next_seed()}", stack, inputs)

    def publish(self, purpose: str, arch: str, name_end: str, at: str) -> str:
        return publish_image(
            self.world, self.rules, self.region, purpose, arch, name=f"{purpose} {name_end}", published_at=at
        ).id

    def throttle(self, calls: int) -> None:
        clear_faults(self.world)
        if calls:
            throttle(self.world, calls, provider=self.rules.plugin)
