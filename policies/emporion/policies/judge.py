"""What rules find: each rule over each fact that it speaks of, under its setting, on a day.

A rule that cannot be answered is reported as such and never passes; one that breaks is reported by name and the others
go on.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from enum import StrEnum

from emporion.market.facts import Fact, UnknownFactError
from emporion.policies.rule import Level, Rule
from emporion.policies.settings import Exemption, Setting
from emporion.policies.stack import Stack

__all__ = ["Finding", "Verdict", "judge", "redacted", "verdict_of"]

SHORTEST_SECRET = 3
"""Shorter ones are cut out of a message only where they stand alone: they are part of too many words."""


COULD_NOT = "could not be checked"
BROKE = "the rule itself failed"
EXEMPT = "exempt until"
"""What messages of the verdicts begin with, or hold: the engine hands on nothing but texts."""


class Verdict(StrEnum):
    """What is said of a resource under a rule."""

    VIOLATED = "violated"
    UNKNOWN = "unknown"
    """It could not be checked."""
    FAULT = "fault"
    """The rule itself broke."""
    EXEMPT = "exempt"


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that a rule says."""

    rule: Rule
    verdict: Verdict
    level: Level
    message: str
    name: str
    """The resource's name in the program; empty: the stack as a whole."""
    urn: str


def judge(
    rules: Iterable[Rule],
    subjects: Sequence[Fact | Stack],
    settings: Mapping[str, Setting],
    *,
    today: date,
    secrets: Iterable[str] = (),
) -> Iterator[Finding]:
    """Yield what the rules that are on find wrong with subjects; texts of `secrets` never stand in a message."""
    by_kind: dict[type, list[Fact | Stack]] = {}
    for subject in subjects:
        by_kind.setdefault(type(subject), []).append(subject)
    hidden = sorted(set(secrets), key=lambda text: (-len(text), text))
    for rule in rules:
        setting = settings[rule.name]
        if setting.level is Level.DISABLED:
            continue
        for subject in by_kind.get(rule.subject, ()):
            for finding in _findings(rule, subject, setting, today):
                yield replace(finding, message=redacted(finding.message, hidden))


def _findings(rule: Rule, subject: Fact | Stack, setting: Setting, today: date) -> Iterator[Finding]:
    name, urn = ("", subject.urn) if isinstance(subject, Stack) else (subject.name, subject.urn)
    verdict, messages = _verdict(rule, subject, setting)
    if verdict is Verdict.FAULT:  # a rule that breaks has judged nothing: it stops, whatever its level and exemptions
        yield Finding(rule, verdict, Level.MANDATORY, messages[0], name, urn)
        return
    exemption = next((one for one in setting.exemptions if name and one.covers(name, urn)), None)
    for message in messages:
        if exemption is None:
            yield Finding(rule, verdict, setting.level, message, name, urn)
        elif today <= exemption.until:
            yield Finding(rule, Verdict.EXEMPT, Level.ADVISORY, f"{message}; {_allowed(exemption)}", name, urn)
        else:
            text = f"{message}; the exemption of {exemption.owner} ended on {exemption.until}"
            yield Finding(rule, verdict, setting.level, text, name, urn)


def _allowed(exemption: Exemption) -> str:
    return f"{EXEMPT} {exemption.until} by {exemption.owner}: {exemption.reason}"


def _verdict(rule: Rule, subject: Fact | Stack, setting: Setting) -> tuple[Verdict, list[str]]:
    messages: list[str] = []
    try:
        # One by one: what was found before something turned out to be unknown stands.
        for message in rule.check(subject, **setting.parameters):
            messages.append(message)  # noqa: PERF402 - `extend` would lose them
    except UnknownFactError as error:
        if messages:
            return Verdict.VIOLATED, messages
        what = error.field.replace("_", " ")
        return Verdict.UNKNOWN, [f"{COULD_NOT} before something else is made: {what} of {error.fact.name}"]
    except Exception as error:  # noqa: BLE001 - a rule may be anybody's; its fault must not take the others along
        return Verdict.FAULT, [f"{BROKE} with {type(error).__name__}: {error}"]
    return Verdict.VIOLATED, messages


def verdict_of(message: str) -> Verdict:
    """Return the verdict that a message tells, for one that came back from the engine."""
    if message.startswith(COULD_NOT):
        return Verdict.UNKNOWN
    if message.startswith(BROKE):
        return Verdict.FAULT
    return Verdict.EXEMPT if f"; {EXEMPT} " in message else Verdict.VIOLATED


def redacted(message: str, secrets: Iterable[str]) -> str:
    """Return a message without the secrets in it."""
    for secret in secrets:
        if len(secret) >= SHORTEST_SECRET:
            message = message.replace(secret, "[secret]")
        else:
            message = " ".join("[secret]" if word.strip("'\",;:()") == secret else word for word in message.split(" "))
    return message
