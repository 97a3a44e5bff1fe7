"""Attention kernels: the exact wheel that its makers publish for a combination, by the name that they give it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache

from emporion.images.frameworks import Torch, Wheel, minor_of, runs_on, wheel_cuda
from emporion.images.tables import rows
from emporion.images.versions import Version, version
from emporion.market.errors import UserError, did_you_mean
from emporion.market.query.versions import compare_versions
from emporion.market.units import shown

__all__ = [
    "FlashWheel",
    "Op",
    "at_least",
    "flash_wheels",
    "newest_source",
    "ops",
    "ops_named",
    "wheel_name",
    "wheel_url",
]

_RELEASES = "https://github.com/Dao-AILab/flash-attention/releases/download"


@dataclass(frozen=True, slots=True)
class Op:
    """One kernel that can be asked for (data/ops.csv)."""

    name: str
    min_version: str
    """The first flash-attn that has it without a compiler."""
    min_sm: Version
    instead: str


@dataclass(frozen=True, slots=True)
class FlashWheel:
    """One published wheel of flash-attn."""

    version: str
    name: str
    url: str


@cache
def ops() -> Mapping[str, Op]:
    """Return every known kernel by its name."""
    return {
        row["op"]: Op(row["op"], row["min_version"], version(row["min_sm"]), row["instead"]) for row in rows("ops.csv")
    }


def ops_named(names: tuple[str, ...]) -> tuple[Op, ...]:
    """Return kernels by their names, each once. Raises: UserError E-OP: when there is none of a name."""
    for name in names:
        if name not in ops():
            near = did_you_mean(name, list(ops()))
            fix = f"did you mean {near}" if near else f"there are {', '.join(ops())}"
            raise UserError("E-OP", f"no kernel is called {shown(name)}", "--ops", fix)
    return tuple(ops()[name] for name in dict.fromkeys(names))


def wheel_name(flash: str, cuda_tag: str, torch_minor: str, python: Version, *, abi: bool, machine: str) -> str:
    """Return the file name that flash-attn's makers give a wheel."""
    cp = f"cp{python[0]}{python[1]}"
    local = f"cu{cuda_tag}torch{torch_minor}cxx11abi{'TRUE' if abi else 'FALSE'}"
    return f"flash_attn-{flash}+{local}-{cp}-{cp}-linux_{machine}.whl"


def wheel_url(flash: str, name: str) -> str:
    """Return where a wheel is published."""
    return f"{_RELEASES}/v{flash}/{name}"


def flash_wheels(
    torch: Torch, wheel: Wheel, python: Version, sms: tuple[Version, ...], machine: str
) -> Iterator[FlashWheel]:
    """Yield the published wheels for a combination, newest first; those known to be broken are left out."""
    cuda = wheel_cuda(wheel.name)
    broken = {(row["flash_attn"], row["torch"], row["wheel"]) for row in rows("flash_attn_broken.csv")}
    for row in reversed(rows("flash_attn.csv")):
        flash, minor = row["flash_attn"], minor_of(torch)
        tag = next((tag for tag in row["cuda_tags"].split() if int(tag[:2]) == cuda[0]), None)
        archs = tuple(version(arch) for arch in row["archs"].split())
        if (
            tag is not None
            and minor in row["torch"].split()
            and version(row["python_min"]) <= python <= version(row["python_max"])
            and machine in row["machines"].split()
            and (flash, minor, wheel.name) not in broken
            and all(runs_on(archs, None, sm) for sm in sms)
        ):
            name = wheel_name(flash, tag, minor, python, abi=wheel.cxx11_abi, machine=machine)
            yield FlashWheel(flash, name, wheel_url(flash, name))


def newest_source() -> str:
    """Return the newest flash-attn of the tables, for those who compile it."""
    return rows("flash_attn.csv")[-1]["flash_attn"]


def at_least(one: str, other: str) -> bool:
    """Return whether a version of flash-attn is another, or after it (`2.8.3.post1` is after 2.8.3)."""
    return (compare_versions(one, other) or 0) >= 0
