"""Load through the image's torch: half-precision matrix products and copies, which is how jobs use the GPU."""

from __future__ import annotations

import time
from typing import Any

from emporion.nodes.check.seen import Measured

__all__ = ["measure_by_torch"]

_SIZE = 8192
_WORDS = 128 << 20
_SMALL = 64


def measure_by_torch(torch: Any, device: int, seconds: float) -> Measured:  # noqa: ANN401 - a module
    """Return what a device does, half of the seconds for products and half for copies; an error where torch fails."""
    try:
        if not torch.cuda.is_available():
            return Measured("torch", error="torch sees no GPU")
        where = f"cuda:{device}"
        left = torch.randn(_SIZE, _SIZE, device=where, dtype=torch.float16)
        flops = 2 * _SIZE**3
        tflops = _rate(torch, device, lambda: torch.matmul(left, left), seconds / 2) * flops / 1e12
        source = torch.zeros(_WORDS, device=where, dtype=torch.float32)
        target = torch.empty_like(source)
        copies = _rate(torch, device, lambda: target.copy_(source), seconds / 2)
        return Measured("torch", copies * 2 * 4 * _WORDS / 1e9, tflops, correct=_right(torch, where))
    except RuntimeError as error:  # torch tells all of CUDA's faults so
        return Measured("torch", error=str(error).splitlines()[0][:200])


def _rate(torch: Any, device: int, work: Any, seconds: float) -> float:  # noqa: ANN401 - a module, and a call
    """Return how often per second some work is done, after one that warms up; the best of batches of eight."""
    work()
    torch.cuda.synchronize(device)
    best, ends = 0.0, time.perf_counter() + seconds
    while time.perf_counter() < ends or not best:
        began = time.perf_counter()
        for _ in range(8):
            work()
        torch.cuda.synchronize(device)
        best = max(best, 8 / (time.perf_counter() - began))
    return best


def _right(torch: Any, where: str) -> bool:  # noqa: ANN401 - a module
    """Return whether a product of small whole numbers, whose sum is known, comes out exactly."""
    rows = torch.arange(_SMALL, device=where, dtype=torch.float32).repeat(_SMALL, 1)
    total = float(torch.matmul(rows, torch.ones(_SMALL, _SMALL, device=where, dtype=torch.float32)).sum().item())
    return total == _SMALL * _SMALL * (_SMALL * (_SMALL - 1) // 2)
