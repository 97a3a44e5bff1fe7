"""The page of a plan, made and written."""

from __future__ import annotations

import base64
import hashlib
import json
import os
from collections.abc import Mapping
from datetime import datetime
from importlib.resources import files
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup

from emporion.cli.page.figures import cost_figure, front_figure, tagged
from emporion.cli.page.graph import graph_figure
from emporion.cli.page.tables import (
    cost_block,
    front_blocks,
    link_block,
    region_block,
    rejected_block,
    relaxed_block,
)
from emporion.cli.plan_summary import summary
from emporion.cli.plan_view import wish
from emporion.market.errors import UserError
from emporion.market.files import write_whole

__all__ = ["page", "writable", "write_page"]

_SHOWN, _SHOWN_OTHERS = 60, 24
"""Solutions and others whose cost lines are on the page; the tables and the picture have all."""


def page(plan: Mapping[str, Any], picture: Mapping[str, Any], at: datetime) -> str:
    """Return the page of a plan (`emporion.plan/1`) and of its resource graph, as planned at a time.

    The file asks nothing of a network: style, scripts and plotly.js stand in it, and its content policy allows those
    scripts alone, by their hashes. Every text is escaped.
    """
    plan = tagged(plan)
    source = files("emporion.cli.page")
    script = source.joinpath("plan.js").read_text(encoding="utf-8")
    plotly = files("plotly").joinpath("package_data", "plotly.min.js").read_text(encoding="utf-8")
    front = front_figure(plan)
    figures: dict[str, Any] = {"graph": graph_figure(picture)}
    if plan["solutions"] or plan["not_deployable"]:
        figures |= {"front": front, "costs": cost_figure(plan)}
    placements = [
        *(one for place, one in enumerate(plan["solutions"]) if place < _SHOWN or one["recommended"]),
        *plan["not_deployable"][:_SHOWN_OTHERS],
    ]
    warnings = plan["warnings"] if plan["feasible"] else plan["warnings"][1:]  # the first is the error, told on top
    why = [relaxed_block(plan)] if plan["relaxations"] else []
    why += [rejected_block(plan)] if plan["rejected"] else []
    parts = [
        *([("part-front", "front"), ("part-cost", "costs")] if placements else []),
        ("part-graph", "where"),
        *((block.id, block.title.lower()) for block in why),
        *([("part-warnings", "warnings")] if warnings else []),
        ("part-intent", "intent"),
    ]
    template = jinja2.Environment(
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    ).from_string(source.joinpath("plan.html.j2").read_text(encoding="utf-8"))
    return template.render(
        name=plan["intent"]["name"],
        wish=wish(plan["intent"]),
        catalogue=plan["catalogue"],
        planned_at=at.strftime("%Y-%m-%d %H:%M UTC"),
        error=None if plan["feasible"] else plan["warnings"][0],
        summary=summary(plan, at.date()),
        parts=parts,
        placements=[cost_block(one, at.date()) for one in placements],
        blocks=front_blocks(plan, {one["anchor"] for one in placements}),
        log=front["layout"]["xaxis"]["type"] == "log",
        places=[region_block(picture), *([link_block(picture)] if picture["links"] else [])],
        why=why,
        warnings=warnings,
        intent=json.dumps(plan["intent"], indent=2, ensure_ascii=False),
        figures=_data(figures),
        css=Markup(source.joinpath("plan.css").read_text(encoding="utf-8")),  # noqa: S704 - ours
        plotly=Markup(plotly),  # noqa: S704 - of the installed package
        script=Markup(script),  # noqa: S704 - ours
        script_sources=Markup(" ".join(map(_hash, (plotly, script)))),  # noqa: S704 - two hashes
    )


def _data(value: object) -> Markup:
    """Return JSON that cannot end the script element that holds it."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False)
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return Markup(text)  # noqa: S704 - nothing in it is HTML any more


def _hash(script: str) -> str:
    """Return what a content policy calls a script."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'"


def writable(path: Path) -> None:
    """See to it that a page can be written before anything is planned.

    Raises: UserError E-HTML: when the path is `-` or a directory, or its folder does not exist or cannot be written.
    """
    if str(path) == "-":
        raise _refused(path, "is no file: the plan goes to standard output", "name a file, as plan.html")
    if path.is_dir():
        raise _refused(path, "is a directory", "name a file in it, as plan.html")
    folder = path.parent
    if not folder.is_dir():
        raise _refused(path, f"cannot be written: {folder} is no directory", "make the folder first")
    if not os.access(folder, os.W_OK) or (path.exists() and not os.access(path, os.W_OK)):
        raise _refused(path, "cannot be written: permission denied", "name a file that you may write")


def write_page(path: Path, text: str) -> None:
    """Write a page whole or not at all: a reader sees the old file or the new one.

    Raises: UserError E-HTML: when it cannot be written.
    """
    writable(path)
    try:
        if path.exists() and not path.is_file():  # /dev/stdout, a FIFO: nothing to replace
            path.write_text(text, encoding="utf-8")
        else:
            write_whole(path, text)
    except OSError as error:
        raise _refused(path, f"cannot be written: {error.strerror}", "name a file that you may write") from error


def _refused(path: Path, what: str, fix: str) -> UserError:
    return UserError("E-HTML", f"{path} {what}", "--html", fix)
