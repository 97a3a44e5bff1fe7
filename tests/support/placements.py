"""Placements that tests start from, and the program built under Pulumi's mocks."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any

import pulumi
from pulumi.runtime import mocks
from pulumi.runtime.settings import ROOT, SETTINGS, get_root_resource
from pulumi.runtime.stack import Stack, run_in_stack

from emporion.market.offer import Market
from emporion.market.pin import PinnedController, PinnedImage, PinnedPlacement, PinnedPool, PinnedStorage

LOCAL = "000000000000"
GPU_IMAGE = PinnedImage("ami-0f1e2d3c4b5a69788", "gpu image", "2026-07-21T00:00:00Z")
CPU_IMAGE = PinnedImage("ami-00112233445566778", "cpu image", "2026-07-21T00:00:00Z")
ZONES = {"use1-az1": "us-east-1c", "use1-az2": "us-east-1a", "use1-az4": "us-east-1b"}

POOL = PinnedPool(
    name="gpu-0",
    provider="aws",
    region="us-east-1",
    zone="use1-az2",
    instance_type="p4d.24xlarge",
    gpu="a100-40gb",
    gpus_per_node=8,
    count=2,
    market=Market.SPOT,
    usd_per_hour=Decimal("7.5"),
    on_demand_usd_per_hour=Decimal("21.96"),
    offer_id="aws/us-east-1/use1-az2/p4d.24xlarge/spot",
    image=GPU_IMAGE,
    fabric="efa",
    rdma=True,
)

PLACEMENT = PinnedPlacement(
    name="demo",
    pools=(POOL,),
    controller=PinnedController("m7i.large", Decimal("0.1008"), CPU_IMAGE),
    storage=PinnedStorage(),
    scheduler="slurm",
    nat=True,
    spot_fallback="pause",
    spot_auto_renew=False,
    on_interruption="replace_node",
    checkpoint_interval_s=None,
    max_run_s=None,
    usd_per_hour=Decimal("15.1508"),
    upper_usd_per_hour=None,
    cost_lines=(),
    catalogue_version="2026-11-30",
    catalogue_as_of="2026-11-30",
    planned_at="2026-12-01T00:00:00Z",
    intent_hash="0" * 64,
    intent={"name": "demo", "data": []},
)


def with_pool(**changes: Any) -> PinnedPlacement:
    """Return the placement with its pool changed."""
    return replace(PLACEMENT, pools=(replace(POOL, **changes),))


def with_storage(**changes: Any) -> PinnedPlacement:
    """Return the placement with its storage changed."""
    return replace(PLACEMENT, storage=PinnedStorage(**changes))


@dataclass
class Built:
    """What a program registered, in order."""

    resources: list[mocks.MockResourceArgs] = field(default_factory=list)
    calls: list[str] = field(default_factory=list)
    exports: dict[str, Any] = field(default_factory=dict)
    secret: set[str] = field(default_factory=set)
    urns: dict[str, str] = field(default_factory=dict)

    def of(self, kind: str) -> list[Mapping[str, Any]]:
        """Return the inputs of every resource whose type ends in `kind`."""
        return [item.inputs for item in self.resources if item.typ.rpartition(":")[2] == kind]

    def one(self, kind: str) -> Mapping[str, Any]:
        """Return the inputs of the only resource of a type."""
        (found,) = self.of(kind)
        return found

    def types(self) -> list[str]:
        """Return the types made, sorted."""
        return sorted(item.typ.rpartition(":")[2] for item in self.resources)


class Cloud(mocks.Mocks):
    """A cloud that makes everything it is asked for."""

    def __init__(self, account: str, zones: Mapping[str, str]) -> None:
        self.account = account
        self.zones = zones
        self.built = Built()

    def new_resource(self, args: mocks.MockResourceArgs) -> tuple[str | None, dict[Any, Any]]:
        self.built.resources.append(args)
        arn = f"arn:aws:{args.typ.partition(':')[2].partition('/')[0]}:::{args.name}"
        computed = {
            "arn": arn, "url": f"https://queue/{args.name}", "latestVersion": 1, "privateIp": "10.0.0.99",
            "dnsName": "fs-1.fsx.amazonaws.com", "mountName": "abcdefgh",
        }  # fmt: skip
        return f"{args.name}-id", {**computed, **args.inputs}

    def call(self, args: mocks.MockCallArgs) -> tuple[dict[Any, Any], list[tuple[str, str]] | None]:
        self.built.calls.append(args.token)
        if args.token.endswith(":getCallerIdentity"):
            return {"accountId": self.account, "arn": "arn", "id": self.account, "userId": "AID"}, []
        if args.token.endswith(":getAvailabilityZones"):
            found = {"zoneIds": list(self.zones), "names": list(self.zones.values()), "groupNames": [], "id": "zones"}
            return found, []
        raise AssertionError(f"the program asked for {args.token}")


def build(
    placement: PinnedPlacement | None = PLACEMENT,
    *,
    account: str = LOCAL,
    zones: Mapping[str, str] = ZONES,
    stack: str = "dev",
    cloud: Cloud | None = None,
    **config: str,
) -> Built:
    """Run the program under mocks, those of AWS unless another cloud is given, and return what it registered."""
    cloud = cloud or Cloud(account, zones)
    settings = {f"emporion:{key}": value for key, value in config.items()}
    if placement is not None:
        settings["emporion:placement"] = json.dumps(placement.to_json())
    loops: list[asyncio.AbstractEventLoop] = []

    def give_loop() -> None:
        loops.append(asyncio.new_event_loop())
        asyncio.set_event_loop(loops[-1])

    async def program() -> None:
        # The mocks make an event loop in every thread of the pool and leave it open.
        asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(4, initializer=give_loop))
        await _run(cloud, stack, settings)

    try:
        asyncio.run(program())
    finally:
        for loop in loops:
            loop.close()
    return cloud.built


async def _run(cloud: Cloud, stack_name: str, settings: dict[str, str]) -> None:
    """Run the program as Pulumi's own entry point does, then look at what the stack exports."""
    from emporion.components.program import run  # noqa: PLC0415 - after the mocks are set

    mocks.set_mocks(cloud, project="emporion", stack=stack_name, preview=False)
    pulumi.runtime.set_all_config(settings)
    SETTINGS.rpc_manager.clear()
    SETTINGS.outputs.clear()
    ROOT.set(None)  # the mocks' own stack; the entry point makes the real one
    await run_in_stack(lambda: run())  # noqa: PLW0108 - the entry point takes a callable that may return an awaitable
    stack = get_root_resource()
    assert isinstance(stack, Stack)
    for key, value in stack.outputs.items():
        output = pulumi.Output.from_input(value)
        cloud.built.exports[key] = await output.future()
        if await output.is_secret():
            cloud.built.secret.add(key)


LOCKED = with_storage(object_lock_days=30)
OWN_BUCKET = with_storage(checkpoint_path="s3://my-models/llama/run-1/")
LUSTRE = with_storage(file_system="lustre", file_system_gib=2400, file_system_mbps_per_tib=250)
SCRATCH = with_storage(file_system="lustre", file_system_gib=1200)
DATA = replace(
    PLACEMENT,
    intent={"data": [{"source": "s3://sets/c4/"}, {"source": None}, {"source": "https://x"}, {"source": "s3://all"}]},
)


def statements(built: Built, kinds: tuple[str, ...] = ("RolePolicy", "BucketPolicy", "QueuePolicy")) -> Iterator[Any]:
    """Yield every statement of the policies of some kinds, and of who may take the roles."""
    for kind in kinds:
        for item in built.of(kind):
            yield from json.loads(item["policy"])["Statement"]
    for item in built.of("Role"):
        yield from json.loads(item["assumeRolePolicy"])["Statement"]
