"""A node pool: equal machines of one offer."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

from emporion.market.offer import Offer

__all__ = ["Pool"]


@dataclass(frozen=True, slots=True)
class Pool:
    """Equal nodes of one offer."""

    offer: Offer
    count: int
    stage: str | None = None

    @property
    def gpus(self) -> int:
        """GPUs of the whole pool."""
        return self.offer.gpu_count * self.count

    @property
    def usd_per_hour(self) -> Decimal:
        """Compute price of the whole pool."""
        return self.offer.usd_per_hour * self.count
