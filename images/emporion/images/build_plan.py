"""Where kernels come from: a published wheel, or a build for the GPU's architectures alone."""

from __future__ import annotations

from typing import Any

from emporion.images.document import combination_json
from emporion.images.judge import Combination
from emporion.images.node import Node
from emporion.images.versions import dotted

__all__ = ["flash_archs", "kernel_plan", "torch_archs"]


def torch_archs(node: Node) -> str:
    """Return the node's architectures as TORCH_CUDA_ARCH_LIST takes them."""
    return ";".join(dotted(sm) for sm in node.sms)


def flash_archs(node: Node) -> str:
    """Return them as flash-attn's build takes them, which ignores that variable: 8.0's code runs on every 8.x."""
    return ";".join(sorted({str(sm[0] * 10) for sm in node.sms}, key=int))


def kernel_plan(found: Combination, node: Node) -> dict[str, Any]:
    """Return the wheel of a combination, or the version and variables to build it with."""
    build = None
    if found.flash is None:
        build = {
            "flash-attn": found.flash_source,
            "FLASH_ATTN_CUDA_ARCHS": flash_archs(node),
            "TORCH_CUDA_ARCH_LIST": torch_archs(node),
            "NVCC_THREADS": "2",
        }
    return {"chosen": combination_json(found), "wheel": found.flash.url if found.flash else None, "build": build}
