"""Runs in SkyPilot's own environment: times its optimiser on catalogues that lie under SKY_RUNTIME_DIR.

`python peer_skypilot.py SPEC` with SPEC a JSON object {"stages": [{"name", "gpu", "count", "needs"}], "runs": n,
"gb": outputs of each stage in GB, "limit_s": seconds}. Prints one JSON object with the times of the runs, the cost that
it found per hour, and the peak memory.
"""

# It shares no code with the benchmark: this file runs where Emporion is not installed.

from __future__ import annotations

import json
import resource
import sys
import time
from typing import Any


def main(spec: dict[str, Any]) -> dict[str, Any]:
    import sky  # noqa: PLC0415 - its start is no part of this file
    from sky import check, clouds, optimizer  # noqa: PLC0415

    served = [clouds.AWS(), clouds.Azure(), clouds.Lambda()]
    check.get_cached_enabled_clouds_or_refresh = lambda *_args, **_named: served
    times = []
    cost = None
    for _ in range(spec["runs"] + 1):  # the first one loads the catalogues
        with sky.Dag() as dag:
            tasks: dict[str, Any] = {}
            for stage in spec["stages"]:
                task = sky.Task(stage["name"])
                task.set_resources(sky.Resources(accelerators={stage["gpu"]: stage["count"]}))
                task.set_time_estimator(lambda _resources: 3600)
                task.set_outputs("CLOUD", estimated_size_gigabytes=spec["gb"])
                tasks[stage["name"]] = task
                for need in stage["needs"]:
                    tasks[need] >> task
        started = time.perf_counter()
        optimizer.Optimizer.optimize(dag, quiet=True)
        times.append(time.perf_counter() - started)
        cost = sum(task.best_resources.get_cost(3600) for task in tasks.values())
    return {
        "seconds": times[1:],
        "cost": cost,
        "peak_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


if __name__ == "__main__":
    print(json.dumps(main(json.loads(sys.argv[1]))))
