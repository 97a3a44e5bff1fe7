"""`emporion policy check`: judge a stack under the engine, or a preview file without it."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from emporion.cli import render
from emporion.cli.context import environment, now
from emporion.cli.options import json_option, project_option
from emporion.cli.policy_list import assert_pack, pack_option
from emporion.market.errors import ExitCode, UserError

if TYPE_CHECKING:
    from emporion.policies.report import Told

__all__ = ["check", "region_defaults"]

_MARKS = {"violated": "!", "unknown": "?", "fault": "✗", "exempt": "-"}


@click.command(short_help="Judge a stack, or a preview file.")
@click.argument("stack", required=False)
@click.option(
    "--preview", "preview_file", type=click.Path(path_type=Path), metavar="FILE",
    help="Judge the output of `pulumi preview --json --show-sames` instead of a stack.",
)  # fmt: skip
@pack_option
@click.option(
    "--config", type=click.Path(path_type=Path), metavar="FILE", help="Rules' settings; the project's by default."
)
@click.option("--profile", "profiles", multiple=True, metavar="NAME", help="Choose a compliance profile (hipaa).")
@click.option("--allow-unknown", is_flag=True, help="Let pass what cannot be known before something else is made.")
@click.option(
    "--format", "form", type=click.Choice(["table", "json", "sarif", "junit", "markdown"]), default="table",
    show_default=True, help="How to print what was found.",
)  # fmt: skip
@project_option
@json_option
def check(
    stack: str | None,
    preview_file: Path | None,
    pack: str,
    config: Path | None,
    profiles: tuple[str, ...],
    allow_unknown: bool,
    form: str,
    project: Path | None,
    as_json: bool,
) -> int:
    """Judge STACK by the policy packs under the real engine, or a preview file without it.

    Exit code 3: a mandatory rule is violated, broke, or could not be checked.
    """
    assert_pack(pack)
    _assert_profiles(profiles)
    if (stack is None) == (preview_file is None):
        raise UserError(
            "E-USAGE",
            "give a stack or --preview FILE, one of them",
            "emporion policy check",
            "emporion policy check STACK",
        )
    if preview_file is not None:
        found = _of_file(preview_file, pack, _config(config, project), profiles)
    else:
        found = _of_stack(str(stack), pack, config, profiles, project)
    return show(found, "json" if as_json else form, allow_unknown=allow_unknown)


def show(found: Sequence[Told], form: str, *, allow_unknown: bool) -> int:
    """Print what was found in a format and return the exit code."""
    from emporion.policies.report import FORMATS, report_json, stops

    if form == "json":
        render.json_out("emporion.policy/1", report_json(found))
    elif form in FORMATS:
        sys.stdout.write(FORMATS[form](found))
    elif not found:
        click.echo("nothing found")
    else:
        rows = [
            (
                "✗" if one.stops and one.verdict.value == "violated" else _MARKS[one.verdict.value],
                one.rule,
                one.level.value,
                one.severity,
                one.message,
                one.fix,
            )
            for one in found
        ]
        heads = ["", "RULE", "LEVEL", "SEVERITY", "WHAT", "TRY"]
        click.echo(render.table(heads, rows, wrap=["WHAT", "TRY"]))
    refused = stops(found, allow_unknown=allow_unknown)
    if refused and not any(one.stops and one.verdict.value != "unknown" for one in found):
        render.note("nothing is violated, but not everything could be checked: --allow-unknown lets that pass")
    return ExitCode.INFEASIBLE if refused else ExitCode.DONE


def _assert_profiles(profiles: Sequence[str]) -> None:
    from emporion.policies.packs import PROFILES

    for name in profiles:
        if name not in PROFILES:
            raise UserError(
                "E-PROFILE", f"there is no profile {name!r}; profiles: {', '.join(PROFILES)}", "--profile", "name one"
            )


def _config(given: Path | None, project: Path | None) -> dict[str, Any]:
    from emporion.cli.session import project_if_any
    from emporion.operations.policies import read_config

    return read_config(project_if_any(project), given)  # a preview file needs no project


def region_defaults(environ: Mapping[str, str]) -> dict[str, tuple[str, str]]:
    """Return plugin -> (region, the variable of the shell that says it)."""
    from emporion.market.clouds import installed_clouds

    found = {}
    for cloud in installed_clouds().values():
        name = next((name for name in cloud.region_env if environ.get(name)), None)
        if name is not None:
            found[cloud.plugin] = (environ[name], f"the shell's {name}")
    return found


def _of_file(path: Path, pack: str, config: Mapping[str, Any], profiles: Sequence[str]) -> list[Told]:
    from emporion.market.clouds import fact_sources
    from emporion.market.preview import read_preview
    from emporion.policies.packs import PACKS, RULES
    from emporion.policies.report import from_finding
    from emporion.policies.review import Review
    from emporion.policies.settings import read_settings

    preview = read_preview(path, region_defaults(environment()))
    if preview.left_out:
        render.warn(
            f"{preview.left_out} unchanged resources are not in {path.name} and not judged; make it with --show-sames"
        )
    settings = read_settings(config, RULES.values(), profiles=profiles)
    review = Review(PACKS[pack], settings, fact_sources().values(), today=now().date())
    return sorted((from_finding(one) for one in review.stack(preview.resources)), key=lambda one: one.order)


def _of_stack(stack: str, pack: str, given: Path | None, profiles: Sequence[str], project: Path | None) -> list[Told]:
    from emporion.cli.session import open_project, open_pulumi
    from emporion.operations.policies import pack_arguments, read_config, told, with_placement

    opened = open_project(project)
    setting = opened.require(stack)
    config = read_config(opened, given)
    placement = setting.pinned(opened.config_path(stack))
    if placement is not None:
        config = with_placement(config, placement)
    pulumi = open_pulumi(opened, setting.world or "local", as_json=True)
    pulumi.ensure_stack(stack)
    if profiles:
        pulumi = replace(pulumi, environ={**pulumi.environ, "EMPORION_COMPLIANCE": ",".join(profiles)})
    with pack_arguments(config, pack) as packs:
        outcome = pulumi.operate("preview", stack, *packs)
    found = told(outcome, config, profiles)
    if not outcome.succeeded and not any(one.stops for one in found):
        cause = next(iter(outcome.errors), "see Pulumi's output above")
        raise UserError(
            "E-ENGINE",
            f"the preview of {stack!r} failed: {cause}",
            stack,
            "mend the program, then judge it",
            ExitCode.FAILED,
        )
    return found
