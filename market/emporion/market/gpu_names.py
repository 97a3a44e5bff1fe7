"""What people write for a GPU: `a100`, `A100-80GB:8`, `H100 SXM`, `v5litepod-8`.

A family name covers its variants, a variant name only itself, and a shared prefix is never a match: `a100` is any A100,
`A100-80GB` is one part, `A100-8` is an error that names the near ones (cases/market.md 01, 02).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from itertools import pairwise

from emporion.market.errors import UserError
from emporion.market.gpus import Gpu, all_gpus, gpu_info, labels
from emporion.market.units import Count, Memory, parse_count, parse_memory, plain, shown

__all__ = ["GpuName", "match_model", "resolve_gpu", "without_count"]


@dataclass(frozen=True, slots=True)
class GpuName:
    """What a written GPU name means."""

    ids: tuple[str, ...]
    """The ids that it covers, least memory first; empty: any GPU (of `vendor`, when there is one)."""
    count: Count | None
    """The number written with the name."""
    vram: Memory | None
    """Memory written without a model (`amd:192GB`): a floor. Memory of a named model chooses the variant instead."""
    asked: str
    """The text as it was written."""
    vendor: str | None = None
    """Set when a vendor was written instead of a model."""
    board: str | None = None
    """`sxm` or `pcie` when the name says so and the id does not (`A100-SXM4-80GB`)."""
    variant: bool = False
    """Whether the name chooses among the family's variants by memory or board."""


# Words that say nothing about which model it is.
_NOISE = frozenset(
    {"nvidia", "amd", "google", "cloud", "tesla", "geforce", "radeon", "instinct", "gpu", "gpus", "graphics", "core"}
    | {"accelerator", "tensor", "generation", "blackwell", "server", "edition", "ampere", "hopper", "gddr6", "gddr7"}
    | {"hbm2", "hbm2e", "hbm3", "hbm3e"}
)
# Where the kind of memory tells the board: "NVIDIA H100 80GB HBM3" is what the driver calls the SXM board.
_BOARD_OF_MEMORY: Mapping[tuple[str, str], str] = {("h100", "hbm3"): "sxm", ("h100", "hbm2e"): "pcie"}
_BOARDS: Mapping[str, str] = {
    **dict.fromkeys(("sxm", "sxm2", "sxm3", "sxm4", "sxm5", "sxm6", "hgx"), "sxm"),
    "pcie": "pcie",
    "nvl": "nvl",
    "oam": "oam",
    "superchip": "superchip",
}
# The boards each family comes on, where its ids do not say; every other family is a PCIe card or a TPU.
_FAMILY_BOARDS: Mapping[str, frozenset[str]] = {
    "a100": frozenset({"sxm", "pcie"}),
    "v100": frozenset({"sxm", "pcie"}),
    "p100": frozenset({"sxm", "pcie"}),
    "h200": frozenset({"sxm"}),
    "b200": frozenset({"sxm"}),
    "b300": frozenset({"sxm"}),
    "mi300x": frozenset({"oam"}),
    "gh200": frozenset({"superchip"}),
}
_ONE_BOARD = frozenset({"pcie"})
_SYNONYMS: Mapping[str, str] = {
    "rtxa6000": "a6000",
    "rtxa5000": "a5000",
    "rtxa4000": "a4000",
    "3090": "rtx3090",
    "4090": "rtx4090",
    "5090": "rtx5090",
    "6000ada": "rtx6000ada",
    "pro6000": "rtxpro6000",
    "gh": "gh200",
}
# TPU spellings -> id, and how many of the number after the name make one chip: chips for v5e and v6e (cases/market.md
# 13), TensorCores for v5p, two a chip (cloud.google.com/tpu/docs/v5p-training, read 2026-12-01; its v5p-8 has 4 chips).
_TPUS: Mapping[str, tuple[str, int]] = {
    **dict.fromkeys(("v5e", "v5litepod", "v5lite"), ("tpu-v5e", 1)),
    "v5p": ("tpu-v5p", 2),
    **dict.fromkeys(("v6e", "trillium"), ("tpu-v6e", 1)),
}
_VENDORS = frozenset({"nvidia", "amd", "google", "intel"})
_MEMORY = re.compile(r"[0-9]+(?:\.[0-9]+)?\s*[kmgt]i?b?", re.IGNORECASE)
_COUNT = re.compile(r"[0-9]+(?:\s*\.\.\s*[0-9]+)?")


@cache
def _families() -> Mapping[str, tuple[Gpu, ...]]:
    families: dict[str, list[Gpu]] = {}
    for gpu in all_gpus():
        families.setdefault(gpu.family, []).append(gpu)
    return {name: tuple(sorted(found, key=_smallest_first)) for name, found in families.items()}


def _smallest_first(gpu: Gpu) -> tuple[Decimal, Decimal, str]:
    return (gpu.vram_gb or Decimal(0), gpu.fp16_dense_tflops or Decimal(0), gpu.id)


def resolve_gpu(text: str) -> GpuName:
    """Return what a written GPU name means: `[vendor:]model[ board][ memory][:count]`, a vendor, memory, or `any`.

    Raises: UserError E-GPU: when no model has this name, naming the near ones; E-COUNT, E-RANGE, E-NUMBER, E-UNIT: when
    the number or the memory in it cannot be read.
    """
    rest, count = _split_count(text.strip())
    parts = [part.strip() for part in rest.split(":") if part.strip()]
    vendor = None
    if parts and parts[0].lower() in _VENDORS and not (len(parts) > 1 and _MEMORY.fullmatch(parts[1]) is None):
        vendor = parts.pop(0).lower()
    memories = [part for part in parts if _MEMORY.fullmatch(part)]
    names = [part for part in parts if not _MEMORY.fullmatch(part)]
    if len(memories) > 1:
        raise UserError("E-GPU", f"{shown(text)} names two sizes of memory", fix="write one, as A100:80GB")
    if not names or [name.lower() for name in names] == ["any"]:
        if not (vendor or memories or names):
            raise _unknown(text)
        return GpuName((), count, parse_memory(memories[0]) if memories else None, text, vendor)
    words = _words(" ".join(names))
    tpu = _tpu(words, count, text)
    if tpu is not None:
        return tpu
    return _model(words, memories, count, text)


def without_count(text: str) -> str:
    """Return a name without its number: `A100:80GB` of `A100:80GB:2`."""
    return _split_count(text.strip())[0].strip()


def _split_count(text: str) -> tuple[str, Count | None]:
    """Take the number off `A100:8`, `A100 x8` or `8x A100`."""
    head, colon, tail = text.rpartition(":")
    if colon and _COUNT.fullmatch(tail.strip()):
        return head, parse_count(tail)
    match = re.fullmatch(r"(.*\S)\s+x\s*([0-9]+)", text, re.IGNORECASE | re.DOTALL)
    if match:
        return match[1], parse_count(match[2])
    match = re.fullmatch(r"([0-9]+)\s*x\s*([a-z].*)", text, re.IGNORECASE | re.DOTALL)
    if match:
        return match[2], parse_count(match[1])
    if colon and re.fullmatch(r"\s*[-+]?[0-9.,]+[-+]?[0-9]*\s*", tail):
        parse_count(tail)  # says what is wrong with it
    return text, None


def _words(text: str) -> list[str]:
    return [word for word in re.split(r"[\s\-_/(),]+", text.lower()) if word]


def _tpu(words: list[str], count: Count | None, text: str) -> GpuName | None:
    """Return the TPU that the words name: `tpu v5e`, `v5litepod-8`, `tpu-v5p-8`."""
    named = [word for word in words if word not in ("tpu", "google", "cloud", "slice", "podslice")]
    if not named or named[0] not in _TPUS:
        return None
    gpu, per_chip = _TPUS[named[0]]
    numbers = named[1:]
    if len(numbers) > 1 or any(not word.isascii() or not word.isdigit() for word in numbers):
        raise _unknown(text)
    if numbers:
        said = parse_count(numbers[0])
        if said.low % per_chip:
            raise UserError("E-GPU", f"{shown(text)} counts TensorCores, two a chip", fix="write an even number")
        chips = Count(said.low // per_chip, said.low // per_chip)
        if count is not None and count != chips:
            raise UserError("E-CONTRADICTION", f"{shown(text)} gives two numbers of chips", fix="write one of them")
        count = chips
    return GpuName((gpu,), count, None, text)


def _model(words: list[str], memories: list[str], count: Count | None, text: str) -> GpuName:
    model, boards, sizes = _sorted_out(words)
    sizes = [parse_memory(size) for size in memories] + sizes
    family = _join(model)
    found = _families().get(_SYNONYMS.get(family, family), ()) if family else ()
    if not found and len(sizes) == 1:
        found = tuple(gpu_info(gpu) for gpu in labels().get(f"{family}-{plain(sizes[0].gb)}gb", ()))
    if not found or len(boards) > 1 or len({size.bytes for size in sizes}) > 1:
        raise _unknown(text)
    told = {_BOARD_OF_MEMORY[found[0].family, word] for word in words if (found[0].family, word) in _BOARD_OF_MEMORY}
    board = next(iter(boards or told), None)
    chosen = [gpu for gpu in found if not sizes or _is_sold_as(gpu, sizes[0])]
    untold = None
    if board is not None and any(gpu.board for gpu in found):
        chosen = [gpu for gpu in chosen if gpu.board == board]
    elif board is not None:
        made = _FAMILY_BOARDS.get(found[0].family, _ONE_BOARD)
        chosen = chosen if board in made else []
        untold = board if len(made) > 1 else None
    if not chosen:
        raise _unknown(text, found)
    return GpuName(tuple(gpu.id for gpu in chosen), count, None, text, None, untold, bool(sizes or board))


def _sorted_out(words: list[str]) -> tuple[list[str], set[str], list[Memory]]:
    """Return which words name the model, which the board and which the memory."""
    model: list[str] = []
    boards: set[str] = set()
    sizes: list[Memory] = []
    for word in words:
        if re.fullmatch(r"[0-9]+(?:\.[0-9]+)?[gt]b", word):
            sizes.append(parse_memory(word))
        elif word in ("gb", "tb") and model and re.fullmatch(r"[0-9]+", model[-1]):
            sizes.append(parse_memory(model.pop() + word))
        elif word in _BOARDS:
            boards.add(_BOARDS[word])
        elif word not in _NOISE:
            model.append(word)
    return model, boards, sizes


def _join(words: list[str]) -> str:
    """Join the words of a model's name; two numbers side by side are never one (`A10 0` is not an A100)."""
    for left, right in pairwise(words):
        if left[-1].isdigit() and right[0].isdigit():
            return ""
    return "".join(words)


def _is_sold_as(gpu: Gpu, size: Memory) -> bool:
    """Return whether the variant goes by this memory: its nominal size, or the size in its id (`b200-192gb`)."""
    sold = {gpu.vram_gb, *(Decimal(number) for number in re.findall(r"-([0-9]+)gb", gpu.id))}
    return not size.binary and size.gb in sold


def _unknown(text: str, family: tuple[Gpu, ...] = ()) -> UserError:
    import difflib  # noqa: PLC0415 - only a failing command pays for it

    if family:
        near = [gpu.id for gpu in family]
    else:
        seen = re.sub(r"\s+", "-", text.strip().lower())[:60]
        names = sorted({*(gpu.id for gpu in all_gpus()), *_families()})
        near = difflib.get_close_matches(seen, names, n=3, cutoff=0.5)
        stem = re.match(r"[a-z]+[0-9]+[a-z]*", seen.removeprefix("nvidia-"))
        if stem and stem[0] in _families():
            near = list(dict.fromkeys([stem[0], *(gpu.id for gpu in _families()[stem[0]]), *near]))[:4]
    fix = f"did you mean {' or '.join(near)}" if near else "`emporion intent schema` lists the known GPUs"
    return UserError("E-GPU", f"no GPU is called {shown(text)}", fix=fix)


def match_model(text: str, vram_gb: Decimal | None = None) -> str | None:
    """Return the id that a catalogue's name for a GPU means, or None: a maker without a model, an unknown model.

    Where the name leaves variants open, `vram_gb` (nominal, per GPU) chooses; what is still open is the variant with
    the least memory, then the slowest: a name must not promise more than it says.
    """
    try:
        name = resolve_gpu(text)
    except UserError:
        return None
    ids = name.ids
    if vram_gb is not None:
        ids = tuple(gpu for gpu in ids if gpu_info(gpu).vram_gb in (vram_gb, None))
    return ids[0] if ids else None
