"""`emporion plan --explain`: one offer through every constraint, as text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from decimal import Decimal
from typing import Any

from emporion.cli.layout import WIDE, clean, fold
from emporion.cli.plan_cost import cost_text
from emporion.cli.render import age, money, table

__all__ = ["explanation_text"]

Document = Mapping[str, Any]

_MARKS = {True: "ok", False: "no", None: "?"}
_SHOWN_RIVALS = 5


def explanation_text(document: Document, *, width: int = WIDE, today: date | None = None) -> str:
    """Return an explanation (`emporion.explanation/1`) as text: the answer, every check, rivals, figures, costs."""
    return "\n\n".join(_blocks(document, width, today)) + "\n"


def _blocks(document: Document, width: int, today: date | None) -> Iterator[str]:
    facts = document["facts"]
    old = f", {age(facts['as_of'], today)} old" if today and facts["as_of"] else ""
    gpus = f"{facts['gpus']} x {facts['gpu'] or 'GPU of unknown model'}" if facts["gpus"] else "no GPU"
    lines = [
        document["offer"],
        (
            f"{gpus}, {facts['vcpus'] or '?'} CPUs, {facts['memory_gb'] or '?'} GB, ${facts['usd_per_hour']}/hr "
            f"{facts['market']} of {facts['as_of'] or 'no date'}{old}: {facts['source']}"
        ),
    ]
    yield "\n".join(line for text in lines for line in fold(clean(text), width, "  "))
    for walk in document["walks"]:
        yield from _walk(walk, width)


def _walk(walk: Document, width: int) -> Iterator[str]:
    stage = f"{walk['stage']}: " if walk["stage"] else ""
    yield "\n".join(fold(f"{stage}{_answer(walk)}", width, "  "))
    rows = [
        [_MARKS[check["passed"]], check["key"], check["asked"], check["seen"], check["reason"] or ""]
        for check in walk["checks"]
    ]
    heads = [" ", "CONSTRAINT", "ASKED", "SEEN", "REASON"]
    yield table(heads, rows, width=width, wrap=heads[1:])
    if walk["rivals"]:
        yield _rivals(walk["rivals"], width)
    placement = walk["placement"]
    if placement is not None:
        yield _figures(walk["figures"], width)
        machines = " + ".join(f"{node['count']} x {node['instance_type']}" for node in placement["nodes"])
        yield cost_text(placement, f"COST OF {machines}", width)


def _answer(walk: Document) -> str:
    match walk["verdict"]:
        case "recommended":
            return f"taken: the recommended solution, {walk['rank']}"
        case "solution":
            return f"taken: solution {walk['rank']}, on the front and not recommended"
        case "not deployable":
            return f"on the front as {walk['rank']}, but it cannot be stood up: {walk['placement']['deploy_note']}"
        case _:
            return f"not taken: {walk['reason']}"


def _rivals(rivals: Sequence[Document], width: int) -> str:
    rows = [
        [
            each["label"],
            " + ".join(each["offers"]),
            money(each["usd_per_hour"]),
            _more(each["cheaper_usd_per_hour"], 2),
            _more(each["faster_images_per_second"], 0),
            _more(each["less_lost_s_per_day"], 0),
        ]
        for each in rivals[:_SHOWN_RIVALS]
    ]
    heads = ["AT LEAST AS GOOD", "OFFERS", "$/HR", "$ LESS", "IMG/S MORE", "S/DAY LESS"]
    text = table(heads, rows, right=heads[2:], width=width, wrap=heads[1:2])
    left = len(rivals) - _SHOWN_RIVALS
    return f"{text}\nand {left} more: --json lists all" if left > 0 else text


def _more(value: object, places: int) -> str:
    amount = Decimal(str(value))
    return format(amount, f".{places}f") if amount else "same"


def _figures(figures: Sequence[Document], width: int) -> str:
    rows = [[each["name"], each["value"], each["quality"], each["basis"]] for each in figures]
    heads = ["FIGURE", "VALUE", "QUALITY", "RESTS ON"]
    return table(heads, rows, width=width, wrap=[heads[0], heads[3]])
