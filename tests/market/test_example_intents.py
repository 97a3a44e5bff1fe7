"""The intents in stacks/intents and docs/examples, each judged by a checker that shares no code with the planner."""

from __future__ import annotations

import csv
import json
import random
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import naive
import pytest
import yaml

from emporion.market.clouds import installed_clouds
from emporion.market.intent import load_intent
from emporion.market.offers import load_bundled, load_csv
from emporion.market.plan import make_plan, plan_json

ROOT = Path(__file__).resolve().parents[2]
INTENTS = sorted((ROOT / "stacks" / "intents").glob("*.yaml"))
EXAMPLES = sorted((ROOT / "docs" / "examples").glob("*.yaml"))
NOW = datetime(2026, 12, 1, 12, tzinfo=UTC)


def planned(path: Path, offers: Path | None = None) -> dict[str, Any]:
    catalogue = load_bundled() if offers is None else load_csv(offers)
    return plan_json(make_plan(load_intent(path), catalogue, clouds=installed_clouds(), now=NOW))


def rows() -> list[dict[str, str]]:
    return [row for name in ("offers.csv", "cpu_offers.csv") for row in naive.table(name)]


def every_solution(plan: dict[str, Any]) -> list[dict[str, Any]]:
    return [*plan["solutions"], *plan["not_deployable"]]


@pytest.mark.parametrize("path", INTENTS, ids=lambda path: path.stem)
def test_every_solution_of_an_example_serves_it(path: Path) -> None:
    wish = yaml.safe_load(path.read_text(encoding="utf-8"))
    plan, offers = planned(path), rows()
    assert plan["feasible"]
    for solution in every_solution(plan):
        assert naive.problems(wish, solution, offers) == []


@pytest.mark.parametrize("path", INTENTS, ids=lambda path: path.stem)
def test_no_solution_of_an_example_is_dominated_and_its_cost_is_the_sum_of_its_lines(path: Path) -> None:
    plan = planned(path)
    assert naive.dominated(plan["solutions"]) == []
    assert naive.dominated(plan["not_deployable"]) == []
    for solution in every_solution(plan):
        assert naive.total_of_lines(solution) == Decimal(solution["cost"]["total"])


@pytest.mark.parametrize("path", INTENTS, ids=lambda path: path.stem)
def test_the_order_of_the_offers_changes_no_byte_of_the_solutions(path: Path, tmp_path: Path) -> None:
    told = []
    for seed in (None, 1, 2):
        shuffled = rows()
        if seed is not None:
            random.Random(seed).shuffle(shuffled)  # noqa: S311 - a test's order
        file = tmp_path / f"{seed}.csv"
        with file.open("w", encoding="utf-8", newline="") as out:
            writer = csv.DictWriter(out, list(shuffled[0]))
            writer.writeheader()
            writer.writerows(shuffled)
        plan = planned(path, file)
        told.append(json.dumps([plan["solutions"], plan["not_deployable"], plan["rejected"]]))
    assert told[0] == told[1] == told[2]


@pytest.mark.parametrize("path", INTENTS, ids=lambda path: path.stem)
def test_an_example_can_be_tried_without_surprise(path: Path) -> None:
    wish = yaml.safe_load(path.read_text(encoding="utf-8"))
    plan = planned(path)
    assert wish["name"] == path.stem
    assert path.read_text(encoding="utf-8").startswith("# ")
    assert any(Decimal(one["cost"]["upper_total"] or one["cost"]["total"]) <= 500 for one in every_solution(plan))
    assert "carbon_g_per_hour" not in plan["solutions"][0]["objectives"]
    clouds = set(installed_clouds()) | {"gcp", "azure"}
    assert any({node["provider"] for node in one["nodes"]} <= clouds for one in every_solution(plan))


def test_the_naive_checker_sees_what_is_wrong() -> None:
    path = ROOT / "stacks" / "intents" / "demo.yaml"
    wish, offers = yaml.safe_load(path.read_text(encoding="utf-8")), rows()
    good = planned(path)["solutions"][0]
    for key, value, problem in (
        ("count", 3, "24 GPUs instead of 16"),
        ("region", "eu-west-1", "no row at this price"),
        ("usd_per_hour", "1", "no row at this price"),
        ("market", "on_demand", "no row at this price"),
    ):
        bad = {**good, "nodes": [{**good["nodes"][0], key: value}]}
        assert any(problem in told for told in naive.problems(wish, bad, offers))
    dear = {**good, "cost": {**good["cost"], "upper_total": "16.01"}}
    assert naive.problems(wish, dear, offers) == ["16.01 is above max_hourly $16"]
    assert naive.dominated([good, good]) == [(1, 2), (2, 1)]


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_of_the_documentation_says_what_it_says_it_does(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    plan = planned(path)
    assert plan["feasible"] is not text.startswith("# Infeasible")
    assert plan["feasible"] or plan["relaxations"]
