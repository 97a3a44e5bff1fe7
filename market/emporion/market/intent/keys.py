"""Every key of an intent, once: how its text is read, what it means, and whether this version acts on it.

The reader, the JSON Schema, the reference page and `not acted on in this version` all come from this table.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from emporion.market import query
from emporion.market.errors import UserError, did_you_mean
from emporion.market.gpus import resolve_gpu
from emporion.market.intent.model import FallbackRule, InterruptionRule, MarketRule, Rdma, Topology
from emporion.market.money import Money, Rate, parse_money
from emporion.market.units import (
    parse_bandwidth,
    parse_carbon,
    parse_count,
    parse_duration,
    parse_hours,
    parse_latency,
    parse_memory,
    parse_parameters,
    shown,
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


def _choice(*words: str, also: Mapping[str, str] | None = None) -> Callable[[str], str]:
    """Return a reader of one of `words`; `also` are further spellings of them."""

    def read(text: str) -> str:
        word = text.strip().lower().replace("-", "_")
        word = (also or {}).get(word, word)
        if word in words:
            return word
        near = did_you_mean(word, words)
        allowed = ", ".join(words)
        raise UserError(
            "E-VALUE", f"{shown(text)} is none of {allowed}", fix=f"did you mean {near}" if near else f"write {allowed}"
        )

    return read


_YES = frozenset({"true", "yes", "on"})
_NO = frozenset({"false", "no", "off"})


def _flag(text: str) -> bool:
    word = text.strip().lower()
    if word in _YES or word in _NO:
        return word in _YES
    raise UserError("E-VALUE", f"{shown(text)} is neither true nor false", fix="write true or false")


def _matching(
    pattern: str, what: str, example: str, *, limit: int = 255, any_case: bool = False
) -> Callable[[str], str]:
    """Return a reader of text that matches `pattern` as a whole; `any_case`: capitals are read as small letters."""
    compiled = re.compile(pattern)

    def read(text: str) -> str:
        word = text.strip().lower() if any_case else text.strip()
        if len(word) > limit:
            raise UserError("E-VALUE", f"{shown(text)} is longer than {limit} characters", fix=f"write {example}")
        if compiled.fullmatch(word) is None:
            raise UserError("E-VALUE", f"{shown(text)} is not {what}", fix=f"write {example}")
        return word

    return read


def _whole(text: str) -> int:
    count = parse_count(text)
    if count.low != count.high:
        raise UserError("E-COUNT", f"{shown(text)} is a range, one number is expected", fix=f"write {count.low}")
    return count.low


def _budget(key: str, period: str | None) -> Callable[[str, Mapping[str, Rate]], Money]:
    """Return a reader of an amount per `period` (None: for the whole run); the key itself says the period."""
    keys = {"hour": "max_hourly", "day": "max_daily", "month": "max_monthly"}

    def read(text: str, rates: Mapping[str, Rate]) -> Money:
        money = parse_money(text, rates)
        if money.period is not None and money.period != period:
            basis = f"per {period}" if period else "for the whole run"
            raise UserError(
                "E-CONTRADICTION",
                f"{shown(text)} is per {money.period}, {key} is {basis}",
                fix=f"write {keys[money.period]}, or the amount {basis}",
            )
        if money.per_gpu and key == "spot_max_price":
            raise UserError(
                "E-MONEY", f"{shown(text)} is per GPU, {key} is per machine", fix="write the machine's price"
            )
        return money

    return read


def _spot_price(text: str, rates: Mapping[str, Rate]) -> Money | None:
    """Return the most that spot may cost; -1 is how the clouds write "up to the on-demand price"."""
    if text.strip() in {"-1", "$-1", "-$1"}:
        return None
    try:
        return _budget("spot_max_price", "hour")(text, rates)
    except UserError as error:
        if error.code == "E-RANGE":
            error.fix = "write an amount above 0, as $12/hr, or -1 for the on-demand price"
        raise


def _seconds_or_auto(text: str) -> int | None:
    return None if text.strip().lower() == "auto" else parse_duration(text)


def _size(text: str) -> object:
    return parse_memory(text, zero=True)


def _query(text: str) -> str:
    return query.parse_query(text).text


_URL = _matching(
    r"(?:s3|gs|az|abfss|https|hf|file|nfs)://[^\s/][^\s]*", "an address of a store", "s3://bucket/prefix", limit=1024
)
_STORE = _matching(
    r"(?:s3|gs|az|nfs)://[a-z0-9][a-z0-9._-]{1,61}[a-z0-9](?:/[^\s]*)?", "a bucket", "s3://bucket/prefix", limit=1024
)
_PROVIDER = _matching(r"[a-z][a-z0-9-]{0,39}", "a provider's name", "aws", any_case=True)
_GLOB = _matching(
    r"[a-z0-9*?\[\]-][a-z0-9*?\[\]._-]{0,62}", "a region or a glob over regions", "us-east-1 or us-*", any_case=True
)
_WORD = _matching(r"[A-Za-z0-9][A-Za-z0-9._+-]{0,62}", "a name of letters, digits, . _ + -", "pytorch")
_NAME = _matching(
    r"[a-z](?:[a-z0-9-]{0,38}[a-z0-9])?",
    "a name of a-z, 0-9 and - that begins with a letter, 40 at most",
    "my-cluster",
)
_MIG = _matching(r"[1-9]g\.[0-9]{1,3}gb(?:\+me)?", "a MIG profile", "1g.10gb")
_ID = _matching(r"[A-Za-z0-9][A-Za-z0-9:/._-]{0,254}", "an id of the provider", "ami-0123456789abcdef0")

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
            _choice(*Topology),
            "nvlink",
            tuple(Topology),
            "any",
        ),
        Key("mig", "MIG profile; `count` then counts slices.", _MIG, "1g.10gb"),
        Key("share", "Take part of a larger box, the rest may serve others.", _flag, "true", default="false"),
        Key("allow_fraction", "Accept shares of one GPU.", _flag, "true", default="false"),
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
            _choice(*Rdma, also={"false": "no", "true": "required", "yes": "required", "never": "no"}),
            "required",
            tuple(Rdma),
            "no",
        ),
        Key("low_latency", "As `network: low-latency`.", _flag, "true", default="false"),
    ),
    shorthand="low-latency",
)
_RESOURCES = Section(
    "resources",
    "What the cluster is made of.",
    (
        _GPUS,
        Key("nodes", "Number of machines, or a range.", parse_count, "2"),
        Key("cpus", "vCPUs of each node at least.", _whole, "32"),
        Key("memory", "Host memory of each node at least.", parse_memory, "64gb"),
        Key("storage", "Size of the shared file system or disk.", parse_memory, "1200gib"),
        Key(
            "storage_type",
            "Kind of shared storage; this version acts on lustre.",
            _choice("lustre", "nfs", "object", "local"),
            "lustre",
            ("lustre", "nfs", "object", "local"),
        ),
        _NETWORK,
    ),
)
_DATA_IN = _matching(
    r"(?:s3|gs|az|abfss|https|hf|file|nfs|stage)://[^\s/][^\s]*",
    "an address of a store or of another stage",
    "stage://tokenise",
    limit=1024,
)
_DATASET = (
    Key("source", "Where the data lies.", _URL, "s3://bucket/dataset"),
    Key("size", "How much is read.", _size, "80gb"),
    Key("egress", "How much leaves the cluster.", _size, "10gb"),
    Key("region", "Region of the source.", _GLOB, "us-east-1"),
)
_FROM_STAGE = Key(
    "source", "Where the data lies: a store, or `stage://NAME`, a stage that it needs.", _DATA_IN, "s3://b/c"
)
_CONSTRAINTS = Section(
    "constraints",
    "Where and under which rules it may run.",
    (
        Key("providers", "Providers that may serve it; all when left out.", _PROVIDER, "aws", many=True),
        Key("regions", "Globs over region names and areas; all when left out.", _GLOB, "us-*", many=True),
        Key("local_zones", "Whether AWS Local Zones may serve it.", _flag, "true", default="false"),
        Key("max_carbon", "Emission of the whole cluster at most.", parse_carbon, "500g/h"),
        Key("max_price_age", "Offers with an older price, or one without a date, are left out.", parse_duration, "24h"),
        Key(
            "where", "A query over the fields of an offer that each must pass.", _query, "cuda >= 12.1 and vcpus >= 32"
        ),
        Key("compliance", "Rules to comply with. Refused: this version enforces none.", _WORD, "hipaa", many=True),
        Key("sandbox", "Isolation of the jobs. Refused: this version has none.", _WORD, "gvisor"),
    ),
)

ROOT = Section(
    "",
    "What the user wants: an intent.",
    (
        Key("name", "Name of the stack; the file's name when left out.", _NAME, "llama2-finetune"),
        _RESOURCES,
        Section(
            "cost_control",
            "Ceilings in USD on the full chain: compute, storage, transfer, network, fees, interruptions.",
            (
                Key(
                    "max_hourly",
                    "Per hour, for the whole cluster or per GPU.",
                    _budget("max_hourly", "hour"),
                    "$2.80/gpu/hr",
                    money=True,
                ),
                Key(
                    "max_daily",
                    "Per day, for the whole cluster or per GPU.",
                    _budget("max_daily", "day"),
                    "$200",
                    money=True,
                ),
                Key(
                    "max_monthly",
                    "Per month of 730 hours, whole or per GPU.",
                    _budget("max_monthly", "month"),
                    "$4000",
                    money=True,
                ),
                Key(
                    "max_total",
                    "For the run (`model.hours`), whole or per GPU.",
                    _budget("max_total", None),
                    "$500",
                    money=True,
                ),
                Key("auto_scale", "Shrink when a ceiling nears.", _flag, "true", default="false", acted=False),
            ),
        ),
        Section(
            "lifecycle",
            "Spot, interruptions and checkpoints.",
            (
                Key(
                    "market",
                    "Which markets may serve it.",
                    _choice(*MarketRule, also={"prefer": "any", "require": "spot", "never": "on_demand"}),
                    "spot",
                    tuple(MarketRule),
                    "any",
                ),
                Key(
                    "spot_fallback",
                    "When spot is gone: `true` goes on-demand, `pause` waits, `false` ends.",
                    _choice(*FallbackRule, also={"yes": "true", "no": "false", "on_demand": "true"}),
                    "pause",
                    tuple(FallbackRule),
                    "false",
                ),
                Key(
                    "spot_max_price",
                    "Per machine and hour at most; -1: the on-demand price, as when left out.",
                    _spot_price,
                    "$12/hr",
                    money=True,
                ),
                Key("spot_auto_renew", "Ask again for spot after an interruption.", _flag, "true", default="false"),
                Key("max_run", "End after this time.", parse_duration, "24h", acted=False),
                Key("checkpoint_interval", "Time between checkpoints.", _seconds_or_auto, "10m", default="auto"),
                Key(
                    "on_interruption",
                    "What is replaced after an interruption.",
                    _choice(*InterruptionRule),
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
            _STORE,
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
                    _choice("off", "warm", "cold"),
                    "cold",
                    ("off", "warm", "cold"),
                    "off",
                ),
                Key("providers", "Providers of the recovery side.", _PROVIDER, "gcp", many=True),
                Key("regions", "Regions of the recovery side.", _GLOB, "us-west-*", many=True),
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
                    _choice("fp32", "tf32", "fp16", "bf16", "fp8", "fp4", "int8"),
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
                Key("name", "Name of the stage.", _NAME, "train"),
                Key("needs", "Stages that come before it.", _NAME, "tokenise", many=True),
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
                Key("framework", "Framework.", _WORD, "pytorch", acted=False),
                Key("version", "Version of the framework.", _WORD, "2.8", acted=False),
                Key("ops", "Kernels that must be there.", _WORD, "flash-attn", many=True, acted=False),
                Key("id", "A machine image of yours at the provider.", _ID, "ami-0123456789abcdef0"),
            ),
        ),
        Key("scheduler", "What runs the jobs.", _choice("slurm", "none"), "slurm", ("slurm", "none"), "slurm"),
        Section("tags", "Tags on every resource that can have them.", (), open=True),
        Section(
            "access",
            "How people and tools reach the cluster.",
            (
                Key(
                    "nat", "A NAT gateway; `false`: priced interface endpoints instead.", _flag, "true", default="true"
                ),
                Key("object_lock_days", "Days for which checkpoints cannot be deleted.", _whole, "30"),
                Key("reservation", "A capacity reservation or block of yours.", _ID, "cr-0123456789abcdef0"),
                Key("capacity_block", "Whether `reservation` is a capacity block.", _flag, "true", default="false"),
            ),
        ),
    ),
)
