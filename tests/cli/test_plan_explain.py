"""`emporion plan --explain OFFER` as it is read."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion
from terminal import Emporion

from emporion.cli.plan_explain import explanation_text

WISH = ("--gpus", "a100:8", "--scheduler", "none", "--max-cost", "$15/hr")
HEAD = (
    "provider,region,zone,instance_type,gpu,gpu_count,gpu_vram_gb,vcpus,ram_gb,on_demand_usd_hr,spot_usd_hr,source,"
    "as_of"
)
ROWS = (
    "aws,us-east-1,use1-az1,p4d.24xlarge,a100-40gb,8,40,96,1152,20,9,me,2026-11-30",
    "aws,us-east-1,use1-az2,p4d.24xlarge,a100-40gb,8,40,96,1152,21,8,me,2026-11-30",
    "aws,us-east-1,use1-az2,m7i.large,,0,,2,8,0.1,,me,2026-11-30",
)


def document(emporion: Emporion, offer: str) -> dict[str, Any]:
    Path("offers.csv").write_text("\n".join([HEAD, *ROWS]) + "\n", encoding="utf-8")
    ran = emporion("plan", *WISH, "--offers", "offers.csv", "--explain", offer, "--json")
    assert ran.code == 0, ran.err
    found: dict[str, Any] = ran.document
    assert found["schema"] == "emporion.explanation/1"
    return found


@pytest.mark.parametrize("width", [80, 200])
def test_an_offer_that_is_beaten(width: int, emporion: Emporion, snapshot: SnapshotAssertion) -> None:
    text = explanation_text(document(emporion, "use1-az1/spot"), width=width, today=date(2026, 12, 1))
    answer_checks_and_rivals = text.split("\n\n")[:4]
    assert "\n\n".join(answer_checks_and_rivals) == snapshot
    assert max(map(len, text.split("\n"))) <= width


@pytest.mark.parametrize(
    ("offer", "answer"),
    [
        pytest.param("use1-az2/spot", "taken: the recommended solution, 1", id="recommended"),
        pytest.param(
            "use1-az2/p4d.24xlarge/on_demand", "not taken: every placement with it is over the budget", id="dear"
        ),
        pytest.param("m7i.large", "not taken: has no GPU", id="no GPU"),
    ],
)
def test_the_answer_stands_before_the_table(offer: str, answer: str, emporion: Emporion) -> None:
    text = explanation_text(document(emporion, offer))
    assert text.split("\n\n")[1] == answer


def test_several_matches_are_listed_and_exit_2(emporion: Emporion) -> None:
    Path("offers.csv").write_text("\n".join([HEAD, *ROWS]) + "\n", encoding="utf-8")
    ran = emporion("plan", *WISH, "--offers", "offers.csv", "--explain", "p4d.24xlarge")
    assert (ran.code, ran.out) == (2, "")
    assert "4 offers match 'p4d.24xlarge'" in ran.err
    assert "aws/us-east-1/use1-az2/p4d.24xlarge/spot, aws/us-east-1/use1-az1/p4d.24xlarge/spot" in ran.err
