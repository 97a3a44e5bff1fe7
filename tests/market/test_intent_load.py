from __future__ import annotations

import re
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path

import pytest

from emporion.market.intent import FLAGS, Intent, intent_from_flags, load_intent
from emporion.market.intent.model import FallbackRule, InterruptionRule, MarketRule, Rdma, Topology
from emporion.market.units import Memory

IntentOf = Callable[..., Intent]
ROOT = Path(__file__).parents[2]
GB = 10**9


WHOLE = """\
name: llama2-finetune
resources:
  gpus: {type: [h100, a100-80gb], count: 4..8, min_vram: 40gb, min_total_vram: 320gb, topology: nvlink, share: true}
  nodes: 1..2
  cpus: 32
  memory: 64Gi
  storage: 1.2tb
  storage_type: lustre
  network: {latency: 5ms, bandwidth: 25GB/s, rdma: required}
cost_control: {max_hourly: $2.80/gpu/hr, max_daily: 100, max_monthly: $2000/month, max_total: $500}
lifecycle:
  market: spot
  spot_fallback: pause
  spot_max_price: $12/hr
  spot_auto_renew: yes
  max_run: 24h
  checkpoint_interval: 10m
  on_interruption: replace_pool
checkpoint_path: s3://bucket/checkpoints
data: [{source: s3://bucket/dataset, size: 80gb, region: us-east-1}]
constraints: {providers: [aws, gcp], regions: [us-*], local_zones: true, max_carbon: 500g/h, max_price_age: 24h}
recovery: {mode: cold, providers: [gcp], regions: "us-west-*"}
model: {parameters: 13b, precision: bf16, hours: 12}
stages:
  - {name: tokenise, resources: {cpus: 16}, data_out: [{size: 1gb}], hours: 1}
  - {name: train, needs: [tokenise], resources: {gpus: a100:8}}
image: {framework: pytorch, version: "2.8", ops: [flash-attn, rope], id: ami-0123456789abcdef0}
scheduler: none
tags: {team: research, cost-centre: 42}
access: {nat: false, object_lock_days: 30}
"""


def test_every_key_of_an_intent_is_read(intent_of: IntentOf) -> None:
    intent = intent_of(WHOLE)
    gpus = intent.resources.gpus
    assert gpus is not None
    assert gpus.types == ("h100-80gb-pcie", "h100-80gb-sxm", "h100-94gb-nvl", "a100-80gb")
    assert gpus.asked == ("h100", "a100-80gb")
    assert (gpus.count_min, gpus.count_max, gpus.share, gpus.topology) == (4, 8, True, Topology.NVLINK)
    assert gpus.min_vram == Memory(40 * GB, binary=False)
    assert gpus.min_total_vram == Memory(320 * GB, binary=False)
    resources = intent.resources
    assert (resources.nodes_min, resources.nodes_max, resources.cpus_min) == (1, 2, 32)
    assert resources.memory_min == Memory(64 << 30, binary=True)
    assert (resources.storage, resources.storage_type) == (Memory(1200 * GB, binary=False), "lustre")
    assert (resources.network.latency_ms, resources.network.bandwidth_gbps) == (Decimal(5), Decimal(200))
    assert resources.network.rdma is Rdma.REQUIRED
    budget = intent.budget
    assert (budget.max_hourly_usd, budget.max_hourly_usd_per_gpu) == (None, Decimal("2.80"))
    assert (budget.max_daily_usd, budget.max_monthly_usd, budget.max_total_usd) == (
        Decimal(100),
        Decimal(2000),
        Decimal(500),
    )
    lifecycle = intent.lifecycle
    assert (lifecycle.market, lifecycle.spot_fallback) == (MarketRule.SPOT, FallbackRule.PAUSE)
    assert (lifecycle.spot_max_price_usd_per_hour, lifecycle.spot_auto_renew) == (Decimal(12), True)
    assert (lifecycle.max_run_s, lifecycle.checkpoint_interval_s) == (86_400, 600)
    assert lifecycle.on_interruption is InterruptionRule.REPLACE_POOL
    assert intent.checkpoint_path == "s3://bucket/checkpoints"
    assert [(d.source, d.size, d.region) for d in intent.data] == [
        ("s3://bucket/dataset", Memory(80 * GB, binary=False), "us-east-1")
    ]
    constraints = intent.constraints
    assert (constraints.providers, constraints.regions, constraints.local_zones) == (("aws", "gcp"), ("us-*",), True)
    assert (constraints.max_carbon_g_per_hour, constraints.max_price_age_s) == (Decimal(500), 86_400)
    assert (intent.recovery.mode, intent.recovery.regions) == ("cold", ("us-west-*",))
    assert (intent.model.parameters, intent.model.precision, intent.model.hours) == (13 * GB, "bf16", Decimal(12))
    assert [(stage.name, stage.needs) for stage in intent.stages] == [("tokenise", ()), ("train", ("tokenise",))]
    assert (intent.image.version, intent.image.ops) == ("2.8", ("flash-attn", "rope"))
    assert intent.image.id == "ami-0123456789abcdef0"
    assert intent.scheduler == "none"
    assert intent.tags == (("cost-centre", "42"), ("team", "research"))
    assert (intent.access.nat, intent.access.object_lock_days) == (False, 30)


def test_keys_without_a_function_are_named(intent_of: IntentOf) -> None:
    assert intent_of(WHOLE).not_acted_on == (
        "lifecycle.max_run",
        "lifecycle.on_interruption",
        "recovery",
        "image.framework",
        "image.version",
        "image.ops",
    )
    assert intent_of("resources: {gpus: a100, storage: 1tb, storage_type: nfs}").not_acted_on == (
        "resources.storage_type",
    )
    assert intent_of("{gpu: a100, recovery: {mode: off}, stages: []}").not_acted_on == ()


def test_defaults_are_those_of_the_design(intent_of: IntentOf) -> None:
    intent = intent_of("resources: {gpus: a100:4}")
    assert intent.name == "intent"
    assert (intent.lifecycle.market, intent.lifecycle.spot_fallback) == (MarketRule.ANY, FallbackRule.NONE)
    assert (intent.scheduler, intent.access.nat, intent.recovery.mode) == ("slurm", True, "off")
    assert intent.resources.network.rdma is Rdma.NO


def test_providers_and_regions_are_read_in_any_case(intent_of: IntentOf) -> None:
    constraints = intent_of("{gpu: a100, constraints: {providers: [AWS], regions: [EastUS, US-*]}}").constraints
    assert (constraints.providers, constraints.regions) == (("aws",), ("eastus", "us-*"))


@pytest.mark.parametrize("name", ["llama2-finetune", "demo"])
def test_the_example_intents_are_called_as_their_files(name: str) -> None:
    assert load_intent(ROOT / "stacks" / "intents" / f"{name}.yaml").name == name


def test_the_demo_asks_for_sixteen_a100_on_aws_spot() -> None:
    intent = load_intent(ROOT / "stacks" / "intents" / "demo.yaml")
    gpus = intent.resources.gpus
    assert gpus is not None
    assert (gpus.types, gpus.count_min, gpus.topology) == (("a100-40gb", "a100-80gb"), 16, Topology.NVLINK)
    assert (intent.resources.network.low_latency, intent.budget.max_hourly_usd) == (True, Decimal(16))
    assert (intent.lifecycle.market, intent.lifecycle.spot_fallback) == (MarketRule.SPOT, FallbackRule.PAUSE)
    assert (intent.constraints.providers, intent.constraints.regions) == (("aws",), ("us-east-1",))
    assert intent.not_acted_on == ()


@pytest.mark.parametrize(
    ("text", "rule"), [("prefer", MarketRule.ANY), ("require", MarketRule.SPOT), ("never", MarketRule.ON_DEMAND)]
)
def test_spot_is_another_spelling_of_market(intent_of: IntentOf, text: str, rule: MarketRule) -> None:
    assert intent_of(f"{{gpu: a100, spot: {text}}}").lifecycle.market is rule
    assert intent_of(f"{{gpu: a100, lifecycle: {{spot: {text}}}}}").lifecycle.market is rule


def test_spellings_of_other_tools_stand_for_our_keys(intent_of: IntentOf) -> None:
    intent = intent_of("{gpu: 'H100:2..4', share: true, min_ram: 64GB, min_vcpu: 32, budget: 57, max_price_age: 24h}")
    gpus = intent.resources.gpus
    assert gpus is not None
    assert (gpus.count_min, gpus.count_max, gpus.share) == (2, 4, True)
    assert (intent.resources.memory_min, intent.resources.cpus_min) == (Memory(64 * GB, binary=False), 32)
    assert (intent.budget.max_hourly_usd, intent.constraints.max_price_age_s) == (Decimal(57), 86_400)
    mig = intent_of("{gpu: A100, mig: 1g.10gb, count: 3}").resources.gpus
    assert mig is not None
    assert (mig.mig, mig.count_min) == ("1g.10gb", 3)
    assert intent_of("{gpu: 'A100:8', rdma: required}").resources.network.rdma is Rdma.REQUIRED


def test_traffic_of_zero_is_zero_and_not_unknown(intent_of: IntentOf) -> None:
    (data,) = intent_of("{gpu: a100, data: {egress_gb: 0}}").data
    assert data.egress == Memory(0, binary=False)
    assert data.size is None
    (data,) = intent_of("{gpu: a100, data: {from: s3://b01/us-east-1, size: 500GB}}").data
    assert (data.source, data.size) == ("s3://b01/us-east-1", Memory(500 * GB, binary=False))
    assert intent_of("gpu: a100").data == ()


@pytest.mark.parametrize(
    ("text", "types", "vendor"),
    [
        ("gpu: A100", ("a100-40gb", "a100-80gb"), None),
        ("{gpu: A100, min_vram: 80GB}", ("a100-80gb",), None),
        ("{gpu: A100, min_vram: 79GiB}", ("a100-80gb",), None),
        ("{gpu: H100, min_vram: 90GB}", ("h100-94gb-nvl",), None),
        ("{gpu: H100, min_vram: 94GB}", ("h100-94gb-nvl",), None),
        pytest.param(
            "{gpu: H100, min_vram: 95GB}",
            ("h100-80gb-pcie", "h100-80gb-sxm", "h100-94gb-nvl"),
            None,
            id="left to the plan",
        ),
        ("gpu: amd:192GB:8", (), "amd"),
        ("gpu: any:8", (), None),
        ("{gpu: NVIDIA, min_vram: 141GB, count: 8}", (), "nvidia"),
        ("{min_vram: 141GB, count: 8}", (), None),
        ("gpu: MI300X:8", ("mi300x-192gb",), None),
    ],
)
def test_a_family_covers_its_variants_that_meet_the_floor(
    intent_of: IntentOf, text: str, types: tuple[str, ...], vendor: str | None
) -> None:
    gpus = intent_of(text).resources.gpus
    assert gpus is not None
    assert (gpus.types, gpus.vendor) == (types, vendor)


def test_memory_in_a_vendors_name_is_the_floor(intent_of: IntentOf) -> None:
    gpus = intent_of("gpu: amd:192GB:8").resources.gpus
    assert gpus is not None
    assert (gpus.min_vram, gpus.count_min) == (Memory(192 * GB, binary=False), 8)


def test_total_memory_without_a_count_gives_the_range_of_counts(intent_of: IntentOf) -> None:
    gpus = intent_of("resources: {gpus: {type: a100, min_total_vram: 320gb}}").resources.gpus
    assert gpus is not None
    assert (gpus.count_min, gpus.count_max) == (4, 8)


def test_the_board_in_a_name_sets_the_topology_that_the_id_cannot_tell(intent_of: IntentOf) -> None:
    sxm, pcie = intent_of("gpu: A100-SXM4-80GB:8").resources.gpus, intent_of("gpu: A100 PCIe").resources.gpus
    assert sxm is not None
    assert pcie is not None
    assert (sxm.topology, pcie.topology) == (Topology.NVLINK, Topology.PCIE)


def test_low_latency_prefers_rdma_and_a_single_node_needs_none(intent_of: IntentOf) -> None:
    network = intent_of("resources: {gpus: a100:8, network: low-latency}").resources.network
    assert (network.low_latency, network.rdma) == (True, Rdma.PREFERRED)


def test_an_anchor_stands_for_the_same_value(intent_of: IntentOf) -> None:
    intent = intent_of("gpu: a100\nconstraints: {regions: &here [us-*]}\nrecovery: {regions: *here}")
    assert intent.recovery.regions == intent.constraints.regions == ("us-*",)


def test_a_byte_order_mark_is_no_matter(intent_of: IntentOf) -> None:
    assert intent_of(b"\xef\xbb\xbfgpu: a100").resources.gpus is not None


@pytest.mark.parametrize(
    ("file", "name"), [("My Intent.yaml", "my-intent"), ("9.yaml", "cluster"), ("a" * 60 + ".yaml", "a" * 40)]
)
def test_the_files_name_is_the_name_where_none_is_given(tmp_path: Path, file: str, name: str) -> None:
    path = tmp_path / file
    path.write_text("gpu: a100")
    assert load_intent(path).name == name


def test_flags_are_the_same_intent(intent_of: IntentOf) -> None:
    flags = intent_from_flags(
        name="intent",
        gpus="a100:4",
        min_vram="40gb",
        max_cost="$2.80/gpu/hr",
        network="low-latency",
        providers=("aws,gcp",),
    )
    file = intent_of(
        "resources: {gpus: {type: a100, count: 4, min_vram: 40gb}, network: low-latency}\n"
        "cost_control: {max_hourly: $2.80/gpu/hr}\nconstraints: {providers: [aws, gcp]}"
    )
    assert (flags.resources, flags.budget, flags.constraints) == (file.resources, file.budget, file.constraints)


def test_flags_take_the_place_of_a_files_keys(intent_of: IntentOf) -> None:
    intent = intent_of(
        WHOLE, gpus="b200:2", max_cost="$50/hr", network="low-latency", local_zones=False, nodes=1, regions=()
    )
    gpus = intent.resources.gpus
    assert gpus is not None
    assert (gpus.types, gpus.count_min, gpus.min_vram) == (("b200-192gb",), 2, Memory(40 * GB, binary=False))
    assert (intent.budget.max_hourly_usd, intent.budget.max_hourly_usd_per_gpu) == (Decimal(50), None)
    assert (intent.resources.network.low_latency, intent.resources.network.bandwidth_gbps) == (True, Decimal(200))
    assert (intent.constraints.local_zones, intent.constraints.regions) == (True, ("us-*",))
    assert intent.where("resources.gpus.count") == "--gpus"
    assert intent.where("resources.nodes") == "--nodes"
    assert re.search(r"intent\.yaml:3  resources\.gpus\.min_vram$", intent.where("resources.gpus.min_vram"))


def test_every_flag_stands_for_a_key_that_it_sets() -> None:
    examples = {
        "name": "x", "count": "4", "min_vram": "40gb", "min_total_vram": "160gb", "topology": "nvlink", "mig": "1g.5gb",
        "share": True, "nodes": "2", "cpus": "8", "memory": "64gb", "storage": "1tb", "storage_type": "lustre",
        "network": "low-latency", "latency": "5ms", "bandwidth": "25gbps", "rdma": "required", "max_cost": "$5",
        "max_daily": "$5", "max_monthly": "$5", "max_total": "$5", "market": "spot", "spot_fallback": "pause",
        "spot_max_price": "$5", "checkpoint_interval": "10m", "checkpoint_path": "s3://bucket/x", "providers": ("aws",),
        "regions": ("us-*",), "local_zones": True, "max_price_age": "24h", "parameters": "13b", "precision": "bf16",
        "hours": "12", "scheduler": "none", "where": "vcpus >= 8",
    }  # fmt: skip
    assert examples.keys() | {"gpus"} == {flag.name for flag in FLAGS}
    for flag in FLAGS:
        if flag.name == "gpus":
            continue
        gpus = "a100:4" if flag.name != "count" else "a100"
        intent = intent_from_flags(gpus=gpus, **{flag.name: examples[flag.name]})
        assert intent.where(flag.key) == f"--{flag.name.replace('_', '-')}"
