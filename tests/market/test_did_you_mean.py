from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from emporion.market.clouds import installed_clouds
from emporion.market.errors import UserError, did_you_mean
from emporion.market.intent import load_intent
from emporion.market.offers import load_bundled
from emporion.market.plan import make_plan, place_problems
from emporion.market.units import parse_count


@pytest.mark.parametrize(
    ("seen", "candidates", "near"),
    [
        pytest.param("awz", ["aws", "gcp"], "aws", id="one letter"),
        pytest.param(
            "us-east-21", ["us-east-1", "us-east-2", "us-east-12"], "us-east-12", id="two letters changed places"
        ),
        pytest.param("zzz", ["aws", "gcp"], None, id="nothing near"),
    ],
)
def test_the_nearest_name_is_proposed(seen: str, candidates: list[str], near: str | None) -> None:
    assert did_you_mean(seen, candidates) == near


@pytest.mark.parametrize("text", ["010", "08", "1..08"])
def test_a_count_that_may_be_octal_is_refused(text: str) -> None:
    with pytest.raises(UserError, match="may be octal"):
        parse_count(text)


def test_every_unknown_place_of_an_intent_is_told_at_once_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "intent.yaml"
    path.write_text(
        "resources: {gpus: {type: a100, count: 8}}\nconstraints:\n  providers: [awz]\n  regions: [us-eest-1]\n"
    )
    catalogue = load_bundled()
    problems = place_problems(load_intent(path), catalogue)
    assert [(problem.code, problem.where) for problem in problems] == [
        ("E-PROVIDER", f"{path}:3  constraints.providers"),
        ("E-REGION", f"{path}:4  constraints.regions"),
    ]
    with pytest.raises(UserError) as raised:
        make_plan(load_intent(path), catalogue, clouds=installed_clouds(), now=datetime(2026, 12, 1, tzinfo=UTC))
    assert len(raised.value.problems()) == 2
