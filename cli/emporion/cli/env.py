"""`emporion env`: whether versions of torch, CUDA, kernels and a driver work together."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from emporion.cli.lazy import Group
from emporion.cli.options import json_option, node_options, wish_options
from emporion.cli.render import json_out, note, table, warn
from emporion.market.errors import ExitCode

if TYPE_CHECKING:
    from emporion.images.judge import Combination
    from emporion.images.solve import Verdict

__all__ = ["chosen_text", "env", "show_verdict"]


@click.group(cls=Group, short_help="Which versions work together.")
def env() -> None:
    """Say which versions of torch, CUDA, Python and kernels work together on a GPU and its driver."""


@env.command(short_help="Check versions against each other, a GPU and a driver.")
@wish_options
@node_options
@json_option
def check(
    *,
    pytorch: str | None,
    cuda: str | None,
    python: str | None,
    ops: str | None,
    compat_layer: bool,
    compile_kernels: bool,
    gpu: str | None,
    driver: str | None,
    arch: str | None,
    as_json: bool,
) -> ExitCode:
    """Say whether versions work together, and else what is the newest that does.

    What is not given is chosen: the newest. Exits 3 when a version that was given has to be lowered, when nothing
    works, and when the driver is not known (`[N/A]`).
    """
    from emporion.images.document import verdict_json
    from emporion.images.node import node_of
    from emporion.images.solve import solve
    from emporion.images.wish import wish_of

    kernels = tuple(word.strip() for word in (ops or "").split(",") if word.strip())
    wish = wish_of(
        torch=pytorch,
        cuda=cuda,
        python=python,
        ops=kernels,
        compat_layer=compat_layer,
        build_kernels=compile_kernels,
    )
    verdict = solve(wish, node_of(gpu, driver, arch))
    given = {"torch": pytorch, "cuda": cuda, "python": python}
    kept = verdict.status != "blocked" and all(given[one.what] is None for one in verdict.lowered)
    if as_json:
        json_out("emporion.env/1", {"works": kept and verdict.status != "unknown", **verdict_json(verdict)})
    else:
        show_verdict(verdict)
    return ExitCode.DONE if kept and verdict.status != "unknown" else ExitCode.INFEASIBLE


def show_verdict(verdict: Verdict) -> None:
    """Print a verdict for people: what works, what was lowered and why, and what else would do."""
    lines = [[verdict.status, chosen_text(verdict.combination) if verdict.combination else "nothing works"]]
    lines += [[one.what, f"{one.wished} -> {one.got}"] for one in verdict.lowered]
    lines += [["why", why] for why in verdict.why]
    for other in verdict.alternatives:
        what = f": {chosen_text(other.combination)}" if other.combination else ""
        lines.append(["or", f"{other.how}{what}"])
    flash = verdict.combination.flash if verdict.combination else None
    if flash is not None:
        lines.append(["kernels", flash.name])
    click.echo(table(lines[0], lines[1:]))
    for warning in verdict.warnings:
        warn(warning)
    if verdict.status == "unknown":
        note("  try: --driver with what `nvidia-smi --query-gpu=driver_version --format=csv,noheader` prints")


def chosen_text(found: Combination) -> str:
    """Return a combination in a few words: `torch 2.14.0+cu126, Python 3.12, minor-version`."""
    from emporion.images.versions import dotted

    route = f", {found.route.value}" if found.route else ""
    kernels = f", flash-attn {found.flash.version if found.flash else found.flash_source}"
    asked = kernels if found.flash or found.flash_source else ""
    return f"torch {found.candidate.name}, Python {dotted(found.candidate.python)}{asked}{route}"
