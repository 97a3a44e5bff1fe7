"""Every key of an intent, once: how its text is read, what it means, and whether this version acts on it.

The reader, the JSON Schema, the reference page and `not acted on in this version` all come from this table.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from emporion.market.gpu_names import resolve_gpu
from emporion.market.intent.model import FallbackRule, InterruptionRule, MarketRule, Rdma, Topology
from emporion.market.intent.readers import (
    DATA_IN,
    GLOB,
    ID,
    MIG,
    NAME,
    PROVIDER,
    STORE,
    URL,
    WORD,
    budget,
    choice,
    flag,
    query_text,
    seconds_or_auto,
    size,
    spot_price,
    whole,
)
from emporion.market.units import (
    parse_bandwidth,
    parse_carbon,
    parse_count,
    parse_duration,
    parse_hours,
    parse_latency,
    parse_memory,
    parse_parameters,
)

__all__ = ["ROOT", "Key", "Section"]


@dataclass(frozen=True, slots=True)
class Key:
    """One key with a value."""

    name: str
    doc: str
    read: Callable[..., object]
    """Takes the text of the value."""
    example: str
    values: tuple[str, ...] = ()
    """All words that it takes, where they are few."""
    default: str | None = None
    many: bool = False
    """A list; one value may stand without brackets, several may be separated by commas."""
    acted: bool = True
    money: bool = False
    """Whether `read` takes the rates of other currencies too."""


@dataclass(frozen=True, slots=True)
class Section:
    """A mapping of keys, or (`many`) a list of such mappings."""

    name: str
    doc: str
    keys: tuple[Key | Section, ...]
    many: bool = False
    shorthand: str | None = None
    """An example of the text that may stand for the mapping."""
    open: bool = False
    """Whether the keys are the user's own (tags); then `keys` is empty and values are text."""
    acted: bool = True

    def find(self, name: str) -> Key | Section | None:
        """Return the key or section of this name."""
        return next((key for key in self.keys if key.name == name), None)


_GPUS = Section(
    "gpus",
    "GPUs of the whole cluster.",
    (
        Key("type", "Model, a list in order of preference, or `any`.", resolve_gpu, "a100-80gb", many=True),
        Key("count", "How many in the whole cluster, not per node: a number, or a range `a..b`.", parse_count, "4..8"),
        Key("min_vram", "Memory of one GPU at least; `gb` is nominal, `gib` strict.", parse_memory, "40gb"),
        Key("min_total_vram", "Memory of all GPUs together at least.", parse_memory, "640gb"),
        Key(
            "topology",
            "`nvlink`: the GPUs of every node are one NVLink domain.",
            choice(*Topology),
            "nvlink",
            tuple(Topology),
            "any",
        ),
        Key("mig", "MIG profile; `count` then counts slices.", MIG, "1g.10gb"),
        Key("share", "Take part of a larger box, the rest may serve others.", flag, "true", default="false"),
        Key("allow_fraction", "Accept shares of one GPU.", flag, "true", default="false"),
    ),
    shorthand="a100:4",
)
_NETWORK = Section(
    "network",
    "Network between the nodes, or `low-latency`: all at one site, joined by efa, infiniband, roce or tcpx.",
    (
        Key("latency", "One way between any two nodes at most.", parse_latency, "5ms"),
        Key("bandwidth", "Between any two nodes at least; bits (gbps) or bytes (GB/s).", parse_bandwidth, "25gbps"),
        Key(
            "rdma",
            "Whether the nodes must be joined by an RDMA fabric.",
            choice(*Rdma, also={"false": "no", "true": "required", "yes": "required", "never": "no"}),
            "required",
            tuple(Rdma),
            "no",
        ),
        Key("low_latency", "As `network: low-latency`.", flag, "true", default="false"),
    ),
    shorthand="low-latency",
)
_RESOURCES = Section(
    "resources",
    "What the cluster is made of.",
    (
        _GPUS,
        Key("nodes", "Number of machines, or a range.", parse_count, "2"),
        Key("cpus", "vCPUs of each node at least.", whole, "32"),
        Key("memory", "Host memory of each node at least.", parse_memory, "64gb"),
        Key("storage", "Size of the shared file system or disk.", parse_memory, "1200gib"),
        Key(
            "storage_type",
            "Kind of shared storage; this version acts on lustre.",
            choice("lustre", "nfs", "object", "local"),
            "lustre",
            ("lustre", "nfs", "object", "local"),
        ),
        _NETWORK,
    ),
)
_DATASET = (
    Key("source", "Where the data lies.", URL, "s3://bucket/dataset"),
    Key("size", "How much is read.", size, "80gb"),
    Key("egress", "How much leaves the cluster.", size, "10gb"),
    Key("region", "Region of the source.", GLOB, "us-east-1"),
)
_FROM_STAGE = Key(
    "source", "Where the data lies: a store, or `stage://NAME`, a stage that it needs.", DATA_IN, "s3://b/c"
)
_CONSTRAINTS = Section(
    "constraints",
    "Where and under which rules it may run.",
    (
        Key("providers", "Providers that may serve it; all when left out.", PROVIDER, "aws", many=True),
        Key("regions", "Globs over region names and areas; all when left out.", GLOB, "us-*", many=True),
        Key("local_zones", "Whether AWS Local Zones may serve it.", flag, "true", default="false"),
        Key("max_carbon", "Emission of the whole cluster at most.", parse_carbon, "500g/h"),
        Key("max_price_age", "Offers with an older price, or one without a date, are left out.", parse_duration, "24h"),
        Key(
            "where",
            "A query over the fields of an offer that each must pass.",
            query_text,
            "cuda >= 12.1 and vcpus >= 32",
        ),
        Key("compliance", "Rules to comply with. Refused: this version enforces none.", WORD, "hipaa", many=True),
        Key("sandbox", "Isolation of the jobs. Refused: this version has none.", WORD, "gvisor"),
    ),
)

ROOT = Section(
    "",
    "What the user wants: an intent.",
    (
        Key("name", "Name of the stack; the file's name when left out.", NAME, "llama2-finetune"),
        _RESOURCES,
        Section(
            "cost_control",
            "Ceilings in USD on the full chain: compute, storage, transfer, network, fees, interruptions.",
            (
                Key(
                    "max_hourly",
                    "Per hour, for the whole cluster or per GPU.",
                    budget("max_hourly", "hour"),
                    "$2.80/gpu/hr",
                    money=True,
                ),
                Key(
                    "max_daily",
                    "Per day, for the whole cluster or per GPU.",
                    budget("max_daily", "day"),
                    "$200",
                    money=True,
                ),
                Key(
                    "max_monthly",
                    "Per month of 730 hours, whole or per GPU.",
                    budget("max_monthly", "month"),
                    "$4000",
                    money=True,
                ),
                Key(
                    "max_total",
                    "For the run (`model.hours`), whole or per GPU.",
                    budget("max_total", None),
                    "$500",
                    money=True,
                ),
                Key("auto_scale", "Shrink when a ceiling nears.", flag, "true", default="false", acted=False),
            ),
        ),
        Section(
            "lifecycle",
            "Spot, interruptions and checkpoints.",
            (
                Key(
                    "market",
                    "Which markets may serve it.",
                    choice(*MarketRule, also={"prefer": "any", "require": "spot", "never": "on_demand"}),
                    "spot",
                    tuple(MarketRule),
                    "any",
                ),
                Key(
                    "spot_fallback",
                    "When spot is gone: `true` goes on-demand, `pause` waits, `false` ends.",
                    choice(*FallbackRule, also={"yes": "true", "no": "false", "on_demand": "true"}),
                    "pause",
                    tuple(FallbackRule),
                    "false",
                ),
                Key(
                    "spot_max_price",
                    "Per machine and hour at most; -1: the on-demand price, as when left out.",
                    spot_price,
                    "$12/hr",
                    money=True,
                ),
                Key("spot_auto_renew", "Ask again for spot after an interruption.", flag, "true", default="false"),
                Key("max_run", "End after this time.", parse_duration, "24h", acted=False),
                Key("checkpoint_interval", "Time between checkpoints.", seconds_or_auto, "10m", default="auto"),
                Key(
                    "on_interruption",
                    "What is replaced after an interruption.",
                    choice(*InterruptionRule),
                    "replace_pool",
                    tuple(InterruptionRule),
                    "replace_node",
                    acted=False,
                ),
            ),
        ),
        Key(
            "checkpoint_path",
            "Your bucket for checkpoints; the cluster's own when left out.",
            STORE,
            "s3://bucket/ckpt",
        ),
        Section("data", "Data that must reach the nodes, or leave them.", _DATASET, many=True),
        _CONSTRAINTS,
        Section(
            "recovery",
            "The recovery side of a drill; its providers and regions replace those of constraints there.",
            (
                Key(
                    "mode",
                    "Whether a recovery stack is kept.",
                    choice("off", "warm", "cold"),
                    "cold",
                    ("off", "warm", "cold"),
                    "off",
                ),
                Key("providers", "Providers of the recovery side.", PROVIDER, "gcp", many=True),
                Key("regions", "Regions of the recovery side.", GLOB, "us-west-*", many=True),
            ),
            acted=False,
        ),
        Section(
            "model",
            "What is trained, for the performance and cost models.",
            (
                Key("parameters", "Number of parameters.", parse_parameters, "13b"),
                Key(
                    "precision",
                    "Number format of the training.",
                    choice("fp32", "tf32", "fp16", "bf16", "fp8", "fp4", "int8"),
                    "bf16",
                    ("fp32", "tf32", "fp16", "bf16", "fp8", "fp4", "int8"),
                ),
                Key("hours", "Length of the run.", parse_hours, "12"),
            ),
        ),
        Section(
            "stages",
            "Steps of a pipeline; resources and constraints above are what every stage takes over.",
            (
                Key("name", "Name of the stage.", NAME, "train"),
                Key("needs", "Stages that come before it.", NAME, "tokenise", many=True),
                _RESOURCES,
                _CONSTRAINTS,
                Section("data_in", "Data that it reads.", (_FROM_STAGE, *_DATASET[1:]), many=True),
                Section("data_out", "Data that it writes: where it ran, or to a store.", _DATASET, many=True),
                Key("hours", "Length of the stage.", parse_hours, "2"),
            ),
            many=True,
        ),
        Section(
            "image",
            "The software on the nodes.",
            (
                Key("framework", "Framework.", WORD, "pytorch", acted=False),
                Key("version", "Version of the framework.", WORD, "2.8", acted=False),
                Key("ops", "Kernels that must be there.", WORD, "flash-attn", many=True, acted=False),
                Key("id", "A machine image of yours at the provider.", ID, "ami-0123456789abcdef0"),
                Key(
                    "arch",
                    "Processors that your software is built for; any when left out.",
                    choice("x86_64", "arm64"),
                    "x86_64",
                    ("x86_64", "arm64"),
                    many=True,
                ),
            ),
        ),
        Key("scheduler", "What runs the jobs.", choice("slurm", "none"), "slurm", ("slurm", "none"), "slurm"),
        Section("tags", "Tags on every resource that can have them.", (), open=True),
        Section(
            "access",
            "How people and tools reach the cluster.",
            (
                Key("nat", "A NAT gateway; `false`: priced interface endpoints instead.", flag, "true", default="true"),
                Key("object_lock_days", "Days for which checkpoints cannot be deleted.", whole, "30"),
                Key("reservation", "A capacity reservation or block of yours.", ID, "cr-0123456789abcdef0"),
                Key("capacity_block", "Whether `reservation` is a capacity block.", flag, "true", default="false"),
            ),
        ),
    ),
)
