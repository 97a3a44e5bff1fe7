"""The machinery around rules: settings, exemptions, unknown facts, rules that break, secrets, doubles."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from datetime import date, timedelta
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emporion.market.errors import UserError
from emporion.market.facts import Disk, Node
from emporion.market.resources import UNKNOWN, Others, Resource, has_unknown, plain, secrets_in
from emporion.policies import Level, Severity, Verdict, judge, read_settings, rule
from emporion.policies.judge import redacted
from emporion.policies.packs import RULES
from emporion.policies.review import Review, read_resource
from emporion.policies.security import disk_encrypted, gpu_node_no_public_ip

SECRET = {"4dabf18193072939515e22adb298388d": "1b47061264138c4ac30d75fd1eb44270"}
MARK = "04da6b54-80e4-46f7-96ec-b56ff0331ba9"


@rule("breaks", severity=Severity.LOW, fix="mend the rule")
def breaks(disk: Disk, *, most: Decimal | None = None) -> Iterator[str]:
    message = f"no such thing as {disk.name}"
    raise KeyError(message)


def test_an_unknown_fact_is_reported_and_never_passes(good: Callable[..., Any], today: date) -> None:
    node = good(Node, public_ip=UNKNOWN)
    [finding] = judge([gpu_node_no_public_ip], [node], read_settings({}, RULES.values()), today=today)
    assert finding.verdict is Verdict.UNKNOWN
    assert finding.message == "could not be checked before something else is made: public ip of one"
    assert list(judge([gpu_node_no_public_ip], [good(Node, public_ip=UNKNOWN, gpus=0)],
                      read_settings({}, RULES.values()), today=today)) == []  # fmt: skip


def test_a_rule_that_breaks_is_named_stops_the_update_and_the_others_go_on(
    good: Callable[..., Any], today: date
) -> None:
    rules = [breaks, disk_encrypted]
    found = list(judge(rules, [good(Disk, encrypted=False)], read_settings({}, rules), today=today))
    assert [(one.rule.name, one.verdict, one.level) for one in found] == [
        ("breaks", Verdict.FAULT, Level.MANDATORY),
        ("disk-encrypted", Verdict.VIOLATED, Level.MANDATORY),
    ]
    assert "KeyError" in found[0].message


@given(days=st.integers(-400, 400))
def test_an_exemption_holds_up_to_its_day_and_no_longer(days: int) -> None:
    day = date(2026, 12, 1)
    until = day + timedelta(days=days)
    exempt = {"resource": "on*", "owner": "me", "reason": "a test", "until": until.isoformat()}
    settings = read_settings({"disk-encrypted": {"exempt": [exempt]}}, [disk_encrypted])
    disk = Disk(name="one", encrypted=False)
    [finding] = judge([disk_encrypted], [disk], settings, today=day)
    if days >= 0:
        assert (finding.verdict, finding.level) == (Verdict.EXEMPT, Level.ADVISORY)
    else:
        assert (finding.verdict, finding.level) == (Verdict.VIOLATED, Level.MANDATORY)
        assert f"ended on {until}" in finding.message
    [other] = judge([disk_encrypted], [Disk(name="two", encrypted=False)], settings, today=day)
    assert other.verdict is Verdict.VIOLATED


@pytest.mark.parametrize(
    ("document", "words"),
    [
        pytest.param({"disk-encripted": "mandatory"}, "there is no rule 'disk-encripted'", id="unknown rule"),
        pytest.param({"disk-encrypted": "strict"}, "the level is 'strict', allowed: mandatory", id="level"),
        pytest.param({"disk-encrypted": 3}, "the level is 3", id="no level"),
        pytest.param({"breaks": {"most": "much"}}, "most is an amount", id="no amount"),
        pytest.param({"breaks": {"most": -1}}, "most is an amount", id="below zero"),
        pytest.param({"breaks": {"most": True}}, "most is an amount", id="a truth is no amount"),
        pytest.param({"breaks": {"size": 3}}, "'size' cannot be set, allowed: enforcementLevel", id="parameter"),
        pytest.param(
            {"disk-encrypted": {"exempt": [{"resource": "x"}]}}, "an exemption says resource, owner", id="bare"
        ),
        pytest.param({"disk-encrypted": {"exempt": {}}}, "exempt is a list", id="no list"),
        pytest.param([], "no object of rule names", id="list"),
    ],
)
def test_a_wrong_configuration_is_refused(document: Any, words: str) -> None:
    with pytest.raises(UserError) as caught:
        read_settings(document, [breaks, disk_encrypted])
    assert words in caught.value.what
    assert caught.value.code == "E-POLICY-CONFIG"


def test_all_problems_of_a_configuration_come_at_once() -> None:
    with pytest.raises(UserError) as caught:
        read_settings({"disk-encrypted": "strict", "nothing": "advisory"}, [disk_encrypted])
    assert len(caught.value.problems()) == 2


def test_a_parameter_that_no_configuration_can_give_is_refused_at_once() -> None:
    def check(disk: Disk, *, when: date | None = None) -> Iterator[str]:
        yield f"{disk.name} {when}"

    with pytest.raises(TypeError, match="allowed, with or without"):
        rule("wrong", severity=Severity.LOW, fix="")(check)


def test_a_level_for_all_is_under_the_one_for_a_rule() -> None:
    settings = read_settings({"all": "disabled", "disk-encrypted": "advisory"}, RULES.values())
    assert settings["disk-encrypted"].level is Level.ADVISORY
    assert {one.level for name, one in settings.items() if name != "disk-encrypted"} == {Level.DISABLED}


def facts_of(resource: Resource, others: Others | None) -> Iterator[Disk]:
    yield Disk(name=resource.name, urn=resource.urn, encrypted=UNKNOWN if others is None else False)


def review(today: date) -> Review:
    return Review([disk_encrypted], read_settings({}, [disk_encrypted]), [facts_of], today=today)


def test_what_one_resource_does_not_tell_the_whole_stack_does_and_once(today: date) -> None:
    open_review = review(today)
    resource = Resource("urn:pulumi:dev::p::t::disk", "t", {})
    assert open_review.resource(resource) == ([], ["disk-encrypted"])
    assert [one.message for one in open_review.stack([resource])] == ["disk is not encrypted"]
    assert open_review.stack([resource]) == []


def test_a_secret_in_a_message_is_hidden(today: date) -> None:
    open_review = review(today)
    inputs: Mapping[str, Any] = {"a": {**SECRET, "value": ["hunter2", {"b": "disk"}]}}
    resource, secrets = read_resource("urn:pulumi:dev::p::t::disk-hunter2", "t", inputs)
    assert secrets == {"hunter2", "disk"}
    open_review.resource(resource, secrets)
    assert [one.message for one in open_review.stack([resource])] == ["[secret]-[secret] is not encrypted"]


@given(st.lists(st.text(min_size=3, max_size=12).filter(lambda t: t not in "[secret]"), max_size=4), st.text())
def test_no_longer_secret_is_left_in_a_message(secrets: list[str], text: str) -> None:
    hidden = sorted(secrets, key=lambda one: (-len(one), one))
    message = redacted(f"{text}{''.join(secrets)}", hidden)
    assert not [one for one in secrets if one in message.replace("[secret]", "")]


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


@given(VALUES)
def test_plain_values_stay_what_they_are_and_marks_become_unknown(value: Any) -> None:
    assert plain(value) == value
    assert not has_unknown(value)
    assert plain({**SECRET, "value": value}) == value
    assert list(secrets_in({"x": value})) == []
    assert has_unknown(plain([value, {"x": MARK}]))


def test_an_unknown_value_is_neither_true_nor_false() -> None:
    with pytest.raises(TypeError):
        bool(UNKNOWN)
