"""A clock that stands still until somebody sleeps."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass
class Clock:
    """2026-12-01T00:00:00Z and what was slept since."""

    seconds: float = 1_796_083_200.0
    slept_s: float = 0.0

    def __call__(self) -> float:
        return self.seconds

    def sleep(self, seconds: float) -> None:
        self.slept_s += seconds
        self.seconds += seconds
