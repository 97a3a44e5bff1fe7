from __future__ import annotations

from pathlib import Path

import pytest
from terminal import Emporion

from emporion.localcloud.fault_kinds import FIELDS, KINDS


def test_a_fault_is_added_listed_and_cleared(emporion: Emporion) -> None:
    told = emporion("local", "fault", "add", "zone-outage", "--provider", "azure", "--region", "eastus", "--zone", "1")
    assert (told.code, told.out) == (0, "fault 1: zone-outage azure eastus 1\n")
    made = emporion("local", "fault", "add", "throttle", "--times", "3", "--after", "5m", "--for", "1h", "--json")
    assert {name: made.document[name] for name in ("schema", "number", "kind", "state", "times")} == {
        "schema": "emporion.fault/1",
        "number": 2,
        "kind": "throttle",
        "state": "coming",
        "times": 3,
    }
    listed = emporion("local", "fault", "list", "--json").document
    assert [(one["kind"], one["state"]) for one in listed["faults"]] == [
        ("zone-outage", "active"),
        ("throttle", "coming"),
    ]
    assert "zone-outage" in emporion("local", "fault", "list").out
    assert emporion("local", "fault", "clear", "1").out == "1 fault cleared\n"
    assert emporion("local", "fault", "clear", "--json").document["cleared"] == 1
    assert "no faults" in emporion("local", "fault", "list").err


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        pytest.param(["add", "throtle"], "did you mean throttle?", id="kind"),
        pytest.param(["add", "slow"], "slow needs delay", id="needs"),
        pytest.param(["add", "throttle", "--zone", "1"], "throttle has no zone", id="odd"),
        pytest.param(["add", "slow", "--delay", "3"], "--> --delay", id="unit"),
        pytest.param(["add", "quota", "--provider", "asw"], "did you mean aws?", id="provider"),
        pytest.param(["add", "throttle", "--times", "-1"], "not a whole number", id="times"),
        pytest.param(["add", "throttle", "--operation", "make"], "none of create", id="operation"),
        pytest.param(["clear", "7"], "there is no fault 7", id="number"),
        pytest.param(["clear", "x"], "not the number of a fault", id="no number"),
    ],
)
def test_a_fault_that_cannot_be_is_one_clear_error(arguments: list[str], says: str, emporion: Emporion) -> None:
    ran = emporion("local", "fault", *arguments)
    assert ran.code == 2
    assert says in ran.err
    assert emporion("local", "fault", "list", "--json").document["faults"] == []


def test_the_help_names_every_kind_and_every_field(emporion: Emporion) -> None:
    shown = emporion("local", "fault", "add", "--help").out
    for kind in KINDS.values():
        assert f"{kind.name} " in shown
        assert kind.what in " ".join(shown.split())
    for field in FIELDS:
        assert f"--{field.name.replace('_', '-')} " in shown


def test_a_scenario_is_applied_and_a_wrong_one_is_not(emporion: Emporion, tmp_path: Path) -> None:
    path = tmp_path / "lost.yaml"
    path.write_text("faults: [{kind: region-outage, provider: aws, region: us-east-1}]\n")
    assert "the world is as lost says" in emporion("local", "world", "apply", str(path)).out
    path.write_text("faults: [{kind: region-outage, provider: aws, region: us-east-2}, {kind: fire}]\n")
    ran = emporion("local", "world", "apply", str(path), "--json")
    assert ran.code == 2
    assert len(emporion("local", "fault", "list", "--json").document["faults"]) == 1


def test_the_schema_of_scenarios_is_printed(emporion: Emporion) -> None:
    assert emporion("local", "world", "schema").document["title"] == "emporion scenario"
