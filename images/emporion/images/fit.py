"""Whether an image that is there runs on a node, by what its labels say and the tables know."""

from __future__ import annotations

from dataclasses import dataclass

from emporion.images.cuda import Route
from emporion.images.frameworks import release_named, runs_on
from emporion.images.judge import Combination, judge
from emporion.images.labels import ImageFacts
from emporion.images.node import Node
from emporion.images.solve import driver_needed
from emporion.images.tables import rows
from emporion.images.versions import version
from emporion.images.wish import Candidate, Wish
from emporion.market.errors import UserError

__all__ = ["Fit", "check_image"]


@dataclass(frozen=True, slots=True)
class Fit:
    """Whether an image runs on a node; None cannot be told."""

    works: bool | None
    why: tuple[str, ...] = ()
    """What speaks against it, or what is not known."""
    warnings: tuple[str, ...] = ()


def check_image(image: ImageFacts, node: Node) -> Fit:
    """Return whether an image runs on a node, and why not or what is not known."""
    if image.machine is not None and image.machine != node.machine:
        return Fit(works=False, why=(f"the image is for {image.machine}, the node is {node.machine}",))
    if image.torch is None:
        return _without_torch(image, node)
    candidate = _candidate(image.torch)
    if candidate is None:
        return Fit(None, (f"nothing is known of torch {image.torch}",))
    judged = judge(candidate, Wish(compat_layer=image.compat_layer), node)
    against = [] if isinstance(judged, Combination) else [refusal.text for refusal in judged]
    against += _kernels(image, node)
    if against:
        return Fit(works=False, why=tuple(against))
    unknown = []
    if not node.gpus:
        unknown.append("the node's GPU is not known")
    if node.driver is None:
        least = driver_needed(judged, node) if isinstance(judged, Combination) else "?"
        unknown.append(f"the node's driver is not known: it needs {least} or later")
    warnings = []
    if isinstance(judged, Combination) and judged.route is Route.MINOR:
        warnings.append("by minor-version compatibility code made at run time (PTX) for a newer CUDA does not run")
    return Fit(None if unknown else True, tuple(unknown), tuple(warnings))


def _without_torch(image: ImageFacts, node: Node) -> Fit:
    asked = {f"sm_{sm[0]}{sm[1]}" for sm in node.sms}
    if image.archs and asked - set(image.archs):
        made = " ".join(image.archs)
        return Fit(works=False, why=(f"the image was made for {made}, the node has {' '.join(sorted(asked))}",))
    return Fit(works=True) if asked else Fit(None, ("the node's GPU is not known",))


def _candidate(torch: str) -> Candidate | None:
    """Return the release and flavour of `2.8.0+cu128`; the Python is one that it is made for."""
    number, _, wheel = torch.partition("+")
    try:
        release = release_named(number)
    except UserError:
        return None
    return Candidate(release, wheel, release.python_max) if wheel in release.wheels else None


def _kernels(image: ImageFacts, node: Node) -> list[str]:
    row = next((row for row in rows("flash_attn.csv") if row["flash_attn"] == image.flash_attn), None)
    if row is None:
        return []
    archs = tuple(version(arch) for arch in row["archs"].split())
    return [
        f"flash-attn {image.flash_attn} holds no code for sm_{sm[0]}{sm[1]}"
        for sm in node.sms
        if runs_on(archs, None, sm) is None
    ]
