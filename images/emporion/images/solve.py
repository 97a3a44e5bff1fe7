"""The newest combination of versions that works for a wish on a node, what was lowered for it and why, or what blocks.

Exact over the tables: candidates are tried in the order of `wish.candidates`, and the first that nothing speaks against
is the answer. What the tables do not hold is unknown, and nothing is chosen for it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

from emporion.images.cuda import Route, least_driver, toolkit
from emporion.images.driver_bugs import Host, matching
from emporion.images.frameworks import minor_of, releases, wheel_cuda
from emporion.images.judge import Combination, judge
from emporion.images.node import Node, architecture
from emporion.images.versions import dotted, version
from emporion.images.wish import Candidate, Wish, candidates

__all__ = ["Alternative", "Lowered", "Verdict", "driver_needed", "solve"]

Status = Literal["ok", "lowered", "blocked", "unknown"]


@dataclass(frozen=True, slots=True)
class Lowered:
    """One thing that is older than it was wished, or than the newest."""

    what: Literal["torch", "cuda", "python"]
    wished: str
    got: str


@dataclass(frozen=True, slots=True)
class Alternative:
    """Another way, with what it would give; None: the tables do not say."""

    how: str
    combination: Combination | None = None


@dataclass(frozen=True, slots=True)
class Verdict:
    """What is said to one wish on one node."""

    status: Status
    combination: Combination | None
    lowered: tuple[Lowered, ...] = ()
    why: tuple[str, ...] = ()
    """What speaks against the best candidate; empty when that is the answer."""
    alternatives: tuple[Alternative, ...] = ()
    warnings: tuple[str, ...] = ()


def solve(wish: Wish, node: Node) -> Verdict:
    """Return the best combination for a wish on a node, with what was lowered, why, and what else would do."""
    found, top = _first(wish, node), next(candidates(wish), None)
    why = _why(wish, node, found)
    unknown = node.driver is None and node.driver_text is not None
    if found is None:
        return Verdict("blocked", None, (), why, tuple(_ways_out(wish, node)))
    lowered = _lowered(wish, top, found.candidate)
    status: Status = "unknown" if unknown else "lowered" if lowered else "ok"
    alternatives = tuple(_more(wish, node, found)) if why else ()
    return Verdict(status, found, lowered, why if lowered else (), alternatives, tuple(_warnings(found, node)))


def _first(wish: Wish, node: Node) -> Combination | None:
    judged = (judge(candidate, wish, node) for candidate in candidates(wish))
    return next((one for one in judged if isinstance(one, Combination)), None)


def _why(wish: Wish, node: Node, found: Combination | None) -> tuple[str, ...]:
    """Return the reasons against the best candidate; where nothing was found, also one of each other kind."""
    reasons = dict(_no_flavour(wish))
    for candidate in candidates(wish):
        judged = judge(candidate, wish, node)
        if isinstance(judged, Combination):
            break
        for refusal in judged:
            reasons.setdefault(refusal.kind, refusal.text)
        if found is not None:
            break
    return tuple(reasons.values())


def _no_flavour(wish: Wish) -> Iterator[tuple[str, str]]:
    """Yield why no wheel of the wished CUDA comes into question, if none does."""
    among = (wish.torch,) if wish.torch else releases()
    flavours = sorted({wheel for torch in among for wheel in torch.wheels}, key=wheel_cuda)
    if wish.cuda and all(wheel_cuda(wheel) != wish.cuda for wheel in flavours):
        who = f"torch {minor_of(wish.torch)}" if wish.torch else "torch"
        yield "wheel", f"{who} has no wheel for CUDA {dotted(wish.cuda)}: there are {' '.join(flavours)}"


def _lowered(wish: Wish, top: Candidate | None, got: Candidate) -> tuple[Lowered, ...]:
    wished = {
        "torch": wish.torch.text if wish.torch else top.torch.text if top else got.torch.text,
        "cuda": dotted(wish.cuda) if wish.cuda else dotted(wheel_cuda(top.wheel)) if top else "",
        "python": dotted(wish.python or (top.python if top else got.python)),
    }
    now = {"torch": got.torch.text, "cuda": dotted(wheel_cuda(got.wheel)), "python": dotted(got.python)}
    asked = {"torch", "cuda"} | ({"python"} if wish.python else set())
    return tuple(
        Lowered(what, wished[what], now[what])
        for what in ("torch", "cuda", "python")
        if what in asked and wished[what] != now[what]
    )


def _more(wish: Wish, node: Node, found: Combination) -> list[Alternative]:
    """Return what the compat layer, or compiling kernels, would give where it gives more."""
    more = []
    for other, how in (
        (replace(wish, compat_layer=True), None),
        (replace(wish, build_kernels=True), "compile the kernels"),
    ):
        better = _first(other, node)
        if better is not None and better.candidate != found.candidate:
            more.append(Alternative(how or _layer(better), better))
    return more


def _layer(combination: Combination) -> str:
    own = toolkit(wheel_cuda(combination.candidate.wheel))
    return f"take the compat layer {own.compat_package if own else ''}".rstrip()


def _ways_out(wish: Wish, node: Node) -> list[Alternative]:
    """Return what would make a wish possible that is not."""
    ways = [
        (replace(wish, compat_layer=True), "take the compat layer"),
        (replace(wish, build_kernels=True), "compile the kernels"),
        (replace(wish, ops=()), f"leave {', '.join(op.name for op in wish.ops)} out"),
        (replace(wish, cuda=None), "take a newer CUDA"),
        (replace(wish, torch=None), "take a newer torch"),
        (replace(wish, python=None), "take another Python"),
        (replace(wish, torch=None, cuda=None), "take a newer torch and CUDA"),
    ]
    found: list[Alternative] = []
    for other, how in ways:
        combination = _first(other, node) if other != wish else None
        if combination is not None and combination not in [one.combination for one in found]:
            found.append(Alternative(_layer(combination) if combination.route is Route.COMPAT else how, combination))
    if not found and node.driver is not None:
        found += _other_driver(wish, node)
    return found


def _other_driver(wish: Wish, node: Node) -> list[Alternative]:
    """Return the least driver with which a wish would be possible."""
    bare = replace(node, driver=None, driver_text=None)
    judged = (judge(candidate, wish, bare) for candidate in candidates(wish))
    able = [(driver_needed(one, node), one) for one in judged if isinstance(one, Combination)]
    if not able:
        return []
    least = min(able, key=lambda one: version(one[0]))[0]
    last = min((own for gpu in node.gpus if (own := architecture(gpu).last_branch)), default=None)
    best = next(one for needs, one in able if needs == least)
    return [Alternative(f"install driver {least} or later{f', R{last} at the latest' if last else ''}", best)]


def driver_needed(combination: Combination, node: Node) -> str:
    """Return the least driver that runs a combination on the node's GPU."""
    least = least_driver(wheel_cuda(combination.candidate.wheel))
    floors = [dotted(own) for gpu in node.gpus if (own := architecture(gpu).min_driver)]
    return max([least, *floors], key=version)


def _warnings(found: Combination, node: Node) -> list[str]:
    warnings = []
    if found.route is Route.MINOR:
        warnings.append("by minor-version compatibility code made at run time (PTX) for a newer CUDA does not run")
    if found.route is Route.COMPAT:
        warnings.append("the compat layer hides the driver's true version from NCCL: NCCL_CUMEM_HOST_ENABLE=0")
    if found.flash_source:
        warnings.append(f"no wheel of flash-attn is published for this: {found.flash_source} is compiled, untried")
    host = Host(node.driver, None, node.gpus, {"cuda-newer-minor": found.route is Route.MINOR})
    if node.driver is not None:
        met = [bug for bug, unknown in matching(host) if not unknown]
        warnings += [f"driver {node.driver_text} is known to be bad ({bug.id}): {bug.effect}; {bug.fix}" for bug in met]
    if node.driver is None:
        warnings.append(f"the driver is not known: it needs {driver_needed(found, node)} or later")
    return warnings
