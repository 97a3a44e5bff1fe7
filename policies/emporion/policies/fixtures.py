"""Fixtures of rules: resources that a rule passes and resources that it refuses, as YAML."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import yaml

from emporion.market.errors import UserError, did_you_mean
from emporion.market.facts import FactSource
from emporion.market.resources import Resource, plain
from emporion.policies.judge import Verdict
from emporion.policies.review import Review
from emporion.policies.rule import Rule
from emporion.policies.settings import Setting, read_settings

__all__ = ["BUNDLED", "Case", "load_rules", "read_cases", "run_case"]

BUNDLED = Path(__file__).with_name("templates") / "fixtures"
PROVIDER = {"region": "us-east-1"}
_KEYS = {"rule", "settings", "pass", "fail"}


@dataclass(frozen=True, slots=True)
class Case:
    """Resources that one rule passes, and resources that it refuses."""

    rule: Rule
    where: str
    """File and place in it."""
    settings: Mapping[str, Any]
    passing: tuple[Resource, ...]
    failing: tuple[Resource, ...]


def read_cases(folder: Path, rules: Mapping[str, Rule], names: Container[str] | None = None) -> list[Case]:
    """Return the cases of the YAML files of a folder; `names`: only of files so named (clouds that are installed).

    Raises: UserError E-FIXTURE: when a file cannot be read, is not what `templates/fixtures` shows, or there is none.
    """
    found = sorted([*folder.glob("*.yaml"), *folder.glob("*.yml")])
    files = [file for file in found if names is None or file.stem in names]
    if not files:
        raise UserError("E-FIXTURE", f"{folder} holds no fixtures (*.yaml)", str(folder), "name the folder of a pack")
    return [case for file in files for case in _cases(file, rules)]


def _cases(file: Path, rules: Mapping[str, Rule]) -> Iterator[Case]:
    try:
        document = yaml.safe_load(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise _wrong(file, f"{file.name} cannot be read: {str(error).splitlines()[0]}") from error
    if not isinstance(document, list):
        raise _wrong(file, f"{file.name} is no list of cases")
    for number, entry in enumerate(document, start=1):
        where = f"{file.name}, case {number}"
        if not isinstance(entry, Mapping) or not set(entry) <= _KEYS or not set(entry) >= {"rule", "pass", "fail"}:
            raise _wrong(file, f"{where} has not rule, pass and fail, and at most settings beside them")
        name = str(entry["rule"])
        if name not in rules:
            near = did_you_mean(name, list(rules))
            raise _wrong(file, f"{where}: there is no rule {name!r}" + (f", did you mean {near!r}?" if near else ""))
        yield Case(
            rules[name],
            where,
            entry.get("settings") or {},
            tuple(_resources(entry["pass"], file, where)),
            tuple(_resources(entry["fail"], file, where)),
        )


def _wrong(file: Path, what: str) -> UserError:
    return UserError("E-FIXTURE", what, str(file), "look at the bundled ones: emporion policy path")


def _resources(given: Any, file: Path, where: str) -> Iterator[Resource]:  # noqa: ANN401 - YAML
    if not isinstance(given, Mapping):
        raise _wrong(file, f"{where}: resources are written as name: [type, inputs, references]")
    urns = {name: f"urn:pulumi:test::test::{_part(entry, 0)}::{name}" for name, entry in given.items()}
    for name, entry in given.items():
        references = {key: tuple(urns[one] for one in names) for key, names in (_part(entry, 2) or {}).items()}
        yield Resource(urns[name], str(_part(entry, 0)), plain(_part(entry, 1) or {}), PROVIDER, references)


def _part(entry: Any, place: int) -> Any:  # noqa: ANN401 - YAML
    return entry[place] if isinstance(entry, list) and len(entry) > place else None


def run_case(case: Case, sources: Sequence[FactSource], today: date) -> list[str]:
    """Return what is wrong with a case; nothing: the rule passes what it should and refuses what it should."""
    problems = []
    for expected, resources in ((False, case.passing), (True, case.failing)):
        setting: Mapping[str, Setting] = read_settings(
            {case.rule.name: {"enforcementLevel": "mandatory", **case.settings}}, [case.rule], where=case.where
        )
        found = Review([case.rule], setting, sources, today=today).stack(resources)
        verdicts = {one.verdict for one in found}
        if not verdicts <= {Verdict.VIOLATED}:
            problems += [one.message for one in found if one.verdict is not Verdict.VIOLATED]
        elif bool(found) is not expected:
            problems.append("refuses nothing of what has to fail" if expected else f"refuses: {found[0].message}")
    return problems


def load_rules(file: Path) -> list[Rule]:
    """Return the rules that a Python file defines. It is run: only for a pack that its user trusts.

    Raises: UserError E-RULES: when there is no such file, or it defines no rule.
    """
    spec = spec_from_file_location("rules", file) if file.is_file() else None
    if spec is None or spec.loader is None:
        raise UserError("E-RULES", f"{file} does not exist", str(file), "a pack of your own has its rules in rules.py")
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    found: Iterable[object] = vars(module).values()
    rules = [one for one in found if isinstance(one, Rule)]
    if not rules:
        raise UserError("E-RULES", f"{file} defines no rule", str(file), "write one: docs/how-to/policies.md")
    return rules
