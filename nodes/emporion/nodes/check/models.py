"""What each GPU is: the rows that a claim is judged by, and which rows fit what was seen."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, replace
from typing import Any

from emporion.nodes.check.seen import Attributes, GpuSeen, Measured

__all__ = ["COPY_FLOOR", "GEMM_FLOOR", "Model", "against", "fitting", "in_band", "load_models", "named"]

COPY_FLOOR = 0.70
"""Least part of the published bandwidth that a healthy GPU copies at; assumed, to be measured on each model."""
GEMM_FLOOR = 0.50
"""Least part of the published half-precision throughput; assumed, to be measured on each model."""
_CEILING = 1.05
_MEMORY_BAND = (0.90, 1.02)
"""Reported MiB by nominal GB x 1024: makers keep back up to a tenth for themselves, and for ECC."""


@dataclass(frozen=True)
class Model:
    """One GPU of the table; None is unknown, and what is in `unsure` speaks against nothing."""

    gpu: str
    family: str
    compute_capability: tuple[int, int] | None
    vram_gb: float | None
    mem_bw_gb_s: float | None
    fp16_tflops: float | None
    pci_ids: tuple[str, ...]
    sms: int | None
    bus_bits: int | None
    l2_mb: float | None
    nvlinks: int | None
    unsure: tuple[str, ...]
    foreign_ids: tuple[str, ...] = ()
    """PCI ids of every other GPU: a list of one's own is never complete, so only these speak against it."""


def load_models(text: str) -> dict[str, Model]:
    """Return the models of a JSON document by their id, in its order."""
    rows: list[dict[str, Any]] = json.loads(text)
    models = {}
    for row in rows:
        cc = row["compute_capability"]
        lists = {name: tuple(row[name]) for name in ("pci_ids", "unsure")}
        models[row["gpu"]] = Model(**{**row, **lists, "compute_capability": tuple(cc) if cc else None})
    sure = [model for model in models.values() if "pci_ids" not in model.unsure]
    return {gpu: replace(model, foreign_ids=_foreign(model, sure)) for gpu, model in models.items()}


def _foreign(model: Model, others: list[Model]) -> tuple[str, ...]:
    found = {pci_id for other in others if other.gpu != model.gpu for pci_id in other.pci_ids}
    return tuple(sorted(found - set(model.pci_ids)))


def named(name: str | None, models: dict[str, Model]) -> list[Model]:
    """Return the models whose family stands in a name: `NVIDIA A100-SXM4-80GB` is an a100."""
    words = [word for word in re.split(r"[^a-z0-9]+", (name or "").lower()) if word]
    runs = {"".join(words[at : at + length]) for at in range(len(words)) for length in (1, 2, 3)}
    found = [model for model in models.values() if model.family in runs]
    sizes = {int(word[:-2]) for word in words if re.fullmatch(r"[0-9]+gb", word)}
    return [model for model in found if not sizes or model.vram_gb in sizes] or found


def against(model: Model, seen: GpuSeen) -> list[str]:
    """Return what the attributes of a GPU say against a model, in the words `SMs 84, not 108`."""
    said = []
    for source, attributes in (("CUDA", seen.cuda), ("NVML", seen.nvml)):
        for what, got, wanted in _compared(model, attributes, mig=seen.mig):
            said.append(f"{what} {got} by {source}, not {wanted}")
    links = None if seen.nvlinks_up is None else seen.nvlinks_up + (seen.nvlinks_down or 0)
    if links and model.nvlinks and "nvlinks" not in model.unsure and links != model.nvlinks:
        said.append(f"{links} NVLinks, not {model.nvlinks}")
    return said


def _compared(model: Model, attributes: Attributes, *, mig: bool) -> list[tuple[str, str, str]]:
    """Return what differs; of a GPU that is cut into instances, what the cut changes is not compared."""
    found = []
    cc, wanted = attributes.compute_capability, model.compute_capability
    if cc and wanted and cc != wanted:
        found.append(("compute capability", f"{cc[0]}.{cc[1]}", f"{wanted[0]}.{wanted[1]}"))
    if attributes.pci_id in model.foreign_ids:
        found.append(("PCI id", str(attributes.pci_id), " or ".join(model.pci_ids)))
    if mig:
        return found
    for what, column in (("SMs", "sms"), ("bus bits", "bus_bits"), ("L2 MB", "l2_mb")):
        got, asked = getattr(attributes, column), getattr(model, column)
        if got is not None and asked is not None and column not in model.unsure and round(got) != round(asked):
            found.append((what, f"{got:g}", f"{asked:g}"))
    if attributes.memory_mib is not None and model.vram_gb is not None:
        part = attributes.memory_mib / (model.vram_gb * 1024)
        if not _MEMORY_BAND[0] <= part <= _MEMORY_BAND[1]:
            found.append(("memory MiB", str(attributes.memory_mib), f"{model.vram_gb:g} GB"))
    return found


def in_band(got: float | None, published: float | None, floor: float) -> bool | None:
    """Return whether a measured figure is what a published one lets expect; None: one of them is not known."""
    if got is None or published is None:
        return None
    return floor * published <= got <= _CEILING * published


def fitting(
    seen: GpuSeen, measured: Measured | None, models: dict[str, Model], *, attributes: bool = True
) -> list[str]:
    """Return every model that nothing speaks against; without `attributes`, by what was measured alone."""
    found = []
    for model in models.values():
        if attributes and against(model, seen):
            continue
        if measured is not None and not seen.mig:
            if in_band(measured.copy_gb_s, model.mem_bw_gb_s, COPY_FLOOR) is False:
                continue
            if in_band(measured.gemm_tflops, model.fp16_tflops, GEMM_FLOOR) is False and "fp16" not in model.unsure:
                continue
            if (
                measured.sms is not None
                and model.sms is not None
                and "sms" not in model.unsure
                and measured.sms != model.sms
            ):
                continue
        found.append(model.gpu)
    return found
