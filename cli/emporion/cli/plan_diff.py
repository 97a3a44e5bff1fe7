"""`emporion plan --diff STACK`: how the market moved since a stack was pinned."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click
from click.core import ParameterSource

from emporion.cli.render import json_out, money, note, print_error
from emporion.market.errors import ExitCode

if TYPE_CHECKING:
    from emporion.market.intent import Intent
    from emporion.market.plan import Plan
    from emporion.operations.pinning import Comparison

__all__ = ["Again", "pinned_again", "show_diff"]

_DEFAULT = ParameterSource.DEFAULT


class Again(NamedTuple):
    """What a stack was pinned with: the intent and how it was planned."""

    intent: Intent
    prefer: str
    max_pools: int


def pinned_again(stack: str | None, flags: Mapping[str, object], folder: Path | None) -> Again | None:
    """Return what is pinned to a stack when no flag says what is wanted; None: a flag does, or there is no stack.

    `--prefer` and `--max-pools` on the command line stand before those that the stack was pinned with.

    Raises: UserError E-STACK, E-UNPINNED: when nothing is pinned to the stack.
    """
    if stack is None or any(value not in (None, (), False) for value in flags.values()):
        return None
    from emporion.cli.session import open_project
    from emporion.market.intent import intent_from_json
    from emporion.operations.pinning import pinned_to

    pinned = pinned_to(open_project(folder), stack)
    context = click.get_current_context()
    given = {name for name in ("prefer", "max_pools") if context.get_parameter_source(name) is not _DEFAULT}
    return Again(
        intent_from_json(pinned.intent, where=f"stack {stack}"),
        context.params["prefer"] if "prefer" in given else pinned.prefer,
        context.params["max_pools"] if "max_pools" in given else pinned.max_pools,
    )


def show_diff(made: Plan, stack: str, world: str | None, folder: Path | None, *, as_json: bool) -> ExitCode:
    """Print how a plan of today differs from what is pinned; differences are no failure, infeasibility exits with 3."""
    from emporion.cli.session import open_project
    from emporion.market.clouds import installed_clouds
    from emporion.operations.pinning import choose_world, compare

    project = open_project(folder)
    project.require(stack)
    chosen = choose_world(project, stack, world)
    found = compare(project, stack, made, clouds=installed_clouds(), world=chosen)
    if as_json:
        json_out("emporion.diff/1", {"stack": stack, "world": chosen, **_document(made, found)})
    else:
        click.echo("\n".join(_text(found, stack)))
        if made.error is not None:
            print_error(made.error)
        for hint in (found.diff.stale, found.no_images and f"images were not looked up: {found.no_images}"):
            if hint:
                note(hint)
    return ExitCode.DONE if found.diff.best is not None else ExitCode.INFEASIBLE


def _document(made: Plan, found: Comparison) -> dict[str, Any]:
    from emporion.market.plan import pricing

    pinned, diff = found.pinned, found.diff
    best = diff.best
    return {
        "pinned": {
            "planned_at": pinned.planned_at,
            "catalogue": {"version": pinned.catalogue_version, "as_of": pinned.catalogue_as_of},
            "pricing": pricing(pinned, made.now),
            "nodes": [
                {"count": pool.count, "offer": pool.offer_id, "usd_per_hour": pool.usd_per_hour}
                for pool in pinned.pools
            ],
            "usd_per_hour": pinned.usd_per_hour,
            "upper_usd_per_hour": pinned.upper_usd_per_hour,
        },
        "catalogue": {"version": made.catalogue.version, "as_of": made.catalogue.as_of},
        "feasible": made.feasible,
        "today": None
        if diff.today is None
        else {"usd_per_hour": diff.today.total, "upper_usd_per_hour": diff.today.upper_total},
        "replan": None
        if best is None
        else {
            "nodes": [
                {"count": pool.count, "offer": pool.offer.id, "usd_per_hour": pool.offer.usd_per_hour}
                for pool in best.pools
            ],
            "usd_per_hour": best.cost.total,
            "upper_usd_per_hour": best.cost.upper_total,
        },
        "effect": diff.effect,
        "changes": [
            {
                "kind": each.kind,
                "what": each.what,
                "pinned": each.pinned,
                "now": each.now,
                "usd_per_hour": each.usd_per_hour,
            }
            for each in diff.changes
        ],
        "images_not_looked_up": found.no_images,
        "warnings": list(made.warnings),
    }


def _text(found: Comparison, stack: str) -> Iterator[str]:
    from emporion.operations.pinning import change_text

    pinned, diff = found.pinned, found.diff
    yield f"{stack}: pinned {pinned.planned_at[:10]} over prices of {pinned.catalogue_as_of}, compared with today's"
    yield ""
    if not diff.changes:
        perhaps = ", but perhaps images" if found.no_images else ""
        yield f"${money(pinned.usd_per_hour)}/hr as pinned; pinning again would change nothing{perhaps}"
        return
    for each in diff.changes:
        yield change_text(each) + ("" if each.usd_per_hour is None else f" ({each.usd_per_hour:+.2f} $/hr)")
    yield ""
    if diff.today is None:
        gone = any(each.kind == "gone" for each in diff.changes)
        why = "can no longer be had whole" if gone else "has no price of today: its stages are not those of the intent"
        yield f"the pinned placement cost ${money(pinned.usd_per_hour)}/hr and {why}"
    else:
        today, then = money(diff.today.total), money(pinned.usd_per_hour)
        yield f"the pinned placement costs ${today}/hr today, pinned at ${then}/hr"
    yield f"pinning again and `up`: {diff.effect}"
    if diff.best is not None and diff.effect != "nothing":
        yield f"next: the same with --pin {stack} writes it, then emporion up {stack}"
