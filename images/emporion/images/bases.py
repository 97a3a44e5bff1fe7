"""Base images, each pinned by a digest that others have published too (data/bases.csv)."""

from __future__ import annotations

from functools import cache

from emporion.images.tables import rows
from emporion.images.versions import Version, dotted, version
from emporion.market.errors import ExitCode, UserError

__all__ = ["base_pythons", "devel_base", "runtime_base"]

_PLATFORMS = {"x86_64": "amd64", "aarch64": "arm64"}


@cache
def base_pythons() -> tuple[Version, ...]:
    """Return the versions of Python that bases bring, best first."""
    return tuple(version(row["python"]) for row in rows("bases.csv") if row["role"] == "runtime")


def runtime_base(python: Version, machine: str) -> str:
    """Return the base of the final stage. Raises: UserError E-BASE: when none is known for it."""
    return _found("runtime", None, python, machine)


def devel_base(cuda: Version, python: Version, machine: str) -> str:
    """Return the base with a CUDA's compilers and its compat layer. Raises: UserError E-BASE: when none is known."""
    return _found("devel", cuda, python, machine)


def _found(role: str, cuda: Version | None, python: Version, machine: str) -> str:
    for row in rows("bases.csv"):
        fits = (
            row["role"] == role and version(row["python"]) == python and _PLATFORMS[machine] in row["platform"].split()
        )
        if fits and (cuda is None or version(row["cuda"]) == cuda):
            return f"{row['tag']}@{row['digest']}"
    what = f"{role} base with Python {dotted(python)}{f' and CUDA {dotted(cuda)}' if cuda else ''} for {machine}"
    raise UserError(
        "E-BASE",
        f"no {what} is known by its digest",
        fix="name one: --base IMAGE@sha256:DIGEST" if role == "runtime" else "take another CUDA or Python",
        exit_code=ExitCode.INFEASIBLE,
    )
