"""The gate of `emporion up`: nothing is made while a mandatory rule is violated, one for each pack."""

from __future__ import annotations

import json
from typing import Any

import pytest
from desk import Desk, make_desk

pytestmark = pytest.mark.engine

BROKEN: dict[str, dict[str, Any]] = {
    "cost": {"hourly-cost-ceiling": {"max_usd_per_hour": 1}},
    "spot": {"spot-checkpoint-path": "mandatory"},
    "security": {"metadata-session-tokens": {"max_hops": 1}},
    "compliance": {"approved-regions": {"regions": ["eu-west-1"]}},
}
"""Pack -> a configuration under which the demo breaks one of its rules."""


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Desk:
    return make_desk(tmp_path_factory.mktemp("gate"))


@pytest.mark.parametrize("pack", BROKEN)
def test_up_makes_nothing_while_a_rule_of_a_pack_is_violated(desk: Desk, pack: str) -> None:
    (desk.project / "policies.json").write_text(json.dumps(BROKEN[pack]))
    ran = desk.run("up", "demo.yaml", "--yes")
    assert (ran.returncode, "[E-POLICY]" in ran.stderr) == (3, True), ran.stdout + ran.stderr
    assert next(iter(BROKEN[pack])) in ran.stderr
    assert desk.state("demo").get("resources", []) == []
    judged = desk.run("policy", "check", "demo", "--pack", pack, "--json")
    assert judged.returncode == 3
    document = json.loads(judged.stdout)
    assert document["mandatory"] > 0
    assert {one["pack"] for one in document["findings"]} == {pack}


def test_without_packs_or_with_a_wider_configuration_it_goes_on(desk: Desk) -> None:
    (desk.project / "policies.json").write_text(json.dumps({"hourly-cost-ceiling": {"max_usd_per_hour": 200}}))
    assert desk.run("policy", "check", "demo").returncode == 0
    (desk.project / "policies.json").write_text(json.dumps(BROKEN["cost"]))
    assert "48 created" in desk.done("up", "demo", "--yes", "--no-policies")
    (desk.project / "policies.json").write_text(json.dumps({"no-such-rule": "mandatory"}))
    ran = desk.run("preview", "demo")
    assert (ran.returncode, "[E-POLICY-CONFIG]" in ran.stderr) == (2, True)
    desk.done("down", "demo", "--yes")


def test_hipaa_is_chosen_for_a_check_or_by_the_stack(desk: Desk) -> None:
    (desk.project / "policies.json").unlink(missing_ok=True)
    ran = desk.run("policy", "check", "demo", "--profile", "hipaa", "--json")
    assert ran.returncode == 3
    broken = {one["rule"] for one in json.loads(ran.stdout)["findings"] if one["level"] == "mandatory"}
    assert {"hipaa-disk-own-key", "hipaa-audit-log", "hipaa-log-retention"} <= broken
    assert desk.run("policy", "check", "demo").returncode == 0
