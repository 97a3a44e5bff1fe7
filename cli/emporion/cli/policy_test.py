"""`emporion policy test`: judge fixtures by the rules that they are about."""

from __future__ import annotations

from pathlib import Path

import click

from emporion.cli import render
from emporion.cli.context import now
from emporion.cli.options import json_option
from emporion.market.errors import ExitCode

__all__ = ["test"]


@click.command(short_help="Run rules against their fixtures.")
@click.argument("folder", required=False, type=click.Path(path_type=Path))
@json_option
def test(folder: Path | None, as_json: bool) -> int:
    """Run the rules of FOLDER/rules.py against FOLDER/fixtures/*.yaml; by default the bundled rules and fixtures.

    FOLDER/rules.py is Python and is run. Exit code 1: a rule passes what it has to refuse, or the other way round.
    """
    from emporion.market.clouds import fact_sources
    from emporion.policies.fixtures import BUNDLED, load_rules, read_cases, run_case
    from emporion.policies.packs import RULES

    if folder is None:
        rules = dict(RULES)
        cases = read_cases(BUNDLED, rules, fact_sources())
    else:
        rules = {rule.name: rule for rule in load_rules(folder / "rules.py")}
        cases = read_cases(folder / "fixtures", rules)
    sources = tuple(fact_sources().values())
    ran = [(case, run_case(case, sources, now().date())) for case in cases]
    untested = sorted(set(rules) - {case.rule.name for case, _ in ran})
    failed = [(case, problem) for case, problems in ran for problem in problems]
    if as_json:
        render.json_out(
            "emporion.policy-test/1",
            {
                "cases": len(ran),
                "rules": len({case.rule.name for case, _ in ran}),
                "failed": [
                    {"rule": case.rule.name, "where": case.where, "problem": problem} for case, problem in failed
                ],
                "untested": untested,
            },
        )
    else:
        for case, problem in failed:
            click.echo(f"{case.where}  {case.rule.name}: {problem}")
        click.echo(f"{len(ran)} cases of {len({case.rule.name for case, _ in ran})} rules, {len(failed)} problems")
    if untested and not as_json:
        render.note(f"without a case: {', '.join(untested)}")
    return ExitCode.FAILED if failed else ExitCode.DONE
