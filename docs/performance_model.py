"""Writes the tables of docs/explanation/performance-model.md: the model beside published figures.

python docs/performance_model.py [--check]
"""

from __future__ import annotations

import re
import statistics
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from emporion.market.gpus import all_gpus
from emporion.market.performance import Machine, Workload, exchange_s
from emporion.market.tables import rows

PAGE = Path(__file__).resolve().parent / "explanation" / "performance-model.md"
POSSIBLE = 1.06
"""More than so many times the rate of as many single GPUs is no scaling: the two runs were not timed alike."""
SWITCHED = {"sxm", "sxm4", "sxm5"}
LARGE_GB = 16 * 2**30 / 1e9
"""The message that busbw is modelled for: large enough that latency hardly counts."""


@dataclass(frozen=True)
class Training:
    """One measured run on several GPUs beside the model."""

    gpu: str
    board: str
    workload: str
    gpus: int
    measured: float
    modelled: float
    possible: bool

    @property
    def error(self) -> float:
        """The model's error as a part of what was measured."""
        return self.modelled / self.measured - 1


@dataclass(frozen=True)
class BusBandwidth:
    """One published all-reduce bandwidth beside the model, GB/s."""

    machines: str
    kind: str
    published: float
    modelled: float
    source: str

    @property
    def error(self) -> float:
        """The model's error as a part of what was published."""
        return self.modelled / self.published - 1


def training() -> list[Training]:
    """Return every run of benchmarks.csv on 2, 4 or 8 GPUs whose board was measured alone too."""
    key = ("gpu", "form_factor", "workload")
    alone = {tuple(row[name] for name in key): row for row in rows("benchmarks.csv") if row["gpu_count"] == "1"}
    batches = {tuple(row[name] for name in key): int(row["batch_per_gpu"]) for row in rows("benchmark_batches.csv")}
    works = {row["workload"]: row for row in rows("benchmark_workloads.csv")}
    found = []
    for row in rows("benchmarks.csv"):
        run, gpus = (row["gpu"], row["form_factor"], row["workload"]), int(row["gpu_count"])
        if gpus == 1 or run not in alone:
            continue
        single, work = float(alone[run]["value"]), works[row["workload"]]
        wish = Workload(float(work["parameters"]), int(work["gradient_bytes"]))
        compute_s = batches[run] / single
        step_s = compute_s + exchange_s(((_board(row["gpu"], row["form_factor"], gpus), 1),), None, wish)
        measured = float(row["value"])
        possible = measured <= POSSIBLE * gpus * single
        found.append(Training(*run, gpus, measured, gpus * batches[run] / step_s, possible))
    return found


def _board(gpu: str, form_factor: str, gpus: int) -> Machine:
    nvlink = {each.id: each.nvlink_gb_s for each in all_gpus()}[gpu]
    if form_factor == "sxm2":
        return Machine(gpu, gpus, "mesh", float(nvlink or 0), None, None)
    if form_factor in SWITCHED:
        return Machine(gpu, gpus, "nvswitch", float(nvlink or 0), None, None)
    return Machine(gpu, gpus, "none", None, None, None)


def bus_bandwidths() -> list[BusBandwidth]:
    """Return every row of busbw.csv beside the model's large all-reduce."""
    return [_bus_bandwidth(row) for row in rows("busbw.csv")]


def _bus_bandwidth(row: Mapping[str, str]) -> BusBandwidth:
    gpus, nodes = int(row["gpus_per_node"]), int(row["nodes"])
    machine = Machine(
        row["gpu"],
        gpus,
        row["nvlink"],
        float(row["nvlink_gb_s_per_gpu"]) if row["nvlink_gb_s_per_gpu"] else None,
        row["fabric"] or None,
        float(row["network_gbps"]) if row["network_gbps"] else None,
    )
    seconds = exchange_s(((machine, nodes),), None, Workload(LARGE_GB * 1e9, 1))
    ranks = gpus * nodes
    busbw = LARGE_GB / seconds * 2 * (ranks - 1) / ranks
    return BusBandwidth(row["machines"], row["kind"], float(row["busbw_gb_s"]), busbw, row["source"])


def summary(runs: list[Training]) -> Iterator[tuple[str, int, float, float, float]]:
    """Yield (workload, runs, median error, least, greatest) over the runs that scaling can explain."""
    for workload in sorted({run.workload for run in runs}):
        errors = [run.error for run in runs if run.workload == workload and run.possible]
        yield workload, len(errors), statistics.median(errors), min(errors), max(errors)


def tables() -> dict[str, str]:
    """Return the tables of the page by name."""
    runs, buses = training(), bus_bandwidths()
    return {
        "summary": _table(
            ["workload", "runs", "median error", "least", "greatest"],
            [[name, str(n), f"{mid:+.1%}", f"{low:+.1%}", f"{high:+.1%}"] for name, n, mid, low, high in summary(runs)],
        ),
        "training": _table(
            ["GPU", "board", "workload", "GPUs", "measured /s", "modelled /s", "error"],
            [
                [r.gpu, r.board, r.workload, str(r.gpus), f"{r.measured:.0f}", f"{r.modelled:.0f}", _error(r)]
                for r in sorted(runs, key=lambda r: (r.workload, r.gpu, r.board, r.gpus))
            ],
        ),
        "busbw": _table(
            ["machines", "published GB/s", "kind", "modelled GB/s", "error", "source"],
            [[b.machines, f"{b.published:g}", b.kind, f"{b.modelled:.0f}", f"{b.error:+.0%}", b.source] for b in buses],
        ),
    }


def _error(run: Training) -> str:
    return f"{run.error:+.1%}" if run.possible else "not scaling"


def _table(heads: list[str], cells: list[list[str]]) -> str:
    lines = [heads, ["---"] * len(heads), *cells]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def page(text: str) -> str:
    """Return the page with every table between its marks made new."""
    for name, table in tables().items():
        begin, end = f"<!-- begin {name} -->", f"<!-- end {name} -->"
        old = re.search(f"{begin}.*?{end}", text, flags=re.DOTALL)
        text = text.replace(old[0], f"{begin}\n{table}\n{end}") if old else text
    return text


def main() -> int:
    """Write the page, or with --check return 1 when it is stale."""
    old = PAGE.read_text(encoding="utf-8")
    new = page(old)
    if "--check" in sys.argv[1:]:
        return int(new != old)
    PAGE.write_text(new, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
