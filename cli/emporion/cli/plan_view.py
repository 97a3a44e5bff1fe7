"""A plan as text: a pure function of its JSON document (`emporion.plan/1`), so that both say the same."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date
from decimal import Decimal
from typing import Any

from emporion.cli.layout import WIDE, clean, fold
from emporion.cli.plan_cost import cost_text
from emporion.cli.plan_summary import least, recommended, summary
from emporion.cli.render import money, table

__all__ = ["plan_text", "wish"]

Document = Mapping[str, Any]

SHOWN_SOLUTIONS = 12
SHOWN_OTHERS = 6
SHOWN_REASONS = 10
SHOWN_RELAXATIONS = 8
_NARROW = 100
"""Columns of a screen below which provider and site share a column."""
_RIGHT = ("#", "GPUS", "$/HR", "$/GPU/HR", "IMG/S", "LOST S/DAY", "GCO2/H")
_DROPPED = ("$/GPU/HR", "GPUS", "GPU")


def plan_text(plan: Document, *, width: int = WIDE, today: date | None = None, chart: str = "") -> str:
    """Return a plan as text: the answer, placements, those that cannot be stood up, cost, reasons, relaxations.

    No line is longer than `width` where that can be; `today` is what ages of prices count to; `chart` is a picture of
    the front, put below its table.
    """
    return "\n\n".join(_blocks(plan, width, today, chart)) + "\n"


def _blocks(plan: Document, width: int, today: date | None, chart: str) -> Iterator[str]:
    catalogue = plan["catalogue"]
    intent = plan["intent"]
    yield "\n".join(
        [
            *fold(f"{clean(intent['name'])}: {clean(wish(intent))}", width, "  "),
            f"prices of {catalogue['as_of']}, catalogue {catalogue['version']}",
            *(f"1 {one['currency']} = {one['usd']} USD, of {one['as_of']}" for one in catalogue.get("rates", ())),
        ]
    )
    told = summary(plan, today)
    if told:
        yield "\n".join(line for name, text in told for line in fold(f"{name:<13}{clean(text)}", width, " " * 13))
    if plan["solutions"]:
        yield _solutions(plan["solutions"], width)
    best = recommended(plan) or next(iter(plan["solutions"]), None)
    if best is not None and best.get("stages"):
        yield _stages(best["stages"], width)
    if chart:
        yield chart
    if plan["not_deployable"]:
        yield _not_deployable(plan["not_deployable"], width)
    if best is not None:
        yield cost_text(best, f"COST OF {'*' if best['recommended'] else best['rank']}", width)
    if plan["relaxations"]:
        yield _relaxations(plan["relaxations"], width)
    if plan["rejected"]:
        yield _rejected(plan["rejected"], width)


def wish(intent: Document) -> str:
    """Return the normalised wish in one line, the unit in each name: what was understood is shown."""
    if intent.get("stages"):
        return "; ".join(f"{one['name']} {_asked({**intent, **one}) or _asked(intent)}" for one in intent["stages"])
    return _asked(intent)


def _asked(intent: Document) -> str:
    resources = intent["resources"]
    gpus = resources["gpus"]
    parts = [_gpus(gpus)] if gpus else []
    for section in (gpus or {}, resources["network"], resources, intent["budget"], intent["constraints"]):
        parts += [f"{name} {_word(value)}" for name, value in section.items() if name not in _SAID and _given(value)]
    return ", ".join(parts)


_SAID = frozenset({"types", "asked", "count_min", "count_max", "gpus", "network"})


def _gpus(gpus: Document) -> str:
    low, high = gpus["count_min"], gpus["count_max"]
    asked, models = " or ".join(gpus["asked"]) or "any GPU", " or ".join(gpus["types"])
    number = str(low) if low == high else f"{low}..{high}"
    return f"{number} x {asked}" if models in {"", asked} else f"{number} x {asked} ({models})"


def _given(value: object) -> bool:
    return value not in (None, False, "no", "any", [])


def _solutions(solutions: Sequence[Document], width: int) -> str:
    shown = [one for place, one in enumerate(solutions) if place < SHOWN_SOLUTIONS or one["recommended"]]
    text = _placements(shown, width)
    notes = {one["deploy_note"] for one in shown if not one["deployable"] and one["deploy_note"]}
    told = [line for note in sorted(notes) for line in fold(f"not deployable: {clean(note)}", width, "  ")]
    return "\n".join([text, *told, *_more(len(solutions) - len(shown))])


def _stages(stages: Sequence[Document], width: int) -> str:
    """Return the stages of a placement, each by itself."""
    rows = [
        [
            one["name"],
            ", ".join(one["needs"]) or "-",
            f"{one['provider']} {one['zone'] or one['region']}",
            None if one["hours"] is None else f"{one['hours']:g}",
            money(one["usd_per_hour"]),
            None if one["run_total"] is None else money(one["run_total"]),
            f"{one['throughput']:g}",
            _number(one["loss_s_per_day"]),
        ]
        for one in stages
    ]
    heads = ["STAGE", "AFTER", "SITE", "HOURS", "$/HR", "$ IN ALL", "IMG/S", "LOST S/DAY"]
    return table(heads, rows, right=heads[3:], width=width, wrap=("AFTER",))


def _not_deployable(solutions: Sequence[Document], width: int) -> str:
    shown = solutions[:SHOWN_OTHERS]
    lines = ["not deployable, for comparison", _placements(shown, width), *_more(len(solutions) - len(shown))]
    notes = sorted({one["deploy_note"] for one in shown if one["deploy_note"]})
    return "\n".join([*lines, *(line for note in notes for line in fold(f"  {clean(note)}", width, "    "))])


def _more(count: int) -> list[str]:
    return [f"and {count} more: --json lists all"] if count > 0 else []


def _placements(solutions: Sequence[Document], width: int) -> str:
    carbon = any(one["objectives"].get("carbon_g_per_hour") is not None for one in solutions)
    where = ["SITE"] if width < _NARROW else ["PROVIDER", "SITE"]
    heads = [" ", "#", *where, "NODES", "GPU", "MARKET", "GPUS", "$/HR", "$/GPU/HR", "IMG/S", "LOST S/DAY"]
    rows = [_row(one, apart=width >= _NARROW) for one in solutions]
    if carbon:
        heads.append("GCO2/H")
        rows = [[*row, _emission(one)] for row, one in zip(rows, solutions, strict=True)]
    return table(heads, rows, right=_RIGHT, width=width, drop=_DROPPED, wrap=("NODES",))


def _emission(one: Document) -> str | None:
    most = "<=" if one["carbon"]["bound"] else ""
    return f"{most}{_number(one['objectives']['carbon_g_per_hour'])}"


def _row(one: Document, *, apart: bool) -> list[str | None]:
    """Return a placement as a row; `apart`: provider and site have a column each."""
    nodes, cost = one["nodes"], one["cost"]
    mark = least(cost)
    sites = [node["zone"] or node["region"] for node in nodes]
    where = [_joined(node["provider"] for node in nodes), _joined(sites)]
    return [
        "*" if one["recommended"] else " ",
        str(one["rank"]),
        *(where if apart else [_joined(f"{node['provider']} {site}" for node, site in zip(nodes, sites, strict=True))]),
        " + ".join(f"{node['count']} x {node['instance_type']}" for node in nodes),
        _joined(node["gpu"] or ("?" if node["gpus_per_node"] else "-") for node in nodes),
        _joined(node["market"] for node in nodes),
        str(one["gpus"]),
        mark + money(cost["total"]),
        mark + money(cost["per_gpu"]),
        _speed(one),
        _number(one["objectives"]["loss_s_per_day"]),
    ]


def _joined(values: Iterable[str]) -> str:
    return "+".join(dict.fromkeys(values))


def _number(value: float | str | None) -> str | None:
    return None if value is None else format(Decimal(str(value)), ".0f")


def _speed(one: Document) -> str:
    return f"{'~' if one['performance']['derived'] else ''}{one['objectives']['throughput']:g}"


def _relaxations(relaxations: Sequence[Document], width: int) -> str:
    shown = relaxations[:SHOWN_RELAXATIONS]
    heads = ["POSSIBLE WITH", "FROM", "TO", "$/HR"]
    rows = [row for one in shown for row in _changes(one)]
    lines = [table(heads, rows, right=("$/HR",), width=width, wrap=heads[:3])]
    return "\n".join([*lines, *_more(len(relaxations) - len(shown))])


def _changes(one: Document) -> Iterator[list[str | None]]:
    """Yield a line for each key of a change, the first with the price."""
    parts = [str(one[name]).split(joint) for name, joint in (("change", " + "), ("from", "; "), ("to", "; "))]
    if len({len(part) for part in parts}) > 1:
        parts = [[str(one["change"])], [str(_word(one["from"]))], [str(_word(one["to"]))]]
    for place, (key, before, after) in enumerate(zip(*parts, strict=True)):
        yield [f"+ {key}", before, after, ""] if place else [key, before, after, money(one["total"])]


def _word(value: object) -> str | None:
    if value is True:
        return "true"
    if isinstance(value, (list, tuple)):
        return ", ".join(str(one) for one in value) or "any"
    return None if value is None else str(value)


def _rejected(rejected: Sequence[Document], width: int) -> str:
    shown = rejected[:SHOWN_REASONS]
    rows = [[str(one["offers"]), one["reason"], one["example"]] for one in shown]
    heads = ["OFFERS", "NOT TAKEN BECAUSE", "EXAMPLE"]
    lines = [table(heads, rows, right=("OFFERS",), width=width, wrap=heads[1:])]
    return "\n".join([*lines, *_more(len(rejected) - len(shown))])
