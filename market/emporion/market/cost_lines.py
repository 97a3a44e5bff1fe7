"""Cost lines and their sum: the `cost` object of `emporion.plan/1`."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_HALF_UP, Decimal
from typing import Any

from emporion.market.money import money_text

__all__ = ["CHECKPOINT_BYTES_PER_PARAMETER", "HOURS_PER_MONTH", "PARTS", "Cost", "CostLine", "per_hour", "plain_usd"]

PARTS = ("compute", "storage", "transfer", "network", "fees", "interruptions")
HOURS_PER_MONTH = Decimal(730)
CHECKPOINT_BYTES_PER_PARAMETER = 14
"""bf16 copy 2, fp32 master 4, two Adam moments 8 (DeepSpeed, Megatron; files checked against BLOOM's 13.1 B/param)."""
_NANO = Decimal("0.000000001")


def per_hour(usd: Decimal, hours: Decimal, *, up: bool = False) -> Decimal:
    """Return `usd` spread over `hours`, to 1e-9 USD (`up`: never below the exact value)."""
    return (usd / hours).quantize(_NANO, ROUND_CEILING if up else ROUND_HALF_UP)


def plain_usd(usd: Decimal | None) -> str | None:
    """Return a decimal string without exponent, with two decimals at least, or None for unknown."""
    return None if usd is None else money_text(usd)


@dataclass(frozen=True, slots=True)
class CostLine:
    """One thing that is paid for. None is unknown."""

    part: str
    """One of `PARTS`."""
    item: str
    stage: str | None
    """The stage that causes it; None: the cluster as a whole."""
    quantity: Decimal | None
    unit: str
    unit_price: Decimal | None
    """USD per `unit`."""
    usd_per_hour: Decimal | None
    upper_usd_per_hour: Decimal | None
    """The most that it can be under the assumption stated in `source`; None: no bound."""
    source: str
    as_of: str | None
    quality: str
    """`quoted`, `secondary`, `reference` (another region's figure), `assumed`, `unknown`."""
    counted: bool = True
    """False: the intent does not name it, so that no bound of the total waits for it."""

    @classmethod
    def unknown(
        cls,
        part: str,
        item: str,
        why: str,
        *,
        stage: str | None = None,
        quantity: Decimal | None = None,
        unit: str = "",
        unit_price: Decimal | None = None,
        upper: Decimal | None = None,
        as_of: str | None = None,
        counted: bool = True,
    ) -> CostLine:
        """Return a line without an amount: `why` it is unknown, `upper` the most that it can be, in USD per hour."""
        return cls(part, item, stage, quantity, unit, unit_price, None, upper, why, as_of, "unknown", counted)

    def to_json(self) -> dict[str, Any]:
        """Return the line as in `emporion.plan/1`, with the bound of which `upper_total` is the sum."""
        return {
            "item": self.item,
            "stage": self.stage,
            "quantity": None if self.quantity is None else format(self.quantity, "f"),
            "unit": self.unit,
            "unit_price": plain_usd(self.unit_price),
            "usd_per_hour": plain_usd(self.usd_per_hour),
            "upper_usd_per_hour": plain_usd(self.upper_usd_per_hour),
            "source": self.source,
            "as_of": self.as_of,
            "quality": self.quality,
        }


@dataclass(frozen=True, slots=True)
class Cost:
    """The full chain of one placement, in USD per hour. Sums are exact sums of the known lines."""

    lines: tuple[CostLine, ...]
    gpus: int
    hours: Decimal | None
    """How long the run takes, where the intent says so."""

    def part(self, name: str) -> Decimal | None:
        """Return the sum of a part's known lines; None: it has lines and none is known."""
        lines = [line for line in self.lines if line.part == name]
        known = [line.usd_per_hour for line in lines if line.usd_per_hour is not None]
        return sum(known, Decimal(0)) if known or not lines else None

    @property
    def total(self) -> Decimal:
        """The sum of the known lines: a lower bound while something is unknown."""
        return _sum(line.usd_per_hour for line in self.lines)

    @property
    def upper_total(self) -> Decimal | None:
        """The most that it can be, None when a line has no bound."""
        counted = [line.upper_usd_per_hour for line in self.lines if line.counted]
        return None if None in counted else _sum(counted)

    @property
    def judged(self) -> Decimal:
        """What a budget is tested against: the upper total where there is one."""
        upper = self.upper_total
        return self.total if upper is None else upper

    @property
    def per_gpu(self) -> Decimal | None:
        """The total per GPU, to 1e-9 USD; None without GPUs."""
        return per_hour(self.total, Decimal(self.gpus)) if self.gpus else None

    @property
    def run_total(self) -> Decimal | None:
        """The total over the run's hours; None when they are unknown."""
        return None if self.hours is None else self.total * self.hours

    @property
    def run_judged(self) -> Decimal | None:
        """What a budget for the run is tested against; None when its hours are unknown."""
        return None if self.hours is None else self.judged * self.hours

    @property
    def unknown(self) -> tuple[str, ...]:
        """The items whose price or quantity is unknown."""
        return tuple(dict.fromkeys(line.item for line in self.lines if line.usd_per_hour is None))

    def to_json(self) -> dict[str, Any]:
        """Return the `cost` object of `emporion.plan/1`."""
        parts: dict[str, Any] = {name: plain_usd(self.part(name)) for name in PARTS}
        return {
            **parts,
            "total": plain_usd(self.total),
            "upper_total": plain_usd(self.upper_total),
            "per_gpu": plain_usd(self.per_gpu),
            "run_total": plain_usd(self.run_total),
            "upper_run_total": None if self.upper_total is None else plain_usd(self.run_judged),
            "unknown": list(self.unknown),
            "lines": [line.to_json() for line in self.lines],
        }


def _sum(amounts: Iterable[Decimal | None]) -> Decimal:
    return sum((amount for amount in amounts if amount is not None), Decimal(0))
