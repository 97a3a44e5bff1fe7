"""Drivers known to be bad (data/driver_bugs.csv): which rows match a node, and which might."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from functools import cache

from emporion.images.tables import rows
from emporion.images.versions import Range, Version, kernel_version, parse_driver, ranges
from emporion.market.errors import UserError, did_you_mean
from emporion.market.units import shown

__all__ = ["CONDITIONS", "Bug", "Host", "bugs", "ends_of_life", "host_of", "maintained", "matching"]

CONDITIONS: Mapping[str, str] = {
    "accounting": "accounting mode is on",
    "amd-cpu": "the processor is AMD's",
    "azure-hpc": "the machine image is Azure's HPC image",
    "closed-modules": "the kernel modules are the closed ones",
    "cuda-newer-minor": "the CUDA runtime is of a newer minor version than the driver's",
    "fabric-manager-differs": "the fabric manager is not of the driver's exact version",
    "hmm": "heterogeneous memory management is on",
    "kaslr": "the kernel's addresses are randomised",
    "multi-gpu": "jobs use several GPUs",
    "nvswitch": "GPUs are joined by NVSwitches",
    "open-modules": "the kernel modules are the open ones",
    "pynvml-11.5": "NVML is read by pynvml 11.5 or later",
}
"""What a row may depend on, besides driver, kernel and GPU."""


@dataclass(frozen=True, slots=True)
class Bug:
    """One row of the table."""

    id: str
    drivers_text: str
    drivers: tuple[Range, ...]
    """Empty: every driver."""
    kernels_text: str
    kernels: tuple[Range, ...]
    gpus: tuple[str, ...]
    when: tuple[str, ...]
    effect: str
    fix: str
    source: str
    as_of: str


@dataclass(frozen=True, slots=True)
class Host:
    """A node as the table sees it; None is unknown."""

    driver: Version | None = None
    kernel: str | None = None
    """What `uname -r` prints."""
    gpus: tuple[str, ...] = ()
    conditions: Mapping[str, bool] | None = None
    """Conditions that are known to hold, or not to; others are unknown."""


@cache
def bugs() -> tuple[Bug, ...]:
    """Return every row, in the order of the table."""
    return tuple(
        Bug(
            row["id"],
            row["drivers"],
            ranges(row["drivers"]),
            row["kernels"],
            ranges(row["kernels"]),
            tuple(row["gpus"].split()),
            tuple(row["when"].split()),
            row["effect"],
            row["fix"],
            row["source"],
            row["as_of"],
        )
        for row in rows("driver_bugs.csv")
    )


def host_of(
    driver: str, kernel: str | None, gpus: tuple[str, ...], holds: tuple[str, ...], fabric_manager: str | None
) -> Host:
    """Return a node from what people write; a fabric manager's version says whether it is the driver's.

    Raises: UserError E-DRIVER, E-KERNEL, E-CONDITION: when one of them cannot be read.
    """
    for name in holds:
        if name not in CONDITIONS:
            near = did_you_mean(name, list(CONDITIONS))
            fix = f"did you mean {near}" if near else f"there are {', '.join(CONDITIONS)}"
            raise UserError("E-CONDITION", f"no condition is called {shown(name)}", "--when", fix)
    if kernel is not None:
        kernel_version(kernel)
    numbers = parse_driver(driver)
    known = dict.fromkeys(holds, True)
    known |= {_OPPOSITE[name]: False for name in holds if name in _OPPOSITE}
    if fabric_manager is not None and numbers is not None:
        known["fabric-manager-differs"] = parse_driver(fabric_manager) != numbers
    return Host(numbers, kernel, gpus, known)


_OPPOSITE = {"open-modules": "closed-modules", "closed-modules": "open-modules"}


def matching(host: Host) -> tuple[tuple[Bug, tuple[str, ...]], ...]:
    """Return every row that may be met on a node, with what would have to hold that is not known; none: it is met."""
    found = []
    for bug in bugs():
        open_questions = _questions(bug, host)
        if open_questions is not None:
            found.append((bug, open_questions))
    return tuple(found)


def _questions(bug: Bug, host: Host) -> tuple[str, ...] | None:
    """Return what is not known of a node that a row depends on, or None when the row is not met."""
    unknown: list[str] = []
    for met, said in (_driver(bug, host), _kernel(bug, host), _gpu(bug, host), *_conditions(bug, host)):
        if met is False:
            return None
        if met is None:
            unknown.append(said)
    return tuple(unknown)


def _driver(bug: Bug, host: Host) -> tuple[bool | None, str]:
    driver = host.driver
    met = not bug.drivers or (None if driver is None else any(one.holds(driver) for one in bug.drivers))
    return met, f"the driver is one of {bug.drivers_text}"


def _kernel(bug: Bug, host: Host) -> tuple[bool | None, str]:
    text = host.kernel
    met = not bug.kernels or (
        None if text is None else any(one.holds(kernel_version(text), text) for one in bug.kernels)
    )
    return met, f"the kernel is one of {bug.kernels_text}"


def _gpu(bug: Bug, host: Host) -> tuple[bool | None, str]:
    met = not bug.gpus or (bool(set(bug.gpus) & set(host.gpus)) if host.gpus else None)
    return met, f"the GPU is one of {', '.join(bug.gpus)}"


def _conditions(bug: Bug, host: Host) -> Iterator[tuple[bool | None, str]]:
    for name in bug.when:
        yield (host.conditions or {}).get(name), CONDITIONS[name]


@cache
def ends_of_life() -> Mapping[int, str]:
    """Return until when each branch of drivers is maintained, as `YYYY-MM` or `over`."""
    return {int(row["branch"]): row["end_of_life"] for row in rows("driver_branches.csv")}


def maintained(driver: Version, today: date) -> bool | None:
    """Return whether a driver's branch is maintained today; None: its end is not known."""
    end = ends_of_life().get(driver[0])
    if end is None:
        return None
    return end != "over" and f"{today:%Y-%m}" <= end
