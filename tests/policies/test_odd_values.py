"""Whatever stands in a property: facts are made, rules answer, nothing breaks, what is unknown never passes unsaid."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from datetime import date
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from emporion.market.clouds import fact_sources
from emporion.market.facts import Fact
from emporion.market.resources import UNKNOWN, Others, Resource
from emporion.policies.fixtures import BUNDLED, read_cases
from emporion.policies.judge import Verdict
from emporion.policies.packs import ALL, PACKS, RULES
from emporion.policies.review import Review
from emporion.policies.security import resource_understood
from emporion.policies.settings import read_settings

SOURCES = tuple(fact_sources().values())
CASES = read_cases(BUNDLED, RULES)
STACKS = [resources for case in CASES for resources in (case.passing, case.failing) if resources]
ODD = st.sampled_from(
    [UNKNOWN, None, "", "text", 0, -1, 3.5, True, False, [], {}, [UNKNOWN], {"x": UNKNOWN}, [None], [[]]]
)
SETTINGS = read_settings({}, PACKS[ALL], profiles=["hipaa"])


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the path of everything inside a value."""
    inner = value.items() if isinstance(value, Mapping) else enumerate(value) if isinstance(value, list) else ()
    for key, item in inner:
        yield (*path, key)
        yield from places(item, (*path, key))


def put(value: Any, path: tuple[Any, ...], new: Any) -> Any:
    """Return a value with another one at a path."""
    if not path:
        return new
    copy = dict(value) if isinstance(value, Mapping) else list(value)
    copy[path[0]] = put(copy[path[0]], path[1:], new)
    return copy


@st.composite
def odd_stacks(draw: Callable[[st.SearchStrategy[Any]], Any]) -> list[Resource]:
    resources = list(draw(st.sampled_from(STACKS)))
    for number, resource in enumerate(resources):
        found = list(places(resource.inputs))
        if found:
            inputs = put(resource.inputs, draw(st.sampled_from(found)), draw(ODD))
            resources[number] = replace(resource, inputs=inputs)
    return resources


def judged(resources: list[Resource]) -> list[tuple[str, Verdict, str]]:
    review = Review(PACKS[ALL], SETTINGS, SOURCES, today=date(2026, 12, 1))
    found = [one for resource in resources for one in review.resource(resource)[0]]
    return [(one.rule.name, one.verdict, one.message) for one in [*found, *review.stack(resources)]]


@given(odd_stacks())
@settings(max_examples=600, deadline=None)
def test_an_odd_value_breaks_neither_facts_nor_rules(resources: list[Resource]) -> None:
    assert [one for one in judged(resources) if one[1] is Verdict.FAULT] == []


@pytest.mark.parametrize("case", CASES, ids=[f"{case.where}: {case.rule.name}" for case in CASES])
def test_where_all_is_unknown_a_rule_that_would_refuse_does_not_pass_unsaid(case: Any, today: date) -> None:
    """Every top-level value of what must fail becomes unknown: the rule refuses still, or says that it cannot know."""
    unknown = [replace(one, inputs=dict.fromkeys(one.inputs, UNKNOWN)) for one in case.failing]
    setting = read_settings({case.rule.name: {"enforcementLevel": "mandatory", **case.settings}}, [case.rule])
    setting |= read_settings({}, [resource_understood])
    found = Review([case.rule, resource_understood], setting, SOURCES, today=today).stack(unknown)
    assert found, "it passes what nobody knows"


def test_a_resource_of_an_unknown_kind_has_no_facts_but_its_cost() -> None:
    for kind in ("random:index/id:Id", "", ":::", "pulumi:pulumi:Stack"):
        resource = Resource(f"urn:pulumi:dev::p::{kind}::x", kind, {"a": UNKNOWN})
        found: list[Fact] = [fact for source in SOURCES for fact in source(resource, Others([resource]))]
        assert found == []
