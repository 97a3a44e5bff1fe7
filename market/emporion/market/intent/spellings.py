"""Other spellings of keys, which users carry over from other tools, moved to the keys they stand for.

`gpu: A100:4` and `gpus: a100:4` become `resources.gpus.{type,count}`, `spot: require` becomes `lifecycle.market`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from emporion.market.errors import UserError
from emporion.market.intent.tree import At, Entry, Fields, Items, Node, Problems, Scalar
from emporion.market.units import shown

__all__ = ["SPELLINGS", "canonical", "expand"]

_RESOURCES: Mapping[str, tuple[str, ...]] = {
    "gpu": ("gpus",),
    "min_vram": ("gpus", "min_vram"),
    "count": ("gpus", "count"),
    "mig": ("gpus", "mig"),
    "share": ("gpus", "share"),
    "min_ram": ("memory",),
    "min_vcpu": ("cpus",),
    "rdma": ("network", "rdma"),
}
SPELLINGS: Mapping[str, tuple[str, ...]] = {
    **{name: ("resources", *path) for name, path in _RESOURCES.items()},
    "spot": ("lifecycle", "market"),
    "budget": ("cost_control", "max_hourly"),
    "max_run": ("lifecycle", "max_run"),
    "max_price_age": ("constraints", "max_price_age"),
}
"""Spelling at the top of an intent -> the key it stands for."""


def canonical(root: Fields, problems: Problems) -> Fields:
    """Return the tree with every other spelling and every shorthand replaced by the keys it stands for."""
    fields = Fields(root.at, dict(root.entries))
    _section(fields, "resources", "", problems, _resources)
    for name, path in SPELLINGS.items():
        _move(fields, name, path, "", problems)
    _section(fields, "lifecycle", "", problems, _lifecycle)
    for name in ("data", "stages"):
        _each(fields, name, problems)
    return fields


def _section(fields: Fields, name: str, path: str, problems: Problems, change: object) -> None:
    entry = fields.entries.get(name)
    if entry is not None and isinstance(entry.value, Fields) and callable(change):
        copy = Fields(entry.value.at, dict(entry.value.entries))
        change(copy, f"{path}{name}", problems)
        fields.entries[name] = Entry(entry.at, copy)


def _each(fields: Fields, name: str, problems: Problems) -> None:
    entry = fields.entries.get(name)
    if entry is None:
        return
    change = _stage if name == "stages" else _data
    value = entry.value
    values = value.values if isinstance(value, Items) else (value,) if isinstance(value, Fields) else None
    if values is None:
        return
    changed: list[Node] = []
    for index, item in enumerate(values):
        if isinstance(item, Fields):
            copy = Fields(item.at, dict(item.entries))
            change(copy, f"{name}[{index}]", problems)
            changed.append(copy)
        else:
            changed.append(item)
    fields.entries[name] = Entry(entry.at, Items(tuple(changed), value.at))


def _resources(fields: Fields, path: str, problems: Problems) -> None:
    for name in ("gpus", "network"):
        expand(fields, name)
    for name, target in _RESOURCES.items():
        _move(fields, name, target, path, problems)
    entry = fields.entries.get("gpus")
    if entry is not None and isinstance(entry.value, Fields):
        gpus = Fields(entry.value.at, dict(entry.value.entries))
        _split_count(gpus, f"{path}.gpus", problems)
        fields.entries["gpus"] = Entry(entry.at, gpus)


def _lifecycle(fields: Fields, path: str, problems: Problems) -> None:
    _move(fields, "spot", ("market",), path, problems)


def _stage(fields: Fields, path: str, problems: Problems) -> None:
    _section(fields, "resources", f"{path}.", problems, _resources)
    for name in ("data_in", "data_out"):
        _each(fields, name, problems)


def _data(fields: Fields, path: str, problems: Problems) -> None:
    _move(fields, "from", ("source",), path, problems)
    entry = fields.entries.get("egress_gb")
    if entry is not None and isinstance(entry.value, Scalar) and entry.value.text is not None:
        fields.entries["egress_gb"] = Entry(entry.at, Scalar(f"{entry.value.text}gb", entry.value.at))
    _move(fields, "egress_gb", ("egress",), path, problems)


def _move(fields: Fields, name: str, target: tuple[str, ...], path: str, problems: Problems) -> None:
    """Move an entry to the key it stands for; both given is a contradiction."""
    entry = fields.entries.pop(name, None)
    if entry is None:
        return
    prefix = f"{path}." if path else ""
    at = At(entry.at.line, entry.at.flag, f"{prefix}{name}")
    parent = fields
    for part in target[:-1]:
        expand(parent, part)
        below = parent.entries.get(part)
        if below is None:
            inner = Fields(entry.at)
        elif isinstance(below.value, Fields):
            inner = Fields(below.value.at, dict(below.value.entries))
        else:
            return  # the reader says what is wrong with the value that stands there
        parent.entries[part] = Entry(below.at if below else at, inner)
        parent = inner
    last = target[-1]
    if last in parent.entries:
        key = prefix + ".".join(target)
        error = UserError("E-CONTRADICTION", f"{shown(name)} and {shown(key)} are the same key", fix="keep one of them")
        problems.add(error, prefix + name, at)
        return
    parent.entries[last] = Entry(at, entry.value)
    if last == "gpus":
        expand(parent, last)


def expand(fields: Fields, name: str) -> None:
    """Replace the shorthand of a section by its mapping: `gpus: a100:4`, `network: low-latency`."""
    entry = fields.entries.get(name)
    if entry is None or isinstance(entry.value, Fields):
        return
    value = entry.value
    inner = Fields(value.at)
    if name == "gpus" and (isinstance(value, Items) or value.text is not None):
        inner.entries["type"] = Entry(entry.at, value)
    elif name == "network" and isinstance(value, Scalar) and value.text is not None:
        word = value.text.strip().lower().replace("-", "_").replace(" ", "_")
        if word != "low_latency":
            return
        inner.entries["low_latency"] = Entry(entry.at, Scalar("true", value.at))
    else:
        return
    fields.entries[name] = Entry(entry.at, inner)


def _split_count(gpus: Fields, path: str, problems: Problems) -> None:
    """Take the number off `type: a100:4`, so that a flag can replace the type or the number alone."""
    entry = gpus.entries.get("type")
    if entry is None or not isinstance(entry.value, Scalar) or entry.value.text is None:
        return
    head, colon, tail = entry.value.text.rpartition(":")
    if not colon or not head.strip() or re.fullmatch(r"\s*-?[0-9][0-9.,]*\s*", tail) is None:
        return
    given = gpus.entries.get("count")
    said = given.value.text if given is not None and isinstance(given.value, Scalar) else None
    if given is not None and (said or "").strip() != tail.strip():
        error = UserError(
            "E-CONTRADICTION",
            f"{shown(entry.value.text)} asks for {tail.strip()} GPUs, count for {shown(said or '?')}",
            fix="keep one of the two numbers",
        )
        problems.add(error, f"{path}.count", given.at)
        gpus.entries["type"] = Entry(entry.at, Scalar(head, entry.value.at))
        return
    gpus.entries["type"] = Entry(entry.at, Scalar(head, entry.value.at))
    if given is None:
        gpus.entries["count"] = Entry(entry.at, Scalar(tail, entry.value.at))
