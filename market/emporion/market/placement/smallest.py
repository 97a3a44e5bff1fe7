"""All smallest sets of keys that must give way, found exactly.

A *core* is a set of keys that keep everything out together; whatever gives way must take one of each core. So only sets
that hit every core seen so far are tried, smallest first, and each that does not serve yields one more core.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations

__all__ = ["smallest_sets"]

Keys = frozenset[int]


def smallest_sets(keys: int, serves: Callable[[Keys], bool]) -> list[tuple[int, ...]]:
    """Return every set of the least size for which `serves` holds, of the numbers 0 to `keys` - 1.

    `serves` tells whether something serves once these keys are given up, and never turns false when more are. None is
    returned when all of them together are not enough.
    """
    everything = frozenset(range(keys))
    if not serves(everything):
        return []
    cores: list[Keys] = []
    for size in range(keys + 1):
        found = []
        for some in combinations(range(keys), size):
            given_up = frozenset(some)
            if any(core.isdisjoint(given_up) for core in cores):
                continue
            if serves(given_up):
                found.append(some)
            elif not found:  # the sets of this size that are left to try are cheaper than one more core
                cores.append(_core(everything, given_up, serves))
        if found:
            return found
    return []


def _core(everything: Keys, given_up: Keys, serves: Callable[[Keys], bool]) -> Keys:
    """Return keys, none of them given up, that keep everything out and none of which can be spared for that."""
    core = everything - given_up
    for key in sorted(core):
        fewer = core - {key}
        if not serves(everything - fewer):
            core = fewer
    return core
