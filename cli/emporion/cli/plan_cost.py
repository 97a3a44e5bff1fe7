"""What a placement costs, line by line, as text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Any

from emporion.cli.layout import fold
from emporion.cli.render import money, table
from emporion.market.cost_lines import HOURS_PER_MONTH
from emporion.market.units import plain

__all__ = ["cost_text"]

Document = Mapping[str, Any]


def cost_text(best: Document, title: str, width: int) -> str:
    """Return every line of what a placement costs, under a title, with its total and what is not known."""
    cost = best["cost"]
    rows = [
        [
            f"{line['stage']}: {line['item']}" if line["stage"] else line["item"],
            _quantity(line),
            _plain(line["unit_price"]),
            money(line["usd_per_hour"], 4),
            line["quality"],
            line["as_of"],
        ]
        for line in cost["lines"]
    ]
    heads = [
        title,
        "QUANTITY",
        "$/UNIT",
        "$/HR",
        "QUALITY",
        "AS OF",
    ]
    total = Decimal(cost["total"])
    month = f"${money(total * HOURS_PER_MONTH)} a month"
    lines = [
        table(heads, rows, right=("QUANTITY", "$/UNIT", "$/HR"), width=width, drop=("AS OF",), wrap=heads[:1]),
        f"total ${money(total, 4)}/hr, ${money(cost['per_gpu'], 4)} per GPU and hour, {month}",
    ]
    lines += [line for text in _bounds(cost) for line in fold(text, width, "  ")]
    if cost["run_total"] is not None:
        upper = cost.get("upper_run_total")
        most = (
            f", at most ${money(upper)}" if upper is not None and Decimal(upper) != Decimal(cost["run_total"]) else ""
        )
        lines.append(f"the whole run ${money(cost['run_total'])}{most}")
    return "\n".join([*lines, *(line for text in _on_demand(cost) for line in fold(text, width, "  "))])


def _on_demand(cost: Document) -> Iterator[str]:
    """Yield what spot machines cost on demand, for comparison."""
    fallback = cost.get("fallback")
    if fallback is None:
        return
    if fallback["compute"] is None or not set(fallback["unknown"]) <= set(cost["unknown"]):
        yield "on demand, for comparison: not known"
        return
    total = Decimal(fallback["total"])
    over = ", above the budget" if fallback["keeps_budget"] is False else ""
    yield f"on demand, for comparison: ${money(total, 4)}/hr, ${money(total * HOURS_PER_MONTH)} a month{over}"


def _quantity(line: Document) -> str:
    """Return how much of what: `200 GB-month`."""
    quantity = _plain(line["quantity"])
    return f"{'?' if quantity is None else quantity} {line['unit']}".rstrip()


def _bounds(cost: Document) -> Iterator[str]:
    """Yield the most that it can be, and what is unknown: the items that the most holds, apart from the others."""
    upper, unknown = cost["upper_total"], cost["unknown"]
    if upper is None:
        if unknown:
            yield f"unknown, the total is a lower bound: {', '.join(unknown)}"
        return
    bounds = {line["item"]: line["upper_usd_per_hour"] for line in cost["lines"] if line["usd_per_hour"] is None}
    bounded = [item for item in unknown if bounds[item] is not None]
    free = [item for item in unknown if bounds[item] is None]
    if Decimal(upper) != Decimal(cost["total"]):
        without = f", without {' and '.join(free)}" if free else ""
        yield f"at most ${money(upper, 4)}/hr{without}"
    if bounded:
        yield f"unknown, bounded above: {', '.join(bounded)}"
    if free:
        yield f"unknown: {', '.join(free)}"


def _plain(value: object) -> str | None:
    """Return a number without trailing zeros, at most 6 places."""
    if value is None:
        return None
    return plain(round(Decimal(str(value)), 6))
