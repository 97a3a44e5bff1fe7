"""The GPU identity table (data/gpus.csv), capability labels, and whether a GPU has the memory asked for."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import cache

from emporion.market.errors import UserError, did_you_mean
from emporion.market.tables import rows
from emporion.market.units import Memory, shown

__all__ = ["Gpu", "all_gpus", "check_label", "gpu_info", "label_of", "labels", "meets_vram"]

_LINE = "quadro-"
"""A maker's line of products that no label names: with its memory, an `rtx6000-24gb` is one part."""


@dataclass(frozen=True, slots=True)
class Gpu:
    """One row of data/gpus.csv. Figures are of one GPU; None is unknown."""

    id: str
    """`a100-80gb`: the only name used inside."""
    family: str
    """`a100`: what covers all its variants."""
    vendor: str
    architecture: str
    compute_capability: str | None
    """`sm_80`; None where the vendor has none."""
    vram_gb: Decimal | None
    """Nominal, in 10^9 bytes as the maker counts."""
    memory_mib: int | None
    """The less of what driver and cloud report (data/gpu_memory.csv); strict units are compared with it."""
    board: str | None
    """`sxm`, `pcie`, `nvl` where the id names it."""
    mem_bw_gb_s: Decimal | None
    fp16_dense_tflops: Decimal | None
    bf16_dense_tflops: Decimal | None
    fp8_dense_tflops: Decimal | None
    fp64_tflops: Decimal | None
    tdp_w: Decimal | None
    nvlink_gb_s: Decimal | None
    """Both directions together."""
    pcie_gen: int | None
    resnet50_fp16_img_s: Decimal | None
    bert_large_fp16_seq_s: Decimal | None
    source: str


@cache
def _table() -> Mapping[str, Gpu]:
    reported = {row["gpu"]: int(row["memory_mib"]) for row in rows("gpu_memory.csv")}
    return {row["gpu"]: _gpu(row, reported.get(row["gpu"])) for row in rows("gpus.csv")}


def _gpu(row: Mapping[str, str], memory_mib: int | None) -> Gpu:
    def figure(column: str) -> Decimal | None:
        return Decimal(row[column]) if row[column] else None

    gpu = row["gpu"]
    match = re.fullmatch(r"(.+?)-[0-9]+gb(?:-([a-z]+))?", gpu)
    return Gpu(
        id=gpu,
        family=match[1].replace("-", "") if match else gpu,
        vendor=row["vendor"],
        architecture=row["architecture"],
        compute_capability=row["compute_capability"] or None,
        vram_gb=figure("vram_gb"),
        memory_mib=memory_mib,
        board=match[2] if match else None,
        mem_bw_gb_s=figure("mem_bw_gb_s"),
        fp16_dense_tflops=figure("fp16_dense_tflops"),
        bf16_dense_tflops=figure("bf16_dense_tflops"),
        fp8_dense_tflops=figure("fp8_dense_tflops"),
        fp64_tflops=figure("fp64_tflops"),
        tdp_w=figure("tdp_w"),
        nvlink_gb_s=figure("nvlink_gb_s"),
        pcie_gen=int(row["pcie_gen"]) if row["pcie_gen"] else None,
        resnet50_fp16_img_s=figure("resnet50_fp16_img_s"),
        bert_large_fp16_seq_s=figure("bert_large_fp16_seq_s"),
        source=row["source"],
    )


def all_gpus() -> tuple[Gpu, ...]:
    """Return every known GPU, in the order of the table."""
    return tuple(_table().values())


def gpu_info(gpu: str) -> Gpu:
    """Return the row of an id.

    Raises: KeyError: when it is not an id of the table (names that people write go through `resolve_gpu`).
    """
    return _table()[gpu]


def label_of(gpu: str) -> str:
    """Return the capability label of an id: model and memory, whatever the board (`h100-80gb` of `h100-80gb-sxm`)."""
    info = gpu_info(gpu)
    return gpu.removeprefix(_LINE).removesuffix(f"-{info.board}")


@cache
def labels() -> Mapping[str, tuple[str, ...]]:
    """Return every capability label with the ids that it covers, in the order of the table."""
    found: dict[str, tuple[str, ...]] = {}
    for gpu in _table():
        label = label_of(gpu)
        found[label] = (*found.get(label, ()), gpu)
    return found


def check_label(text: str) -> str:
    """Return a capability label, in small letters.

    Raises: UserError E-GPU: when there is none of this name, with the nearest one.
    """
    word = text.strip().lower()
    if word not in labels():
        near = did_you_mean(word, set(labels()))
        fix = f"did you mean {near}" if near else f"labels are {', '.join(labels())}"
        raise UserError("E-GPU", f"no capability label is {shown(text)}", fix=fix)
    return word


def meets_vram(want: Memory, nominal_gb: Decimal | None, memory_mib: int | None) -> bool | None:
    """Return whether a GPU has at least `want` of memory; None: its memory is not known.

    A decimal unit is compared with the nominal size (22,888 MiB is sold as 24 GB); without one, with the reported size,
    1 % below allowed, as makers round. A binary unit is strict: the reported size, else the nominal one as bytes.
    """
    if want.binary:
        if memory_mib is not None:
            return memory_mib << 20 >= want.bytes
        return None if nominal_gb is None else nominal_gb * 10**9 >= want.bytes
    if nominal_gb is not None:
        return nominal_gb * 10**9 >= want.bytes
    return None if memory_mib is None else (memory_mib << 20) * 100 >= want.bytes * 99
