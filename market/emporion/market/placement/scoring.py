"""What compositions and placements are worth: throughput, loss, cost, and whether the budget allows them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from emporion.market.graph import Kind, Links
from emporion.market.performance import Joint, Performance, Workload, performance
from emporion.market.placement.candidates import Candidate, Found, Tariff, full_chain
from emporion.market.placement.demand import Demand
from emporion.market.placement.front import four_digits
from emporion.market.stability import Recovering, Stability, stability

__all__ = ["Scoring"]


@dataclass
class Scoring:
    """What compositions and placements are worth, for one demand."""

    demand: Demand
    tariff: Tariff
    work: Workload
    recovery: Recovering
    by_cost: bool = False
    """Compare by cost alone: the front is then the one cheapest placement."""
    links: Links = field(default_factory=Links)
    """What lies between sites."""
    _overheads: dict[tuple[str, str, int], tuple[int, int | None]] = field(default_factory=dict, init=False)

    def stability(self, kinds: Sequence[Kind], counts: Sequence[int]) -> Stability:
        """Return the stability of a composition."""
        gpus = sum(kind.machine.gpus * count for kind, count in zip(kinds, counts, strict=True))
        hazards = tuple(sorted([kind.hazard for kind in kinds]))
        return stability(hazards, gpus, sum(counts), self.recovery)

    def loss_s(self, kinds: Sequence[Kind], counts: Sequence[int]) -> int:
        """Return the compared loss of a composition, in whole seconds a day."""
        return round(self.stability(kinds, counts).loss_s_per_day)

    def performance(self, kinds: Sequence[Kind], counts: Sequence[int], joint: Joint | None) -> Performance:
        """Return the speed of a composition; of machines used in part, the part's."""
        nodes = tuple((kind.machine, count) for kind, count in zip(kinds, counts, strict=True))
        return performance(nodes, joint, self.work)

    def throughput(self, kinds: Sequence[Kind], counts: Sequence[int], joint: Joint | None) -> float:
        """Return the compared throughput of a composition."""
        if self.by_cost:
            return 0.0
        total = sum(kind.machine.gpus * count for kind, count in zip(kinds, counts, strict=True))
        share = self.demand.used(total) / total if self.demand.gpus else 1.0
        return four_digits(self.performance(kinds, counts, joint).images_per_second * share)

    def overhead(self, provider: str, region: str, nodes: int) -> tuple[int, int | None]:
        """Return the tariff's overhead, asked once."""
        key = (provider, region, nodes)
        if key not in self._overheads:
            self._overheads[key] = self.tariff.overhead(*key)
        return self._overheads[key]

    def costs(self, parts: Sequence[tuple[Candidate, int]], loss_s: int) -> tuple[int, int]:
        """Return the total, and what a budget judges (the upper bound where there is one), in 1e-9 USD per hour."""
        nodes: dict[tuple[str, str], int] = {}
        compute = 0
        for candidate, count in parts:
            compute += candidate.price * count
            place = candidate.site[:2]
            nodes[place] = nodes.get(place, 0) + count
        fixed = most = 0
        bounded = len({candidate.site for candidate, _ in parts}) == 1  # traffic between sites has no bound
        for (provider, region), count in nodes.items():
            known, upper = self.overhead(provider, region, count)
            fixed += known
            if upper is None:
                bounded = False
            else:
                most += upper
        total = full_chain(compute, loss_s, fixed)
        return total, total + most - fixed if bounded else total

    def affordable(self, judged: int, gpus: int) -> bool:
        """Return whether a judged cost is within the budget of a placement with this many GPUs."""
        ceiling = self.tariff.ceiling(gpus)
        return ceiling is None or judged <= ceiling

    def size(self, kind: Kind) -> int:
        """Return what one machine counts towards the demand."""
        return kind.machine.gpus if self.demand.gpus else 1

    def serves(self, kinds: Sequence[Kind], counts: Sequence[int]) -> bool:
        """Return whether a composition has the memory and can be joined at one site."""
        if self.demand.total_vram_bytes:
            vram = sum(kind.vram_bytes * count for kind, count in zip(kinds, counts, strict=True))
            if vram < self.demand.total_vram_bytes:
                return False
        return self.demand.join_problem(kinds, sum(counts)) is None

    def allowed(self, found: Found) -> bool:
        """Return whether a placement keeps the ceiling on its emission and every known quota."""
        tariff = self.tariff
        if tariff.carbon is not None and found.carbon > tariff.carbon:
            return False
        return not tariff.quotas or found.within(tariff.quotas)
