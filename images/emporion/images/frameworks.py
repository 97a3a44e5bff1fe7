"""Releases of torch and their wheels: which CUDA, which Python, which GPUs they hold code for."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from typing import Literal

from emporion.images.tables import rows
from emporion.images.versions import Version, dotted, version
from emporion.market.errors import UserError
from emporion.market.units import shown

__all__ = ["Torch", "Wheel", "minor_of", "release_named", "releases", "runs_on", "wheel_cuda", "wheel_of"]


@dataclass(frozen=True, slots=True)
class Torch:
    """One row of data/torch.csv."""

    version: Version
    cudnn: str
    nccl: str
    python_min: Version
    python_max: Version
    """The newest Python that it is made for, experimental ones left out."""
    wheels: tuple[str, ...]
    """CUDA flavours as `cu126`, oldest first."""
    torchvision: str | None

    @property
    def text(self) -> str:
        """The version as it is written."""
        return dotted(self.version)


@dataclass(frozen=True, slots=True)
class Wheel:
    """What one flavour of a release holds (data/torch_wheels.csv)."""

    name: str
    archs: tuple[Version, ...]
    ptx: Version | None
    """The architecture whose code newer GPUs translate at run time."""
    cxx11_abi: bool


@cache
def releases() -> tuple[Torch, ...]:
    """Return every release, oldest first."""
    return tuple(
        Torch(
            version(row["torch"]),
            row["cudnn"],
            row["nccl"],
            version(row["python_min"]),
            version(row["python_max"]),
            tuple(row["wheels"].split()),
            row["torchvision"] or None,
        )
        for row in rows("torch.csv")
    )


def minor_of(torch: Torch) -> str:
    """Return `2.8` of 2.8.0."""
    return dotted(torch.version[:2])


def release_named(text: str) -> Torch:
    """Return the release of a written version, the newest patch of a minor one (`2.8`).

    Raises: UserError E-TORCH: when the tables hold none.
    """
    known = ", ".join(one.text for one in releases())
    word = text.strip().removeprefix("v")
    if not re.fullmatch(r"[0-9]{1,4}(\.[0-9]{1,4}){0,2}", word):
        raise UserError("E-TORCH", f"{shown(text)} is not a release of torch", fix=f"the tables hold {known}")
    wanted = version(word)
    found = [one for one in releases() if one.version[: len(wanted)] == wanted]
    if found:
        return found[-1]
    near = [one.text for one in releases() if one.version[:2] == wanted[:2]]
    fix = f"did you mean {near[-1]}? nothing is known of other patches" if near else f"the tables hold {known}"
    raise UserError("E-TORCH", f"no torch {word} is in the tables", fix=fix)


@cache
def wheel_cuda(wheel: str) -> Version:
    """Return the CUDA of a flavour: (12, 6) of `cu126`."""
    digits = wheel.removeprefix("cu")
    return int(digits[:-1]), int(digits[-1])


@cache
def wheel_of(torch: Torch, wheel: str, machine: str) -> Wheel | None:
    """Return what a flavour of a release holds for a machine, or None when that is not known."""
    if wheel not in torch.wheels:
        return None
    for row in rows("torch_wheels.csv"):
        inside = version(row["torch_from"]) <= torch.version[:2] <= version(row["torch_to"])
        if inside and (row["wheel"], row["machine"]) == (wheel, machine):
            words = row["archs"].split()
            archs = tuple(version(word.removesuffix("+PTX")) for word in words)
            ptx = next((version(word.removesuffix("+PTX")) for word in words if word.endswith("+PTX")), None)
            return Wheel(wheel, archs, ptx, row["cxx11_abi"] == "TRUE")
    return None


def runs_on(archs: tuple[Version, ...], ptx: Version | None, sm: Version) -> Literal["code", "ptx"] | None:
    """Return how code for architectures runs on a GPU: as it is (same major, not newer), translated, or not."""
    if any(arch[0] == sm[0] and arch[1] <= sm[1] for arch in archs):
        return "code"
    return "ptx" if ptx is not None and ptx <= sm else None
