"""Start-up and planning as a command: CPU time and memory beside an empty interpreter and gpuhunt's help."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import catalogues
from measure import Cost, measure, measure_once
from peers import python_with
from report import Section

EMPORION = str(Path(sys.executable).with_name("emporion"))
GPUHUNT = "gpuhunt==0.1.34"
ROWS = 60_000
WISH = ("--gpus", "a100:8", "--min-vram", "80gb")


@dataclass(frozen=True)
class Line:
    """One measured command and what it must not exceed."""

    name: str
    cost: Cost
    cpu_limit_s: float | None = None
    peak_limit_mib: float | None = None

    def row(self, empty: Cost) -> list[str]:
        """Return the table's row, with ratios to an empty interpreter."""
        return [
            self.name,
            f"{self.cost.cpu_s:.3f}",
            f"{self.cost.cpu_s / empty.cpu_s:.1f}",
            f"{self.cost.peak_mib:.0f}",
            f"{self.cost.peak_mib / empty.peak_mib:.1f}",
            _target(self.cost, self.cpu_limit_s, self.peak_limit_mib),
        ]


def sections() -> list[Section]:
    """Measure and return the section of this benchmark."""
    with tempfile.TemporaryDirectory(prefix="emporion-bench-") as folder:
        environ = {
            **{
                key: value
                for key, value in os.environ.items()
                if not key.startswith(("EMPORION_", "PULUMI_", "PYTHON"))
            },
            "PYTHONPYCACHEPREFIX": f"{folder}/byte-code",  # as after an installation, whatever this shell forbids
            "XDG_CACHE_HOME": f"{folder}/cache",
            "EMPORION_HOME": f"{folder}/home",
        }
        empty = measure([sys.executable, "-c", "pass"], runs=20, environ=environ)
        lines = [Line("`python -c pass`", empty), *_gpuhunt(environ), *_ours(Path(folder), environ)]
    return [
        Section(
            "cli",
            "The command line",
            f"Whole commands from start to exit; `plan` asks for `{' '.join(WISH)}`. Ratios are to `python -c pass`.",
            ["command", "CPU s", "x empty", "peak MiB", "x empty", "target"],
            [line.row(empty) for line in lines],
            (
                f"Generated catalogues have {ROWS:,} rows: one padded with CPU-only machines, one in which 40 % match.",
                "First sight: the CSV is read, checked and compiled; afterwards the compiled form is used.",
            ),
        )
    ]


def _ours(folder: Path, environ: Mapping[str, str]) -> Iterator[Line]:
    yield Line("`emporion --help`", measure([EMPORION, "--help"], environ=environ), 0.2)
    plan = [EMPORION, "plan", *WISH, "--json"]
    measure_once(plan, environ={**environ, "XDG_CACHE_HOME": f"{folder}/other"})  # byte code is there from now on
    yield Line("`emporion plan`, bundled, first sight", measure_once(plan, environ=environ), 2.0, 300)
    yield Line("`emporion plan`, bundled", measure(plan, environ=environ), 0.5, 300)
    for name, make in (("padded", catalogues.padded), ("matching", catalogues.matching)):
        path = folder / f"{name}.csv"
        make(path, ROWS)
        command = [*plan, "--offers", str(path)]
        yield Line(f"`emporion plan --offers`, {name}, first sight", measure_once(command, environ=environ), 2.0, 300)
        yield Line(f"`emporion plan --offers`, {name}", measure(command, runs=3, environ=environ), 0.5, 300)


def _gpuhunt(environ: Mapping[str, str]) -> Iterator[Line]:
    """Measure `python -m gpuhunt --help` from an environment of its own, when it can be installed here."""
    python = python_with("gpuhunt", GPUHUNT)
    if python is not None:
        yield Line("`python -m gpuhunt --help`", measure([str(python), "-m", "gpuhunt", "--help"], environ=environ))


def _target(cost: Cost, cpu_limit_s: float | None, peak_limit_mib: float | None) -> str:
    parts = []
    if cpu_limit_s is not None:
        parts.append(f"{'met' if cost.cpu_s <= cpu_limit_s else 'MISSED'}: <= {cpu_limit_s} s")
    if peak_limit_mib is not None:
        parts.append(f"{'met' if cost.peak_mib <= peak_limit_mib else 'MISSED'}: <= {peak_limit_mib:.0f} MiB")
    return ", ".join(parts)
