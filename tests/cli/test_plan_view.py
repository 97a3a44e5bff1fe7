from __future__ import annotations

from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from emporion.cli.plan_view import SHOWN_SOLUTIONS, plan_text

INTENT: dict[str, Any] = {
    "name": "demo",
    "resources": {
        "gpus": {
            "types": ["a100-40gb", "a100-80gb"], "asked": ["a100"], "count_min": 16, "count_max": 16,
            "min_vram_gb": "40", "topology": "nvlink", "mig": None, "share": False,
        },
        "network": {"latency_ms": None, "rdma": "no", "low_latency": True},
        "nodes_min": None,
    },
    "budget": {"max_hourly_usd": "16.00", "auto_scale": False},
    "constraints": {"providers": ["aws"], "regions": [], "local_zones": False},
}  # fmt: skip


def solution(rank: int, **more: Any) -> dict[str, Any]:
    node = {
        "provider": "aws", "region": "us-east-1", "zone": "use1-az2", "instance_type": "p4d.24xlarge",
        "gpu": "a100-40gb", "gpus_per_node": 8, "count": 2, "market": "spot", "usd_per_hour": "6.5323",
    }  # fmt: skip
    line = {
        "item": "compute", "stage": None, "quantity": "2", "unit": "instance-hour", "unit_price": "6.5323",
        "usd_per_hour": "13.0646", "upper_usd_per_hour": "13.0646", "source": "a catalogue", "as_of": "2026-07",
        "quality": "quoted",
    }  # fmt: skip
    egress = {**line, "item": "egress", "quantity": None, "unit": "GB", "unit_price": "0.09", "usd_per_hour": None}
    egress["upper_usd_per_hour"] = None
    return {
        "rank": rank, "recommended": rank == 1, "deployable": True, "deploy_note": None, "gpus": 16, "nodes": [node],
        "objectives": {"usd_per_hour": "13.0646", "throughput": 20100.0, "loss_s_per_day": 510},
        "cost": {
            "compute": "13.0646", "storage": None, "transfer": None, "network": None, "fees": None,
            "interruptions": None, "total": "13.0646", "upper_total": None, "per_gpu": "0.8165", "run_total": None,
            "unknown": ["egress"], "lines": [line, egress],
        },
        "performance": {
            "images_per_second": 20100.4, "tokens_per_second": None, "scaling_efficiency": 0.9, "derived": True,
        },
        "stability": {"interruptions_per_day": 0.5, "mean_recovery_s": 1020}, "links": [], **more,
    }  # fmt: skip


def plan(**more: Any) -> dict[str, Any]:
    return {
        "schema": "emporion.plan/1", "intent": INTENT,
        "catalogue": {"version": "9d34ec16", "as_of": "2026-08-03"}, "feasible": True, "solutions": [solution(1)],
        "not_deployable": [], "rejected": [], "relaxations": [], "warnings": [], **more,
    }  # fmt: skip


def test_a_plan_as_text(snapshot: SnapshotAssertion) -> None:
    other = solution(2, deployable=False, deploy_note="gcp has no component yet")
    other["nodes"] = [{**other["nodes"][0], "provider": "gcp", "zone": None, "gpu": None}]
    text = plan_text(
        plan(
            not_deployable=[other],
            rejected=[{"reason": "memory below 40 GB", "offers": 812, "example": "aws/us-east-1/g5.48xlarge/spot"}],
        )
    )
    assert text == snapshot


def test_an_infeasible_plan_as_text(snapshot: SnapshotAssertion) -> None:
    relaxations = [{"change": "cost_control.max_hourly", "from": "1", "to": "13.07", "total": "13.0646"}]
    assert plan_text(plan(feasible=False, solutions=[], relaxations=relaxations)) == snapshot


def test_a_total_with_unknown_parts_and_no_bound_is_a_lower_bound() -> None:
    assert ">=13.06" in plan_text(plan())
    bounded = solution(1)
    bounded["cost"] = {**bounded["cost"], "upper_total": "14.5"}
    text = plan_text(plan(solutions=[bounded]))
    assert ">=13.06" not in text
    assert "at most $14.5000/hr" in text


def test_what_is_unknown_with_a_bound_is_told_apart_from_what_has_none() -> None:
    one = solution(1)
    known, egress = one["cost"]["lines"]
    nat = {**egress, "item": "NAT data", "upper_usd_per_hour": "0.20"}
    one["cost"] |= {"upper_total": "13.2646", "unknown": ["NAT data", "egress"], "lines": [known, nat, egress]}
    lines = plan_text(plan(solutions=[one])).splitlines()
    assert "at most $13.2646/hr, without egress" in lines
    assert "unknown, bounded above: NAT data" in lines
    assert "unknown: egress" in lines


def test_the_cheapest_is_itemised_when_none_is_recommended() -> None:
    text = plan_text(plan(solutions=[solution(1, recommended=False), solution(2, recommended=False)]))
    assert "COST OF 1 " in text


def test_a_long_front_is_cut_but_never_the_recommended() -> None:
    many = [solution(rank, recommended=rank == 40) for rank in range(1, 41)]
    text = plan_text(plan(solutions=many))
    assert "*  40" in text
    assert f"and {40 - SHOWN_SOLUTIONS - 1} more: --json lists all" in text


def test_carbon_is_shown_when_it_was_asked() -> None:
    green = solution(1)
    green["objectives"] = {**green["objectives"], "carbon_g_per_hour": 1234}
    green["carbon"] = {"bound": False, "unknown": []}
    grey = {**green, "rank": 2, "carbon": {"bound": True, "unknown": ["grid of vast Oregon"]}}
    text = plan_text(plan(solutions=[green, grey]))
    assert "GCO2/H" in text
    assert " 1234" in text
    assert "<=1234" in text


def test_the_wish_is_shown_as_it_was_understood() -> None:
    first = plan_text(plan()).splitlines()[0]
    assert first == (
        "demo: 16 x a100 (a100-40gb or a100-80gb), min_vram_gb 40, topology nvlink, low_latency true, "
        "max_hourly_usd 16.00, providers aws"
    )


def test_a_wish_without_gpus_is_shown_too() -> None:
    intent = {**INTENT, "resources": {**INTENT["resources"], "gpus": None, "nodes_min": 2}}
    assert plan_text(plan(intent=intent)).splitlines()[0] == (
        "demo: low_latency true, nodes_min 2, max_hourly_usd 16.00, providers aws"
    )


@pytest.mark.parametrize(
    ("fallback", "said"),
    [
        pytest.param(None, None, id="no spot"),
        pytest.param(
            {"compute": "40.00", "total": "40.10", "unknown": ["egress"], "keeps_budget": True},
            "on demand, for comparison: $40.1000/hr, $29273.00 a month",
            id="within the budget",
        ),
        pytest.param(
            {"compute": "40.00", "total": "40.10", "unknown": ["egress"], "keeps_budget": False},
            "on demand, for comparison: $40.1000/hr, $29273.00 a month, above the budget",
            id="above the budget",
        ),
        pytest.param(
            {"compute": "0.04", "total": "0.14", "unknown": ["egress", "2 x x on-demand"], "keeps_budget": None},
            "on demand, for comparison: not known",
            id="a price is unknown",
        ),
    ],
)
def test_what_spot_costs_on_demand_is_shown_for_comparison(fallback: Any, said: str | None) -> None:
    one = solution(1)
    text = plan_text(plan(solutions=[{**one, "cost": {**one["cost"], "fallback": fallback}}]))
    assert [line for line in text.splitlines() if line.startswith("on demand")] == ([said] if said else [])
