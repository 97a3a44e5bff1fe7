"""From a file, from flags, or from a file with flags over it, to one `Intent`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from emporion.market.errors import UserError, UserErrors
from emporion.market.intent.build import build
from emporion.market.intent.checks import check
from emporion.market.intent.keys import ROOT
from emporion.market.intent.model import Intent
from emporion.market.intent.read import Reading
from emporion.market.intent.spellings import canonical, expand
from emporion.market.intent.tree import At, Entry, Fields, Items, Node, Problems, Scalar, merge
from emporion.market.money import Rate

__all__ = ["FLAGS", "Flag", "intent_from_flags", "load_intent"]

DEFAULT_NAME = "cluster"
Judge = Callable[[Intent], Iterable[UserError]]
"""Returns what is wrong with an intent that only others can know, such as a region that no provider has."""


@dataclass(frozen=True, slots=True)
class Flag:
    """A flag of the command line that stands for a key."""

    name: str
    """As Python writes it: `min_vram` is `--min-vram`."""
    key: str
    many: bool = False
    switch: bool = False
    """Takes no value."""


FLAGS: tuple[Flag, ...] = (
    Flag("name", "name"),
    Flag("gpus", "resources.gpus.type"),
    Flag("count", "resources.gpus.count"),
    Flag("min_vram", "resources.gpus.min_vram"),
    Flag("min_total_vram", "resources.gpus.min_total_vram"),
    Flag("topology", "resources.gpus.topology"),
    Flag("mig", "resources.gpus.mig"),
    Flag("share", "resources.gpus.share", switch=True),
    Flag("nodes", "resources.nodes"),
    Flag("cpus", "resources.cpus"),
    Flag("memory", "resources.memory"),
    Flag("storage", "resources.storage"),
    Flag("storage_type", "resources.storage_type"),
    Flag("network", "resources.network"),
    Flag("latency", "resources.network.latency"),
    Flag("bandwidth", "resources.network.bandwidth"),
    Flag("rdma", "resources.network.rdma"),
    Flag("max_cost", "cost_control.max_hourly"),
    Flag("max_daily", "cost_control.max_daily"),
    Flag("max_monthly", "cost_control.max_monthly"),
    Flag("max_total", "cost_control.max_total"),
    Flag("market", "lifecycle.market"),
    Flag("spot_fallback", "lifecycle.spot_fallback"),
    Flag("spot_max_price", "lifecycle.spot_max_price"),
    Flag("checkpoint_interval", "lifecycle.checkpoint_interval"),
    Flag("checkpoint_path", "checkpoint_path"),
    Flag("providers", "constraints.providers", many=True),
    Flag("regions", "constraints.regions", many=True),
    Flag("local_zones", "constraints.local_zones", switch=True),
    Flag("max_price_age", "constraints.max_price_age"),
    Flag("where", "constraints.where"),
    Flag("parameters", "model.parameters"),
    Flag("precision", "model.precision"),
    Flag("hours", "model.hours"),
    Flag("scheduler", "scheduler"),
)
"""The keys that can be flags; the command line makes its options from this table."""


def load_intent(
    path: Path | str,
    flags: Mapping[str, object] | None = None,
    *,
    rates: Mapping[str, Rate] | None = None,
    judge: Judge | None = None,
) -> Intent:
    """Return the intent of a YAML file, `flags` (as for `intent_from_flags`) in place of its keys.

    `rates` say what amounts in other currencies are worth; without its rate an amount is refused. `judge` returns what
    else is wrong, so that it is told together with the problems found here.

    Raises: UserError: E-FILE, E-YAML when the file cannot be read; else every problem of the document at once, in the
    order of its lines.
    """
    from emporion.market.intent.document import read_document  # noqa: PLC0415 - PyYAML is loaded only for a file

    path = Path(path)
    problems = Problems(str(path))
    tree = canonical(read_document(path, problems), problems)
    if flags:
        tree = merge(tree, canonical(_flag_tree(flags), problems))
    return _intent(tree, problems, rates, judge, name=_name_of(path))


def intent_from_flags(
    rates: Mapping[str, Rate] | None = None, judge: Judge | None = None, /, **flags: object
) -> Intent:
    """Return the intent that flags describe: names of `FLAGS`, values text, numbers, or (`many`) tuples of text.

    None, an empty tuple and False are flags that were not given; `rates` and `judge`
    as for `load_intent`.

    Raises: UserError: every problem of the flags at once; KeyError: for a flag that `FLAGS` does not have.
    """
    problems = Problems(None)
    return _intent(canonical(_flag_tree(flags), problems), problems, rates, judge, name=DEFAULT_NAME)


def _intent(
    tree: Fields, problems: Problems, rates: Mapping[str, Rate] | None, judge: Judge | None, *, name: str
) -> Intent:
    reading = Reading(problems, rates or {})
    values = reading.section(tree, ROOT)
    intent = build(values, reading, name=name, source=problems.source)
    check(intent, reading)
    if judge is not None:
        problems.found.extend(judge(intent))
    if problems.found:
        raise UserErrors.of(sorted(problems.found, key=lambda error: _line(error.where or "", problems.source)))
    return intent


def _line(where: str, source: str | None) -> int:
    match = re.match(r":([0-9]+)", where[len(source) :]) if source and where.startswith(source) else None
    return int(match[1]) if match else 0


def _name_of(path: Path) -> str:
    """Return the file's name as a name of a stack: `My Intent.yaml` is `my-intent`."""
    name = re.sub(r"[^a-z0-9]+", "-", path.stem.lower()).strip("-")[:40].strip("-")
    return name if name[:1].isalpha() else DEFAULT_NAME


def _flag_tree(flags: Mapping[str, object]) -> Fields:
    unknown = sorted(flags.keys() - {flag.name for flag in FLAGS})
    if unknown:
        raise KeyError(*unknown)
    root = Fields(At())
    for flag in FLAGS:  # in the table's order: a section's shorthand before its keys
        value = flags.get(flag.name)
        if value is None or value is False or value == ():
            continue
        at = At(flag=f"--{flag.name.replace('_', '-')}")
        *sections, last = flag.key.split(".")
        fields: Fields | None = root
        for depth, section in enumerate(sections):
            # a whole section is nobody's flag: `--gpus` says where resources.gpus is, not where resources.nodes is
            fields = _open(fields, section, at if depth else At()) if fields else None
        if fields is not None:
            fields.entries[last] = Entry(at, _node(value, at))
    return root


def _open(fields: Fields, section: str, at: At) -> Fields | None:
    """Return the mapping of a section, made when it is not there; None: something else stands there."""
    expand(fields, section)
    inner = fields.entries.setdefault(section, Entry(at, Fields(at))).value
    return inner if isinstance(inner, Fields) else None


def _node(value: object, at: At) -> Node:
    if isinstance(value, (tuple, list)):
        return Items(tuple(Scalar(part, at) for item in value for part in str(item).split(",")), at)
    return Scalar("true" if value is True else str(value), at)
