"""How the packs are configured for a stack, and what becomes of what they found."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from placements import PLACEMENT

from emporion.market.errors import ExitCode, UserError
from emporion.operations.policies import pack_arguments, policy_problem, read_config, told, with_placement
from emporion.operations.project import Project
from emporion.operations.pulumi import Outcome


def project(folder: Path) -> Project:
    return Project(folder, "shop", folder)


def test_the_projects_file_is_read_and_a_given_one_takes_its_place(tmp_path: Path) -> None:
    assert read_config(project(tmp_path)) == {}
    (tmp_path / "policies.json").write_text('{"disk-encrypted": "advisory"}')
    assert read_config(project(tmp_path)) == {"disk-encrypted": "advisory"}
    other = tmp_path / "other.json"
    other.write_text("{}")
    assert read_config(project(tmp_path), other) == {}
    other.write_text('{"disk-encripted": "advisory"}')
    with pytest.raises(UserError, match="there is no rule"):
        read_config(project(tmp_path), other)


@pytest.mark.parametrize(
    ("budget", "expected"),
    [
        pytest.param({}, None, id="none"),
        pytest.param({"max_hourly_usd": "16.00"}, "16.00", id="hourly"),
        pytest.param({"max_hourly_usd_per_gpu": "2.80"}, "44.80", id="per gpu, of sixteen"),
        pytest.param({"max_hourly_usd": "90", "max_daily_usd": "240"}, "10", id="the tightest"),
    ],
)
def test_a_pinned_intent_brings_its_fallback_and_its_budget_along(budget: dict[str, str], expected: str | None) -> None:
    placement = replace(PLACEMENT, spot_fallback="true", intent={**PLACEMENT.intent, "budget": budget})
    setting = with_placement({}, placement)["spot-auto-renew"]
    assert setting == {"spot_fallback": True} | ({} if expected is None else {"max_usd_per_hour": expected})
    mine = with_placement({"spot-auto-renew": {"spot_fallback": False}}, placement)["spot-auto-renew"]
    assert mine["spot_fallback"] is False
    assert (
        with_placement({"spot-auto-renew": "advisory"}, placement)["spot-auto-renew"]["enforcementLevel"] == "advisory"
    )
    paused = replace(placement, spot_fallback="pause")
    assert with_placement({}, paused)["spot-auto-renew"]["spot_fallback"] is False


def test_a_pack_gets_the_settings_of_its_own_rules(tmp_path: Path) -> None:
    config = {"disk-encrypted": "advisory", "hourly-cost-ceiling": {"max_usd_per_hour": 3}, "all": "advisory"}
    with pack_arguments(config, "cost") as arguments:
        assert arguments[0] == "--policy-pack"
        assert Path(arguments[1], "PulumiPolicy.yaml").is_file()
        kept = json.loads(Path(arguments[3]).read_text())
    assert kept == {"hourly-cost-ceiling": {"max_usd_per_hour": 3}, "all": "advisory"}
    assert not Path(arguments[3]).exists()


def event(rule: str, message: str, level: str = "mandatory") -> dict[str, Any]:
    urn = "urn:pulumi:dev::shop::aws:ebs/volume:Volume::plain"
    return {
        "policyName": rule,
        "message": f"{message}\n",
        "enforcementLevel": level,
        "resourceUrn": urn,
        "severity": "high",
    }


def outcome(*events: dict[str, Any]) -> Outcome:
    return Outcome(succeeded=False, changes={}, errors=(), failed_urns=(), policies=events)


def test_what_the_engine_tells_becomes_what_was_found() -> None:
    unknown = event("disk-encrypted", "could not be checked before something else is made: x of y", "advisory")
    violated = event("disk-encrypted", "plain is not encrypted; try: turn encryption on")
    foreign = event("somebodys-rule", "it is too green; try: paint it")
    exempt = event("disk-encrypted", "plain is not encrypted; exempt until 2027-01-31 by me: a test", "advisory")
    found = told(outcome(unknown, violated, violated, foreign, exempt), {})
    assert [(one.rule, one.verdict.value, one.level.value, one.stops) for one in found] == [
        ("disk-encrypted", "violated", "mandatory", True),
        ("somebodys-rule", "violated", "mandatory", True),
        ("disk-encrypted", "unknown", "mandatory", True),
        ("disk-encrypted", "exempt", "advisory", False),
    ]
    assert found[1].fix == "paint it"
    problem = policy_problem(found, "dev", "up")
    assert problem is not None
    assert (problem.code, problem.exit_code) == ("E-POLICY", ExitCode.INFEASIBLE)
    assert "plain is not encrypted, and 1 more" in problem.what
    assert "emporion down dev rolls it back" in str(problem.fix)
    assert policy_problem(told(outcome(unknown, exempt), {}), "dev", "up") is None
