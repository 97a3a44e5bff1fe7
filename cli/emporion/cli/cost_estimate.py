"""`emporion cost estimate`: what an intent, a plan, a stack, a preview or a training script costs."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from emporion.cli import render
from emporion.cli.context import environment, now
from emporion.cli.cost_guard import Usd, notes
from emporion.cli.options import json_option, project_option
from emporion.cli.policy_check import region_defaults
from emporion.market.cost_lines import HOURS_PER_MONTH
from emporion.market.errors import UserError

if TYPE_CHECKING:
    from emporion.market.estimate import Estimate
    from emporion.market.script import ScriptFacts

__all__ = ["estimate"]

_FILE = click.Path(path_type=Path)


@click.command(short_help="Say what something costs an hour, a run and a month.")
@click.option("--intent", type=_FILE, metavar="FILE", help="An intent: planned first.")
@click.option("--plan", "plan_file", type=_FILE, metavar="FILE", help="The output of `emporion plan --json`.")
@click.option("--stack", metavar="STACK", help="A stack, as it is pinned.")
@click.option("--preview", "preview_file", type=_FILE, metavar="FILE", help="`pulumi preview --json --show-sames`.")
@click.option("--script", type=_FILE, metavar="FILE", help="A training script; with --gpus.")
@click.option("--gpus", metavar="a100:4", help="The GPUs on which the script runs.")
@click.option("--hours", type=Usd(), metavar="12", help="How long a run takes.")
@click.option("--steps", metavar="10000", help="The script's training steps, where it does not say them.")
@click.option("--dataset", metavar="80gb", help="The size of its data set, where it does not say it.")
@click.option("--model", metavar="13b", help="The parameters of its model, where it does not say them.")
@project_option
@json_option
def estimate(
    *,
    intent: Path | None,
    plan_file: Path | None,
    stack: str | None,
    preview_file: Path | None,
    script: Path | None,
    gpus: str | None,
    hours: Decimal | None,
    steps: str | None,
    dataset: str | None,
    model: str | None,
    project: Path | None,
    as_json: bool,
) -> None:
    """Say what something costs: each line with quantity, unit price, source and age. What is not known is shown as `?`.

    Give one of --intent, --plan, --stack, --preview and --script.
    """
    given = [one for one in (intent, plan_file, stack, preview_file, script) if one is not None]
    if len(given) != 1:
        wanted = "one of --intent, --plan, --stack, --preview and --script"
        raise UserError("E-USAGE", f"{len(given)} things to estimate; give {wanted}", "emporion cost estimate", wanted)
    facts = _asked(_read(script, steps, dataset, model)) if script is not None else None
    found = _estimate(intent, plan_file or preview_file, stack, gpus, hours, facts, project)
    run = hours if hours is not None else found.hours
    if as_json:
        render.json_out("emporion.estimate/1", _json(found, run, facts))
        return
    click.echo(_text(found, run, facts))


def _estimate(
    intent: Path | None,
    file: Path | None,
    stack: str | None,
    gpus: str | None,
    hours: Decimal | None,
    facts: ScriptFacts | None,
    project: Path | None,
) -> Estimate:
    from emporion.market.estimate import of_plan, of_plan_lines, read_estimate
    from emporion.market.plan import plan_json

    if file is not None:
        from emporion.market.clouds import fact_sources

        return read_estimate(file, fact_sources().values(), region_defaults(environment()))
    if stack is not None:
        from emporion.cli.session import open_project

        opened = open_project(project)
        placement = opened.require(stack).pinned(opened.config_path(stack))
        if placement is None:
            raise UserError(
                "E-UNPINNED", f"nothing is pinned to stack {stack!r}", "--stack", f"emporion plan INTENT --pin {stack}"
            )
        return of_plan_lines(stack, placement.cost_lines)
    from emporion.cli.planning import plan_or_fail
    from emporion.market.intent import intent_from_flags, load_intent

    if intent is not None:
        return of_plan(intent.name, plan_json(plan_or_fail(load_intent(intent), now())))
    if gpus is None:
        raise UserError("E-USAGE", "--script needs --gpus", "--gpus", "such as --gpus a100:4")
    flags: dict[str, Any] = {"gpus": gpus}
    flags |= {} if hours is None else {"hours": str(hours)}
    flags |= {} if facts is None or facts.model is None else {"parameters": facts.model}
    return of_plan("script", plan_json(plan_or_fail(intent_from_flags(**flags), now())))


def _read(script: Path, steps: str | None, dataset: str | None, model: str | None) -> ScriptFacts:
    from emporion.market.script import ScriptFacts, read_script

    try:
        found = read_script(script.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, SyntaxError, ValueError) as error:
        raise UserError(
            "E-SCRIPT", f"{script} cannot be read as Python: {error}", str(script), "name a training script"
        ) from error
    return ScriptFacts(steps or found.steps, dataset or found.dataset, model or found.model)


def _asked(facts: ScriptFacts) -> ScriptFacts:
    """Ask on a terminal for what neither the script nor a flag says; an empty answer leaves it unknown."""
    from emporion.market.script import ScriptFacts

    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        return facts

    def ask(known: str | None, what: str) -> str | None:
        return known or click.prompt(f"{what} (empty: unknown)", default="", show_default=False, err=True) or None

    return ScriptFacts(
        ask(facts.steps, "training steps"), ask(facts.dataset, "size of the data set"), ask(facts.model, "parameters")
    )


def _spans(found: Estimate, run: Decimal | None) -> dict[str, Decimal | None]:
    hourly = found.usd_per_hour
    return {
        "usd_per_hour": hourly,
        "usd_per_run": None if run is None else hourly * run,
        "usd_per_month": hourly * HOURS_PER_MONTH,
    }


def _json(found: Estimate, run: Decimal | None, facts: ScriptFacts | None) -> dict[str, Any]:
    script = {} if facts is None else {
        "script": {"steps": facts.steps, "dataset": facts.dataset, "model": facts.model}
    }  # fmt: skip
    return {
        "name": found.name,
        **{key: None if usd is None else render.money(usd) for key, usd in _spans(found, run).items()},
        "hours": run,
        **script,
        "unknown": list(found.unknown),
        "not_priced": dict(found.not_priced),
        "regions": dict(found.regions),
        "lines": [
            {
                "item": line.item,
                "type": line.type,
                "quantity": None if line.quantity is None else format(line.quantity, "f"),
                "unit": line.unit,
                "unit_price": None if line.unit_price is None else format(line.unit_price, "f"),
                "usd_per_hour": None if line.usd_per_hour is None else format(line.usd_per_hour, "f"),
                "source": line.source,
                "as_of": line.as_of,
            }
            for line in found.lines
        ],
    }


def _text(found: Estimate, run: Decimal | None, facts: ScriptFacts | None) -> str:
    spans = _spans(found, run)
    known = [f"${render.money(spans['usd_per_hour'])} an hour", f"${render.money(spans['usd_per_month'])} a month"]
    if run is not None:
        known.insert(1, f"${render.money(spans['usd_per_run'])} a run of {run} h")
    parts = [f"{found.name}: {', '.join(known)}"]
    if facts is not None:
        parts.append(f"script: steps {facts.steps or '?'}, data set {facts.dataset or '?'}, model {facts.model or '?'}")
    rows: list[Sequence[str | None]] = [
        (
            line.item,
            None if line.quantity is None else f"{line.quantity.normalize():f} {line.unit}".strip(),
            None if line.unit_price is None else format(line.unit_price.normalize(), "f"),
            None if line.usd_per_hour is None else render.money(line.usd_per_hour, 4),
            render.age(line.as_of, now().date()),
            line.source,
        )
        for line in found.lines
    ]
    heads = ["ITEM", "QUANTITY", "$/UNIT", "$/HR", "AGE", "SOURCE"]
    parts.append(render.table(heads, rows, right=["QUANTITY", "$/UNIT", "$/HR"], drop=["SOURCE"]))
    return "\n".join([*parts, *(f"note: {note}" for note in notes(found))])
