"""What was found, for people and for the tools of CI: `emporion.policy/1`, SARIF 2.1.0, JUnit, Markdown."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from xml.etree import ElementTree as ET

from emporion.policies.judge import Finding, Verdict, verdict_of
from emporion.policies.packs import RULES, pack_of
from emporion.policies.rule import Level, Rule, Severity

__all__ = [
    "FORMATS",
    "SARIF_PLACE",
    "Told",
    "from_event",
    "from_finding",
    "markdown_row",
    "report_json",
    "sarif_text",
    "stops",
]

_TRY = "; try: "
_SARIF_LEVELS = {Level.MANDATORY: "error", Level.ADVISORY: "warning", Level.DISABLED: "none"}
SARIF_PLACE = {"artifactLocation": {"uri": "Pulumi.yaml"}, "region": {"startLine": 1}}
"""Code scanning wants a file: the project's own stands for resources, which have no line of their own."""
_ORDER = list(Verdict)
_SEVERITIES = list(Severity)


@dataclass(frozen=True, slots=True)
class Told:
    """One thing that was found, wherever it was found."""

    rule: str
    pack: str
    verdict: Verdict
    level: Level
    severity: str
    message: str
    fix: str
    name: str
    """The resource's name in the program; empty: the stack as a whole."""
    urn: str

    @property
    def stops(self) -> bool:
        """Whether it stops an update, or the gate when it could not be judged."""
        return self.level is Level.MANDATORY and self.verdict is not Verdict.EXEMPT

    @property
    def order(self) -> tuple[bool, int, int, str, str, str]:
        """What stops first, then by verdict and severity."""
        worst = -_SEVERITIES.index(Severity(self.severity)) if self.severity in _SEVERITIES else 0
        return not self.stops, _ORDER.index(self.verdict), worst, self.rule, self.name, self.message


def stops(found: Iterable[Told], *, allow_unknown: bool) -> bool:
    """Return whether a gate has to refuse."""
    return any(one.stops and not (allow_unknown and one.verdict is Verdict.UNKNOWN) for one in found)


def from_finding(finding: Finding) -> Told:
    """Return what a rule found here."""
    rule = finding.rule
    return Told(
        rule.name, pack_of(rule), finding.verdict, finding.level, rule.severity.value, finding.message, rule.fix,
        finding.name, finding.urn,
    )  # fmt: skip


def from_event(event: Mapping[str, Any], levels: Mapping[str, Level]) -> Told:
    """Return what a pack under the engine found; `levels`: of what could not be checked, which comes as advice."""
    name, urn = str(event["policyName"]), str(event.get("resourceUrn") or "")
    message, _, fix = str(event["message"]).strip().partition(_TRY)
    rule: Rule | None = RULES.get(name)
    verdict = verdict_of(message)
    level = Level(event["enforcementLevel"])
    return Told(
        name,
        pack_of(rule) if rule else str(event.get("policyPackName") or ""),
        verdict,
        levels.get(name, level) if verdict is Verdict.UNKNOWN else level,
        str(event.get("severity") or (rule.severity if rule else "")),
        message,
        rule.fix if rule else fix,
        "" if "::pulumi:pulumi:Stack::" in urn else urn.rpartition("::")[2],
        urn,
    )


def report_json(found: Sequence[Told]) -> dict[str, Any]:
    """Return the document `emporion.policy/1` but for its schema."""
    return {
        "mandatory": sum(one.stops and one.verdict is not Verdict.UNKNOWN for one in found),
        "unknown": sum(one.verdict is Verdict.UNKNOWN for one in found),
        "findings": [
            {
                "rule": one.rule,
                "pack": one.pack,
                "verdict": one.verdict.value,
                "level": one.level.value,
                "severity": one.severity,
                "resource": one.name or None,
                "urn": one.urn or None,
                "message": one.message,
                "fix": one.fix,
            }
            for one in found
        ],
    }


def sarif_text(rules: Sequence[Mapping[str, Any]], results: Sequence[Mapping[str, Any]]) -> str:
    """Return a SARIF 2.1.0 document of one run."""
    tool = {"driver": {"name": "emporion", "rules": rules}}
    document = {
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{"tool": tool, "results": results}],
    }
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def markdown_row(cells: Iterable[str]) -> str:
    """Return one row of a Markdown table; a bar in a cell stays a bar."""
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def _sarif(found: Sequence[Told]) -> str:
    rules = sorted({one.rule for one in found})
    known = [RULES[name] for name in rules if name in RULES]
    descriptors = [
        {"id": rule.name, "shortDescription": {"text": rule.description}, "help": {"text": rule.fix}} for rule in known
    ]
    descriptors += [{"id": name} for name in rules if name not in RULES]
    results = [
        {
            "ruleId": one.rule,
            "level": "note" if one.verdict is Verdict.EXEMPT else _SARIF_LEVELS[one.level],
            "message": {"text": f"{one.message}{_TRY}{one.fix}"},
            "locations": [
                {
                    "physicalLocation": SARIF_PLACE,
                    "logicalLocations": [{"name": one.name or "stack", "fullyQualifiedName": one.urn or "stack"}],
                }
            ],
            "partialFingerprints": {"emporion/v1": f"{one.rule}:{one.urn}"},
            **({"suppressions": [{"kind": "external"}]} if one.verdict is Verdict.EXEMPT else {}),
        }
        for one in found
    ]
    return sarif_text(descriptors, results)


def _junit(found: Sequence[Told]) -> str:
    """Return one test case for each thing that was found; what stops is a failure, what is unknown an error."""
    failures = sum(one.stops and one.verdict is not Verdict.UNKNOWN for one in found)
    errors = sum(one.stops and one.verdict is Verdict.UNKNOWN for one in found)
    suite = ET.Element(
        "testsuite", name="emporion policy", tests=str(len(found)), failures=str(failures), errors=str(errors)
    )
    for one in found:
        case = ET.SubElement(suite, "testcase", classname=one.rule, name=one.name or "stack")
        kind = "error" if one.verdict is Verdict.UNKNOWN else "failure"
        tag = kind if one.stops else "skipped"
        ET.SubElement(case, tag, message=_xml(one.message)).text = _xml(f"try: {one.fix}\n{one.urn}")
    ET.indent(suite)
    return ET.tostring(suite, encoding="unicode", xml_declaration=True) + "\n"


def _xml(text: str) -> str:
    """Return a text without what XML cannot hold."""
    return "".join(letter for letter in text if letter >= " " or letter in "\n\t")


def _markdown(found: Sequence[Told]) -> str:
    if not found:
        return "**Policies:** nothing found\n"
    stopping = sum(one.stops for one in found)
    lines = [
        f"**Policies:** {stopping} to mend, {len(found) - stopping} to look at",
        "",
        "| | rule | resource | what | try |",
        "| --- | --- | --- | --- | --- |",
    ]
    for one in found:
        cells = (one.rule, one.name or "stack", one.message, one.fix)
        mark = "?" if one.verdict is Verdict.UNKNOWN else "✗" if one.stops else "!"
        lines.append(markdown_row((mark, *cells)))
    return "\n".join(lines) + "\n"


FORMATS = {"sarif": _sarif, "junit": _junit, "markdown": _markdown}
"""Formats whose whole text comes from here."""
