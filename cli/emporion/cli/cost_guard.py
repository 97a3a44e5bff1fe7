"""`emporion cost guard`: what a change costs, as a table, a comment in a pull request, JSON or SARIF."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from emporion.cli import render
from emporion.cli.context import environment
from emporion.cli.options import json_option
from emporion.cli.policy_check import region_defaults
from emporion.market.cost_lines import HOURS_PER_MONTH
from emporion.market.errors import ExitCode

if TYPE_CHECKING:
    from emporion.market.estimate import Change, Estimate

__all__ = ["MARKER", "Usd", "guard", "markdown", "notes"]

MARKER = "<!-- emporion cost guard -->"
"""The first line of a comment, by which the next run finds it and writes over it."""
_PERCENT = re.compile(r"(\d+(?:\.\d+)?)\s*%")
_MOST_LINES = 30


class Usd(click.ParamType[Decimal]):
    """An amount in USD: `500`, `$500`, `12.50`."""

    name = "usd"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Decimal:  # noqa: ANN401 - click's
        """Return the amount."""
        if isinstance(value, Decimal):
            return value
        try:
            amount = Decimal(str(value).removeprefix("$").replace(",", ""))
        except InvalidOperation:
            amount = Decimal(-1)
        if not amount.is_finite() or amount < 0:
            self.fail(f"{value!r} is no amount in USD, such as 500 or $12.50", param, ctx)
        return amount


class Percent(click.ParamType[Decimal]):
    """A share: `10%`."""

    name = "percent"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Decimal:  # noqa: ANN401 - click's
        """Return the percents."""
        match = _PERCENT.fullmatch(str(value).strip())
        if match is None:
            self.fail(f"{value!r} is no share, such as 10%", param, ctx)
        return Decimal(match[1])


@click.command(short_help="Say what a change costs, and refuse it above a limit.")
@click.option("--base", required=True, type=click.Path(path_type=Path), metavar="FILE", help="Before the change.")
@click.option("--head", required=True, type=click.Path(path_type=Path), metavar="FILE", help="With the change.")
@click.option("--max-total", type=Usd(), metavar="500", help="The most that it may cost in USD a month afterwards.")
@click.option("--max-hourly", type=Usd(), metavar="20", help="The most that it may cost in USD an hour afterwards.")
@click.option("--max-increase", type=Percent(), metavar="10%", help="The most that it may cost more than before.")
@click.option("--hours", type=Usd(), metavar="12", help="How long a run takes: its cost is told too.")
@click.option(
    "--format", "form", type=click.Choice(["table", "markdown", "json", "sarif"]), default="table", show_default=True,
    help="How to print it.",
)  # fmt: skip
@click.option(
    "--comment", is_flag=True,
    help="Write it to the pull request of this run of GitHub Actions, over what the last run wrote.",
)  # fmt: skip
@json_option
def guard(
    base: Path,
    head: Path,
    max_total: Decimal | None,
    max_hourly: Decimal | None,
    max_increase: Decimal | None,
    hours: Decimal | None,
    form: str,
    comment: bool,
    as_json: bool,
) -> int:
    """Compare two files, each of `pulumi preview --json --show-sames` or `emporion plan --json`.

    Exit code 3: it is above a limit, or a limit is asked for and machines have no known price.
    """
    from emporion.market.clouds import fact_sources
    from emporion.market.estimate import change, read_estimate

    sources, regions = tuple(fact_sources().values()), region_defaults(environment())
    found = change(read_estimate(base, sources, regions), read_estimate(head, sources, regions))
    for one in (found.base, found.head):
        if one.left_out:
            render.warn(f"{one.left_out} unchanged resources are not in {one.name}; make it with --show-sames")
    refusals = _refusals(found, max_total, max_hourly, max_increase)
    if as_json or form == "json":
        render.json_out("emporion.guard/1", _json(found, refusals))
    elif form == "markdown":
        sys.stdout.write(markdown(found, refusals, hours))
    elif form == "sarif":
        sys.stdout.write(_sarif(found, refusals))
    else:
        click.echo(_table(found, hours))
    if comment:
        from emporion.operations.pull_request import find_pull_request, send, write_comment

        pull = find_pull_request(environment())
        done = write_comment(pull, MARKER, markdown(found, refusals, hours), send)
        render.note(f"the comment of pull request {pull.number} is {done}")
    for refusal in refusals:
        render.note(f"refused: {refusal}")
    return ExitCode.INFEASIBLE if refusals else ExitCode.DONE


def _refusals(
    found: Change, max_total: Decimal | None, max_hourly: Decimal | None, max_increase: Decimal | None
) -> list[str]:
    head, refusals = found.head, []
    month, hour = head.usd_per_month, head.usd_per_hour
    if max_total is not None and month > max_total:
        refusals.append(f"${render.money(month)} a month, allowed: ${render.money(max_total)}")
    if max_hourly is not None and hour > max_hourly:
        refusals.append(f"${render.money(hour)} an hour, allowed: ${render.money(max_hourly)}")
    if max_increase is not None:
        more = found.increase_percent
        if more is not None and more > max_increase:
            refusals.append(f"{more:.1f} % more than before, allowed: {max_increase} %")
        elif more is None and found.usd_per_hour > 0:
            refusals.append(f"before it cost nothing that is known, allowed: {max_increase} % more")
    limited = not (max_total is None and max_hourly is None and max_increase is None)
    machines = [line for line in head.lines if line.part == "compute" and line.usd_per_hour is None]
    if limited and not refusals and machines:
        refusals.append(f"{machines[0].item} has no known price, so it cannot be said to keep a limit")
    return refusals


def _usd(amount: Decimal | None, *, sign: bool = False) -> str:
    if amount is None:
        return "?"
    lead = ("+" if amount > 0 else "") if sign else ""
    return f"{lead}{'-' if amount < 0 else ''}${render.money(abs(amount))}"


def _quantity(quantity: Decimal | None) -> str:
    return "?" if quantity is None else format(quantity.normalize(), "+f") if quantity else "0"


def _rows(found: Change) -> list[tuple[str, str, str, str, str, str]]:
    return [
        (
            line.item,
            line.type.rpartition(":")[2],
            f"{_quantity(line.quantity_change)} {line.unit}".strip(),
            _price(line.unit_price),
            _usd(line.usd_per_month_change, sign=True),
            line.as_of or "?",
        )
        for line in found.lines
    ]


def _price(price: Decimal | None) -> str:
    return "?" if price is None else format(price.normalize(), "f")


def _totals(found: Change, hours: Decimal | None) -> list[tuple[str, str, str, str]]:
    spans = [("an hour", Decimal(1)), ("a month", HOURS_PER_MONTH)]
    spans += [] if hours is None else [(f"a run of {hours} h", hours)]
    return [
        (
            name,
            _usd(found.base.usd_per_hour * span),
            _usd(found.head.usd_per_hour * span),
            _usd(found.usd_per_hour * span, sign=True),
        )
        for name, span in spans
    ]


def _table(found: Change, hours: Decimal | None) -> str:
    parts = [
        render.table(["", "BEFORE", "AFTER", "CHANGE"], _totals(found, hours), right=["BEFORE", "AFTER", "CHANGE"])
    ]
    if found.lines:
        heads = ["ITEM", "TYPE", "QUANTITY", "$/UNIT", "$/MONTH", "AS OF"]
        parts.append(render.table(heads, _rows(found), right=["QUANTITY", "$/UNIT", "$/MONTH"]))
    return "\n\n".join([*parts, *(f"note: {note}" for note in notes(found.head))])


def notes(head: Estimate) -> list[str]:
    """Return what an estimate leaves open, and where its regions come from."""
    found = []
    if head.unknown:
        found.append(f"no amount is known for: {', '.join(head.unknown)}")
    if head.not_priced:
        listed = ", ".join(f"{count} x {kind}" for kind, count in head.not_priced.items())
        found.append(f"not priced: {listed}")
    if head.regions:
        found.append("regions come from " + ", ".join(f"{where} ({count})" for where, count in head.regions.items()))
    return found


def markdown(found: Change, refusals: Sequence[str], hours: Decimal | None) -> str:
    """Return the comment for a pull request."""
    from emporion.policies.report import markdown_row

    verdict = "**refused**: " + "; ".join(refusals) if refusals else "within its limits" if found.lines else "no change"
    lines = [MARKER, f"### Cost: {_usd(found.usd_per_month, sign=True)} a month", "", verdict, ""]
    lines += ["| | before | after | change |", "| --- | ---: | ---: | ---: |"]
    lines += [markdown_row(row) for row in _totals(found, hours)]
    if found.lines:
        lines += [
            "",
            "| item | type | quantity | $/unit | $/month | as of |",
            "| --- | --- | ---: | ---: | ---: | --- |",
        ]
        rows = _rows(found)
        lines += [markdown_row(row) for row in rows[:_MOST_LINES]]
        if len(rows) > _MOST_LINES:
            lines.append(f"| and {len(rows) - _MOST_LINES} more | | | | | |")
    open_ = notes(found.head)
    lines += ["", *(f"- {note}" for note in open_)] if open_ else []
    return "\n".join(lines) + "\n"


def _json(found: Change, refusals: Sequence[str]) -> dict[str, Any]:
    def side(one: Estimate) -> dict[str, Any]:
        return {
            "name": one.name,
            "usd_per_hour": render.money(one.usd_per_hour),
            "usd_per_month": render.money(one.usd_per_month),
            "unknown": list(one.unknown),
            "not_priced": dict(one.not_priced),
            "regions": dict(one.regions),
        }

    return {
        "base": side(found.base),
        "head": side(found.head),
        "change": {
            "usd_per_hour": render.money(found.usd_per_hour),
            "usd_per_month": render.money(found.usd_per_month),
        },
        "refused": list(refusals),
        "lines": [
            {
                "item": line.item,
                "type": line.type,
                "quantity_change": None if line.quantity_change is None else format(line.quantity_change, "f"),
                "unit": line.unit,
                "unit_price": None if line.unit_price is None else format(line.unit_price, "f"),
                "usd_per_month_change": None
                if line.usd_per_month_change is None
                else render.money(line.usd_per_month_change),
                "source": line.source,
                "as_of": line.as_of,
            }
            for line in found.lines
        ],
    }


def _sarif(found: Change, refusals: Sequence[str]) -> str:
    from emporion.policies.report import SARIF_PLACE, sarif_text

    text = f"costs {_usd(found.usd_per_month, sign=True)} a month"
    level = "error" if refusals else "note"
    result = {
        "ruleId": "cost-guard",
        "level": level,
        "message": {"text": "; ".join([text, *refusals])},
        "locations": [{"physicalLocation": SARIF_PLACE}],
    }
    return sarif_text([{"id": "cost-guard"}], [result] if found.lines or refusals else [])
