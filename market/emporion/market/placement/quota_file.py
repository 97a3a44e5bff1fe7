"""A file of quotas: one quota a row (CSV) or one mapping of the list `quotas` (YAML), both with the same six keys.

    provider,region,type,market,limit,unit
    aws,us-east-1,p5*,on_demand,192,vcpus

`region` and `type` are globs (`*`, or nothing: all of them together), `market` is one or `any`, `unit` is machines,
vcpus or gpus. Imported only when there is such a file: PyYAML costs 35 ms to import.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from emporion.market.errors import UserError, UserErrors, did_you_mean
from emporion.market.intent.document import DocumentKind, read_document
from emporion.market.intent.tree import Fields, Items, Problems, Scalar
from emporion.market.offer import Market
from emporion.market.placement.quotas import Quota, Unit
from emporion.market.units import shown

__all__ = ["load_quotas"]

_KEYS = ("provider", "region", "type", "market", "limit", "unit")
_MARKETS = ("any", *(each.value for each in Market))
_MAX_BYTES = 1 << 20
_KIND = DocumentKind("quotas", "quotas: [{provider: aws, market: spot, limit: 64, unit: vcpus}]")


def load_quotas(path: Path) -> tuple[Quota, ...]:
    """Return the quotas of a file: CSV by its name, else YAML.

    Raises: UserError E-FILE, E-YAML: when the file cannot be read; E-QUOTA: every row that is wrong, with its line.
    """
    problems: list[UserError] = []
    found: dict[Quota, None] = {}
    for where, row in _csv_rows(path) if path.suffix.lower() == ".csv" else _yaml_rows(path):
        try:
            found[_quota(row, where)] = None
        except UserError as error:
            problems += error.problems()
    if problems:
        raise UserErrors.of(problems)
    return tuple(found)


def _csv_rows(path: Path) -> Iterator[tuple[str, Mapping[str, str]]]:
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, ValueError) as error:
        raise UserError(
            "E-FILE", f"{shown(str(path), 200)} cannot be read", str(path), "give a readable CSV file of quotas"
        ) from error
    reader = csv.DictReader(io.StringIO(text[:_MAX_BYTES], newline=""), strict=True)
    try:
        for row in reader:
            extra = row.pop(None, None)
            if extra:
                fix = f"write {len(_KEYS)} values: {', '.join(_KEYS)}"
                raise UserError("E-QUOTA", "more values than columns", f"{path}:{reader.line_num}", fix)
            yield f"{path}:{reader.line_num}", {key.strip(): (value or "").strip() for key, value in row.items()}
    except csv.Error as error:
        raise UserError("E-QUOTA", f"not CSV: {error}", f"{path}:{reader.line_num}", "check the quotes") from error


def _yaml_rows(path: Path) -> Iterator[tuple[str, Mapping[str, str]]]:
    problems = Problems(str(path))
    tree = read_document(path, problems, _KIND)
    fix = "write quotas: [{provider: aws, region: us-east-1, type: p5*, market: on_demand, limit: 192, unit: vcpus}]"
    others = [key for key in tree.entries if key != "quotas"]
    entry = tree.entries.get("quotas")
    if problems.found:
        raise UserErrors.of(problems.found)
    if others or entry is None or not isinstance(entry.value, Items):
        said = f"unknown key {shown(others[0])}" if others else "no list of quotas"
        raise UserError("E-QUOTA", said, str(path), fix)
    for item in entry.value.values:
        where = f"{path}:{item.at.line}"
        if not isinstance(item, Fields) or not all(isinstance(each.value, Scalar) for each in item.entries.values()):
            raise UserError("E-QUOTA", "a quota is a mapping of six keys", where, fix)
        yield (
            where,
            {key: each.value.text or "" for key, each in item.entries.items() if isinstance(each.value, Scalar)},
        )


def _quota(row: Mapping[str, str], where: str) -> Quota:
    unknown = [key for key in row if key not in _KEYS]
    if unknown:
        near = did_you_mean(unknown[0], _KEYS)
        fix = f"did you mean {near}" if near else f"the keys are {', '.join(_KEYS)}"
        raise UserError("E-QUOTA", f"unknown key {shown(unknown[0])}", where, fix)
    missing = [key for key in ("provider", "limit", "unit") if not row.get(key)]
    if missing:
        raise UserError("E-QUOTA", f"no {' and no '.join(missing)}", where, f"the keys are {', '.join(_KEYS)}")
    market = _word(row.get("market") or "any", _MARKETS, "market", where)
    unit = Unit(_word(row["unit"].lower(), tuple(each.value for each in Unit), "unit", where))
    if not re.fullmatch(r"[0-9]{1,9}", row["limit"]):
        raise UserError(
            "E-QUOTA", f"{shown(row['limit'])} is no limit", where, "write a whole number of 0 or more, as limit: 192"
        )
    return Quota(
        row["provider"].lower(),
        row.get("region") or "*",
        row.get("type") or "*",
        None if market == "any" else Market(market),
        int(row["limit"]),
        unit,
    )


def _word(text: str, allowed: tuple[str, ...], what: str, where: str) -> str:
    word = text.lower().replace("-", "_")
    if word not in allowed:
        near = did_you_mean(word, allowed)
        fix = f"did you mean {near}" if near else f"one of {', '.join(allowed)}"
        raise UserError("E-QUOTA", f"no {what} is called {shown(text)}", where, fix)
    return word
