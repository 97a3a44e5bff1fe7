"""The world's clock: where its time stands against this machine's, and how fast it goes. No I/O here."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from enum import StrEnum

__all__ = ["REAL", "Mode", "VirtualClock"]


class Mode(StrEnum):
    """How the world's time goes."""

    REAL = "real"
    """As this machine's."""
    ACCELERATED = "accelerated"
    """At a rate of its own, or ahead of this machine's clock."""
    STEPPED = "stepped"
    """It stands still until it is stepped, or until a call has to wait."""


@dataclass(frozen=True, slots=True)
class VirtualClock:
    """A line through one moment: seconds since 1970 of the world for seconds since 1970 of this machine."""

    rate: float = 1.0
    """Seconds of the world per second of this machine."""
    real_s: float = 0.0
    world_s: float = 0.0
    """The world's time at `real_s`."""

    @property
    def mode(self) -> Mode:
        """How the time goes."""
        if self.rate == 0:
            return Mode.STEPPED
        return Mode.REAL if self == REAL else Mode.ACCELERATED

    def at(self, real_s: float) -> float:
        """Return the world's time at a moment of this machine's clock, which may itself be set back."""
        return self.world_s + max(0.0, real_s - self.real_s) * self.rate

    def ahead_s(self, real_s: float) -> float:
        """Return by how much the world's time is ahead of this machine's."""
        return self.at(real_s) - real_s

    def moved(self, real_s: float, world_s: float, rate: float | None = None) -> VirtualClock:
        """Return the clock that shows `world_s` now and goes on at `rate` (None: as before)."""
        return VirtualClock(self.rate if rate is None else rate, real_s, world_s)

    def text(self) -> str:
        """Return what `of` reads."""
        return json.dumps(asdict(self), sort_keys=True)

    @classmethod
    def of(cls, text: str) -> VirtualClock:
        """Return the clock that `text` wrote."""
        return cls(**json.loads(text))


REAL = VirtualClock()
"""The default: this machine's clock."""
