"""What is asked of an image, and every combination of the tables that comes into question for it, best first."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import TypeVar

from emporion.images.cuda import toolkit, toolkits
from emporion.images.frameworks import Torch, release_named, releases, wheel_cuda
from emporion.images.kernels import Op, ops_named
from emporion.images.versions import Version, dotted, version
from emporion.market.errors import UserError, UserErrors
from emporion.market.units import shown

__all__ = ["Candidate", "Wish", "candidates", "pythons", "wish_of"]


_Written = TypeVar("_Written")
_Read = TypeVar("_Read")


@dataclass(frozen=True, slots=True)
class Wish:
    """Versions that are wished for; None: the newest that works. A wish may be lowered, never raised."""

    torch: Torch | None = None
    cuda: Version | None = None
    python: Version | None = None
    pythons: tuple[Version, ...] = ()
    """The versions of Python that can be had, best first; empty: all of the tables, newest first."""
    ops: tuple[Op, ...] = ()
    compat_layer: bool = False
    """Whether the compat layer may be taken."""
    build_kernels: bool = False
    """Whether kernels without a published wheel may be compiled."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """One release of torch in one flavour on one Python."""

    torch: Torch
    wheel: str
    python: Version

    @property
    def name(self) -> str:
        """The candidate as pip writes it: `2.14.0+cu126`."""
        return f"{self.torch.text}+{self.wheel}"


@cache
def pythons() -> tuple[Version, ...]:
    """Return every Python that some release is made for, newest first."""
    low, high = min(one.python_min for one in releases()), max(one.python_max for one in releases())
    return tuple((3, minor) for minor in range(high[1], low[1] - 1, -1))


def wish_of(
    *,
    torch: str | None = None,
    cuda: str | None = None,
    python: str | None = None,
    ops: tuple[str, ...] = (),
    compat_layer: bool = False,
    build_kernels: bool = False,
) -> Wish:
    """Return a wish from what people write. Raises: UserError E-TORCH, E-CUDA, E-PYTHON, E-OP: all that is wrong."""
    errors: list[UserError] = []
    wish = Wish(
        _read(release_named, torch, errors),
        _read(_cuda, cuda, errors),
        _read(_python, python, errors),
        ops=_read(ops_named, ops, errors) or (),
        compat_layer=compat_layer,
        build_kernels=build_kernels,
    )
    if errors:
        raise UserErrors.of(errors)
    return wish


def _read(read: Callable[[_Written], _Read], written: _Written | None, errors: list[UserError]) -> _Read | None:
    """Return what was written, read; None where nothing was, or where it is wrong, which goes into `errors`."""
    try:
        return read(written) if written else None
    except UserError as error:
        errors += error.problems()
        return None


def _number(text: str, what: str, code: str, known: str) -> Version:
    try:
        return version(text.strip())
    except ValueError:
        raise UserError(code, f"{shown(text)} is not a version of {what}", fix=f"the tables hold {known}") from None


def _cuda(text: str) -> Version:
    known = ", ".join(dotted(one.cuda) for one in toolkits())
    wanted = _number(text, "CUDA", "E-CUDA", known)[:2]
    if toolkit(wanted) is None:
        raise UserError("E-CUDA", f"no CUDA {dotted(wanted)} is in the tables", fix=f"they hold {known}")
    return wanted


def _python(text: str) -> Version:
    known = ", ".join(dotted(one) for one in reversed(pythons()))
    wanted = _number(text, "Python", "E-PYTHON", known)[:2]
    if wanted not in pythons():
        raise UserError("E-PYTHON", f"no torch of the tables is for Python {dotted(wanted)}", fix=f"they hold {known}")
    return wanted


def candidates(wish: Wish) -> Iterator[Candidate]:
    """Yield what comes into question, best first: nothing above the wish, and what is wished for is kept longest.

    What was wished comes before what was not, torch before CUDA before Python; within each, newest first.
    """
    preferred = wish.pythons or pythons()
    found = [
        Candidate(torch, wheel, python)
        for torch in releases()
        if wish.torch is None or torch.version <= wish.torch.version
        for wheel in torch.wheels
        if wish.cuda is None or wheel_cuda(wheel) <= wish.cuda
        for python in ([wish.python] if wish.python else preferred)
        if python == wish.python or torch.python_min <= python <= torch.python_max
    ]

    def rank(one: Candidate) -> tuple[tuple[int, ...], ...]:
        torch, cuda = one.torch.version, wheel_cuda(one.wheel)
        first = (torch, cuda) if wish.torch or not wish.cuda else (cuda, torch)
        return (*first, (-preferred.index(one.python) if one.python in preferred else 0,))

    return iter(sorted(found, key=rank, reverse=True))
