"""Times `make_plan` in a process of its own: loading excluded, everything else of a plan included.

`python ours.py SPEC` with SPEC a JSON object {"offers": file, "intent": file, "runs": n, "gpu": id}. Prints one JSON
object with the times of the warm runs, the price of the cheapest machine with such GPUs (for the comparison of what the
sides see), how many solutions the front has, and the peak memory.
"""

from __future__ import annotations

import json
import resource
import sys
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from emporion.market.clouds import installed_clouds
from emporion.market.intent import load_intent
from emporion.market.offers import OfferFilter, load_csv
from emporion.market.plan import make_plan


def main(spec: dict[str, Any]) -> dict[str, Any]:
    """Return what planning takes."""
    started = time.perf_counter()
    catalogue = load_csv(Path(spec["offers"]))
    loading = time.perf_counter() - started
    intent = load_intent(Path(spec["intent"]))
    clouds = installed_clouds()
    now = datetime(2026, 12, 1, tzinfo=UTC)
    times = []
    for _ in range(spec["runs"] + 1):
        started = time.perf_counter()
        plan = make_plan(intent, catalogue, clouds=clouds, now=now)
        times.append(time.perf_counter() - started)
    solutions = [*plan.solutions, *plan.not_deployable]
    _, cheapest = catalogue.tally(OfferFilter(gpus=frozenset({spec["gpu"]})))
    return {
        "first": times[0],
        "seconds": times[1:],
        "loading": loading,
        "cost": None if cheapest is None else float(cheapest.usd_per_hour),
        "solutions": len(solutions),
        "peak_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


if __name__ == "__main__":
    print(json.dumps(main(json.loads(sys.argv[1]))))
