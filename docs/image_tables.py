"""Writes docs/reference/images.md from the tables of images and nodes: `python docs/image_tables.py [--check]`."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path

from emporion.images.driver_bugs import CONDITIONS, bugs
from emporion.images.recipe import KEYS
from emporion.images.tables import rows
from emporion.nodes.check.judge import DETECTIONS
from emporion.nodes.table import identity_json

PAGE = Path(__file__).resolve().parent / "reference" / "images.md"
GENERATED = "<!-- written by docs/image_tables.py: change the tables, then run `python docs/image_tables.py` -->"
_TABLES = (
    ("CUDA and drivers", "cuda_toolkits.csv", ("cuda", "driver", "forward_branches")),
    ("Drivers' branches", "driver_branches.csv", ("branch", "end_of_life")),
    ("torch", "torch.csv", ("torch", "wheels", "python_min", "python_max", "cudnn", "nccl")),
    ("GPUs in torch's wheels", "torch_wheels.csv", ("torch_from", "torch_to", "wheel", "machine", "archs")),
    (
        "flash-attn's wheels",
        "flash_attn.csv",
        ("flash_attn", "torch", "cuda_tags", "python_min", "python_max", "archs"),
    ),
    ("Base images", "bases.csv", ("role", "tag", "digest", "platform", "seen")),
    ("EFA", "efa.csv", ("installer", "plugin", "tested_nccl")),
    ("Decided on the node", "node_env.csv", ("cloud", "gpus", "needs_path", "gpus_on_node", "name", "value", "why")),
    ("Never in an image", "never_baked.csv", ("name", "why")),
)


def page() -> str:
    """Return the page."""
    keys = [[f"`{name}`", text] for name, text in KEYS.items()]
    faults = [[f"`{code}`", severity, text] for code, (severity, text) in DETECTIONS.items()]
    known = [
        [f"`{bug.id}`", bug.drivers_text or "any", _where(bug.kernels_text, bug.gpus, bug.when), bug.effect, bug.fix]
        for bug in bugs()
    ]
    parts = [
        "# Images",
        GENERATED,
        "An empty cell is unknown. Each row's source and date stand in the `data` folders of images/ and nodes/.",
        "## Keys of a recipe",
        _table(["key", "says"], keys),
        "## What the health check finds",
        "As a HEALTHCHECK it ends with 0 for healthy and degraded, and 1 for unhealthy and unknown.",
        _table(["code", "severity", "by"], faults),
        "## Drivers known to be bad",
        _table(["bug", "drivers", "where", "effect", "mended by"], known),
        "Conditions for `emporion driver check --when`:",
        _table(["condition", "holds when"], [[f"`{name}`", text] for name, text in CONDITIONS.items()]),
        "## What each GPU is",
        _table(["gpu", "cc", "SMs", "bus bits", "L2 MB", "GB/s", "FP16 TFLOPS", "PCI ids", "unsure"], _gpus()),
    ]
    for title, name, columns in _TABLES:
        parts += [f"## {title}", _table(columns, [[row[column] for column in columns] for row in rows(name)])]
    return "\n\n".join(parts) + "\n"


def _where(kernels: str, gpus: Sequence[str], when: Sequence[str]) -> str:
    return ", ".join([*([f"kernel {kernels}"] if kernels else []), *gpus, *when]) or "anywhere"


def _gpus() -> list[list[str]]:
    found = []
    for row in json.loads(identity_json()):
        cc = row["compute_capability"]
        figures = [row[name] for name in ("sms", "bus_bits", "l2_mb", "mem_bw_gb_s", "fp16_tflops")]
        shown = ["" if figure is None else f"{figure:g}" for figure in figures]
        capability = f"{cc[0]}.{cc[1]}" if cc else ""
        found.append([row["gpu"], capability, *shown, " ".join(row["pci_ids"]), " ".join(row["unsure"])])
    return found


def _table(heads: Sequence[str], cells: Sequence[Sequence[str]]) -> str:
    lines = [heads, ["---"] * len(heads), *cells]
    return "\n".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |" for line in lines)


def main() -> int:
    """Write the page, or with --check return 1 when it is stale."""
    if "--check" in sys.argv[1:]:
        return int(not PAGE.is_file() or PAGE.read_text(encoding="utf-8") != page())
    PAGE.write_text(page(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
