"""Whether one combination runs on one node, by the tables: every reason that speaks against it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from emporion.images.cuda import Route, reach
from emporion.images.frameworks import Wheel, minor_of, runs_on, wheel_cuda, wheel_of
from emporion.images.kernels import FlashWheel, at_least, flash_wheels, newest_source
from emporion.images.node import Node, architecture
from emporion.images.versions import Version, dotted
from emporion.images.wish import Candidate, Wish

__all__ = ["Combination", "Refusal", "judge", "sm_name"]


@dataclass(frozen=True, slots=True)
class Combination:
    """Versions that work together on a node."""

    candidate: Candidate
    wheel: Wheel
    route: Route | None
    """How its CUDA runs on the driver; None: the driver is not known."""
    flash: FlashWheel | None = None
    flash_source: str | None = None
    """The flash-attn to be compiled, where it is asked for and no wheel is published."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """One reason against a combination; of one kind, one is as good as another."""

    kind: str
    text: str


def judge(candidate: Candidate, wish: Wish, node: Node) -> Combination | tuple[Refusal, ...]:
    """Return the combination that a candidate makes, or every reason against it."""
    wheel = wheel_of(candidate.torch, candidate.wheel, node.machine)
    if wheel is None:
        text = f"nothing is known of {candidate.wheel} wheels of torch {minor_of(candidate.torch)} for {node.machine}"
        return (Refusal("machine", text),)
    against = [*_gpu(wheel, candidate, node), *_python(candidate), *_unfit(wish, node)]
    reached = reach(wheel_cuda(candidate.wheel), node, compat_layer=wish.compat_layer)
    if reached.refused:
        against.append(Refusal("driver", reached.refused))
    flash, source = None, None
    if wish.ops and not against:
        flash, source = _kernels(candidate, wheel, wish, node)
        if flash is None and source is None:
            against.append(Refusal("kernel-wheel", _no_wheel(candidate, wish, node)))
    if reached.route is Route.MINOR and any(runs_on(wheel.archs, wheel.ptx, sm) == "ptx" for sm in node.sms):
        text = f"the GPU needs code made at run time, which driver {node.driver_text} cannot make of a newer CUDA's"
        against.append(Refusal("ptx", text))
    return tuple(against) or Combination(candidate, wheel, reached.route, flash, source)


def _gpu(wheel: Wheel, candidate: Candidate, node: Node) -> Iterator[Refusal]:
    for sm in node.sms:
        if runs_on(wheel.archs, wheel.ptx, sm) is None:
            held = " ".join(f"{sm_name(arch)}{'+PTX' if arch == wheel.ptx else ''}" for arch in wheel.archs)
            wheels = f"{candidate.wheel} wheels of torch {minor_of(candidate.torch)}"
            yield Refusal("arch", f"{wheels} hold no code for {sm_name(sm)}: they hold {held}")
    for own in sorted({architecture(gpu) for gpu in node.gpus}, key=lambda one: one.name):
        if node.driver and own.min_driver and node.driver < own.min_driver:
            text = f"driver {node.driver_text} does not know {own.name}: it needs R{own.min_driver[0]} or later"
            yield Refusal("gpu-driver", text)
        if node.driver and own.last_branch and node.driver[0] > own.last_branch:
            text = f"driver {node.driver_text} knows {own.name} no more: R{own.last_branch} is the last that does"
            yield Refusal("gpu-driver", text)


def sm_name(sm: Version) -> str:
    """Return a compute capability as NVIDIA writes it: sm_80."""
    return f"sm_{sm[0]}{sm[1]}"


def _python(candidate: Candidate) -> Iterator[Refusal]:
    torch = candidate.torch
    if not torch.python_min <= candidate.python <= torch.python_max:
        made_for = f"{dotted(torch.python_min)} to {dotted(torch.python_max)}"
        text = f"torch {minor_of(torch)} is for Python {made_for}, not {dotted(candidate.python)}"
        yield Refusal("python", text)


def _unfit(wish: Wish, node: Node) -> Iterator[Refusal]:
    for op in wish.ops:
        for sm in node.sms:
            if sm < op.min_sm:
                text = f"{op.name} runs on {sm_name(op.min_sm)} and later, not on {sm_name(sm)}; there is {op.instead}"
                yield Refusal("kernel-arch", text)


def _kernels(candidate: Candidate, wheel: Wheel, wish: Wish, node: Node) -> tuple[FlashWheel | None, str | None]:
    found = next(
        (
            one
            for one in flash_wheels(candidate.torch, wheel, candidate.python, node.sms, node.machine)
            if all(at_least(one.version, op.min_version) for op in wish.ops)
        ),
        None,
    )
    return found, newest_source() if found is None and wish.build_kernels else None


def _no_wheel(candidate: Candidate, wish: Wish, node: Node) -> str:
    asked = " and ".join(op.name for op in wish.ops)
    where = " ".join([*map(sm_name, node.sms), node.machine])
    return (
        f"no wheel with {asked} is published for torch {minor_of(candidate.torch)}, {candidate.wheel}, "
        f"Python {dotted(candidate.python)} on {where}"
    )
