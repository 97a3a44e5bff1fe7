"""Chance that can be asked again: every number follows from the world's seed and from what it is about."""

from __future__ import annotations

import hashlib
import math
from statistics import NormalDist

__all__ = ["lognormal", "normal", "unit"]

STANDARD = NormalDist()
_P95 = STANDARD.inv_cdf(0.95)
_BITS = 53


def unit(seed: str, *about: object) -> float:
    """Return a number between 0 and 1, both excluded, that is the same whenever the same is asked."""
    text = "\x1f".join([seed, *(str(part) for part in about)])
    digest = hashlib.blake2b(text.encode(), digest_size=8).digest()
    return ((int.from_bytes(digest, "big") >> (64 - _BITS)) + 0.5) / float(1 << _BITS)


def normal(seed: str, *about: object) -> float:
    """Return a draw of the standard normal distribution."""
    return STANDARD.inv_cdf(unit(seed, *about))


def lognormal(median: float, p95: float, seed: str, *about: object) -> float:
    """Return a draw of a lognormal distribution by its median and its 95th percentile (not below the median)."""
    spread = math.log(p95 / median) / _P95
    return median * math.exp(spread * normal(seed, *about))
