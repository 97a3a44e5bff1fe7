"""Plans of several stages against a naive enumeration: every placement of every stage, every combination of them."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from itertools import combinations, product
from pathlib import Path
from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st
from plans import NOW

from emporion.market.graph import Site, nano
from emporion.market.intent import load_intent
from emporion.market.offers import Catalogue, load_csv
from emporion.market.placement.candidates import Candidate, rounded
from emporion.market.placement.choose import Choice
from emporion.market.placement.front import Vector, dominates
from emporion.market.plan import Plan, make_plan, plan_json

HEADER = (
    "provider,region,zone,instance_type,gpu,gpu_count,gpu_vram_gb,vcpus,ram_gb,on_demand_usd_hr,spot_usd_hr,source"
    ",as_of"
)
SITES = ("aws,us-east-1,use1-az1", "aws,us-east-1,use1-az2", "aws,eu-west-1,euw1-az1", "azure,eastus,", "lambda,us-x,")
MACHINES = ("small,A100,1,40,8,64", "whole,A100,4,40,32,256", "t,T4,1,16,8,32", "cpu,,0,,16,64", "large,,0,,32,128")
SHAPES = (
    """[{name: a, resources: {cpus: 16}, data_out: [{size: 300gb}], hours: 1},
        {name: b, needs: [a], resources: {gpus: a100:4}, data_out: [{size: 50gb}], hours: 3},
        {name: c, needs: [b], resources: {gpus: t4:1}, hours: 1}]""",
    """[{name: a, resources: {cpus: 16}, data_out: [{size: 300gb}], hours: 1},
        {name: b, needs: [a], resources: {gpus: a100:1}, data_out: [{size: 900gb}], hours: 3},
        {name: c, needs: [a], resources: {gpus: a100:5}, data_out: [{size: 9gb}], hours: 2},
        {name: d, needs: [b, c], resources: {cpus: 16, nodes: 2}, hours: 1}]""",
    """[{name: a, resources: {gpus: t4:1}}, {name: b, needs: [a], resources: {gpus: a100:2},
        data_in: [{source: stage://a, size: 10gb}]}]""",
)
Row = tuple[str, str, int, int | None]


def text(rows: list[Row]) -> str:
    lines = [
        f"{site},{machine.partition(',')[0]}-{number},{machine.partition(',')[2]},{usd / 1000},"
        f"{'' if spot is None else spot / 1000},test,2026-07"
        for number, (site, machine, usd, spot) in enumerate(rows)
    ]
    return "\n".join([HEADER, *lines]) + "\n"


SOMETHING: list[Row] = [
    (SITES[0], MACHINES[0], 2000, 900),
    (SITES[2], MACHINES[2], 1000, None),
    (SITES[3], MACHINES[3], 1001, None),
]
"""Every stage has something to stand on, each somewhere else."""
rows = st.lists(
    st.tuples(
        st.sampled_from(SITES),
        st.sampled_from(MACHINES),
        st.one_of(st.integers(1000, 1003), st.integers(500, 9000)),
        st.one_of(st.none(), st.integers(300, 3000)),
    ),
    min_size=1,
    max_size=5,
).map(lambda some: [*SOMETHING, *some])


def planned(rows: list[Row], stages: str, more: str = "", prefer: str = "balanced") -> Plan:
    with tempfile.TemporaryDirectory() as folder:
        offers, intent = Path(folder, "offers.csv"), Path(folder, "intent.yaml")
        offers.write_text(text(rows), encoding="utf-8")
        intent.write_text(f"name: x\nscheduler: none\n{more}\nstages: {stages}\n", encoding="utf-8")
        catalogue: Catalogue = load_csv(offers)
        return make_plan(load_intent(intent), catalogue, clouds={}, now=NOW, prefer=prefer)


def placements(choice: Choice) -> Iterator[tuple[tuple[str, str], tuple[int, int], float, int, tuple[str, ...], int]]:
    """Yield every placement of a stage at one site: place, (cost, judged), speed, loss, ids, GPUs."""
    at: dict[Site, list[Candidate]] = {}
    for candidate in choice.candidates:
        at.setdefault(candidate.site, []).append(candidate)
    search, demand = choice.search(()), choice.demand
    for site, offers in at.items():
        for pools in (1, 2):
            for some in combinations(offers, pools):
                for counts in product(range(1, demand.high + 1), repeat=pools):
                    total = sum(one.size * count for one, count in zip(some, counts, strict=True))
                    kinds = [one.kind for one in some]
                    if not demand.sums_to(total, min(one.size for one in some)) or not search.serves(kinds, counts):
                        continue
                    if demand.node_problem(sum(counts)) is not None:
                        continue
                    loss_s = round(search.stability(kinds, counts).loss_s_per_day)
                    speed = search.throughput(kinds, counts, None) if demand.gpus else float("inf")
                    parts = sorted(zip(some, counts, strict=True), key=lambda part: part[0].id)
                    ids = tuple(one.id for one, count in parts for _ in range(count))
                    gpus = total if demand.gpus else 0
                    yield site[:2], search.costs(parts, loss_s), speed, loss_s, ids, gpus


def naive(plan: Plan, usd_per_hour: float | None = None) -> dict[Vector, tuple[tuple[str, ...], ...]]:
    """Return the front over every combination, of equal vectors with the smallest ids."""
    assert plan.stages is not None
    graph = plan.stages.graph
    best: dict[Vector, tuple[tuple[str, ...], ...]] = {}
    for combination in product(*(list(placements(choice)) for choice in graph.choices)):
        cost = sum(each[1][0] for each in combination)
        judged = sum(each[1][1] for each in combination)
        for edge in graph.edges:
            line = edge.line(combination[edge.producer][0], combination[edge.consumer][0])
            known = 0 if line.usd_per_hour is None else nano(line.usd_per_hour)
            cost += known
            judged += known if line.upper_usd_per_hour is None else nano(line.upper_usd_per_hour)
        if usd_per_hour is not None and judged > usd_per_hour * 10**9:
            continue
        speed = min(each[2] for each in combination)
        vector = Vector(rounded(cost), 0.0 if speed == float("inf") else speed, sum(each[3] for each in combination))
        ids = tuple(each[4] for each in combination)
        best[vector] = min(ids, best.get(vector, ids))
    return {one: ids for one, ids in best.items() if not any(dominates(other, one) for other in best)}


def found(plan: Plan) -> dict[Vector, tuple[tuple[str, ...], ...]]:
    assert plan.stages is not None
    return {
        each.vector: tuple(
            tuple(pool.offer.id for pool in part.placement.pools for _ in range(pool.count)) for part in each.stages
        )
        for each in plan.solutions
    }


@settings(max_examples=60, deadline=None)
@given(rows, st.sampled_from(SHAPES))
def test_the_front_is_that_of_every_combination(rows: list[Row], stages: str) -> None:
    plan = planned(rows, stages)
    assert plan.solutions
    assert found(plan) == naive(plan)


@settings(max_examples=40, deadline=None)
@given(rows, st.sampled_from(SHAPES), st.integers(1, 30))
def test_a_budget_holds_over_all_stages(rows: list[Row], stages: str, usd: int) -> None:
    plan = planned(rows, stages, f"cost_control: {{max_hourly: ${usd}/hr}}")
    assert found(plan) == naive(plan, usd)


@settings(max_examples=30, deadline=None)
@given(rows, st.sampled_from(SHAPES), st.randoms(use_true_random=False))
def test_the_order_of_the_rows_changes_no_byte_of_the_solutions(rows: list[Row], stages: str, random: Random) -> None:
    lines = text(rows).splitlines()
    shuffled = lines[1:]
    random.shuffle(shuffled)
    found = []
    for each in (lines, [lines[0], *shuffled]):
        with tempfile.TemporaryDirectory() as folder:
            offers, intent = Path(folder, "offers.csv"), Path(folder, "intent.yaml")
            offers.write_text("\n".join(each) + "\n", encoding="utf-8")
            intent.write_text(f"name: x\nscheduler: none\nstages: {stages}\n", encoding="utf-8")
            plan = make_plan(load_intent(intent), load_csv(offers), clouds={}, now=NOW)
            found.append(json.dumps(plan_json(plan)["solutions"]))
    assert found[0] == found[1]


@settings(max_examples=30, deadline=None)
@given(rows, st.sampled_from(SHAPES))
def test_one_offer_more_never_makes_anything_worse(rows: list[Row], stages: str) -> None:
    fewer, more = planned(rows[:-1], stages), planned(rows, stages)
    for each in fewer.solutions:
        assert any(other.vector == each.vector or dominates(other.vector, each.vector) for other in more.solutions)
