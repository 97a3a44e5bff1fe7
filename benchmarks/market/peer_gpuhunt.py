"""Runs in gpuhunt's own environment: times `Catalog.query` on CSV files, loaded beforehand.

`python peer_gpuhunt.py SPEC` with SPEC a JSON object {"folder", "gpu", "count", "runs"}. Prints one JSON object.
"""

# It shares no code with the benchmark: this file runs where Emporion is not installed.

from __future__ import annotations

import json
import resource
import sys
import time
from pathlib import Path
from typing import Any


def main(spec: dict[str, Any]) -> dict[str, Any]:
    from gpuhunt._internal import storage  # noqa: PLC0415 - its start is no part of this file
    from gpuhunt._internal.catalog import Catalog, ProviderCatalog  # noqa: PLC0415

    catalog = Catalog(balance_resources=False, auto_reload=False)
    files = sorted(Path(spec["folder"]).glob("*.csv"))
    for path in files:
        with path.open(encoding="utf-8") as file:
            catalog.catalog[path.stem] = ProviderCatalog("", list(storage.load(file, provider=path.stem)))
    catalog.loaded_at = 0.0
    times = []
    found: list[Any] = []
    for _ in range(spec["runs"] + 1):
        started = time.perf_counter()
        found = catalog.query(
            provider=[path.stem for path in files],
            gpu_name=spec["gpu"],
            min_gpu_count=spec["count"],
            max_gpu_count=spec["count"],
            min_gpu_memory=spec["gb"],
            spot=False,
        )
        times.append(time.perf_counter() - started)
    return {
        "seconds": times[1:],
        "cost": min(item.price for item in found),
        "peak_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


if __name__ == "__main__":
    print(json.dumps(main(json.loads(sys.argv[1]))))
