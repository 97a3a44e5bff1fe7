"""Verdicts as the documents that `--json` prints; unknown is null."""

from __future__ import annotations

from typing import Any

from emporion.images.driver_bugs import Bug
from emporion.images.frameworks import wheel_cuda
from emporion.images.judge import Combination
from emporion.images.solve import Verdict
from emporion.images.versions import dotted

__all__ = ["bug_json", "combination_json", "verdict_json"]


def verdict_json(verdict: Verdict) -> dict[str, Any]:
    """Return a verdict as `emporion.env/1` holds it."""
    return {
        "status": verdict.status,
        "chosen": combination_json(verdict.combination),
        "lowered": [{"what": one.what, "from": one.wished, "to": one.got} for one in verdict.lowered],
        "why": list(verdict.why),
        "alternatives": [{"how": one.how, "chosen": combination_json(one.combination)} for one in verdict.alternatives],
        "warnings": list(verdict.warnings),
    }


def combination_json(found: Combination | None) -> dict[str, Any] | None:
    """Return a combination's versions, or None."""
    if found is None:
        return None
    candidate = found.candidate
    kernels = found.flash.version if found.flash else found.flash_source
    return {
        "torch": candidate.torch.text,
        "wheel": candidate.wheel,
        "cuda": dotted(wheel_cuda(candidate.wheel)),
        "python": dotted(candidate.python),
        "cudnn": candidate.torch.cudnn,
        "nccl": candidate.torch.nccl,
        "torchvision": candidate.torch.torchvision,
        "route": found.route.value if found.route else None,
        "flash_attn": kernels,
        "flash_attn_wheel": found.flash.url if found.flash else None,
    }


def bug_json(bug: Bug, open_questions: tuple[str, ...] | None = None) -> dict[str, Any]:
    """Return a row of the known bugs; with `unknown` where a node was asked about."""
    row = {
        "id": bug.id,
        "drivers": bug.drivers_text or None,
        "kernels": bug.kernels_text or None,
        "gpus": list(bug.gpus),
        "when": list(bug.when),
        "effect": bug.effect,
        "fix": bug.fix,
        "source": bug.source,
        "as_of": bug.as_of,
    }
    return row if open_questions is None else {**row, "unknown": list(open_questions)}
