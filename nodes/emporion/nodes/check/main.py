"""The health check's command line: look, load, look again, judge, and say it. As a HEALTHCHECK it ends with 0 or 1."""

from __future__ import annotations

import argparse
import contextlib
import fcntl
import json
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from emporion.nodes.check.judge import Judged, judge_gpu, worst
from emporion.nodes.check.models import Model, named
from emporion.nodes.check.node_probe import NodeProbe
from emporion.nodes.check.seen import GpuSeen, Measured, NodeSeen, Probe, ProbeFault

__all__ = ["HEALTH_SCHEMA", "check_node", "claimed_ids", "main"]

HEALTH_SCHEMA = "emporion.health/1"
_BUSY_PERCENT = 10
_LOAD_MIB = 3072
"""What the load needs of a GPU's memory, with room to spare."""
_LOAD_S = 2.0
_ALL_LOADS_S = 24.0
"""Docker ends the check after 60 s, of which starting torch may take half."""


@dataclass(frozen=True)
class _Options:
    """What the command line says."""

    claim: list[str]
    load: bool
    load_s: float
    lock: Path


def claimed_ids(text: str | None, models: dict[str, Model]) -> list[str]:
    """Return the ids of a claim: ids and families, with commas between; a name of none stays as it is."""
    found: list[str] = []
    for word in (text or "").split(","):
        name = word.strip()
        if name:
            family = [model.gpu for model in models.values() if model.family == name.lower()]
            found += [name] if name in models else family or [model.gpu for model in named(name, models)] or [name]
    return list(dict.fromkeys(found))


@contextlib.contextmanager
def _only_one(lock: Path) -> Iterator[bool]:
    """Yield whether this is the only check that runs with this lock."""
    try:
        handle = os.open(lock, os.O_CREAT | os.O_RDWR | os.O_NOFOLLOW, 0o600)
    except OSError:
        yield False
        return
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        yield False
    else:
        yield True
    finally:
        os.close(handle)


def check_node(
    probe: Probe,
    models: dict[str, Model],
    claim: list[str],
    *,
    load: bool = True,
    load_s: float = _LOAD_S,
    alone: bool = True,
) -> dict[str, Any]:
    """Return the report of a node: its status, and each GPU with findings, what it fits and what was measured.

    Raises: ProbeFault: when the driver cannot be asked.
    """
    before = probe.look()
    each_s = min(load_s, _ALL_LOADS_S / max(len(before.gpus), 1))
    measured: dict[int, Measured | None] = {}
    reasons: dict[int, str | None] = {}
    for gpu in before.gpus:
        reasons[gpu.index] = _left_out(gpu, load=load, alone=alone)
        skip = reasons[gpu.index] is not None or gpu.lost
        measured[gpu.index] = None if skip else probe.load(gpu.index, each_s)
    after = {gpu.index: gpu for gpu in (probe.look() if any(measured.values()) else before).gpus}
    judged = [
        judge_gpu(gpu, after.get(gpu.index, gpu), measured[gpu.index], claim, models, busy=reasons[gpu.index])
        for gpu in before.gpus
    ]
    return _report(before, judged, measured)


def _left_out(gpu: GpuSeen, *, load: bool, alone: bool) -> str | None:
    """Return why a GPU gets no load, or None when it does: never in the way of a job."""
    if not load:
        return "the load was left out, as asked"
    if not alone:
        return "another check runs: the load was left out"
    if gpu.busy_percent is not None and gpu.busy_percent > _BUSY_PERCENT:
        return f"a job keeps the GPU {gpu.busy_percent} % busy: the load was left out"
    if gpu.memory_free_mib is not None and gpu.memory_free_mib < _LOAD_MIB:
        return f"a job leaves {gpu.memory_free_mib} MiB of memory: the load was left out"
    return None


def _report(seen: NodeSeen, judged: list[Judged], measured: dict[int, Measured | None]) -> dict[str, Any]:
    gpus = []
    for gpu, one in zip(seen.gpus, judged, strict=True):
        figures = measured[gpu.index]
        gpus.append(
            {
                "index": gpu.index,
                "uuid": gpu.uuid,
                "name": gpu.nvml.name or gpu.cuda.name,
                "status": one.status,
                "claimed": list(one.claimed),
                "fits": list(one.fits),
                "findings": [{"code": f.code, "severity": f.severity, "text": f.text} for f in one.findings],
                "measured": asdict(figures) if figures is not None else None,
            }
        )
    findings = [] if gpus else [{"code": "no-gpus", "severity": "unknown", "text": "the driver knows no GPU"}]
    status = worst([one.status for one in judged])
    return {"schema": HEALTH_SCHEMA, "status": status, "driver": seen.driver, "findings": findings, "gpus": gpus}


def _unknown(fault: ProbeFault) -> dict[str, Any]:
    finding = {"code": fault.kind, "severity": "unknown", "text": fault.what, "fix": fault.fix}
    return {"schema": HEALTH_SCHEMA, "status": "unknown", "driver": None, "findings": [finding], "gpus": []}


def _lines(report: dict[str, Any]) -> Iterator[str]:
    yield f"{report['status']}: {len(report['gpus'])} GPUs, driver {report['driver'] or '?'}"
    for finding in report["findings"]:
        yield f"  {finding['text']}" + (f"; {finding['fix']}" if "fix" in finding else "")
    for gpu in report["gpus"]:
        fits = ", ".join(gpu["fits"]) or "nothing known"
        yield f"  GPU {gpu['index']} {gpu['status']}: {gpu['name'] or '?'}; fits {fits}"
        for finding in gpu["findings"]:
            yield f"    {finding['severity']} ({finding['code']}): {finding['text']}"


def main(argv: list[str], models: dict[str, Model], open_probe: Callable[[], Probe] = NodeProbe) -> int:
    """Check the node and return the exit code: 0 works, 1 does not, or cannot be told (--strict: 3)."""
    parser = argparse.ArgumentParser(description="Say whether the GPUs of this node are what they should be, and work.")
    parser.add_argument(
        "--gpu", metavar="NAME", help="what the GPUs should be; what their driver calls them by default"
    )
    parser.add_argument("--json", action="store_true", help="print the whole report as JSON")
    parser.add_argument("--strict", action="store_true", help="end with 1 for degraded, 3 for unknown")
    parser.add_argument("--no-load", action="store_true", help="only look")
    parser.add_argument("--load-seconds", type=float, default=_LOAD_S, metavar="S", help="load on each GPU")
    lock = Path(tempfile.gettempdir(), f"emporion-health-{os.getuid()}.lock")
    parser.add_argument("--lock", type=Path, default=lock, metavar="FILE", help="one check at a time loads the GPUs")
    said = parser.parse_args(argv)
    options = _Options(claimed_ids(said.gpu, models), not said.no_load, said.load_seconds, said.lock)
    try:
        with _only_one(options.lock) as alone:
            report = check_node(
                open_probe(), models, options.claim, load=options.load, load_s=options.load_s, alone=alone
            )
    except ProbeFault as fault:
        report = _unknown(fault)
    sys.stdout.write(json.dumps(report, indent=2) + "\n" if said.json else "\n".join(_lines(report)) + "\n")
    if said.strict:
        return {"healthy": 0, "unknown": 3}.get(report["status"], 1)
    return 0 if report["status"] in {"healthy", "degraded"} else 1
