"""What a program or plan costs, and what a change of it costs: the figures of the cost gate in a pull request."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any

from emporion.market.bill import Bill, make_bill
from emporion.market.cost_lines import HOURS_PER_MONTH
from emporion.market.errors import UserError
from emporion.market.facts import FactSource, Purchase, Unreadable, read_facts
from emporion.market.preview import read_preview
from emporion.market.resources import Others, Resource

__all__ = [
    "Change",
    "ChangeLine",
    "Estimate",
    "EstimateLine",
    "change",
    "of_bill",
    "of_plan",
    "of_plan_lines",
    "read_estimate",
]

_PLAN = "emporion.plan/"
_HEAD = 4096
"""So much of a file tells a plan from a preview, whose head is its configuration."""


@dataclass(frozen=True, slots=True)
class EstimateLine:
    """One thing that is paid for. None is unknown, never 0."""

    item: str
    type: str
    """Pulumi's type token, or the part of a plan's cost."""
    part: str
    """`compute`, `storage`, …"""
    quantity: Decimal | None
    unit: str
    unit_price: Decimal | None
    usd_per_hour: Decimal | None
    upper_usd_per_hour: Decimal | None
    source: str
    as_of: str | None


@dataclass(frozen=True, slots=True)
class Estimate:
    """What something costs."""

    name: str
    """The file or stack."""
    lines: tuple[EstimateLine, ...]
    not_priced: Mapping[str, int] = field(default_factory=dict)
    left_out: int = 0
    regions: Mapping[str, int] = field(default_factory=dict)
    """Where regions come from -> of how many resources."""
    hours: Decimal | None = None
    """Of a run, where a plan says so."""

    @property
    def usd_per_hour(self) -> Decimal:
        """The sum of what is known."""
        return sum((line.usd_per_hour for line in self.lines if line.usd_per_hour is not None), Decimal(0))

    @property
    def usd_per_month(self) -> Decimal:
        """What is known, in a month of 730 hours."""
        return self.usd_per_hour * HOURS_PER_MONTH

    @property
    def unknown(self) -> tuple[str, ...]:
        """The items without an amount."""
        return tuple(dict.fromkeys(line.item for line in self.lines if line.usd_per_hour is None))


@dataclass(frozen=True, slots=True)
class ChangeLine:
    """One thing of which there will be more or less, or whose price changes."""

    item: str
    type: str
    quantity_change: Decimal | None
    unit: str
    unit_price: Decimal | None
    usd_per_month_change: Decimal | None
    """None: what it costs is not known, before or after."""
    source: str
    as_of: str | None


@dataclass(frozen=True, slots=True)
class Change:
    """The difference between two estimates."""

    base: Estimate
    head: Estimate
    lines: tuple[ChangeLine, ...]
    """What costs most first."""

    @property
    def usd_per_hour(self) -> Decimal:
        """The sum of what is known, afterwards less before."""
        return self.head.usd_per_hour - self.base.usd_per_hour

    @property
    def usd_per_month(self) -> Decimal:
        """The same in a month of 730 hours."""
        return self.usd_per_hour * HOURS_PER_MONTH

    @property
    def increase_percent(self) -> Decimal | None:
        """How much more it is, in percent of before; None: before it cost nothing that is known."""
        return self.usd_per_hour / self.base.usd_per_hour * 100 if self.base.usd_per_hour else None


def read_estimate(
    path: Path, sources: Iterable[FactSource], regions: Mapping[str, tuple[str, str]] | None = None
) -> Estimate:
    """Return what a preview file or a plan costs.

    Raises: UserError E-PREVIEW: when it is neither, or is cut off.
    """
    try:
        with path.open(encoding="utf-8") as file:
            head = file.read(_HEAD)
    except (OSError, UnicodeDecodeError):
        head = ""  # the reader of previews says what is wrong with it
    if f'"{_PLAN}' in head:
        return _of_plan(path)
    preview = read_preview(path, regions)
    bill = make_bill(_purchases(preview.resources, tuple(sources)))
    priced = {line.urn for line in bill.lines}
    where: dict[str, int] = {}
    for urn in priced:
        origin = preview.region_source.get(urn, "the resource itself")
        where[origin] = where.get(origin, 0) + 1
    return of_bill(path.name, bill, left_out=preview.left_out, regions=dict(sorted(where.items())))


def _purchases(resources: Iterable[Resource], sources: tuple[FactSource, ...]) -> Iterable[Purchase]:
    others = Others(resources)
    for resource in others:
        for fact in read_facts(resource, others, sources):
            if isinstance(fact, Purchase):
                yield fact
            elif isinstance(fact, Unreadable):
                yield Purchase(name=fact.name, urn=fact.urn, type=fact.type)


def of_bill(name: str, bill: Bill, *, left_out: int = 0, regions: Mapping[str, int] | None = None) -> Estimate:
    """Return a bill with equal things as one line: the same kind in the same place at the same price."""
    found: dict[tuple[object, ...], list[EstimateLine]] = {}
    for line in bill.lines:
        cost = line.cost
        what = cost.item.removesuffix(f" of {line.name}") if cost.item != line.name else line.type.rpartition(":")[2]
        item = f"{what}, {line.region or 'region unknown'}"
        known = cost.usd_per_hour is not None
        one = EstimateLine(
            item, line.type, cost.part, cost.quantity, cost.unit, cost.unit_price, cost.usd_per_hour,
            cost.upper_usd_per_hour, cost.source, cost.as_of,
        )  # fmt: skip
        found.setdefault((item, line.type, cost.unit, cost.unit_price, cost.source, known), []).append(one)
    lines = tuple(_together(group) for group in found.values())
    return Estimate(name, lines, bill.not_priced, left_out, regions or {})


def _together(group: list[EstimateLine]) -> EstimateLine:
    def total(values: Iterable[Decimal | None]) -> Decimal | None:
        amounts = list(values)
        return None if None in amounts else sum((one for one in amounts if one is not None), Decimal(0))

    first = group[0]
    return EstimateLine(
        first.item, first.type, first.part, total(line.quantity for line in group), first.unit, first.unit_price,
        total(line.usd_per_hour for line in group), total(line.upper_usd_per_hour for line in group), first.source,
        first.as_of,
    )  # fmt: skip


def _of_plan(path: Path) -> Estimate:
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise UserError("E-PREVIEW", f"{path.name} is cut off", str(path), "emporion plan --json > FILE") from error
    return of_plan(path.name, document)


def of_plan(name: str, document: Mapping[str, Any]) -> Estimate:
    """Return what the recommended placement of an `emporion.plan/1` costs.

    Raises: UserError E-PREVIEW: when it recommends none.
    """
    chosen = next((one for one in document.get("solutions") or [] if one.get("recommended")), None)
    if chosen is None:
        raise UserError("E-PREVIEW", f"{name} recommends nothing, so nothing of it has a cost", name, "plan again")
    run, hourly = _amount(chosen["cost"].get("run_total")), _amount(chosen["cost"]["total"])
    hours = run / hourly if run is not None and hourly else None
    return of_plan_lines(name, chosen["cost"]["lines"], hours)


def of_plan_lines(name: str, lines: Iterable[Mapping[str, Any]], hours: Decimal | None = None) -> Estimate:
    """Return what cost lines in the form of `emporion.plan/1` come to: of a plan, or pinned to a stack."""
    return Estimate(name, tuple(_plan_line(line) for line in lines), hours=hours)


def _plan_line(line: Mapping[str, Any]) -> EstimateLine:
    return EstimateLine(
        line["item"], "plan", "", _amount(line["quantity"]), line["unit"], _amount(line["unit_price"]),
        _amount(line["usd_per_hour"]), _amount(line.get("upper_usd_per_hour")), line["source"], line["as_of"],
    )  # fmt: skip


def _amount(text: str | None) -> Decimal | None:
    return None if text is None else Decimal(text)


def change(base: Estimate, head: Estimate) -> Change:
    """Return what changes from one estimate to another; what stays the same has no line."""
    before, after = _by_item(base), _by_item(head)
    lines = []
    for key in dict.fromkeys([*before, *after]):
        old, new = before.get(key), after.get(key)
        line = _line(old, new)
        if line is not None:
            lines.append(line)
    lines.sort(key=lambda one: (-abs(one.usd_per_month_change or Decimal(0)), one.item, one.type))
    return Change(base, head, tuple(lines))


def _by_item(estimate: Estimate) -> dict[tuple[str, str, str, bool], EstimateLine]:
    """Return the lines by what they are; several prices of one thing, and what is unknown of it, stay apart."""
    found: dict[tuple[str, str, str, bool], EstimateLine] = {}
    for line in estimate.lines:
        key = (line.item, line.type, str(line.unit_price), line.usd_per_hour is None)
        found[key] = _together([found[key], line]) if key in found else line
    return found


def _line(old: EstimateLine | None, new: EstimateLine | None) -> ChangeLine | None:
    one = new or old
    if one is None or (old is not None and new is not None and _same(old, new)):
        return None
    zero = Decimal(0)
    quantities = [zero if line is None else line.quantity for line in (old, new)]
    amounts = [zero if line is None else line.usd_per_hour for line in (old, new)]
    quantity = None if None in quantities else (quantities[1] or zero) - (quantities[0] or zero)
    usd = None if None in amounts else ((amounts[1] or zero) - (amounts[0] or zero)) * HOURS_PER_MONTH
    return ChangeLine(one.item, one.type, quantity, one.unit, one.unit_price, usd, one.source, one.as_of)


def _same(old: EstimateLine, new: EstimateLine) -> bool:
    return (old.quantity, old.usd_per_hour) == (new.quantity, new.usd_per_hour)
