"""The least change of each key, against trying every value by itself."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from plans import plan_of, written

from emporion.market.offers import Catalogue
from emporion.market.plan import Plan


def row(
    name: str, gpus: int, usd: str, *, vcpus: int = 8, ram: int = 64, vram: int = 40, as_of: str = "2026-11"
) -> str:
    return f"lambda,us-{name},,{name},a100-{vram}gb,{gpus},{vram},{vcpus},{ram},{usd},,test,{as_of}"


def changes(plan: Plan) -> dict[str, tuple[str, str]]:
    return {each.change: (each.before, each.after) for each in plan.relaxations}


@pytest.mark.parametrize(
    ("wish", "key", "after"),
    [
        pytest.param({"cpus": 100}, "resources.cpus", "48", id="cpus: the most there is"),
        pytest.param({"memory": "1tb"}, "resources.memory", "256gb", id="host memory: the most there is"),
        pytest.param({"memory": "300gib"}, "resources.memory", "256gib", id="host memory in the unit asked"),
        pytest.param({"min_vram": "96gb"}, "resources.gpus.min_vram", "80gb", id="memory per GPU"),
        pytest.param({"max_price_age": "1d"}, "constraints.max_price_age", "30d", id="age of the newest price"),
        pytest.param({"nodes": "3..7"}, "resources.nodes", "2..7", id="nodes: the nearest number that adds up"),
        pytest.param({"max_cost": "$1/hr"}, "cost_control.max_hourly", "$8.01/hr", id="ceiling in whole cents"),
        pytest.param({"max_cost": "$0.5/gpu/hr"}, "cost_control.max_hourly", "$1.01/gpu/hr", id="ceiling per GPU"),
    ],
)
def test_a_key_gives_way_no_further_than_it_must(
    wish: dict[str, object], key: str, after: str, market: Callable[..., Catalogue]
) -> None:
    catalogue = market(
        row("small", 4, "4", vcpus=16, ram=128, as_of="2026-11-01"),
        row("large", 8, "9", vcpus=48, ram=256, vram=80, as_of="2026-10-01"),
    )
    plan = plan_of(catalogue, gpus="a100:8", scheduler="none", **wish)
    assert not plan.feasible
    assert changes(plan)[key][1] == after


def test_a_ceiling_per_gpu_is_judged_by_the_count_that_is_cheapest_per_gpu(market: Callable[..., Catalogue]) -> None:
    catalogue = market(row("few", 4, "4"), row("many", 8, "6"))
    plan = plan_of(catalogue, gpus="a100:4..8", scheduler="none", max_cost="$0.10/gpu/hr")
    assert changes(plan)["cost_control.max_hourly"] == ("$0.10/gpu/hr", "$0.76/gpu/hr")


def test_memory_of_all_gpus_gives_way_to_the_most_that_any_mix_has(market: Callable[..., Catalogue]) -> None:
    catalogue = market(row("four", 4, "4"), row("one", 1, "2", vram=80))
    plan = plan_of(catalogue, gpus="a100:5", scheduler="none", min_total_vram="380gb", max_cost="$9/hr")
    assert changes(plan)["resources.gpus.min_total_vram"] == ("380gb", "240gb")


def test_changes_are_told_cheapest_first_and_each_serves_when_it_is_made(market: Callable[..., Catalogue]) -> None:
    catalogue = market(
        row("west", 8, "9"), "gcp,us-east1,,t,a100-40gb,8,40,8,64,7,,test,2026-11", row("weak", 8, "5", vcpus=2)
    )
    plan = plan_of(catalogue, gpus="a100:8", scheduler="none", cpus=4, providers=("lambda",), max_cost="$8/hr")
    assert [(each.change, each.after) for each in plan.relaxations] == [
        ("resources.cpus", "2"),
        ("constraints.providers", "lambda, gcp"),
        ("cost_control.max_hourly", "$9.02/hr"),
    ]
    made: list[dict[str, object]] = [
        {"cpus": 2, "providers": ("lambda",), "max_cost": "$8/hr"},
        {"cpus": 4, "providers": ("lambda", "gcp"), "max_cost": "$8/hr"},
        {"cpus": 4, "providers": ("lambda",), "max_cost": "$9.02/hr"},
    ]
    for wish, change in zip(made, plan.relaxations, strict=True):
        after = plan_of(catalogue, gpus="a100:8", scheduler="none", **wish)
        assert after.solutions[0].vector.cost * Decimal("0.0001") == change.total_usd_per_hour


def test_an_infeasible_pair_never_names_a_third_key(market: Callable[..., Catalogue]) -> None:
    catalogue = market(row("a", 8, "9", vcpus=4), row("b", 4, "2", ram=16))
    plan = plan_of(catalogue, gpus="a100:8", scheduler="none", cpus=16, memory="128gb", max_cost="$5/hr")
    assert plan.relaxations
    sizes = {len(each.change.split(" + ")) for each in plan.relaxations}
    assert len(sizes) == 1
    assert "resources.cpus + resources.memory" in {each.change for each in plan.relaxations}


MACHINES = st.lists(
    st.tuples(st.sampled_from([1, 2, 4, 8]), st.integers(100, 900), st.integers(1, 9), st.integers(1, 9)),
    min_size=1,
    max_size=5,
)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(machines=MACHINES, floor=st.integers(2, 12))
def test_the_least_floor_and_the_least_ceiling_are_those_found_by_trying_each(
    machines: list[tuple[int, int, int, int]], floor: int, tmp_path: Path
) -> None:
    catalogue = written(
        tmp_path,
        tuple(
            row(f"m{number}", gpus, f"{cents / 100:.2f}", vcpus=vcpus, ram=ram)
            for number, (gpus, cents, vcpus, ram) in enumerate(machines)
        ),
    )

    def asked(**wish: object) -> Plan:
        return plan_of(catalogue, gpus="a100:4..8", scheduler="none", **wish)

    if not asked().feasible:
        return
    if not asked(cpus=floor).feasible:
        tried = next(fewer for fewer in range(floor - 1, 0, -1) if asked(cpus=fewer).feasible)
        assert changes(asked(cpus=floor))["resources.cpus"] == (str(floor), str(tried))
    dear = asked(max_cost="$0.01/gpu/hr")
    assert not dear.feasible
    after = Decimal(changes(dear)["cost_control.max_hourly"][1].removeprefix("$").removesuffix("/gpu/hr"))
    assert asked(max_cost=f"${after}/gpu/hr").feasible
    assert not asked(max_cost=f"${after - Decimal('0.01')}/gpu/hr").feasible
