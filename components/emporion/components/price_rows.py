"""What the live price lists of all clouds have in common: the row that they yield, and the types that are known."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from types import MappingProxyType

from emporion.market.dates import stamp
from emporion.market.offers.adapter import Row
from emporion.market.offers.answers import money, odd
from emporion.market.offers.shape import topologies
from emporion.market.tables import rows
from emporion.market.units import plain

__all__ = ["KnownType", "PriceRow", "cpu_types", "known_types", "money", "odd", "stamp"]


@dataclass(frozen=True, slots=True)
class KnownType:
    """What the bundled tables say of a machine type; texts as an offers file holds them, empty: unknown."""

    gpu: str
    gpu_count: int
    gpu_vram_gb: str
    vcpus: str
    ram_gb: str


@cache
def known_types(provider: str) -> Mapping[str, KnownType]:
    """Return the machine types of the bundled tables, by name."""
    known = {
        name: KnownType(about.gpu, about.gpu_count, "", "", "")
        for (owner, name), about in topologies().items()
        if owner == provider
    }
    for table in ("cpu_offers.csv", "offers.csv"):
        for row in rows(table):
            if row["provider"] == provider:
                known[row["instance_type"]] = KnownType(
                    row["gpu"], int(row["gpu_count"]), row["gpu_vram_gb"], row["vcpus"], row["ram_gb"]
                )
    return MappingProxyType(known)


def cpu_types(provider: str) -> tuple[str, ...]:
    """Return the machines without GPU that a cluster uses (controllers, preprocessing), sorted."""
    return tuple(sorted(name for name, about in known_types(provider).items() if about.gpu_count == 0))


@dataclass(frozen=True, slots=True)
class PriceRow:
    """One line of an offers file as a cloud's adapter knows it; prices per instance-hour, None: unknown."""

    provider: str
    region: str
    zone: str
    instance_type: str
    about: KnownType
    on_demand: Decimal | None
    spot: Decimal | None
    source: str
    as_of: str
    currency: str = "USD"
    purchase: str = ""
    arch: str = ""
    spot_source: str = ""

    def cells(self) -> Row:
        """Return the row in the columns of an offers file."""
        spot = self.spot_source if self.spot is not None else ""
        return {
            "provider": self.provider,
            "region": self.region,
            "zone": self.zone,
            "instance_type": self.instance_type,
            "gpu": self.about.gpu,
            "gpu_count": str(self.about.gpu_count),
            "gpu_vram_gb": self.about.gpu_vram_gb,
            "vcpus": self.about.vcpus,
            "ram_gb": self.about.ram_gb,
            "on_demand_usd_hr": _price(self.on_demand),
            "spot_usd_hr": _price(self.spot),
            "source": self.source,
            "as_of": self.as_of,
            "currency": self.currency,
            "purchase": self.purchase,
            "arch": self.arch,
            "spot_source": spot,
            "spot_as_of": self.as_of if spot else "",
        }


def _price(amount: Decimal | None) -> str:
    return "" if amount is None else plain(round(amount, 9))
