"""CUDA and drivers: which toolkit runs on which driver, by which kind of compatibility, and what refuses."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from functools import cache

from emporion.images.node import Node
from emporion.images.tables import rows
from emporion.images.versions import Version, dotted, version

__all__ = ["Reach", "Route", "Toolkit", "least_driver", "native_cuda", "reach", "toolkit", "toolkits"]


class Route(StrEnum):
    """How a toolkit's libraries run on a driver."""

    NATIVE = "native"
    """The driver is as new as the toolkit, or newer."""
    MINOR = "minor-version"
    """The driver is of the same major version: all works but code made at run time (PTX) and newer features."""
    COMPAT = "compat-layer"
    """The driver's user-mode half comes with the image (cuda-compat): data-centre GPUs and listed branches alone."""


@dataclass(frozen=True, slots=True)
class Toolkit:
    """One row of data/cuda_toolkits.csv."""

    cuda: Version
    driver: Version
    driver_text: str
    forward_branches: tuple[int, ...] | None
    """Branches whose drivers its compat layer takes; None: not known."""

    @property
    def compat_package(self) -> str:
        """The package that holds its compat layer."""
        return f"cuda-compat-{self.cuda[0]}-{self.cuda[1]}"


@dataclass(frozen=True, slots=True)
class Reach:
    """Whether a driver runs a toolkit: by a route, not at all, or not known (both None)."""

    route: Route | None = None
    refused: str | None = None
    """Why not, in one sentence."""


@cache
def toolkits() -> tuple[Toolkit, ...]:
    """Return every toolkit, oldest first."""
    return tuple(
        Toolkit(
            version(row["cuda"]),
            version(row["driver"]),
            row["driver"],
            tuple(int(branch) for branch in row["forward_branches"].split()) or None,
        )
        for row in rows("cuda_toolkits.csv")
    )


@cache
def _floors() -> dict[int, tuple[Version, str]]:
    return {int(row["major"]): (version(row["min_driver"]), row["min_driver"]) for row in rows("cuda_majors.csv")}


def toolkit(cuda: Version) -> Toolkit | None:
    """Return the toolkit of a version X.Y, or None when it is in no table."""
    return next((one for one in toolkits() if one.cuda == cuda[:2]), None)


def native_cuda(driver: Version) -> Version | None:
    """Return the newest CUDA that a driver is as new as; None: it is older than all of the table."""
    return max((one.cuda for one in toolkits() if one.driver <= driver), default=None)


def least_driver(cuda: Version) -> str:
    """Return the least driver that runs a CUDA without the compat layer."""
    return _floors()[cuda[0]][1]


def reach(cuda: Version, node: Node, *, compat_layer: bool = False) -> Reach:
    """Return how a node's driver runs a CUDA; the compat layer counts only where it is asked for."""
    if node.driver is None:
        return Reach()
    if node.driver >= _floors()[cuda[0]][0]:
        own = toolkit(cuda)
        native = own is not None and node.driver >= own.driver
        return Reach(Route.NATIVE if native else Route.MINOR)
    told = _runs(node.driver, node.driver_text or dotted(node.driver))
    if not compat_layer:
        return Reach(refused=f"{told}, not {cuda[0]}.x")
    refused = _no_layer(cuda, node)
    return Reach(refused=f"{told}, not {cuda[0]}.x, and {refused}") if refused else Reach(Route.COMPAT)


def _runs(driver: Version, text: str) -> str:
    majors = [major for major, (floor, _) in _floors().items() if driver >= floor]
    native = native_cuda(driver)
    if not majors:
        return f"driver {text} is older than {_floors()[min(_floors())][1]} and runs no CUDA of the tables"
    known = f"is CUDA {dotted(native)} natively and " if native else ""
    return f"driver {text} {known}runs any {max(majors)}.x by minor-version compatibility"


def _no_layer(cuda: Version, node: Node) -> str | None:
    """Return why the compat layer of a CUDA does not stand on a node, or None when it does."""
    if not node.gpus:
        return "whether its GPU takes the compat layer is not known"
    if node.classes != {"datacenter"}:
        if not node.classes:
            return f"whether {' or '.join(node.gpus)} takes the compat layer is not known"
        return f"the compat layer is for data-centre GPUs, not for {' or '.join(node.gpus)} (CUDA error 804)"
    own = toolkit(cuda)
    if own is None or own.forward_branches is None:
        return f"which drivers take the compat layer of CUDA {dotted(cuda)} is not known"
    branch = node.driver[0] if node.driver else 0
    if branch not in own.forward_branches:
        taken = " ".join(f"R{one}" for one in own.forward_branches)
        return f"{own.compat_package} stands on {taken}, not on R{branch}"
    return None
