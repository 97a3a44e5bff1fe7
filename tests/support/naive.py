"""A naive judge of plans: it reads the offers file and the intent itself and shares no code with the planner.

It knows only what the examples in stacks/intents ask; a key that it does not know is an error, so that no wish of a new
example goes unchecked.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

DATA = Path(__file__).resolve().parents[2] / "market" / "emporion" / "market" / "data"
RDMA = {"efa", "infiniband", "roce", "tcpx"}
NVLINKED = {"bridge", "mesh", "nvswitch", "xgmi", "ici"}
JUDGED = {
    "name", "resources.gpus.type", "resources.gpus.count", "resources.gpus.min_vram", "resources.gpus.topology",
    "resources.network", "resources.network.latency", "resources.network.bandwidth", "resources.memory",
    "resources.cpus",
    "cost_control.max_hourly", "cost_control.max_daily", "cost_control.max_total", "lifecycle.market",
    "constraints.providers", "constraints.regions", "model.hours",
}  # fmt: skip
NO_CONSTRAINT = {
    "cost_control.auto_scale", "lifecycle.spot_fallback", "lifecycle.spot_auto_renew",
    "lifecycle.checkpoint_interval", "lifecycle.on_interruption", "checkpoint_path", "data", "model.parameters",
    "model.precision", "stages", "image.framework", "image.version", "image.ops", "scheduler",
}  # fmt: skip
"""They change what a placement costs or how it is run, not which placements are allowed."""


def table(name: str) -> list[dict[str, str]]:
    """Return the rows of a bundled table."""
    with (DATA / name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def leaves(document: Mapping[str, Any], path: str = "") -> Iterator[tuple[str, Any]]:
    """Yield every key path of a document with its value; lists are values."""
    for key, value in document.items():
        if isinstance(value, dict):
            yield from leaves(value, f"{path}{key}.")
        else:
            yield f"{path}{key}", value


def problems(wish: Mapping[str, Any], solution: Mapping[str, Any], offers: Sequence[Mapping[str, str]]) -> list[str]:
    """Return everything in which a solution does not serve an intent."""
    if any("resources" in stage for stage in wish.get("stages") or []):
        return _stage_problems(wish, solution, offers)
    asked = _known(wish)
    return [
        *_gpu_problems(asked, solution),
        *(problem for node in solution["nodes"] for problem in _node_problems(asked, node, offers)),
        *_network_problems(asked, solution),
        *_budget_problems(asked, solution),
    ]


def _known(wish: Mapping[str, Any]) -> dict[str, Any]:
    asked = dict(leaves(wish))
    unknown = set(asked) - JUDGED - NO_CONSTRAINT
    assert not unknown, f"the naive judge does not know {sorted(unknown)}"
    return asked


def _stage_problems(
    wish: Mapping[str, Any], solution: Mapping[str, Any], offers: Sequence[Mapping[str, str]]
) -> list[str]:
    """Return what is wrong with stages, each of which has machines and constraints of its own."""
    found = list(_budget_problems(_known(wish), solution))
    names = [stage["name"] for stage in wish["stages"]]
    found += [f"{node['stage']} is no stage" for node in solution["nodes"] if node["stage"] not in names]
    for stage in wish["stages"]:
        assert set(stage) <= {"name", "needs", "resources", "constraints", "data_in", "data_out", "hours"}
        asked = _known({"resources": stage["resources"], "constraints": stage.get("constraints", {})})
        nodes = [node for node in solution["nodes"] if node["stage"] == stage["name"]]
        part = {**solution, "nodes": nodes, "links": []}
        told = [*_gpu_problems(asked, part), *(one for node in nodes for one in _node_problems(asked, node, offers))]
        told += _network_problems(asked, part)
        found += [f"{stage['name']}: {each}" for each in told]
    return found


def _gpu_problems(asked: Mapping[str, Any], solution: Mapping[str, Any]) -> Iterator[str]:
    nodes = solution["nodes"]
    total = sum(node["gpus_per_node"] * node["count"] for node in nodes)
    if total != asked.get("resources.gpus.count", 0):
        yield f"{total} GPUs instead of {asked.get('resources.gpus.count', 0)}"
    if not nodes:
        yield "no nodes"
    if len({node["offer"] for node in nodes}) > 2:
        yield "more than two pools"


def _node_problems(asked: Mapping[str, Any], node: Mapping[str, Any], offers: Sequence[Mapping[str, str]]) -> list[str]:
    found = []
    row = _row_of(node, offers)
    if row is None:
        return [f"{node['offer']} is no row at this price"]
    wanted = asked.get("resources.gpus.type", "")
    names = [wanted] if isinstance(wanted, str) else wanted
    if "any" not in names and not any(row["gpu"] == name or row["gpu"].startswith(f"{name}-") for name in names):
        found.append(f"{row['gpu']} was not asked for")
    if "resources.cpus" in asked and int(row["vcpus"] or 0) < asked["resources.cpus"]:
        found.append(f"{row['vcpus']} CPUs")
    if Decimal(row["gpu_vram_gb"] or 0) < _amount(asked.get("resources.gpus.min_vram", "0gb"), "gb"):
        found.append(f"{row['gpu_vram_gb']} GB of memory")
    if "resources.memory" in asked and Decimal(row["ram_gb"] or 0) < _amount(asked["resources.memory"], "gib"):
        found.append(f"{row['ram_gb']} GiB of host memory")
    market = asked.get("lifecycle.market", "any")
    if market not in {"any", node["market"]}:
        found.append(f"market {node['market']}")
    if row["provider"] not in asked.get("constraints.providers", [row["provider"]]):
        found.append(f"provider {row['provider']}")
    globs = asked.get("constraints.regions", ["*"])
    areas = [one["area"] for one in table("regions.csv") if (one["provider"], one["region"]) == _place(node)]
    if not any(fnmatchcase(name, glob) for glob in globs for name in [node["region"], *areas]):
        found.append(f"region {node['region']}")
    if asked.get("resources.gpus.topology") == "nvlink" and _shape(node)["nvlink"] not in NVLINKED:
        found.append("no NVLink")
    return found


def _row_of(node: Mapping[str, Any], offers: Sequence[Mapping[str, str]]) -> Mapping[str, str] | None:
    column = {"on_demand": "on_demand_usd_hr", "spot": "spot_usd_hr"}[node["market"]]
    for row in offers:
        key = (row["provider"], row["region"], row["zone"] or None, row["instance_type"])
        if key == (node["provider"], node["region"], node["zone"], node["instance_type"]):
            same = (row["gpu"] or None) == node["gpu"] and int(row["gpu_count"]) == node["gpus_per_node"]
            if same and row[column] and Decimal(row[column]) == Decimal(node["usd_per_hour"]):
                return row
    return None


def _network_problems(asked: Mapping[str, Any], solution: Mapping[str, Any]) -> Iterator[str]:
    nodes = solution["nodes"]
    if sum(node["count"] for node in nodes) == 1:
        return
    shapes = [_shape(node) for node in nodes]
    sites = {(node["provider"], node["region"], node["zone"]) for node in nodes}
    fabrics = {shape["fabric"] for shape in shapes}
    if asked.get("resources.network") == "low-latency" and (len(sites) > 1 or len(fabrics) > 1 or not fabrics <= RDMA):
        yield f"nodes at {len(sites)} sites joined by {sorted(fabrics)}"
    floor = _amount(asked.get("resources.network.bandwidth", "0gbps"), "gbps")
    speeds = [Decimal(shape["fabric_gbps"] or shape["max_network_gbps"] or 0) for shape in shapes]
    if min(speeds) < floor:
        yield f"{min(speeds)} Gb/s between nodes"
    limit = _amount(asked.get("resources.network.latency", "1000000ms"), "ms")
    slow = [
        link for link in solution["links"] if link["latency_ms"] is None or Decimal(str(link["latency_ms"])) > limit
    ]
    if "resources.network.latency" in asked and slow:
        yield f"a link of {slow[0]['latency_ms']} ms"


def _budget_problems(asked: Mapping[str, Any], solution: Mapping[str, Any]) -> Iterator[str]:
    cost = solution["cost"]
    judged = Decimal(cost["upper_total"] or cost["total"])
    gpus = solution["gpus"]
    hours = Decimal(str(asked.get("model.hours", 0)))
    for key, worth in (("max_hourly", 1), ("max_daily", 24), ("max_total", hours)):
        text = asked.get(f"cost_control.{key}")
        if text is None:
            continue
        match = re.fullmatch(r"\$([\d.]+)(/gpu/hr)?", text)
        assert match, text
        if judged * worth > Decimal(match[1]) * (gpus if match[2] else 1):
            yield f"{judged * worth} is above {key} {text}"


def total_of_lines(solution: Mapping[str, Any]) -> Decimal:
    """Return the sum of a solution's known cost lines."""
    known = [line["usd_per_hour"] for line in solution["cost"]["lines"] if line["usd_per_hour"] is not None]
    return sum(map(Decimal, known), Decimal(0))


def dominated(solutions: Sequence[Mapping[str, Any]]) -> list[tuple[int, int]]:
    """Return the pairs of ranks in which the first is at least as good as the second in everything."""
    vectors = [
        (
            Decimal(one["objectives"]["usd_per_hour"]),
            -Decimal(str(one["objectives"]["throughput"])),
            one["objectives"]["loss_s_per_day"],
        )
        for one in solutions
    ]
    return [
        (i + 1, j + 1)
        for i, one in enumerate(vectors)
        for j, other in enumerate(vectors)
        if i != j and all(mine <= theirs for mine, theirs in zip(one, other, strict=True))
    ]


def _shape(node: Mapping[str, Any]) -> dict[str, str]:
    key = (node["provider"], node["instance_type"])
    empty = {"nvlink": "", "fabric": "", "fabric_gbps": "", "max_network_gbps": ""}
    return next(
        (row for row in table("instance_topology.csv") if (row["provider"], row["instance_type"]) == key), empty
    )


def _place(node: Mapping[str, Any]) -> tuple[str, str]:
    return node["provider"], node["region"]


def _amount(text: str, unit: str) -> Decimal:
    match = re.fullmatch(rf"([\d.]+){unit}", text)
    assert match, f"{text} is not in {unit}"
    return Decimal(match[1])
