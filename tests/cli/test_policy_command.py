"""`emporion policy`: lists, explanations, formats and exit codes of a preview file, and a stack under the engine."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from terminal import Emporion

BUCKET, VOLUME = "aws:s3/bucket:Bucket", "aws:ebs/volume:Volume"
UNKNOWN = "04da6b54-80e4-46f7-96ec-b56ff0331ba9"


def step(name: str, kind: str, inputs: dict[str, Any], **more: Any) -> dict[str, Any]:
    urn = f"urn:pulumi:dev::shop::{kind}::{name}"
    return {"op": "create", "urn": urn, "newState": {"urn": urn, "type": kind, "inputs": inputs, **more}}


def preview(*steps: dict[str, Any], name: str = "preview.json") -> str:
    Path(name).write_text(json.dumps({"config": {}, "steps": list(steps), "changeSummary": {"create": len(steps)}}))
    return name


FAULTY = step("plain", VOLUME, {"size": 10, "region": "us-east-1", "tags": {"owner": "me", "budget": "ml"}})
CLEAN = step("sealed", VOLUME, {"size": 10, "encrypted": True, "tags": {"owner": "me", "budget": "ml"}})
UNSURE = step("later", VOLUME, {"size": 10, "encrypted": UNKNOWN, "tags": {"owner": "me", "budget": "ml"}})


def test_every_rule_is_listed_with_its_pack_level_severity_and_fix(emporion: Emporion) -> None:
    rules = emporion("policy", "list", "--json").document["rules"]
    assert len(rules) >= 30
    assert all(rule[key] for rule in rules for key in ("name", "pack", "level", "severity", "fix", "description"))
    assert {rule["pack"] for rule in rules} == {"cost", "spot", "security", "compliance"}
    assert "no-public-ssh" in emporion("policy", "list", "--pack", "security").out
    assert "no-public-ssh" not in emporion("policy", "list", "--pack", "cost").out


def test_a_rule_is_explained_with_its_parameters_and_its_setting_here(emporion: Emporion) -> None:
    Path("Pulumi.yaml").write_text("name: shop\nruntime: python\n")
    Path("policies.json").write_text('{"hourly-cost-ceiling": {"max_usd_per_hour": 20}}')
    ran = emporion("policy", "explain", "hourly-cost-ceiling")
    assert "max_usd_per_hour: an amount, 0 or more; now 20" in ran.out
    assert emporion("policy", "explain", "hourly-cost-ceiling", "--json").document["parameters"] == {
        "max_usd_per_hour": {"is": "an amount, 0 or more", "default": None, "now": "20"}
    }
    wrong = emporion("policy", "explain", "hourly-cost-ceilin")
    assert (wrong.code, "did you mean 'hourly-cost-ceiling'?" in wrong.err) == (2, True)


@pytest.mark.parametrize(
    ("steps", "extra", "code"),
    [
        pytest.param([CLEAN], [], 0, id="clean"),
        pytest.param([FAULTY], [], 3, id="violated"),
        pytest.param([UNSURE], [], 3, id="not judgeable"),
        pytest.param([UNSURE], ["--allow-unknown"], 0, id="allowed"),
        pytest.param([FAULTY, UNSURE], ["--allow-unknown"], 3, id="a violation is never allowed"),
        pytest.param([FAULTY], ["--pack", "cost"], 0, id="another pack"),
    ],
)
def test_the_exit_code_says_what_was_found(
    emporion: Emporion, steps: list[dict[str, Any]], extra: list[str], code: int
) -> None:
    assert emporion("policy", "check", "--preview", preview(*steps), *extra).code == code


def test_each_format_tells_the_same(emporion: Emporion) -> None:
    name = preview(FAULTY, UNSURE)
    document = emporion("policy", "check", "--preview", name, "--json").document
    assert (document["mandatory"], document["unknown"]) == (1, 1)
    first = document["findings"][0]
    assert (first["rule"], first["resource"], first["verdict"]) == ("disk-encrypted", "plain", "violated")
    sarif = json.loads(emporion("policy", "check", "--preview", name, "--format", "sarif").out)
    results = sarif["runs"][0]["results"]
    assert [one["ruleId"] for one in results] == ["disk-encrypted", "disk-encrypted"]
    suite = ET.fromstring(  # noqa: S314 - our own
        emporion("policy", "check", "--preview", name, "--format", "junit").out.encode()
    )
    assert (suite.get("failures"), suite.get("errors"), suite.get("tests")) == ("1", "1", "2")
    markdown = emporion("policy", "check", "--preview", name, "--format", "markdown").out
    assert "| ✗ | disk-encrypted | plain | plain is not encrypted |" in markdown
    table = emporion("policy", "check", "--preview", name).out
    assert "plain is not encrypted" in table


def test_the_profile_is_chosen_by_name(emporion: Emporion) -> None:
    name = preview(CLEAN)
    ran = emporion("policy", "check", "--preview", name, "--profile", "hipaa", "--json")
    assert ran.code == 3
    assert "hipaa-disk-own-key" in {one["rule"] for one in ran.document["findings"]}
    assert emporion("policy", "check", "--preview", name, "--profile", "hippa").code == 2


@pytest.mark.parametrize("keep", [0, 1, 30, 200, -3, -1])
def test_a_file_that_is_cut_off_is_refused(emporion: Emporion, keep: int) -> None:
    text = Path(preview(FAULTY, CLEAN)).read_text()
    Path("cut.json").write_text(text[:keep])
    ran = emporion("policy", "check", "--preview", "cut.json")
    assert (ran.code, "E-PREVIEW" in ran.err) == (2, True), ran.err


def test_unchanged_resources_that_a_file_leaves_out_are_said(emporion: Emporion) -> None:
    Path("preview.json").write_text(json.dumps({"steps": [CLEAN], "changeSummary": {"create": 1, "same": 7}}))
    assert (
        "7 unchanged resources are not in preview.json" in emporion("policy", "check", "--preview", "preview.json").err
    )


def test_a_file_or_a_stack_and_an_existing_configuration(emporion: Emporion) -> None:
    assert emporion("policy", "check").code == 2
    assert emporion("policy", "check", "dev", "--preview", preview(CLEAN)).code == 2
    assert emporion("policy", "check", "--preview", preview(CLEAN), "--config", "nowhere.json").code == 2
    Path("bad.json").write_text("{")
    assert "is no JSON" in emporion("policy", "check", "--preview", preview(CLEAN), "--config", "bad.json").err
    assert emporion("policy", "path", "--pack", "nothing").code == 2
    folder = Path(emporion("policy", "path", "--pack", "spot", "--json").document["path"])
    assert (folder / "PulumiPolicy.yaml").is_file()


def test_the_bundled_rules_pass_their_fixtures_and_ones_own_are_run_too(emporion: Emporion) -> None:
    ran = emporion("policy", "test", "--json")
    assert (ran.code, ran.document["failed"]) == (0, [])
    assert ran.document["rules"] > 45
    assert "0 problems" in emporion("policy", "test").out
    assert emporion("policy", "test", "nowhere").code == 2
    Path("own/fixtures").mkdir(parents=True)
    Path("own/rules.py").write_text("from emporion.policies.security import disk_encrypted\n")
    Path("own/fixtures/one.yaml").write_text("- {rule: disk-encrypted, pass: {}, fail: {}}\n")
    ran = emporion("policy", "test", "own")
    assert (ran.code, "refuses nothing of what has to fail" in ran.out) == (1, True)


def test_a_program_of_google_cloud_is_judged_and_priced_though_no_component_stands_it_up(emporion: Emporion) -> None:
    opening = {"allows": [{"protocol": "tcp", "ports": ["22"]}], "sourceRanges": ["0.0.0.0/0"]}
    machine = {"machineType": "a2-highgpu-8g", "zone": "us-central1-a", "scheduling": {"provisioningModel": "SPOT"}}
    steps = (
        step("ssh", "gcp:compute/firewall:Firewall", opening), step("node", "gcp:compute/instance:Instance", machine),
    )  # fmt: skip
    ran = emporion("policy", "check", "--preview", preview(*steps), "--json")
    assert ran.code == 3
    assert "ssh takes SSH (port 22) from 0.0.0.0/0" in {one["message"] for one in ran.document["findings"]}
    told = emporion("cost", "estimate", "--preview", preview(*steps), "--json").document
    assert [line["item"] for line in told["lines"] if line["usd_per_hour"]] == ["a2-highgpu-8g spot, us-central1"]
