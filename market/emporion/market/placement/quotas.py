"""How many machines an account may run: quotas that are known, over a whole placement. Unknown never limits."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from fnmatch import fnmatchcase

from emporion.market.offer import Market, Offer

__all__ = ["Limit", "Quota", "Unit", "limits_of"]

Limit = tuple[int, int]
"""The number of a quota, and how much of it one machine uses."""


class Unit(StrEnum):
    """What a quota counts."""

    MACHINES = "machines"
    VCPUS = "vcpus"
    GPUS = "gpus"


@dataclass(frozen=True, slots=True)
class Quota:
    """How much of some machines an account may run at once."""

    provider: str
    region: str
    """A glob; all its regions count together."""
    type: str
    """A glob over instance types (`p5*` is a family); all its types count together."""
    market: Market | None
    """None: all markets count together."""
    limit: int
    unit: Unit

    def covers(self, offer: Offer) -> bool:
        """Return whether machines of an offer count against it."""
        return (
            offer.provider == self.provider
            and self.market in (None, offer.market)
            and fnmatchcase(offer.region, self.region)
            and fnmatchcase(offer.instance_type, self.type)
        )

    def uses(self, offer: Offer) -> int:
        """Return how much one machine of an offer uses; 0: not known, which never limits."""
        match self.unit:
            case Unit.MACHINES:
                return 1
            case Unit.VCPUS:
                return 0 if offer.vcpus is None else -int(-offer.vcpus // 1)
            case Unit.GPUS:
                return offer.gpu_count

    @property
    def text(self) -> str:
        """Return `aws us-east-1 p5* on_demand allows 192 vCPUs`."""
        names = {Unit.MACHINES: "machines", Unit.VCPUS: "vCPUs", Unit.GPUS: "GPUs"}
        market = f" {self.market.value}" if self.market else ""
        return f"{self.provider} {self.region} {self.type}{market} allows {self.limit} {names[self.unit]}"


def limits_of(offer: Offer, quotas: Iterable[Quota]) -> tuple[Limit, ...]:
    """Return which quotas the machines of an offer use up, and how much each."""
    return tuple(
        (number, uses) for number, quota in enumerate(quotas) if quota.covers(offer) and (uses := quota.uses(offer))
    )
