"""The tables of a plan's page: heads and cells, the template escapes what they say."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import Any

from emporion.cli.plan_summary import least, machines
from emporion.cli.render import age, money
from emporion.market.units import plain

__all__ = ["Block", "cost_block", "front_blocks", "link_block", "region_block", "rejected_block", "relaxed_block"]

Document = Mapping[str, Any]


_SHORT = 14
_FOLDED = 8
"""Rows from which a table of placements is folded away at first."""


@dataclass(frozen=True, slots=True)
class Head:
    """One column."""

    text: str
    number: bool


@dataclass(frozen=True, slots=True)
class Cell:
    """One cell."""

    text: str
    number: bool = False
    link: str | None = None

    @property
    def kind(self) -> str:
        """The style classes: `n` a number, `s` short enough to stay on one line, `unknown`."""
        names = ("n" if self.number else "", "s" if len(self.text) <= _SHORT else "", "unknown" if self.unknown else "")
        return " ".join(name for name in names if name)

    @property
    def unknown(self) -> bool:
        """Whether it says that nothing is known."""
        return self.text == "?"


@dataclass(frozen=True, slots=True)
class Row:
    """One row; `best`: of the recommended placement."""

    cells: tuple[Cell, ...]
    best: bool = False


@dataclass(frozen=True, slots=True)
class Block:
    """One table."""

    caption: str
    heads: tuple[Head, ...]
    rows: tuple[Row, ...]
    notes: tuple[str, ...] = ()
    id: str = ""
    title: str = ""
    open: bool = False
    best: bool = False
    total: str = ""


def _heads(names: Sequence[str]) -> tuple[Head, ...]:
    """Return the columns; a name that ends in `#` is one of numbers."""
    return tuple(Head(name.removesuffix("#"), name.endswith("#")) for name in names)


def _row(names: Sequence[str], values: Iterable[str | None], *, best: bool = False, link: str | None = None) -> Row:
    cells = tuple(
        Cell("?" if value is None else value, name.endswith("#"), link if place == 0 else None)
        for place, (name, value) in enumerate(zip(names, values, strict=True))
    )
    return Row(cells, best)


def front_blocks(plan: Document, detailed: Collection[str]) -> list[Block]:
    """Return the solutions and the placements that cannot be stood up, with links to those whose costs are shown."""
    found = []
    if plan["solutions"]:
        best = any(one["recommended"] for one in plan["solutions"])
        caption = "Solutions, ★ recommended" if best else "Solutions, none of which can be stood up"
        found.append(_placements(caption, plan["solutions"], detailed))
    if plan["not_deployable"]:
        found.append(_placements("Not deployable, for comparison", plan["not_deployable"], detailed))
    return found


def _placements(caption: str, placements: Sequence[Document], detailed: Collection[str]) -> Block:
    carbon = any(one["objectives"].get("carbon_g_per_hour") is not None for one in placements)
    names = [
        "rank", "nodes and site", "GPU", "GPUs#", "$/hr#", "$/GPU/hr#", "images/s#", "efficiency#", "lost s/day#",
        *(["gCO2e/h#"] if carbon else []), "between nodes",
    ]  # fmt: skip
    rows = [
        _row(
            names,
            [
                f"{one['rank']}{' ★' if one['recommended'] else ''}",
                machines(one),
                " + ".join(
                    dict.fromkeys(node["gpu"] or ("?" if node["gpus_per_node"] else "-") for node in one["nodes"])
                ),
                str(one["gpus"]),
                least(one["cost"]) + money(one["cost"]["total"]),
                least(one["cost"]) + money(one["cost"]["per_gpu"], 3),
                f"{'~' if one['performance']['derived'] else ''}{one['objectives']['throughput']:g}",
                f"{one['performance']['scaling_efficiency']:.0%}",
                f"{'~' if one['stability']['assumed'] else ''}{one['objectives']['loss_s_per_day']}",
                *([str(one["objectives"].get("carbon_g_per_hour"))] if carbon else []),
                "; ".join(map(_joint, one["links"])) or "one node",
            ],
            best=one["recommended"],
            link=one["anchor"] if one["anchor"] in detailed else None,
        )
        for one in placements
    ]
    notes = sorted({one["deploy_note"] for one in placements if one["deploy_note"]})
    return Block(caption, _heads(names), tuple(rows), tuple(notes), open=len(rows) <= _FOLDED)


def _joint(link: Document) -> str:
    latency = "?" if link["latency_ms"] is None else f"{link['latency_ms']:g} ms"
    width = "?" if link["bandwidth_gbps"] is None else f"{link['bandwidth_gbps']:g} Gb/s"
    what = link["fabric"] or ("between sites" if len(link["sites"]) > 1 else "network ?")
    return f"{what} {width}, {latency}{' modelled' if link['modelled'] else ''}"


def cost_block(one: Document, today: date) -> Block:
    """Return every line of what a placement costs."""
    names = ["item", "quantity#", "unit", "$/unit#", "$/hr#", "at most $/hr#", "quality", "as of", "age", "source"]
    rows = [
        _row(
            names,
            [
                line["item"] + (f" ({line['stage']})" if line["stage"] else ""),
                _plain(line["quantity"]),
                line["unit"],
                _plain(line["unit_price"]),
                line["usd_per_hour"],
                line["upper_usd_per_hour"],
                line["quality"],
                line["as_of"],
                age(line["as_of"], today),
                line["source"],
            ],
        )
        for line in one["cost"]["lines"]
    ]
    cost = one["cost"]
    total = f"total ${money(cost['total'], 4)}/hr"
    if cost["upper_total"] is not None:
        total += f", at most ${money(cost['upper_total'], 4)}/hr"
    elif cost["unknown"]:
        total += " or more"
    if cost["run_total"] is not None:
        total += f"; the whole run ${money(cost['run_total'])}"
    stability, speed = one["stability"], one["performance"]
    notes = [
        (
            f"{stability['interruptions_per_day']:g} interruptions a day{_mark(stability['assumed'], 'assumed')}, "
            f"{stability['mean_recovery_s']} s to recover, a checkpoint every {stability['checkpoint_interval_s']} s"
        ),
        (
            f"{speed['images_per_second']:g} images/s{_mark(speed['derived'], 'derived')}, "
            f"{speed['scaling_efficiency']:.1%} of the sum of its GPUs"
        ),
        *(_stage_note(stage) for stage in one.get("stages", ())),
        *([f"unknown: {', '.join(cost['unknown'])}"] if cost["unknown"] else []),
        *([f"not deployable: {one['deploy_note']}"] if one["deploy_note"] else []),
    ]
    mark = "★ " if one["recommended"] else ""
    title = f"{mark}{one['rank']}: {machines(one)}, {least(cost)}${money(cost['total'])}/hr"
    return Block(
        "", _heads(names), tuple(rows), tuple(notes), one["anchor"], title, best=one["recommended"], total=total
    )


def _stage_note(stage: Document) -> str:
    hours = "? h" if stage["hours"] is None else f"{stage['hours']} h"
    where = f"{stage['provider']} {stage['zone'] or stage['region']}"
    after = f" after {', '.join(stage['needs'])}" if stage["needs"] else ""
    whole = "" if stage["run_total"] is None else f", ${money(stage['run_total'])} in all"
    return f"stage {stage['name']}{after}: {where}, ${money(stage['usd_per_hour'])}/hr for {hours}{whole}"


def _mark(holds: bool, word: str) -> str:
    return f" ({word})" if holds else ""


def _plain(value: str | None) -> str | None:
    return None if value is None else plain(Decimal(value))


def region_block(picture: Document) -> Block:
    """Return the regions of the picture."""
    names = ["provider", "region", "place", "zones", "offers#", "machine from $/hr#", "solutions", "part"]
    rows = [
        _row(
            names,
            [
                one["provider"],
                one["region"],
                one["location"],
                ", ".join(one["zones"]) or "whole region",
                str(one["offers"]),
                money(one["cheapest_usd_per_hour"]),
                ", ".join(map(str, one["ranks"])) or "-",
                one["role"],
            ],
            best=one["role"] == "recommended",
        )
        for one in picture["regions"]
    ]
    return Block(f"{len(rows)} regions", _heads(names), tuple(rows))


def link_block(picture: Document) -> Block:
    """Return the links of the picture."""
    names = ["from", "to", "latency ms, one way#", "Gb/s#", "$/GB#", "$/GB back#", "basis"]
    regions = picture["regions"]

    def place(number: int) -> str:
        return f"{regions[number]['provider']} {regions[number]['region']}"

    rows = [
        _row(
            names,
            [
                place(link["ends"][0]),
                place(link["ends"][1]),
                None if link["latency_ms"] is None else f"{link['latency_ms']:g}",
                None if link["bandwidth_gbps"] is None else f"{link['bandwidth_gbps']:g}",
                link["usd_per_gb"],
                link["usd_per_gb_back"],
                "modelled" if link["modelled"] else f"measured: {link['source']}, {link['as_of']}",
            ],
        )
        for link in picture["links"]
    ]
    return Block(f"{len(rows)} links between the regions of the front", _heads(names), tuple(rows))


def rejected_block(plan: Document) -> Block:
    """Return why the other offers were not taken."""
    names = ["offers#", "first failing constraint", "cheapest of them"]
    rows = [_row(names, [str(one["offers"]), one["reason"], one["example"]]) for one in plan["rejected"]]
    total = sum(one["offers"] for one in plan["rejected"])
    caption = f"{total} offers; emporion plan … --explain OFFER walks one of them through every constraint"
    return Block(caption, _heads(names), tuple(rows), id="part-rejected", title="Not taken, and why")


def relaxed_block(plan: Document) -> Block:
    """Return the smallest changes that would make an infeasible intent feasible."""
    names = ["change", "from", "to", "$/hr#"]
    rows = [_row(names, [one["change"], one["from"], one["to"], money(one["total"])]) for one in plan["relaxations"]]
    return Block(
        "Cheapest first", _heads(names), tuple(rows), id="part-relaxed", title="Possible with the smallest changes"
    )
