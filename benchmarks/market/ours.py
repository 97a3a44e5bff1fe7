"""Times `make_plan` in a process of its own: loading excluded, everything else of a plan included.

`python ours.py SPEC` with SPEC a JSON object {"offers": file, "intent": file, "runs": n}. Prints one JSON object with
the times of the warm runs, the least cost of machines in the front, how many solutions it has, and the peak memory.
"""

from __future__ import annotations

import json
import resource
import sys
import time
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

from emporion.market.clouds import installed_clouds
from emporion.market.intent import load_intent
from emporion.market.offers import load_csv
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
    machines = [sum((pool.usd_per_hour for pool in each.pools), Decimal(0)) for each in solutions]
    return {
        "first": times[0],
        "seconds": times[1:],
        "loading": loading,
        "cost": float(min(machines)),
        "solutions": len(solutions),
        "peak_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


if __name__ == "__main__":
    print(json.dumps(main(json.loads(sys.argv[1]))))
