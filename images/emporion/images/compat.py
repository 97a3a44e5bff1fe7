"""Whether a node takes a CUDA's compat layer, and which package that is."""

from __future__ import annotations

from dataclasses import dataclass

from emporion.images.cuda import Route, least_driver, reach, toolkit
from emporion.images.node import Node
from emporion.images.versions import Version, dotted

__all__ = ["Injection", "inject"]


@dataclass(frozen=True, slots=True)
class Injection:
    """What is to be done so that a CUDA runs on a node."""

    package: str | None
    """The package of the compat layer; None: none is needed, or none helps."""
    needed: bool | None
    """None: the driver is not known."""
    why: str


def inject(cuda: Version, node: Node) -> Injection:
    """Return the compat layer that a node needs for a CUDA: only where GPU and driver take one, and none otherwise."""
    if node.driver is None:
        return Injection(
            None, None, f"the driver is not known: CUDA {dotted(cuda)} runs on {least_driver(cuda)} and later"
        )
    plain = reach(cuda, node)
    if plain.route is not None:
        how = "natively" if plain.route is Route.NATIVE else "by minor-version compatibility"
        return Injection(None, needed=False, why=f"driver {node.driver_text} runs CUDA {dotted(cuda)} {how}")
    layered, own = reach(cuda, node, compat_layer=True), toolkit(cuda)
    if layered.route is not Route.COMPAT or own is None:
        return Injection(None, needed=True, why=str(layered.refused))
    return Injection(own.compat_package, needed=True, why=f"{plain.refused}")
