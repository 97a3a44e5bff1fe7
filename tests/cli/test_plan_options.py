"""`emporion plan --prefer` and `--quotas`, as a user types them."""

from __future__ import annotations

from pathlib import Path

import pytest
from terminal import Emporion

WISH = ("--gpus", "h100:8", "--network", "low-latency")


def test_carbon_is_a_column_and_an_objective_when_it_is_preferred(emporion: Emporion) -> None:
    plain = emporion("plan", *WISH, "--json").document
    document = emporion("plan", *WISH, "--prefer", "carbon", "--json").document
    grams = [each["objectives"]["carbon_g_per_hour"] for each in document["solutions"]]
    best = next(each for each in document["solutions"] if each["recommended"])
    assert best["objectives"]["carbon_g_per_hour"] == min(grams)
    assert all("carbon_g_per_hour" not in each["objectives"] for each in plain["solutions"])
    assert "GCO2/H" in emporion("plan", *WISH, "--prefer", "carbon").out


def test_weights_choose_between_the_extremes(emporion: Emporion) -> None:
    def recommended(prefer: str) -> str:
        document = emporion("plan", *WISH, "--prefer", prefer, "--json").document
        best = next(each for each in document["solutions"] if each["recommended"])
        return str(best["nodes"][0]["offer"])

    assert recommended("cost=1") == recommended("cost")
    assert recommended("stability=1,cost=0") == recommended("stability")


@pytest.mark.parametrize("prefer", ["cost=-1", "cost=nan", "sped=1", "cost=0"])
def test_a_wrong_weight_exits_2(emporion: Emporion, prefer: str) -> None:
    ran = emporion("plan", *WISH, "--prefer", prefer)
    assert ran.code == 2
    assert "[E-PREFER]" in ran.err


def test_quotas_of_a_file_bind_the_plan(emporion: Emporion) -> None:
    Path("quotas.yaml").write_text("quotas:\n- {provider: aws, limit: 0, unit: gpus}\n")
    document = emporion("plan", *WISH, "--quotas", "quotas.yaml", "--json").document
    nodes = [node for key in ("solutions", "not_deployable") for each in document[key] for node in each["nodes"]]
    assert nodes
    assert all(node["provider"] != "aws" for node in nodes)
    assert any(each["reason"].startswith("quota: aws * * allows 0 GPUs") for each in document["rejected"])


def test_a_wrong_quotas_file_exits_2_with_its_line(emporion: Emporion) -> None:
    Path("quotas.csv").write_text("provider,limit,unit\naws,4,gpu\n")
    ran = emporion("plan", *WISH, "--quotas", "quotas.csv")
    assert ran.code == 2
    assert "quotas.csv:2" in ran.err
    assert "did you mean gpus" in ran.err
