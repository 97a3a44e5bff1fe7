"""What a plan is made of: pools of equal nodes, placements, rejections, relaxations."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

from emporion.market.cost_lines import Cost
from emporion.market.graph import Site
from emporion.market.performance import Performance
from emporion.market.placement.front import Vector
from emporion.market.pool import Pool
from emporion.market.stability import Stability

__all__ = ["Placement", "Pool", "Rejection", "Relaxation", "SiteLink", "StagePart"]


@dataclass(frozen=True, slots=True)
class SiteLink:
    """What joins the nodes of one site, or two sites of a placement."""

    ends: tuple[Site, ...]
    """One site: the fabric within it; two: the connection between them."""
    fabric: str | None
    latency_ms: float | None
    """One way."""
    bandwidth_gbps: float | None
    modelled: bool
    """Whether the latency comes from a model (docs/explanation/resource-graph.md) instead of a measurement."""
    bandwidth_modelled: bool
    """Whether the bandwidth comes from a model instead of the catalogue or a measurement."""
    source: str | None = None
    """Who measured it; None: modelled."""
    as_of: str | None = None


@dataclass(frozen=True, slots=True)
class Placement:
    """Machines that serve an intent, with what they are compared by."""

    pools: tuple[Pool, ...]
    """By offer id."""
    vector: Vector
    cost: Cost
    performance: Performance
    stability: Stability
    gpus: int
    """GPUs (or MIG slices) that the intent uses."""
    surplus: int
    """GPUs beyond the least number asked for, and those of its machines that stay unused."""
    links: tuple[SiteLink, ...]
    deploy_problem: str | None
    """Why it cannot be stood up; None: it can."""
    stages: tuple[StagePart, ...] = ()
    """Of an intent with several stages: each by itself, in the order of the intent."""

    @property
    def deployable(self) -> bool:
        """Whether `emporion up` can stand it up."""
        return self.deploy_problem is None

    @property
    def nodes(self) -> int:
        """Machines in all."""
        return sum(pool.count for pool in self.pools)

    @property
    def offer_ids(self) -> tuple[str, ...]:
        """The ids of its offers, sorted."""
        return tuple(pool.offer.id for pool in self.pools)

    @property
    def sites(self) -> tuple[Site, ...]:
        """Its sites, sorted."""
        return tuple(sorted({Site(p.offer.provider, p.offer.region, p.offer.zone) for p in self.pools}, key=str))


@dataclass(frozen=True, slots=True)
class StagePart:
    """One stage of a placement."""

    name: str
    needs: tuple[str, ...]
    hours: Decimal | None
    placement: Placement
    """What it would be without the others: its own machines, full chain, speed and stability."""


@dataclass(frozen=True, slots=True)
class Rejection:
    """Offers that share their first failing constraint."""

    reason: str
    offers: int
    example: str
    """The id of the cheapest of them; of equals the first."""


@dataclass(frozen=True, slots=True)
class Relaxation:
    """A smallest change of the intent that makes it feasible."""

    change: str
    """Keys of the intent, joined by ` + `."""
    before: str
    after: str
    total_usd_per_hour: Decimal
    """Full chain of the cheapest placement after the change."""
