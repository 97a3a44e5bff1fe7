"""The wishes that both sides are asked, as an intent here and as tasks there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from market.offers import SHAPES

GB_BETWEEN = 100
"""What a stage hands to the next one."""


@dataclass(frozen=True)
class Wish:
    """Stages with a GPU each, one machine each, at on-demand prices."""

    name: str
    stages: Sequence[tuple[str, str, Sequence[str]]]
    """(name, GPU, needs)."""

    def intent(self) -> str:
        """Return the intent file."""
        lines = [f"name: {self.name}", "lifecycle: {market: on_demand}", "scheduler: none"]
        if len(self.stages) == 1:
            return "\n".join([*lines, f"resources: {{gpus: {_gpus(self.stages[0][1])}}}"]) + "\n"
        lines.append("stages:")
        for name, gpu, needs in self.stages:
            lines += [f"  - name: {name}", f"    resources: {{gpus: {_gpus(gpu)}}}", "    hours: 1"]
            if needs:
                lines.append(f"    needs: [{', '.join(needs)}]")
            lines.append(f"    data_out: [{{size: {GB_BETWEEN}gb}}]")
        return "\n".join(lines) + "\n"

    def tasks(self) -> list[dict[str, Any]]:
        """Return the tasks of SkyPilot."""
        return [
            {"name": name, "gpu": SHAPES[gpu][0], "count": SHAPES[gpu][1], "needs": list(needs)}
            for name, gpu, needs in self.stages
        ]


def _gpus(gpu: str) -> str:
    return f"{{type: {gpu}, count: {SHAPES[gpu][1]}}}"


ONE = Wish("one", [("train", "a100-80gb", ())])
CHAIN = Wish("chain", [("prepare", "t4", ()), ("train", "a100-80gb", ("prepare",)), ("test", "l4", ("train",))])
DIAMOND = Wish(
    "diamond",
    [
        ("prepare", "t4", ()),
        ("teacher", "a100-80gb", ("prepare",)),
        ("student", "h100", ("prepare",)),
        ("merge", "l4", ("teacher", "student")),
        ("test", "v100-16gb", ("merge",)),
    ],
)
