"""The budget: ceilings on the full chain of a placement, over an hour, a day, a month or the run, whole or per GPU.

All are judged alike: the upper total is compared where there is one, else the total, which is then a lower bound. A
ceiling that is not per GPU is on the whole cluster, over all nodes (cases/market.md 31).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal

from emporion.market.cost_lines import HOURS_PER_MONTH, Cost, per_hour, plain_usd
from emporion.market.intent.model import Budget, Intent

__all__ = ["Breach", "Ceiling", "ceilings", "within_budget"]

_HOURS_PER_DAY = Decimal(24)


@dataclass(frozen=True, slots=True)
class Ceiling:
    """One ceiling of a budget."""

    key: str
    """`max_hourly`, `max_daily`, `max_monthly` or `max_total`."""
    usd: Decimal
    per_gpu: bool
    hours: Decimal | None
    """What it covers; None: the run, and the intent does not say how long that takes."""

    @property
    def field(self) -> str:
        """The field of `Budget` that holds it."""
        return f"{self.key}_usd_per_gpu" if self.per_gpu else f"{self.key}_usd"

    @property
    def text(self) -> str:
        """The ceiling as an intent writes it: `$2.80/gpu/hr`."""
        return f"${self.usd:f}{self._basis}"

    def write(self, usd: Decimal) -> str:
        """Return an amount on this ceiling's basis, as an intent writes it."""
        return f"${plain_usd(usd)}{self._basis}"

    @property
    def _basis(self) -> str:
        return ("/gpu" if self.per_gpu else "") + _UNITS[self.key]

    def most_per_hour(self, gpus: int) -> Decimal | None:
        """Return what a placement with this many GPUs may cost an hour; None: that cannot be told."""
        if not self.hours or (self.per_gpu and not gpus):
            return None
        return self.usd * (gpus if self.per_gpu else 1) / self.hours

    def needed(self, usd_per_hour: Decimal, gpus: int) -> Decimal:
        """Return the ceiling that a placement at this price keeps exactly; a run of unknown length counts one hour."""
        total = usd_per_hour * (self.hours or 1)
        return total / max(gpus, 1) if self.per_gpu else total

    @property
    def period(self) -> str:
        """What it covers, in words."""
        if self.key == "max_total":
            return f"{self.hours or 0:f} hours of a GPU" if self.per_gpu else f"{self.hours or 0:f} hours"
        return _GPU_PERIODS[self.key] if self.per_gpu else _PERIODS[self.key]


_UNITS = {"max_hourly": "/hr", "max_daily": "/day", "max_monthly": "/month", "max_total": ""}
_PERIODS = {"max_hourly": "an hour", "max_daily": "a day", "max_monthly": "a month of 730 hours"}
_GPU_PERIODS = {"max_hourly": "a GPU-hour", "max_daily": "a GPU-day", "max_monthly": "a GPU-month of 730 hours"}


@dataclass(frozen=True, slots=True)
class Breach:
    """A ceiling of the budget that a cost does not keep, or that cannot be judged."""

    key: str
    """`cost_control.max_hourly`, …"""
    ceiling: Decimal
    seen: Decimal | None
    """What the ceiling was compared with; None: it cannot be judged."""
    text: str

    @property
    def judged(self) -> bool:
        """Whether it could be compared at all."""
        return self.seen is not None


def ceilings(budget: Budget, run_hours: Decimal | None) -> tuple[Ceiling, ...]:
    """Return the ceilings that a budget sets, for a run of so many hours (None: unknown)."""
    periods = {"max_hourly": Decimal(1), "max_daily": _HOURS_PER_DAY, "max_monthly": HOURS_PER_MONTH}
    found = []
    for key in (*periods, "max_total"):
        for per_gpu in (False, True):
            usd: Decimal | None = getattr(budget, f"{key}_usd_per_gpu" if per_gpu else f"{key}_usd")
            if usd is not None:
                found.append(Ceiling(key, usd, per_gpu, periods.get(key, run_hours)))
    return tuple(found)


def within_budget(cost: Cost, intent: Intent) -> list[Breach]:
    """Return the ceilings that the cost breaks or that cannot be judged; none: the budget is kept."""
    return list(_breaches(cost, intent.budget))


def _breaches(cost: Cost, budget: Budget) -> Iterator[Breach]:
    for ceiling in ceilings(budget, cost.hours):
        if ceiling.key == "max_total" and cost.hours is None:
            yield _unjudged(ceiling, "model.hours does not say how long the run takes")
            continue
        if ceiling.per_gpu and not cost.gpus:
            yield _unjudged(ceiling, "it is per GPU, and the placement has none")
            continue
        whole = cost.run_judged if ceiling.key == "max_total" else cost.judged * (ceiling.hours or 1)
        if whole is not None and whole > ceiling.usd * (cost.gpus if ceiling.per_gpu else 1):
            yield _broken(ceiling, per_hour(whole, Decimal(cost.gpus), up=True) if ceiling.per_gpu else whole)


def _unjudged(ceiling: Ceiling, why: str) -> Breach:
    return Breach(f"cost_control.{ceiling.key}", ceiling.usd, None, f"{ceiling.key} cannot be judged: {why}")


def _broken(ceiling: Ceiling, seen: Decimal) -> Breach:
    text = f"{seen.normalize():f} USD for {ceiling.period} is above {ceiling.key} {ceiling.usd.normalize():f}"
    return Breach(f"cost_control.{ceiling.key}", ceiling.usd, seen, text)
