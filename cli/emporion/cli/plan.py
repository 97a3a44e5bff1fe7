"""`emporion plan`: the Pareto set of an intent, and why the rest lost."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from emporion.cli.context import now
from emporion.cli.intent_flags import IntentCommand
from emporion.cli.options import json_option, project_option, rate_option, world_options
from emporion.cli.render import json_out, note, paint, print_error, screen_width, warn
from emporion.market.errors import ExitCode, UserError

if TYPE_CHECKING:
    from emporion.market.intent import Intent
    from emporion.market.money import Rate
    from emporion.market.plan import Plan

__all__ = ["plan"]


@click.command(cls=IntentCommand, short_help="Show where an intent can run, at what price, and why not elsewhere.")
@click.argument("intent", required=False, type=click.Path(path_type=Path))
@click.option(
    "--offers", type=click.Path(path_type=Path), metavar="FILE.csv", help="Plan over these offers alone; - is stdin."
)
@rate_option
@click.option(
    "--prefer",
    metavar="WHAT",
    default="balanced",
    show_default=True,
    help="What the recommendation weighs most: balanced, cost, speed, stability, carbon, or weights, as "
    "cost=0.5,speed=0.3,stability=0.2.",
)
@click.option(
    "--quotas",
    type=click.Path(path_type=Path),
    metavar="FILE.yaml|csv",
    help="Quotas of the account: no placement goes above one.",
)
@click.option(
    "--links",
    type=click.Path(path_type=Path),
    metavar="FILE.csv",
    help="Measured links between sites, instead of EMPORION_HOME/links.csv.",
)
@click.option(
    "--max-pools", type=click.IntRange(1, 4), default=2, show_default=True, help="Different machine types at most."
)
@click.option(
    "--pin",
    metavar="STACK",
    help="Write the recommended placement to a stack's configuration; without INTENT, that of what is pinned.",
)
@click.option(
    "--diff",
    metavar="STACK",
    help="Show how the market moved since STACK was pinned, and what pinning it again would change.",
)
@click.option(
    "--explain", metavar="OFFER", help="Walk one offer, by its id or what only it has, through every constraint."
)
@click.option(
    "--chart/--no-chart", default=None, help="Draw the front, cost against speed; on a terminal it is drawn unasked."
)
@click.option(
    "--html",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Write a page of the plan as well: pictures, costs, reasons. It opens anywhere, without a network.",
)
@click.option("--show-intent", is_flag=True, help="Print the normalised intent with its defaults, and plan nothing.")
@world_options
@project_option
@json_option
def plan(
    intent: Path | None,
    *,
    offers: Path | None,
    rates: tuple[str, ...],
    prefer: str,
    quotas: Path | None,
    links: Path | None,
    max_pools: int,
    pin: str | None,
    diff: str | None,
    explain: str | None,
    chart: bool | None,
    html: Path | None,
    show_intent: bool,
    world: str | None,
    project: Path | None,
    as_json: bool,
    **flags: object,
) -> ExitCode:
    """Show where an intent can run: placements of which none is worse in price, speed and lost time at once.

    INTENT is a file; flags say the same, or replace what the file says. Nothing is written, unless --pin is given.
    Exits 3 when nothing satisfies the intent; the smallest changes that would are shown then. --diff exits 0 with
    differences as without.

    \b
    emporion plan --gpus a100:8 --min-vram 80gb --network low-latency
    emporion plan intents/demo.yaml --max-cost '$14/hr' --pin demo
    emporion plan --diff demo
    """  # noqa: D301 - \b is click's mark for text that keeps its lines
    _one_of({"--pin": pin, "--diff": diff, "--explain": explain, "--show-intent": show_intent})
    if html is not None:
        _one_of({"--html": html, "--explain": explain, "--show-intent": show_intent})
        from emporion.cli.page.write import writable

        writable(html)
    from emporion.cli.planning import catalogue, exchange, known_quotas, observed

    worth = exchange(rates)
    if show_intent:
        return _show(_intent(intent, flags, worth), as_json=as_json)
    from emporion.cli.plan_diff import pinned_again, show_diff
    from emporion.market.clouds import installed_clouds
    from emporion.market.plan import make_plan, place_problems

    market = catalogue(offers, worth)
    again = None if intent is not None else pinned_again(pin or diff, flags, project)
    if again is None:
        wanted = _intent(intent, flags, worth, lambda read: place_problems(read, market))
    else:
        wanted, prefer, max_pools = again
    made = make_plan(
        wanted,
        market,
        clouds=installed_clouds(),
        now=now(),
        prefer=prefer,
        max_pools=max_pools,
        rates=worth,
        quotas=known_quotas(quotas),
        observed=observed(links),
    )
    if html is not None:
        _page(made, html)
    if explain is not None:
        return _explain(made, explain, as_json=as_json)
    if diff is not None:
        return show_diff(made, diff, world, project, as_json=as_json)
    if pin is not None:
        return _pin(made, pin, world, project, as_json=as_json)
    code = _print(made, chart, as_json=as_json)
    if not as_json:
        _close(made)
    return code


def _close(made: Plan) -> None:
    """Say the answer once more where a screen has scrolled past it."""
    if made.recommended is not None and sys.stdout.isatty() and sys.stderr.isatty():
        from emporion.cli.plan_summary import answer
        from emporion.market.plan import plan_json

        note(f"recommended: {answer(plan_json(made))}; --pin STACK keeps it, --explain OFFER and --html FILE tell more")


def _page(made: Plan, path: Path) -> None:
    """Write the page of a plan; what it says of it goes to stderr, so that JSON stays alone on stdout."""
    from emporion.cli.page.write import page, write_page
    from emporion.market.plan import picture_json, plan_json

    write_page(path, page(plan_json(made), picture_json(made), made.now))
    note(f"wrote {path}")


def _one_of(given: dict[str, object]) -> None:
    """Raise UserError E-CONTRADICTION when more than one of these flags was given."""
    names = [name for name, value in given.items() if value]
    if len(names) > 1:
        raise UserError(
            "E-CONTRADICTION", f"{' and '.join(names)} ask for different things", "emporion plan", "give one of them"
        )


def _intent(
    path: Path | None,
    flags: dict[str, object],
    rates: Mapping[str, Rate],
    judge: Callable[[Intent], Iterable[UserError]] | None = None,
) -> Intent:
    from emporion.market.intent import intent_from_flags, load_intent

    given = {name: value for name, value in flags.items() if value not in (None, (), False)}
    if path is not None:
        return load_intent(path, given, rates=rates, judge=judge)
    if not given:
        raise UserError(
            "E-USAGE",
            "neither an intent file nor flags say what is wanted",
            "emporion plan INTENT",
            "emporion plan --gpus a100:8, or emporion plan intents/demo.yaml",
        )
    return intent_from_flags(rates, judge, **given)


def _show(intent: Intent, *, as_json: bool) -> ExitCode:
    from emporion.market.intent import intent_hash, intent_json

    document = intent_json(intent)
    if as_json:
        json_out(document["schema"], document)
    else:
        click.echo("\n".join(_lines(document)))
        note(f"hash {intent_hash(intent)}")
    return ExitCode.DONE


def _lines(document: dict[str, object], path: str = "") -> list[str]:
    """Return `key.path  value` for every value of a document, in its order."""
    lines = []
    for key, value in document.items():
        if isinstance(value, dict) and value:
            lines += _lines(value, f"{path}{key}.")
        else:
            lines.append(f"{path}{key}: {_value(value)}")
    return lines


def _value(value: object) -> str:
    """Return a value as an intent file would write it, `-` for what is not set."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        return ", ".join(map(_value, value)) or "-"
    return "-" if value is None or value == {} else str(value)


def _explain(made: Plan, offer: str, *, as_json: bool) -> ExitCode:
    from emporion.cli.plan_explain import explanation_text
    from emporion.market.plan import explain, explanation_json

    document = explanation_json(made, explain(made, offer))
    if as_json:
        json_out(document["schema"], document)
    else:
        click.echo(explanation_text(document, width=screen_width(), today=made.now.date()), nl=False)
    return ExitCode.DONE


def _pin(made: Plan, stack: str, world: str | None, folder: Path | None, *, as_json: bool) -> ExitCode:
    from emporion.cli.session import open_project
    from emporion.market.clouds import installed_clouds
    from emporion.market.plan import pin_problem
    from emporion.operations.pinning import choose_world, pin_stack, preview_pin

    project = open_project(folder)
    project.check_stack_name(stack)
    chosen = choose_world(project, stack, world)
    if made.recommended is None or not made.recommended.deployable:
        _print(made, as_json=as_json)
        if made.feasible:
            print_error(pin_problem(made))
        return ExitCode.INFEASIBLE
    pinned = preview_pin(project, stack, made, clouds=installed_clouds(), world=chosen)
    wrote = pinned.wrote
    if wrote:
        pin_stack(project, stack, pinned, world=chosen)
    if as_json:
        json_out(
            "emporion.pin/1",
            {
                "stack": stack,
                "world": chosen,
                "wrote": wrote,
                "changes": list(pinned.changes),
                "placement": pinned.placement.to_json(),
            },
        )
        return ExitCode.DONE
    _print(made, as_json=False)
    for change in pinned.changes:
        note(f"  {change}")
    note(
        f"pinned to {project.config_path(stack)}"
        if wrote
        else f"{stack} has this placement already: nothing was written"
    )
    note(f"next: emporion up {stack}")
    return ExitCode.DONE


def _print(made: Plan, chart: bool | None = None, *, as_json: bool) -> ExitCode:
    from emporion.market.plan import plan_json

    document = plan_json(made)
    code = ExitCode.DONE if made.feasible else ExitCode.INFEASIBLE
    if as_json:
        json_out(document["schema"], document)
        return code
    from emporion.cli.plan_view import plan_text
    from emporion.cli.warnings_view import grouped

    width = screen_width()
    click.echo(plan_text(document, width=width, today=made.now.date(), chart=_chart(document, chart, width)), nl=False)
    for warning in grouped(made.warnings):
        warn(warning)
    if made.error is not None:
        print_error(made.error)
    return code


def _chart(document: Mapping[str, Any], wanted: bool | None, width: int) -> str:
    """Return the picture of the front: where it was asked for, and unasked on a terminal when there is a choice."""
    from emporion.cli.scatter import Markers, dots, scatter

    drawn = dots(document)
    if not drawn or wanted is False or (wanted is None and not (sys.stdout.isatty() and len(drawn) > 1)):
        return ""
    markers = Markers.of(sys.stdout.encoding)
    return scatter(drawn, width=width, markers=markers, paint=lambda text, style: paint(text, style, sys.stdout))
