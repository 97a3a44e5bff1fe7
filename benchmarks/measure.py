"""CPU time and peak memory of a command, measured from outside.

The command is started by a small helper interpreter: the peak memory that the kernel reports for a child includes what
its parent held when it was forked, so the parent must be as small as what is measured.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

HELPER = """
import json, os, sys, time
runs, argv = int(sys.argv[1]), sys.argv[2:]
null = os.open(os.devnull, os.O_RDWR)
for _ in range(runs + 1):
    started = time.monotonic()
    pid = os.posix_spawn(argv[0], argv, os.environ, file_actions=[(os.POSIX_SPAWN_DUP2, null, n) for n in (0, 1, 2)])
    _, status, used = os.wait4(pid, 0)
    print(json.dumps([os.waitstatus_to_exitcode(status), used.ru_utime + used.ru_stime, used.ru_maxrss,
                      time.monotonic() - started]))
"""


@dataclass(frozen=True)
class Cost:
    """The best of several runs (the others were disturbed by something else)."""

    cpu_s: float
    peak_mib: float
    wall_s: float


def measure(argv: Sequence[str], *, runs: int = 5, environ: Mapping[str, str], codes: Sequence[int] = (0,)) -> Cost:
    """Return what a command costs: the best of `runs`, after one that warms byte code and disk.

    Raises: RuntimeError: when it exits with another code than `codes`.
    """
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", HELPER, str(runs), *argv],
        env=dict(environ),
        capture_output=True,
        text=True,
        check=True,
    )
    results = [json.loads(line) for line in done.stdout.splitlines()]
    wrong = [code for code, *_ in results if code not in codes]
    if wrong:
        message = f"{' '.join(argv)} exited {wrong[0]}"
        raise RuntimeError(message)
    _, cpu_s, peak_kib, wall_s = (list(column) for column in zip(*results[1:], strict=True))
    return Cost(min(cpu_s), min(peak_kib) / 1024, min(wall_s))


def measure_once(argv: Sequence[str], *, environ: Mapping[str, str], codes: Sequence[int] = (0,)) -> Cost:
    """Return what one run costs, without a run before it: for what is different the first time."""
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", HELPER, "0", *argv],
        env=dict(environ),
        capture_output=True,
        text=True,
        check=True,
    )
    code, cpu_s, peak_kib, wall_s = json.loads(done.stdout)
    if code not in codes:
        message = f"{' '.join(argv)} exited {code}"
        raise RuntimeError(message)
    return Cost(cpu_s, peak_kib / 1024, wall_s)
