"""The review of one update: resources come one by one, then the whole stack; findings come back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import date
from typing import Any

from emporion.market.facts import Fact, FactSource, read_facts
from emporion.market.resources import Others, Resource, plain, secrets_in
from emporion.policies.judge import Finding, Verdict, judge
from emporion.policies.rule import Rule
from emporion.policies.settings import Setting
from emporion.policies.stack import Stack

__all__ = ["Review", "read_resource"]

STACK_TYPE = "pulumi:pulumi:Stack"


def read_resource(
    urn: str,
    kind: str,
    inputs: Mapping[str, Any],
    *,
    provider: Mapping[str, Any] | None = None,
    references: Mapping[str, Sequence[str]] | None = None,
    protect: bool = False,
) -> tuple[Resource, set[str]]:
    """Return a resource from the engine's wire values, and the texts of its secrets."""
    secrets = set(secrets_in(inputs)) | set(secrets_in(provider or {}))
    return Resource(urn, kind, plain(inputs), plain(provider or {}), references or {}, protect), secrets


class Review:
    """What rules say of a stack under review. Not safe for concurrent calls.

    A resource alone does not tell everything: what is unknown then is asked again when the whole stack is there.
    Nothing is told twice.
    """

    def __init__(
        self, rules: Sequence[Rule], settings: Mapping[str, Setting], sources: Iterable[FactSource], *, today: date
    ) -> None:
        self.settings = settings
        self._rules = rules
        self._sources = tuple(sources)
        self._today = today
        self._seen: dict[str, Resource] = {}
        self._secrets: set[str] = set()
        self._told: set[tuple[str, str, str]] = set()

    def resource(self, resource: Resource, secrets: Iterable[str] = ()) -> tuple[list[Finding], list[str]]:
        """Return what is found in one resource before it is made, and the rules that it alone does not answer.

        Those are the rules that none of its facts is about, and those that ask for what is not known yet.
        """
        self._secrets.update(secrets)
        self._seen[resource.urn] = resource
        facts = self._facts(resource, None)
        found = self._judged(facts)
        unknown = {one.rule.name for one in found if one.verdict is Verdict.UNKNOWN}
        kinds = {type(fact) for fact in facts}
        later = [rule.name for rule in self._rules if rule.subject not in kinds or rule.name in unknown]
        return [one for one in found if one.verdict is not Verdict.UNKNOWN and self._is_news(one)], later

    def seen(self, urn: str) -> Resource | None:
        """Return a resource that was looked at one by one."""
        return self._seen.get(urn)

    def stack(self, resources: Sequence[Resource]) -> list[Finding]:
        """Return what else is found in the whole stack.

        `resources` say what stands together and where values come from; the values are those asked for (`resource`).
        """
        asked = [self._asked(resource) for resource in resources]
        others = Others(asked)
        facts = [fact for resource in asked for fact in self._facts(resource, others)]
        urn = next((resource.urn for resource in asked if resource.type == STACK_TYPE), "")
        return [one for one in self._judged([*facts, Stack(asked, facts, urn)]) if self._is_news(one)]

    def _asked(self, resource: Resource) -> Resource:
        seen = self._seen.get(resource.urn)
        return resource if seen is None else replace(seen, references=resource.references)

    def _facts(self, resource: Resource, others: Others | None) -> list[Fact]:
        return read_facts(resource, others, self._sources)

    def _is_news(self, finding: Finding) -> bool:
        key = (finding.rule.name, finding.urn, finding.message)
        news = key not in self._told
        self._told.add(key)
        return news

    def _judged(self, subjects: Sequence[Fact | Stack]) -> list[Finding]:
        return list(judge(self._rules, subjects, self.settings, today=self._today, secrets=self._secrets))
