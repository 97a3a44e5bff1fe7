"""`./run bench [NAME…]`: run benchmarks, print their tables, and write them to docs/reference/performance.md."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence
from datetime import UTC, datetime

import report

BENCHMARKS = ("cli", "graph", "images", "market", "policies", "preview", "stream")
"""Modules of this folder with `sections() -> list[Section]`."""


def main(names: Sequence[str]) -> int:
    """Run the named benchmarks, all by default. Returns 2 for a name that is none."""
    unknown = [name for name in names if name not in BENCHMARKS]
    if unknown:
        print(f"error: no benchmark {unknown[0]!r}; there are: {', '.join(BENCHMARKS)}", file=sys.stderr)
        return 2
    date = datetime.now(tz=UTC).date().isoformat()
    for name in names or BENCHMARKS:
        sections = importlib.import_module(name).sections()
        for section in sections:
            print(section.markdown(date))
        report.write(sections, date)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
