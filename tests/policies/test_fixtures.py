"""The bundled fixtures, and a pack of one's own as the how-to writes it."""

from __future__ import annotations

import re
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from raw_program import make_program

from emporion.market.clouds import fact_sources, installed_clouds
from emporion.market.errors import UserError
from emporion.policies.fixtures import BUNDLED, load_rules, read_cases, run_case
from emporion.policies.packs import RULES

HOW_TO = Path(__file__).parents[2] / "docs" / "how-to" / "policies.md"
SOURCES = tuple(fact_sources().values())
CASES = read_cases(BUNDLED, RULES)
WITHOUT = {"aws": {"no-shared-keys", "no-broad-role", "secure-boot", "resource-understood"}}
"""Rules that nothing of a cloud can break, or whose answer only the image knows."""


@pytest.mark.parametrize("case", CASES, ids=[f"{case.where}: {case.rule.name}" for case in CASES])
def test_a_rule_passes_and_refuses_what_its_fixture_says(case: Any, today: date) -> None:
    assert run_case(case, SOURCES, today) == []


def test_every_rule_has_a_fixture_of_aws() -> None:
    covered = {case.rule.name for case in CASES if case.where.startswith("aws")}
    assert set(RULES) - covered == WITHOUT["aws"]


@pytest.mark.parametrize("cloud", ["azure", "gcp"])
def test_the_other_clouds_have_fixtures_of_what_applies_there(cloud: str) -> None:
    assert len({case.rule.name for case in CASES if case.where.startswith(cloud)}) >= 25


def test_every_cloud_that_can_be_stood_up_has_facts() -> None:
    assert set(installed_clouds()) <= set(fact_sources())


@pytest.mark.parametrize("name", fact_sources())
def test_a_cloud_with_facts_has_fixtures(name: str) -> None:
    assert (BUNDLED / f"{name}.yaml").is_file()
    assert [case for case in CASES if case.where.startswith(f"{name}.")]


def test_fixtures_of_clouds_that_are_not_installed_are_left_out() -> None:
    assert {case.where.partition(".")[0] for case in read_cases(BUNDLED, RULES, {"aws"})} == {"aws"}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        pytest.param("{", "cannot be read", id="no yaml"),
        pytest.param("{}", "no list of cases", id="no list"),
        pytest.param("- {rule: disk-encrypted, pass: {}}", "has not rule, pass and fail", id="half a case"),
        pytest.param(
            "- {rule: disk-encripted, pass: {}, fail: {}}", "did you mean 'disk-encrypted'?", id="no such rule"
        ),
        pytest.param("- {rule: disk-encrypted, pass: [], fail: {}}", "resources are written as", id="no resources"),
    ],
)
def test_a_wrong_fixture_is_refused(text: str, words: str, tmp_path: Path) -> None:
    (tmp_path / "one.yaml").write_text(text)
    with pytest.raises(UserError) as caught:
        read_cases(tmp_path, RULES)
    assert words in caught.value.what


def test_a_fixture_that_is_wrong_about_its_rule_is_told(tmp_path: Path, today: date) -> None:
    sealed = 'one: ["aws:ebs/volume:Volume", {encrypted: true}]'
    plain = 'one: ["aws:ebs/volume:Volume", {}]'
    (tmp_path / "one.yaml").write_text(f"- {{rule: disk-encrypted, pass: {{{plain}}}, fail: {{{sealed}}}}}")
    [case] = read_cases(tmp_path, RULES)
    assert run_case(case, SOURCES, today) == [
        "refuses: one is not encrypted",
        "refuses nothing of what has to fail",
    ]


@pytest.fixture
def own_pack(tmp_path: Path) -> Path:
    """The pack of the how-to, file by file."""
    text = HOW_TO.read_text(encoding="utf-8")
    blocks = re.findall(r"`([\w./]+)`[^\n]*:\n\n```\w+\n(.*?)```", text[text.index("## Write rules") :], re.DOTALL)
    folder = tmp_path / "team-rules"
    for name, content in blocks:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(content)
    assert {name for name, _ in blocks} == {"rules.py", "fixtures/aws.yaml", "__main__.py", "PulumiPolicy.yaml"}
    return folder


def test_the_how_tos_own_pack_passes_its_fixtures(own_pack: Path, today: date) -> None:
    rules = {rule.name: rule for rule in load_rules(own_pack / "rules.py")}
    [case] = read_cases(own_pack / "fixtures", rules)
    assert run_case(case, SOURCES, today) == []
    (own_pack / "empty.py").write_text("")
    with pytest.raises(UserError, match="defines no rule"):
        load_rules(own_pack / "empty.py")
    with pytest.raises(UserError, match="does not exist"):
        load_rules(own_pack / "nowhere.py")


@pytest.mark.engine
def test_the_how_tos_own_pack_runs_under_the_engine(own_pack: Path, tmp_path: Path) -> None:
    program = make_program(tmp_path / "program")
    program.write('aws.ebs.Volume("plain", availability_zone="us-west-2a", size=10, encrypted=True, opts=opts)\n')
    result = program.pulumi("preview", "--policy-pack", str(own_pack))
    assert result.returncode == 1, result.stdout + result.stderr
    assert "plain has no tag team; try: tag it with the team that owns it" in result.stdout
