"""What an intent asks of a placement as a whole: how many GPUs on how many machines, and how they are joined."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from emporion.market.graph import Kind, Link
from emporion.market.intent.model import Intent, Rdma
from emporion.market.offer import Fabric
from emporion.market.performance import hop_ms
from emporion.market.units import Count, format_count

__all__ = ["Demand", "demand", "divisions"]


@dataclass(frozen=True, slots=True)
class Demand:
    """The wish on the sum of the machines. Sizes are GPUs, or machines when no GPU is asked for."""

    low: int
    high: int
    partial: bool
    """Whether part of a machine may be used (MIG slices, `share: true`): the sum may exceed `high`."""
    gpus: bool
    nodes_min: int | None
    nodes_max: int | None
    max_pools: int
    total_vram_bytes: int
    latency_ms: float | None
    bandwidth_gbps: float | None
    fabric: bool
    """Several nodes must be joined by one RDMA fabric (`low-latency`, `rdma: required`)."""

    alone: bool = False
    """All nodes must stand at one site, however it joins them."""

    @property
    def count_text(self) -> str:
        """How many are asked for: `8`, `4..8`."""
        return format_count(Count(self.low, self.high))

    @property
    def one_site(self) -> bool:
        """Whether all nodes must stand at one site."""
        return self.fabric or self.alone

    def at_one_site(self) -> Demand:
        """Return the same demand with all nodes at one site."""
        return replace(self, alone=True)

    def used(self, total: int) -> int:
        """Return how many of `total` are used."""
        return min(total, self.high) if self.partial else total

    def sums_to(self, total: int, smallest: int) -> bool:
        """Return whether machines that sum to `total` serve, with no machine removable."""
        return self.low <= total and (self.partial or total <= self.high) and total - smallest < self.low

    def node_problem(self, nodes: int) -> str | None:
        """Return why this number of machines is refused, or None."""
        if self.nodes_min is not None and nodes < self.nodes_min:
            return f"fewer than {self.nodes_min} nodes"
        if self.nodes_max is not None and nodes > self.nodes_max:
            return f"more than {self.nodes_max} nodes"
        return None

    def join_problem(self, kinds: Sequence[Kind], nodes: int) -> str | None:
        """Return why `nodes` machines of these kinds cannot be joined at one site, or None."""
        if nodes == 1:
            return None
        return self._fabric_problem(kinds) or self._bandwidth_problem(kinds) or self._latency_problem(kinds)

    def _fabric_problem(self, kinds: Sequence[Kind]) -> str | None:
        if not self.fabric:
            return None
        fabrics = {kind.machine.fabric for kind in kinds}
        if None in fabrics:
            return "RDMA fabric unknown"
        if not all(map(_rdma, kinds)):
            return "no RDMA fabric between nodes"
        return "nodes on different fabrics" if len(fabrics) > 1 else None

    def _bandwidth_problem(self, kinds: Sequence[Kind]) -> str | None:
        floor = self.bandwidth_gbps
        if floor is None:
            return None
        speeds = [kind.machine.network_gbps for kind in kinds]
        if None in speeds:
            return "bandwidth between nodes unknown"
        slow = any(speed is not None and speed < floor for speed in speeds)
        return f"less than {floor:g} Gb/s between nodes" if slow else None

    def _latency_problem(self, kinds: Sequence[Kind]) -> str | None:
        if self.latency_ms is None:
            return None
        longest = max((kind.machine for kind in kinds), key=hop_ms)
        basis = "modelled" if longest.hop_ms is None else "measured"
        return (
            f"more than {self.latency_ms:g} ms between nodes ({basis})" if hop_ms(longest) > self.latency_ms else None
        )

    def accepts_link(self, between: Link) -> bool:
        """Return whether nodes may stand at both ends of a link."""
        if self.one_site:
            return False
        if self.latency_ms is not None and (between.latency_ms is None or between.latency_ms > self.latency_ms):
            return False
        wide = between.bandwidth_gbps is None or self.bandwidth_gbps is None
        return wide or (between.bandwidth_gbps or 0.0) >= (self.bandwidth_gbps or 0.0)


def _rdma(kind: Kind) -> bool:
    fabric = kind.machine.fabric
    return fabric is not None and Fabric(fabric).rdma


def demand(intent: Intent, max_pools: int) -> Demand:
    """Return the demand of an intent."""
    resources, gpus, network = intent.resources, intent.resources.gpus, intent.resources.network
    machines = resources.nodes_min or 1
    vram = gpus.min_total_vram if gpus else None
    return Demand(
        low=gpus.count_min if gpus else machines,
        high=gpus.count_max if gpus else machines,
        partial=gpus is not None and (gpus.share or gpus.mig is not None),
        gpus=gpus is not None,
        nodes_min=resources.nodes_min,
        nodes_max=resources.nodes_max,
        max_pools=max_pools,
        total_vram_bytes=vram.bytes if vram else 0,
        latency_ms=float(network.latency_ms) if network.latency_ms is not None else None,
        bandwidth_gbps=float(network.bandwidth_gbps) if network.bandwidth_gbps is not None else None,
        fabric=network.low_latency or network.rdma is Rdma.REQUIRED,
    )


def divisions(wish: Demand, sizes: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """Yield the counts (each at least 1) of machines with these sizes that serve a demand with no machine removable.

    Of the last size only one number can serve: one fewer is too few, one more is removable.
    """
    smallest = min(sizes)

    def fill(done: tuple[int, ...], total: int) -> Iterator[tuple[int, ...]]:
        size = sizes[len(done)]
        if len(done) == len(sizes) - 1:
            count = max(-((total - wish.low) // size), 1)
            if wish.sums_to(total + count * size, smallest):
                yield (*done, count)
            return
        count = 1
        while total + count * size < wish.low:
            yield from fill((*done, count), total + count * size)
            count += 1

    yield from fill((), 0)
