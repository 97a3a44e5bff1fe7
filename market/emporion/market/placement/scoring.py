"""What compositions and placements are worth: throughput, loss, cost, and whether the budget allows them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from emporion.market.graph import Kind, Links
from emporion.market.performance import Joint, Performance, Workload, performance
from emporion.market.placement.candidates import Candidate, Composition, Found, Tariff, full_chain, grams, rounded
from emporion.market.placement.demand import Demand
from emporion.market.placement.front import Front, Vector, four_digits
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
    _overheads: dict[tuple[str, str, int], tuple[int, int | None]] = field(default_factory=dict)

    def stability(self, kinds: Sequence[Kind], counts: Sequence[int]) -> Stability:
        """Return the stability of a composition."""
        gpus = sum(kind.machine.gpus * count for kind, count in zip(kinds, counts, strict=True))
        hazards = tuple(sorted([kind.hazard for kind in kinds]))
        return stability(hazards, gpus, sum(counts), self.recovery)

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

    def hopeless(self, front: Front[Found], each: Composition, least: int, throughput: float, loss_s: int) -> bool:
        """Return whether no placement of a composition with these bounds can come into the front."""
        limit = self.tariff.ceiling(self.total(each))
        return (limit is not None and least > limit) or front.beats(rounded(least), throughput, self.compared(loss_s))

    def total(self, each: Composition) -> int:
        """Return what the machines of a composition count together."""
        return sum(self.size(kind) * count for kind, count in zip(*each, strict=True))

    def attempt(
        self, front: Front[Found], each: Composition, offers: Sequence[Candidate], throughput: float, loss_s: int
    ) -> None:
        """Offer one placement to the front, if its offers differ and it is within the budget."""
        if len({offer.id for offer in offers}) < len(offers):
            return
        parts = tuple(sorted(zip(offers, each.counts, strict=True), key=lambda part: part[0].id))
        found = Found(parts)
        total, judged = self.costs(parts, loss_s)
        if self.affordable(judged, sum(offer.size * count for offer, count in parts)) and self.allowed(found):
            key = tuple(offer.id for offer, count in parts for _ in range(count))
            carbon = 0 if self.by_cost else grams(found.carbon)
            front.offer(Vector(rounded(total), throughput, self.compared(loss_s), carbon), key, found)

    def allowed(self, found: Found) -> bool:
        """Return whether a placement keeps the ceiling on its emission and every known quota."""
        tariff = self.tariff
        if tariff.carbon is not None and found.carbon > tariff.carbon:
            return False
        return not tariff.quotas or found.within(tariff.quotas)

    def compared(self, loss_s: int) -> int:
        """Return the loss as the front compares it."""
        return 0 if self.by_cost else loss_s
