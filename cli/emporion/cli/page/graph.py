"""The resource graph of a plan as a picture: regions where they lie, links between those of the front. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from emporion.cli.page.figures import LEGEND, Figure, short
from emporion.cli.render import money

__all__ = ["graph_figure"]

Document = Mapping[str, Any]

_BEST, _OTHER = "#d55e00", "#8a8f98"
_ROLES = {
    "candidate": ("passed the constraints, not taken", "circle", 7, _OTHER),
    "not deployable": ("on the front, cannot be stood up", "diamond-open", 12, _OTHER),
    "solution": ("a solution", "circle", 14, "#0072b2"),
    "recommended": ("recommended", "star", 20, _BEST),
}
_LABELLED = 10
_NOWHERE_LAT = -72.0
"""Where regions stand whose place is not known: below the inhabited world."""


def graph_figure(picture: Document) -> Figure:
    """Return the regions where they lie, with the links between those of the front; no map tiles, no outside request.

    Regions whose place is not known stand in a row below the map, without their links.
    """
    regions = picture["regions"]
    places = _places(regions)
    best = {number for number, one in enumerate(regions) if one["role"] == "recommended"}
    traces = [
        *(
            _link_trace(link, regions, places, strong=bool(best & set(link["ends"])))
            for link in picture["links"]
            if all(regions[end]["lat"] is not None for end in link["ends"])
        ),
        *(
            _region_trace(role, [(one, places[number]) for number, one in enumerate(regions) if one["role"] == role])
            for role in _ROLES
            if any(one["role"] == role for one in regions)
        ),
    ]
    lost = any(one["lat"] is None for one in regions)
    return {
        "data": traces,
        "layout": {
            "xaxis": {"title": {"text": "longitude"}, "range": [-180, 180], "dtick": 30, "ticksuffix": "°"},
            "yaxis": {
                "title": {"text": "latitude"},
                "range": [-84 if lost else -60, 80],
                "dtick": 30,
                "ticksuffix": "°",
            },
            "legend": LEGEND,
            "hovermode": "closest",
            "annotations": [
                {
                    "x": -178,
                    "y": _NOWHERE_LAT - 6,
                    "text": "place not known",
                    "showarrow": False,
                    "xanchor": "left",
                }
            ]
            if lost
            else [],
        },
    }


def _places(regions: Sequence[Document]) -> list[tuple[float, float]]:
    """Return longitude and latitude of each region; those at one place stand beside each other."""
    seen: dict[tuple[float, float], int] = {}
    found = []
    nowhere = -150.0
    for one in regions:
        if one["lat"] is None:
            found.append((nowhere, _NOWHERE_LAT))
            nowhere += 300.0 / max(sum(each["lat"] is None for each in regions), 1)
            continue
        key = (round(one["lon"]), round(one["lat"]))
        number = seen[key] = seen.get(key, -1) + 1
        found.append((one["lon"] + 2.2 * (number % 3), one["lat"] - 2.2 * (number // 3)))
    return found


def _region_trace(role: str, group: Sequence[tuple[Document, tuple[float, float]]]) -> Figure:
    name, symbol, size, colour = _ROLES[role]
    labelled = role in ("recommended", "solution")
    return {
        "type": "scatter",
        "mode": "markers+text" if labelled else "markers",
        "name": name,
        "x": [place[0] for _, place in group],
        "y": [place[1] for _, place in group],
        "text": [
            f"{escape(one['provider'])} {escape(one['region'])}" if number < _LABELLED else ""
            for number, (one, _) in enumerate(group)
        ],
        "textposition": "top center",
        "hovertext": [_region_hover(one) for one, _ in group],
        "hoverinfo": "text",
        "marker": {"symbol": symbol, "size": size, "color": colour, "line": {"width": 1}},
    }


def _region_hover(one: Document) -> str:
    zones = ", ".join(one["zones"])
    ranks = [
        *(["solutions " + ", ".join(map(str, one["ranks"]))] if one["ranks"] else []),
        *(["not deployable " + ", ".join(map(str, one["other_ranks"]))] if one["other_ranks"] else []),
    ]
    lines = [
        f"<b>{escape(one['provider'])} {escape(one['region'])}</b>",
        escape(one["location"] or "place not known"),
        f"{one['offers']} offers pass, a machine from ${money(one['cheapest_usd_per_hour'])}/hr",
        *([f"zones {escape(short(zones))}"] if zones else []),
        *ranks,
    ]
    return "<br>".join(lines)


def _link_trace(
    link: Document, regions: Sequence[Document], places: Sequence[tuple[float, float]], *, strong: bool
) -> Figure:
    one, other = link["ends"]
    text = _link_hover(link, regions[one], regions[other])
    middle = [(places[one][axis] + places[other][axis]) / 2 for axis in (0, 1)]
    latency = "" if link["latency_ms"] is None else f"{link['latency_ms']:g} ms"
    return {
        "type": "scatter",
        "mode": "lines+text" if strong else "lines",
        "text": ["", latency, ""],
        "textposition": "top center",
        "showlegend": False,
        "x": [places[one][0], middle[0], places[other][0]],
        "y": [places[one][1], middle[1], places[other][1]],
        "hovertext": text,
        "hoverinfo": "text",
        "opacity": 0.8 if strong else 0.25,
        "line": {"width": 1.6 if strong else 0.8, "color": _BEST if strong else _OTHER, "dash": "dot"}
        if link["modelled"]
        else {"width": 2.2, "color": _BEST if strong else _OTHER},
    }


def _link_hover(link: Document, here: Document, there: Document) -> str:
    latency = "?" if link["latency_ms"] is None else f"{link['latency_ms']:g} ms one way"
    width = "the machines' own" if link["bandwidth_gbps"] is None else f"{link['bandwidth_gbps']:g} Gb/s"
    price = "?" if link["usd_per_gb"] is None else f"${link['usd_per_gb']}"
    return "<br>".join(
        [
            f"{escape(here['region'])} to {escape(there['region'])}",
            f"{latency} ({'modelled' if link['modelled'] else 'measured'})",
            f"{width} ({'assumed' if link['bandwidth_modelled'] else 'measured'})",
            f"{price} per GB",
        ]
    )
