from __future__ import annotations

import re
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from emporion.market.errors import ExitCode, UserError
from emporion.market.intent import FLAGS, Intent, intent_from_flags, load_intent
from emporion.market.intent.model import FallbackRule, InterruptionRule, MarketRule, Rdma, Topology
from emporion.market.units import Memory

Load = Callable[..., Intent]
Refused = Callable[..., list[tuple[int, str, str]]]
ROOT = Path(__file__).parents[2]
GB = 10**9


@pytest.fixture
def load(tmp_path: Path) -> Load:
    def load(text: str | bytes, **flags: object) -> Intent:
        path = tmp_path / "intent.yaml"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return load_intent(path, flags)

    return load


@pytest.fixture
def refused(load: Load) -> Refused:
    """Return (line, code, key) of every problem of a text, in the order shown; line 0: no line."""

    def refused(text: str | bytes, **flags: object) -> list[tuple[int, str, str]]:
        with pytest.raises(UserError) as caught:
            load(text, **flags)
        found = []
        for problem in caught.value.problems():
            assert problem.exit_code is ExitCode.BAD_INPUT
            assert problem.what == problem.what.strip(". ")
            assert problem.fix, problem
            match = re.fullmatch(r"(?:.*intent\.yaml(?::(\d+))?(?::\d+)?)?(?:  )?(.*)", problem.where or "")
            assert match, problem.where
            found.append((int(match[1] or 0), problem.code, match[2]))
        return found

    return refused


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


def test_every_key_of_an_intent_is_read(load: Load) -> None:
    intent = load(WHOLE)
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


def test_keys_without_a_function_are_named(load: Load) -> None:
    assert load(WHOLE).not_acted_on == (
        "lifecycle.max_run",
        "lifecycle.on_interruption",
        "constraints.max_carbon",
        "recovery",
        "stages",
        "image.framework",
        "image.version",
        "image.ops",
    )
    assert load("resources: {gpus: a100, storage: 1tb, storage_type: nfs}").not_acted_on == ("resources.storage_type",)
    assert load("{gpu: a100, recovery: {mode: off}, stages: []}").not_acted_on == ()


def test_defaults_are_those_of_the_design(load: Load) -> None:
    intent = load("resources: {gpus: a100:4}")
    assert intent.name == "intent"
    assert (intent.lifecycle.market, intent.lifecycle.spot_fallback) == (MarketRule.ANY, FallbackRule.NONE)
    assert (intent.scheduler, intent.access.nat, intent.recovery.mode) == ("slurm", True, "off")
    assert intent.resources.network.rdma is Rdma.NO


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
def test_spot_is_another_spelling_of_market(load: Load, text: str, rule: MarketRule) -> None:
    assert load(f"{{gpu: a100, spot: {text}}}").lifecycle.market is rule
    assert load(f"{{gpu: a100, lifecycle: {{spot: {text}}}}}").lifecycle.market is rule


def test_spellings_of_other_tools_stand_for_our_keys(load: Load) -> None:
    intent = load("{gpu: 'H100:2..4', share: true, min_ram: 64GB, min_vcpu: 32, budget: 57, max_price_age: 24h}")
    gpus = intent.resources.gpus
    assert gpus is not None
    assert (gpus.count_min, gpus.count_max, gpus.share) == (2, 4, True)
    assert (intent.resources.memory_min, intent.resources.cpus_min) == (Memory(64 * GB, binary=False), 32)
    assert (intent.budget.max_hourly_usd, intent.constraints.max_price_age_s) == (Decimal(57), 86_400)
    mig = load("{gpu: A100, mig: 1g.10gb, count: 3}").resources.gpus
    assert mig is not None
    assert (mig.mig, mig.count_min) == ("1g.10gb", 3)
    assert load("{gpu: 'A100:8', rdma: required}").resources.network.rdma is Rdma.REQUIRED


def test_traffic_of_zero_is_zero_and_not_unknown(load: Load) -> None:
    (data,) = load("{gpu: a100, data: {egress_gb: 0}}").data
    assert data.egress == Memory(0, binary=False)
    assert data.size is None
    (data,) = load("{gpu: a100, data: {from: s3://b01/us-east-1, size: 500GB}}").data
    assert (data.source, data.size) == ("s3://b01/us-east-1", Memory(500 * GB, binary=False))
    assert load("gpu: a100").data == ()


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
    load: Load, text: str, types: tuple[str, ...], vendor: str | None
) -> None:
    gpus = load(text).resources.gpus
    assert gpus is not None
    assert (gpus.types, gpus.vendor) == (types, vendor)


def test_memory_in_a_vendors_name_is_the_floor(load: Load) -> None:
    gpus = load("gpu: amd:192GB:8").resources.gpus
    assert gpus is not None
    assert (gpus.min_vram, gpus.count_min) == (Memory(192 * GB, binary=False), 8)


def test_total_memory_without_a_count_gives_the_range_of_counts(load: Load) -> None:
    gpus = load("resources: {gpus: {type: a100, min_total_vram: 320gb}}").resources.gpus
    assert gpus is not None
    assert (gpus.count_min, gpus.count_max) == (4, 8)


def test_the_board_in_a_name_sets_the_topology_that_the_id_cannot_tell(load: Load) -> None:
    sxm, pcie = load("gpu: A100-SXM4-80GB:8").resources.gpus, load("gpu: A100 PCIe").resources.gpus
    assert sxm is not None
    assert pcie is not None
    assert (sxm.topology, pcie.topology) == (Topology.NVLINK, Topology.PCIE)


def test_low_latency_prefers_rdma_and_a_single_node_needs_none(load: Load) -> None:
    network = load("resources: {gpus: a100:8, network: low-latency}").resources.network
    assert (network.low_latency, network.rdma) == (True, Rdma.PREFERRED)


def test_all_problems_are_told_at_once_in_the_order_of_their_lines(refused: Refused) -> None:
    text = """\
name: Über
resources:
  gpus:
    type: a100x
    count: 0
    min_vrm: 40gb
  network: {bandwidth: 25}
cost_control:
  max_hourly: "2,5"
  max_total: $0
lifecycle: {market: sport}
colour: red
"""
    assert refused(text) == [
        (1, "E-VALUE", "name"),
        (4, "E-GPU", "resources.gpus.type"),
        (5, "E-RANGE", "resources.gpus.count"),
        (6, "E-KEY", "resources.gpus.min_vrm"),
        (7, "E-UNIT", "resources.network.bandwidth"),
        (9, "E-NUMBER", "cost_control.max_hourly"),
        (10, "E-RANGE", "cost_control.max_total"),
        (11, "E-VALUE", "lifecycle.market"),
        (12, "E-KEY", "colour"),
    ]


@pytest.mark.parametrize(
    ("text", "near"),
    [
        ("{gpu: a100, resorces: {}}", "resources"),
        ("{gpu: a100, min_vrm: 40gb}", "min_vram"),
        ("{gpu: a100, lifecycle: {spot_falback: pause}}", "spot_fallback"),
        ("{gpu: a100, topology: nvlink}", "resources.gpus.topology"),
        ("{gpu: a100, providers: [aws]}", "constraints.providers"),
        ("{gpu: a100, lifecycle: {market: on-demnd}}", "on_demand"),
        ("{gpu: a100, stages: [{name: one}, {name: two, needs: [onne]}]}", "one"),
    ],
)
def test_a_word_that_is_not_known_gets_the_near_one(load: Load, text: str, near: str) -> None:
    with pytest.raises(UserError) as caught:
        load(text)
    assert caught.value.fix == f"did you mean {near}"


@pytest.mark.parametrize(
    ("text", "line", "code", "key"),
    [
        pytest.param("name: x\nresources: {gpus: a100-8}", 2, "E-GPU", "resources.gpus.type", id="case 01 iii"),
        pytest.param("gpu: a100\ngpu: h100", 2, "E-DUPLICATE", "gpu", id="key twice"),
        pytest.param(
            "resources:\n  gpus: a100\n  gpus: a100", 3, "E-DUPLICATE", "resources.gpus", id="nested key twice"
        ),
        pytest.param("gpu: a100\nresources: {gpus: h100}", 1, "E-CONTRADICTION", "gpu", id="two spellings of one key"),
        pytest.param(
            "gpu: a100\nspot: never\nlifecycle: {market: any}", 2, "E-CONTRADICTION", "spot", id="spot and market"
        ),
        pytest.param("gpu: a100:4\ncount: 8", 2, "E-CONTRADICTION", "count", id="two counts"),
        pytest.param(
            "gpu: [a100-80gb, v5e-8]\ncount: 4", 2, "E-CONTRADICTION", "count", id="count in one of several names"
        ),
        pytest.param("gpu: a100-40gb\nmin_vram: 80gb", 2, "E-CONTRADICTION", "min_vram", id="variant has less memory"),
        pytest.param("gpu: A100:40GB\nmin_vram: 40gib", None, "", "", id="40 GB part has 40 GiB"),
        pytest.param("gpu: H100:80GB\nmin_vram: 80gib", 2, "E-CONTRADICTION", "min_vram", id="H100 has 79.6 GiB"),
        pytest.param(
            "resources:\n  gpus: {type: a100-40gb, count: 4, min_total_vram: 1tb}",
            2,
            "E-CONTRADICTION",
            "resources.gpus.min_total_vram",
            id="total above what they have",
        ),
        pytest.param(
            "resources:\n  gpus: a100:2\n  nodes: 4", 3, "E-CONTRADICTION", "resources.nodes", id="more nodes than GPUs"
        ),
        pytest.param(
            "resources:\n  gpus: a100\n  nodes: 2", 2, "E-MISSING", "resources.gpus.count", id="nodes without count"
        ),
        pytest.param(
            "gpu: a100\nlifecycle:\n  market: on_demand\n  spot_max_price: $4",
            4,
            "E-CONTRADICTION",
            "lifecycle.spot_max_price",
            id="spot price on demand",
        ),
        pytest.param(
            "gpu: a100\nlifecycle: {market: on_demand, spot_auto_renew: true}",
            2,
            "E-CONTRADICTION",
            "lifecycle.spot_auto_renew",
            id="renewal on demand",
        ),
        pytest.param(
            "gpu: a100\nspot: never\nlifecycle: {spot_fallback: pause}",
            3,
            "E-CONTRADICTION",
            "lifecycle.spot_fallback",
            id="pause on demand",
        ),
        pytest.param(
            "resources:\n  gpus: a100:8\n  network: low-latency\nrdma: no",
            4,
            "E-CONTRADICTION",
            "rdma",
            id="low latency without rdma",
        ),
        pytest.param(
            "gpu: a100\nresources: {network: {low_latency: true, rdma: no}}",
            2,
            "E-CONTRADICTION",
            "resources.network.rdma",
            id="low latency without rdma in one mapping",
        ),
        pytest.param(
            "resources:\n  gpus: {type: a100, mig: 1g.5gb, topology: nvlink}",
            2,
            "E-CONTRADICTION",
            "resources.gpus.topology",
            id="mig and nvlink",
        ),
        pytest.param(
            "gpu: a100\ncost_control: {max_hourly: $500/month}",
            2,
            "E-CONTRADICTION",
            "cost_control.max_hourly",
            id="period",
        ),
        pytest.param(
            "gpu: a100\ncost_control: {max_total: $5/hr}",
            2,
            "E-CONTRADICTION",
            "cost_control.max_total",
            id="total per hour",
        ),
        pytest.param(
            "gpu: a100\ncost_control: {max_daily: $5/gpu}", 2, "E-MONEY", "cost_control.max_daily", id="day per gpu"
        ),
        pytest.param(
            "gpu: a100\ncost_control: {max_hourly: 10 EUR}", 2, "E-CURRENCY", "cost_control.max_hourly", id="no rate"
        ),
        pytest.param("gpu: a100\ncost_control: {max_hourly: .nan}", 2, "E-RANGE", "cost_control.max_hourly", id="nan"),
        pytest.param("gpu: a100\ncost_control: {max_hourly: -.inf}", 2, "E-RANGE", "cost_control.max_hourly", id="inf"),
        pytest.param("gpu: a100\ncost_control: {max_hourly: 2,5}", 2, "E-KEY", "cost_control.5", id="2,5 in braces"),
        pytest.param("gpu: a100\ncost_control:\n  max_hourly: 2,5", 3, "E-NUMBER", "cost_control.max_hourly", id="2,5"),
        pytest.param("gpu: a100:2.5", 1, "E-COUNT", "gpu", id="half a GPU"),
        pytest.param("gpu: a100:-4", 1, "E-RANGE", "gpu", id="negative GPUs"),
        pytest.param("gpu: a100\nresources: {cpus: 2..4}", 2, "E-COUNT", "resources.cpus", id="range of cpus"),
        pytest.param("gpu: a100\nresources: {memory: 64}", 2, "E-UNIT", "resources.memory", id="memory without unit"),
        pytest.param(
            "gpu: a100\nconstraints:\n  compliance: [hipaa]",
            3,
            "E-UNSUPPORTED",
            "constraints.compliance",
            id="compliance",
        ),
        pytest.param(
            "gpu: a100\nconstraints:\n  sandbox: gvisor", 3, "E-UNSUPPORTED", "constraints.sandbox", id="sandbox"
        ),
        pytest.param("gpu: a100\nname: [a]", 2, "E-TYPE", "name", id="list for a word"),
        pytest.param("gpu: a100\nname:", 2, "E-TYPE", "name", id="key without value"),
        pytest.param("gpu: a100\nlifecycle: spot", 2, "E-TYPE", "lifecycle", id="word for a mapping"),
        pytest.param("gpu: a100\nresources: {network: fast}", 2, "E-TYPE", "resources.network", id="unknown shorthand"),
        pytest.param("gpu: a100\ndata: s3://bucket", 2, "E-TYPE", "data", id="word for a list"),
        pytest.param("gpu: a100\ndata:\n  - s3://bucket", 3, "E-TYPE", "data[0]", id="word in a list of mappings"),
        pytest.param("gpu: a100\ncheckpoint_path: /tmp", 2, "E-VALUE", "checkpoint_path", id="no bucket"),
        pytest.param(
            "gpu: a100\nconstraints: {regions: ['us east']}", 2, "E-VALUE", "constraints.regions", id="no region"
        ),
        pytest.param("name: x", 0, "E-MISSING", "resources.gpus", id="nothing asked for"),
        pytest.param("stages: [{name: a}]", 0, "E-MISSING", "resources.gpus", id="only stages"),
        pytest.param(
            "gpu: a100\nstages:\n  - {name: a}\n  - {name: a}", 4, "E-DUPLICATE", "stages[1].name", id="stage twice"
        ),
        pytest.param(
            "gpu: a100\nstages: [{name: a, needs: [b]}, {name: b, needs: [a]}]",
            2,
            "E-CONTRADICTION",
            "stages",
            id="circle",
        ),
        pytest.param("gpu: a100\nstages:\n  - {hours: 1}", 3, "E-MISSING", "stages[0].name", id="stage without name"),
        pytest.param("gpu: a100\ntags: {emporion-id: x}", 2, "E-VALUE", "tags.emporion-id", id="reserved tag"),
        pytest.param("gpu: a100\ntags: {'aws:x': x}", 2, "E-VALUE", "tags.aws:x", id="cloud's tag"),
        pytest.param("gpu: a100\ntags: [a]", 2, "E-TYPE", "tags", id="tags as a list"),
        pytest.param(
            "gpu: a100\naccess: {capacity_block: true}", 2, "E-MISSING", "access.capacity_block", id="block without id"
        ),
        pytest.param(
            "gpu: a100\nspot: require\naccess: {reservation: cr-1}",
            3,
            "E-CONTRADICTION",
            "access.reservation",
            id="reserved spot",
        ),
        pytest.param("gpu: a100\n<<: {name: x}", 2, "E-KEY", "<<", id="merge key"),
    ],
)
def test_what_is_wrong_is_told_with_its_line(
    refused: Refused, load: Load, text: str, line: int | None, code: str, key: str
) -> None:
    if line is None:
        load(text)
        return
    assert (line, code, key) in refused(text)


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        pytest.param("", 0, "the file is empty", id="empty"),
        pytest.param("# a comment\n", 0, "the file is empty", id="only a comment"),
        pytest.param("---\n", 0, "the file is empty", id="only a document start"),
        pytest.param("- gpu: a100", 1, "the document is a list", id="list"),
        pytest.param("a100", 1, "the document is a single value", id="word"),
        pytest.param("gpu: a100\nresources: {gpus: [a100", 3, "that begins in line 2", id="bracket left open"),
        pytest.param("gpu: a100\n\tname: x", 2, "not YAML", id="tab"),
        pytest.param("gpu: a100\nname: 'x", 2, "not YAML", id="quote left open"),
        pytest.param("gpu: a: b", 1, "not YAML", id="colon in a value"),
        pytest.param("gpu: a100\n---\ngpu: h100", 2, "a second document begins here", id="two documents"),
        pytest.param("gpu: a100\nname: !!python/object:os.system x", 2, "the tag", id="python tag"),
        pytest.param("gpu: a100\nname: !mine x", 2, "the tag", id="own tag"),
        pytest.param("gpu: *a", 1, "has no anchor", id="alias without anchor"),
        pytest.param("gpu: &a [*a]", 1, "has no anchor", id="alias of itself"),
        pytest.param("[" * 100, 1, "nested deeper", id="depth"),
        pytest.param("? [a]\n: b", 1, "a key must be a word", id="list as key"),
        pytest.param("gpu: a100\ndata: [" + "1, " * 30_000 + "]", 2, "more than", id="number of values"),
        pytest.param("gpu: \x00", 0, "not YAML", id="nul"),
        pytest.param("gpu: \x07", 0, "not YAML", id="bell"),
    ],
)
def test_yaml_that_is_no_intent_is_refused(load: Load, text: str, line: int, said: str) -> None:
    with pytest.raises(UserError) as caught:
        load(text)
    assert caught.value.code == "E-YAML"
    assert said in caught.value.what
    assert not line or f"intent.yaml:{line}" in (caught.value.where or "")


def test_yaml_that_does_not_parse_is_told_with_line_and_column(load: Load) -> None:
    with pytest.raises(UserError) as caught:
        load("gpu: a100\nresources: {gpus: [a100}\n")
    assert re.search(r"intent\.yaml:2:24$", caught.value.where or "")


def test_an_anchor_stands_for_the_same_value(load: Load) -> None:
    intent = load("gpu: a100\nconstraints: {regions: &here [us-*]}\nrecovery: {regions: *here}")
    assert intent.recovery.regions == intent.constraints.regions == ("us-*",)


def test_aliases_of_aliases_do_not_grow(refused: Refused) -> None:
    lines = ["a: &a [x, x, x, x, x, x, x, x, x]"]
    lines += [f"{b}: &{b} [{', '.join(['*' + a] * 9)}]" for a, b in zip("abcdefgh", "bcdefghi", strict=True)]
    assert {code for _, code, _ in refused("\n".join(lines))} == {"E-KEY"}


def test_files_that_cannot_be_read_say_why(tmp_path: Path) -> None:
    latin = tmp_path / "latin.yaml"
    latin.write_bytes("gpu: a100\nname: caf\xe9".encode("latin-1"))
    huge = tmp_path / "huge.yaml"
    huge.write_bytes(b"#" * (2 << 20))
    cases = {
        tmp_path / "none.yaml": "does not exist",
        tmp_path: "is a directory",
        latin: "not UTF-8 text: byte 20 is 0xe9",
        huge: "is larger than 1 MiB",
        latin / "below": "cannot be read: not a directory",
        Path("a\0b"): "cannot be read",
    }
    for path, said in cases.items():
        with pytest.raises(UserError) as caught:
            load_intent(path)
        assert caught.value.code == "E-FILE"
        assert said in caught.value.what
        assert str(path)[:5] in (caught.value.where or "")


def test_a_byte_order_mark_is_no_matter(load: Load) -> None:
    assert load(b"\xef\xbb\xbfgpu: a100").resources.gpus is not None


@pytest.mark.parametrize(
    ("file", "name"), [("My Intent.yaml", "my-intent"), ("9.yaml", "cluster"), ("a" * 60 + ".yaml", "a" * 40)]
)
def test_the_files_name_is_the_name_where_none_is_given(tmp_path: Path, file: str, name: str) -> None:
    path = tmp_path / file
    path.write_text("gpu: a100")
    assert load_intent(path).name == name


def test_flags_are_the_same_intent(load: Load) -> None:
    flags = intent_from_flags(
        name="intent",
        gpus="a100:4",
        min_vram="40gb",
        max_cost="$2.80/gpu/hr",
        network="low-latency",
        providers=("aws,gcp",),
    )
    file = load(
        "resources: {gpus: {type: a100, count: 4, min_vram: 40gb}, network: low-latency}\n"
        "cost_control: {max_hourly: $2.80/gpu/hr}\nconstraints: {providers: [aws, gcp]}"
    )
    assert (flags.resources, flags.budget, flags.constraints) == (file.resources, file.budget, file.constraints)


def test_flags_take_the_place_of_a_files_keys(load: Load) -> None:
    intent = load(
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


@pytest.mark.parametrize(
    ("flags", "places"),
    [
        ({"gpus": "a100x"}, ["--gpus"]),
        ({"gpus": "a100:0", "max_cost": "2,5"}, ["--gpus", "--max-cost"]),
        ({"gpus": "a100-40gb", "min_vram": "80gb"}, ["--min-vram"]),
        ({"gpus": "a100", "nodes": "0"}, ["--nodes"]),
        ({"gpus": "a100", "network": "fast"}, ["--network"]),
        ({"gpus": "a100", "network": "fast", "latency": "5ms"}, ["--network"]),
        ({"gpus": "a100", "market": "on_demand", "spot_max_price": "4"}, ["--spot-max-price"]),
        ({"gpus": "a100", "rdma": "no", "network": "low-latency"}, ["--rdma"]),
        ({}, ["resources.gpus"]),
    ],
)
def test_a_wrong_flag_is_told_by_its_name(flags: dict[str, object], places: list[str]) -> None:
    with pytest.raises(UserError) as caught:
        intent_from_flags(**flags)
    assert [problem.where for problem in caught.value.problems()] == places


def test_every_flag_stands_for_a_key_that_it_sets() -> None:
    examples = {
        "name": "x", "count": "4", "min_vram": "40gb", "min_total_vram": "160gb", "topology": "nvlink", "mig": "1g.5gb",
        "share": True, "nodes": "2", "cpus": "8", "memory": "64gb", "storage": "1tb", "storage_type": "lustre",
        "network": "low-latency", "latency": "5ms", "bandwidth": "25gbps", "rdma": "required", "max_cost": "$5",
        "max_daily": "$5", "max_monthly": "$5", "max_total": "$5", "market": "spot", "spot_fallback": "pause",
        "spot_max_price": "$5", "checkpoint_interval": "10m", "checkpoint_path": "s3://bucket/x", "providers": ("aws",),
        "regions": ("us-*",), "local_zones": True, "max_price_age": "24h", "parameters": "13b", "precision": "bf16",
        "hours": "12", "scheduler": "none",
    }  # fmt: skip
    assert examples.keys() | {"gpus"} == {flag.name for flag in FLAGS}
    for flag in FLAGS:
        if flag.name == "gpus":
            continue
        gpus = "a100:4" if flag.name != "count" else "a100"
        intent = intent_from_flags(gpus=gpus, **{flag.name: examples[flag.name]})
        assert intent.where(flag.key) == f"--{flag.name.replace('_', '-')}"


yaml_texts = st.one_of(
    st.text(),
    st.text("{}[]:,-&*!?|>'\"%@`# \n\tabgpu10"),
    st.lists(
        st.sampled_from(
            [*WHOLE.splitlines(), "  - x", "gpu: a100:4", "spot: never", "? a", "&a", "*a", "!!set", "..."]
        ),
        max_size=8,
    ).map("\n".join),
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=yaml_texts)
def test_no_document_raises_anything_but_user_errors(load: Load, text: str) -> None:
    try:
        intent = load(text.encode("utf-8", "surrogatepass"))
    except UserError as error:
        for problem in error.problems():
            assert problem.fix
            assert "intent.yaml" in (problem.where or "") or problem.where == "resources.gpus"
    else:
        assert isinstance(intent, Intent)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.binary())
def test_no_bytes_raise_anything_but_user_errors(load: Load, data: bytes) -> None:
    try:
        load(data)
    except UserError as error:
        assert error.problems()  # noqa: PT017 - what is raised is the point
    else:
        assert data
