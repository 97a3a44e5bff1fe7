"""The table of what GPUs are: the market's rows, and beside them what only a health check asks for."""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

from emporion.market.gpus import Gpu, all_gpus
from emporion.market.tables import read_rows

__all__ = ["identity_json"]

_TABLE = Path(__file__).parent / "data" / "gpu_identity.csv"


def identity_json() -> str:
    """Return the models of the health check as JSON, in the order of the table."""
    known = {gpu.id: gpu for gpu in all_gpus()}
    rows = [_row(dict(row), known.get(row["gpu"])) for row in read_rows(_TABLE)]
    return "[\n" + ",\n".join(json.dumps(row) for row in rows) + "\n]"


def _row(row: dict[str, str], gpu: Gpu | None) -> dict[str, Any]:
    return {
        "gpu": row["gpu"],
        "family": gpu.family if gpu else row["gpu"].partition("-")[0],
        "compute_capability": _capability(row, gpu),
        "vram_gb": _number(row["vram_gb"]) or _plain(gpu.vram_gb if gpu else None),
        "mem_bw_gb_s": _number(row["mem_bw_gb_s"]) or _plain(gpu.mem_bw_gb_s if gpu else None),
        "fp16_tflops": _number(row["fp16_dense_tflops"]) or _plain(gpu.fp16_dense_tflops if gpu else None),
        "pci_ids": row["pci_ids"].split(),
        "sms": _whole(row["sms"]),
        "bus_bits": _whole(row["bus_bits"]),
        "l2_mb": _number(row["l2_mb"]),
        "nvlinks": _whole(row["nvlinks"]),
        "unsure": row["unsure"].split(),
    }


def _capability(row: dict[str, str], gpu: Gpu | None) -> list[int] | None:
    if row["compute_capability"]:
        return [int(part) for part in row["compute_capability"].split(".")]
    digits = (gpu.compute_capability or "").removeprefix("sm_") if gpu else ""
    return [int(digits[:-1]), int(digits[-1])] if digits else None


def _plain(value: Decimal | None) -> float | None:
    return None if value is None else float(value)


def _number(text: str) -> float | None:
    return float(text) if text else None


def _whole(text: str) -> int | None:
    return int(text) if text else None
