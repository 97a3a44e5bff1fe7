from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emporion.components.aws.stand_in import STAND_IN
from emporion.localcloud.plugin.diff import compare
from emporion.localcloud.plugin.values import parse_path
from emporion.market.stand_in import TypeRule
from emporion.market.wire import UNKNOWN_TEXT

PLAIN = TypeRule("Thing", "Svc:Thing", replace=frozenset({"size", "disk.kind"}))
INSTANCE = STAND_IN.types["aws:ec2/instance:Instance"]
BUCKET = STAND_IN.types["aws:s3/bucket:Bucket"]
RULE = STAND_IN.types["aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule"]

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
inputs = st.dictionaries(st.text(min_size=1, max_size=5), json_values, max_size=4)


@given(inputs)
def test_equal_inputs_differ_in_nothing(same: dict[str, Any]) -> None:
    assert compare(PLAIN, same, same).changes == {}


@given(inputs, inputs)
def test_ignoring_every_changed_path_leaves_nothing(old: dict[str, Any], new: dict[str, Any]) -> None:
    paths = list(compare(PLAIN, old, new).changes)
    assert compare(PLAIN, old, new, paths).changes == {}


@given(inputs, inputs)
def test_every_path_names_the_top_level_input_that_it_lies_in(old: dict[str, Any], new: dict[str, Any]) -> None:
    visible = {key for key in old.keys() | new.keys() if not key.startswith("__")}
    assert set(compare(PLAIN, old, new).top) == {key for key in visible if old.get(key) != new.get(key)}


@pytest.mark.parametrize(
    ("old", "new", "changes", "replaces"),
    [
        pytest.param({"a": 1}, {"a": 2}, {"a": "update"}, [], id="in place"),
        pytest.param({}, {"a": 2}, {"a": "add"}, [], id="added"),
        pytest.param({"a": [1, 2]}, {"a": [1]}, {"a[1]": "delete"}, [], id="removed from a list"),
        pytest.param({"size": 1}, {"size": 2}, {"size": "update"}, ["size"], id="replaces"),
        pytest.param({"disk": {"kind": "a", "gb": 1}}, {"disk": {"kind": "a", "gb": 2}}, {"disk.gb": "update"}, [],
                     id="nested in place"),
        pytest.param({"disk": {"kind": "a"}}, {"disk": {"kind": "b"}}, {"disk.kind": "update"}, ["disk.kind"],
                     id="nested replaces"),
        pytest.param({"tags": {"a.b": "1"}}, {"tags": {"a.b": "2"}}, {'tags["a.b"]': "update"}, [], id="quoted key"),
        pytest.param({"size": 1}, {"size": UNKNOWN_TEXT}, {"size": "update"}, ["size"], id="unknown may replace"),
        pytest.param({"a": UNKNOWN_TEXT}, {"a": UNKNOWN_TEXT}, {"a": "update"}, [], id="unknown is never equal"),
        pytest.param({"a": 1, "__defaults": []}, {"a": 1, "__defaults": ["a"]}, {}, [], id="marks do not count"),
        pytest.param({"a": 1, "region": "x"}, {"a": 1, "region": "y"}, {"region": "update"}, ["region"], id="region"),
    ],
)  # fmt: skip
def test_changes_and_what_they_replace(
    old: dict[str, Any], new: dict[str, Any], changes: dict[str, str], replaces: list[str]
) -> None:
    found = compare(PLAIN, old, new)
    assert (dict(found.changes), list(found.replaces)) == (changes, replaces)


@pytest.mark.parametrize(
    ("ignored", "left"),
    [
        pytest.param("rootBlockDevice.volumeSize", [], id="the property's own path"),
        pytest.param("rootBlockDevice", [], id="everything below it"),
        pytest.param("rootBlockDevice.*", [], id="wildcard"),
        pytest.param(
            "root_block_device.volume_size", ["rootBlockDevice.volumeSize"], id="E11: snake case names nothing"
        ),
    ],
)
def test_ignored_changes_are_paths_in_pulumis_spelling(ignored: str, left: list[str]) -> None:
    old, new = {"rootBlockDevice": {"volumeSize": 10}}, {"rootBlockDevice": {"volumeSize": 99}}
    assert list(compare(INSTANCE, old, new, [ignored]).changes) == left


@pytest.mark.parametrize(
    ("path", "steps"),
    [
        ("a", ("a",)),
        ("a.b[0].c", ("a", "b", "0", "c")),
        ('tags["a.b"]', ("tags", "a.b")),
        ("a[*].b", ("a", "*", "b")),
    ],
)
def test_paths_are_read_as_pulumi_writes_them(path: str, steps: tuple[str, ...]) -> None:
    assert parse_path(path) == steps


def test_a_replaced_thing_whose_name_the_program_chose_goes_before_its_successor() -> None:
    """E12: else the new one finds the name taken."""
    old, new = {"bucket": "mine", "objectLockEnabled": False}, {"bucket": "mine", "objectLockEnabled": True}
    assert compare(BUCKET, old, new).delete_first
    autonamed = {"__defaults": ["bucket"]}
    assert not compare(BUCKET, old | autonamed, new | autonamed).delete_first
    assert not compare(BUCKET, old, new | {"bucket": "other"}).delete_first


def test_another_kind_of_peer_is_another_rule_and_another_value_only_an_edit() -> None:
    cidr = {"securityGroupId": "sg", "cidrIpv4": "10.0.0.0/8"}
    assert compare(RULE, cidr, cidr | {"cidrIpv4": "10.0.0.0/16"}).replaces == []
    assert compare(RULE, cidr, {"securityGroupId": "sg", "referencedSecurityGroupId": "sg"}).replaces


@pytest.mark.parametrize(("asked", "replaced"), [(True, ["userData"]), (False, [])])
def test_new_user_data_makes_a_new_machine_only_when_asked(asked: bool, replaced: list[str]) -> None:
    old = {"userData": "a", "userDataReplaceOnChange": asked}
    assert compare(INSTANCE, old, old | {"userData": "b"}).replaces == replaced
