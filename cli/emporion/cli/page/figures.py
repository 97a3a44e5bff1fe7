"""The pictures of a plan's page, as data for plotly.js. Pure; every name that goes in is escaped."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from decimal import Decimal
from html import escape
from typing import Any

from emporion.cli.plan_summary import machines
from emporion.cli.render import money
from emporion.cli.scatter import LOG_FROM, log_marks
from emporion.market.cost_lines import PARTS

__all__ = ["LEGEND", "Figure", "cost_figure", "front_figure", "short", "tagged"]

Document = Mapping[str, Any]
Figure = dict[str, Any]

SHOWN_BARS = 12
_COLOURS = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00")
"""Okabe and Ito's, which colour-blind people can tell apart."""
_OTHER = "#8a8f98"


def front_figure(plan: Document) -> Figure:
    """Return the front: cost across, throughput up, lost time as colour."""
    everything = [*plan["solutions"], *plan["not_deployable"]]
    groups = (
        ("cannot be stood up", "diamond-open", 11, list(plan["not_deployable"])),
        ("solution", "circle", 14, [one for one in plan["solutions"] if not one["recommended"]]),
        ("recommended", "star", 22, [one for one in everything if one["recommended"]]),
    )
    lost = _lost_colours([one["objectives"]["loss_s_per_day"] for one in everything] or [0])
    costs = [float(one["objectives"]["usd_per_hour"]) for one in everything]
    axis: Figure = {"title": {"text": "full-chain cost, $/hr"}, "tickprefix": "$", "type": "linear"}
    if costs and min(costs) > 0 and max(costs) / min(costs) > LOG_FROM:
        axis |= {"type": "log", "tickvals": log_marks(min(costs), max(costs))}
    return {
        "data": [_front_trace(name, symbol, size, group, lost) for name, symbol, size, group in groups if group],
        "layout": {
            "xaxis": axis,
            "yaxis": {"title": {"text": "throughput, images/s"}, "rangemode": "tozero"},
            "legend": LEGEND,
            "hovermode": "closest",
        },
    }


LEGEND = {"orientation": "h", "yref": "container", "y": 0, "yanchor": "bottom"}


def _lost_colours(losses: Sequence[int]) -> Figure:
    """Return the colours of lost time, by its logarithm: most lose little, a few much."""
    low, high = min(losses), max(losses)
    marks = sorted({low, high, *(mark for mark in (10, 30, 100, 300, 1000, 3000, 10_000, 30_000) if low < mark < high)})
    return {
        "colorscale": [[0, "#2f7fc1"], [0.5, "#a06bb4"], [1, "#e0662d"]],
        "cmin": _heat(low),
        "cmax": _heat(high) if high > low else _heat(low) + 1,
        "colorbar": {
            "title": {"text": "lost s/day", "side": "right"},
            "thickness": 14,
            "tickvals": [_heat(mark) for mark in marks],
            "ticktext": [str(mark) for mark in marks],
        },
    }


def _heat(loss_s: int) -> float:
    return math.log10(loss_s + 1)


def _front_trace(name: str, symbol: str, size: int, group: Sequence[Document], lost: Figure) -> Figure:
    return {
        "type": "scatter",
        "mode": "markers" if symbol == "diamond-open" else "markers+text",
        "name": name,
        "x": [float(one["objectives"]["usd_per_hour"]) for one in group],
        "y": [one["objectives"]["throughput"] for one in group],
        "text": [str(one["rank"]) for one in group],
        "textposition": "top right",
        "hovertext": [_hover(one) for one in group],
        "hoverinfo": "text",
        "customdata": [one["anchor"] for one in group],
        "marker": {
            "symbol": symbol,
            "size": size,
            "color": [_heat(one["objectives"]["loss_s_per_day"]) for one in group],
            **lost,
            "showscale": True,
            "line": {"width": 1.5},
        },
    }


def tagged(plan: Document) -> Figure:
    """Return a plan whose placements know their places on the page (`anchor`)."""
    names = (("solutions", "solution"), ("not_deployable", "other"))
    return {
        **plan,
        **{key: [{**one, "anchor": f"{name}-{one['rank']}"} for one in plan[key]] for key, name in names},
    }


def _hover(one: Document) -> str:
    cost, goals = one["cost"], one["objectives"]
    lines = [
        f"<b>{one['rank']}: {escape(machines(one))}</b>",
        f"${money(cost['total'])}/hr, ${money(cost['per_gpu'], 3)} per GPU and hour",
        f"{goals['throughput']:g} images/s{' (derived)' if one['performance']['derived'] else ''}",
        f"{goals['loss_s_per_day']} s lost a day{' (assumed)' if one['stability']['assumed'] else ''}",
        *(f"{part} ${money(cost[part], 4)}/hr" for part in PARTS if cost[part] is None or Decimal(cost[part])),
    ]
    if cost["unknown"]:
        lines.append(f"unknown: {escape(', '.join(cost['unknown']))}")
    if one["deploy_note"]:
        lines.append(escape(one["deploy_note"]))
    return "<br>".join(lines)


def cost_figure(plan: Document) -> Figure:
    """Return what the solutions cost by part, as bars on each other; what is only bounded is hatched."""
    solutions = plan["solutions"]
    shown = [one for place, one in enumerate(solutions) if place < SHOWN_BARS or one["recommended"]]
    names = [f"{'★ ' if one['recommended'] else ''}{one['rank']}  {escape(short(machines(one)))}" for one in shown]
    traces: list[Figure] = [
        _bars(part, colour, names, [one["cost"][part] for one in shown], [one["cost"]["total"] for one in shown])
        for part, colour in zip(PARTS, _COLOURS, strict=True)
        if any(one["cost"][part] is None or Decimal(one["cost"][part]) for one in shown)
    ]
    more = [
        None
        if one["cost"]["upper_total"] is None
        else Decimal(one["cost"]["upper_total"]) - Decimal(one["cost"]["total"])
        for one in shown
    ]
    if any(more):
        bars = _bars("unknown, at most", _OTHER, names, [None if one is None else str(one) for one in more], [])
        bars["marker"]["pattern"] = {"shape": "/", "fgcolor": _OTHER, "bgcolor": "rgba(0,0,0,0)"}
        traces.append(bars)
    return {
        "data": traces,
        "layout": {
            "barmode": "stack",
            "xaxis": {"title": {"text": "$/hr"}, "tickprefix": "$", "rangemode": "tozero"},
            "yaxis": {"autorange": "reversed", "automargin": True},
            "legend": {**LEGEND, "traceorder": "normal"},
            "annotations": [
                {"x": float(one["cost"]["total"]), "y": name, "text": " + ?", "showarrow": False, "xanchor": "left"}
                for one, name in zip(shown, names, strict=True)
                if one["cost"]["upper_total"] is None and one["cost"]["unknown"]
            ],
        },
    }


def short(text: str) -> str:
    """Return a text, cut visibly when it is too long for a picture."""
    most = 46
    return text if len(text) <= most else f"{text[: most - 1]}…"


def _bars(
    name: str, colour: str, names: Sequence[str], amounts: Sequence[str | None], totals: Sequence[str | None]
) -> Figure:
    def told(amount: str | None, total: str | None) -> str:
        share = f", {Decimal(amount) / Decimal(total):.1%}" if amount and total and Decimal(total) else ""
        return f"{name}: ${money(amount, 4)}/hr{share}"

    return {
        "type": "bar",
        "orientation": "h",
        "name": name,
        "y": list(names),
        "x": [None if amount is None else float(amount) for amount in amounts],
        "hovertext": [
            told(amount, total) for amount, total in zip(amounts, totals or [None] * len(names), strict=True)
        ],
        "hoverinfo": "text",
        "marker": {"color": colour},
    }
