"""How fast a placement trains: published figures per GPU, times the scaling efficiency of a communication model.

The model is data-parallel training with an all-reduce of the gradients after every step. One step computes for

    t_compute = 6 * parameters * tokens_per_gpu_step / (utilisation * dense FLOPS of the slowest GPU)

and then exchanges S bytes of gradients, alpha-beta, by the faster of two ways:

    ring           2 (n-1)/n * S / slowest bandwidth                            + 2 (n-1) * latency
    hierarchical   in a node  2 (g-1)/g * S / NVLink or PCIe bandwidth
                   nodes      2 (m-1)/m * S / fabric bandwidth of the slowest   + 2 (m-1) * latency

of n GPUs on m nodes, g on each. NCCL sends the gradients in pieces, so over NVLink the two levels of the hierarchy run
at once and the slower one counts; without NVLink both go through the same PCIe lanes and add up. Between sites

    sites          2 (s-1)/s * S / bandwidth of the narrowest link              + 2 (s-1) * longest latency

comes on top. Computing and exchanging do not overlap, so the efficiency t_compute / (t_compute + t_exchange) is a lower
estimate of that. Every GPU of a placement waits for the slowest one. docs/explanation/performance-model.md has the
constants and what the model is off by against published figures.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cache, lru_cache
from typing import NamedTuple

from emporion.market.figures import figure
from emporion.market.gpus import all_gpus
from emporion.market.intent.model import Model
from emporion.market.offer import Fabric, Nvlink, Offer
from emporion.market.tables import rows

__all__ = [
    "GpuSpeed",
    "Joint",
    "Machine",
    "Performance",
    "Workload",
    "exchange_s",
    "gpu_speed",
    "hop_ms",
    "machine",
    "performance",
    "workload",
]

_OLDEST_PCIE = 3
"""The generation of every GPU here whose own is not known is at least this."""

_MIG_SLICES = 7
"""Compute slices of a whole GPU (NVIDIA's MIG guide): `1g.10gb` is one of them."""


class Machine(NamedTuple):
    """What the performance model sees of an offer."""

    gpu: str | None
    gpus: int
    nvlink: str | None
    nvlink_gb_s: float | None
    """Per GPU, both directions together."""
    fabric: str | None
    network_gbps: float | None
    """Of the network that carries the gradients: the fabric where there is one."""
    share: float = 1.0
    """What part of a GPU each of `gpus` is: less than 1 for MIG slices."""
    hop_ms: float | None = None
    """Measured one-way latency to another such machine at the same site; None: modelled."""


class Joint(NamedTuple):
    """The worst link among the sites of a placement; `None` in its place: one site."""

    latency_ms: float
    bandwidth_gbps: float | None
    """None: as the machines' own network."""
    sites: int


class Workload(NamedTuple):
    """What is trained."""

    parameters: float
    gradient_bytes: int
    """Per parameter."""


@dataclass(frozen=True, slots=True)
class GpuSpeed:
    """One GPU alone."""

    images_per_second: float
    """ResNet-50 training, FP16."""
    sequences_per_second: float | None
    """BERT-large training (SQuAD), FP16; None: not published, and never derived."""
    dense_tflops: float
    """16-bit tensor figure without sparsity."""
    pcie_generation: int
    derived: bool
    """Whether `images_per_second` is derived instead of published."""


@dataclass(frozen=True, slots=True)
class Performance:
    """A placement's speed."""

    images_per_second: float
    tokens_per_second: float
    scaling_efficiency: float
    derived: bool
    """Whether a per-GPU figure or a network figure was not published."""
    sequences_per_second: float | None = None
    """BERT-large training; None: not published for one of the GPUs."""

    def scaled(self, share: float) -> Performance:
        """Return the speed of a share of the GPUs."""
        return replace(
            self,
            images_per_second=self.images_per_second * share,
            tokens_per_second=self.tokens_per_second * share,
            sequences_per_second=None if self.sequences_per_second is None else self.sequences_per_second * share,
        )


def machine(offer: Offer) -> Machine:
    """Return what the model needs of an offer."""
    return Machine(
        offer.gpu,
        offer.gpu_count,
        offer.nvlink.value if offer.nvlink else None,
        float(offer.nvlink_gb_s_per_gpu) if offer.nvlink_gb_s_per_gpu is not None else None,
        offer.fabric.value if offer.fabric else None,
        float(offer.between_gbps) if offer.between_gbps is not None else None,
        int(offer.mig[0]) / _MIG_SLICES if offer.mig and offer.mig[0].isdigit() else 1.0,
    )


def workload(model: Model) -> Workload:
    """Return the workload of an intent's model; its size defaults to `parameters_default`."""
    wide = (model.precision or "").lower() in {"fp32", "float32", "tf32"}
    return Workload(float(model.parameters or figure("parameters_default")), 4 if wide else 2)


@lru_cache(maxsize=65536)
def performance(nodes: tuple[tuple[Machine, int], ...], joint: Joint | None, work: Workload) -> Performance:
    """Return the speed of `nodes` (machine, how many), at one site (`joint` None) or several.

    Machines without a GPU do not train: a placement of them alone has throughput 0.
    """
    speeds = [(gpu_speed(each.gpu), each.share) for each, _ in nodes if each.gpus]
    if not speeds:
        return Performance(0.0, 0.0, 1.0, derived=True)
    gpus = sum(each.gpus * count for each, count in nodes)
    flops = min(speed.dense_tflops * share for speed, share in speeds) * 1e12 * figure("model_flops_utilisation")
    compute_s = 6 * work.parameters * figure("tokens_per_gpu_step") / flops
    efficiency = compute_s / (compute_s + exchange_s(nodes, joint, work))
    sequences = [None if (rate := speed.sequences_per_second) is None else rate * share for speed, share in speeds]
    slowest = None if None in sequences else min(rate for rate in sequences if rate is not None)
    return Performance(
        images_per_second=min(speed.images_per_second * share for speed, share in speeds) * gpus * efficiency,
        tokens_per_second=flops * gpus * efficiency / (6 * work.parameters),
        scaling_efficiency=efficiency,
        derived=any(speed.derived for speed, _ in speeds) or _unknown_network(nodes),
        sequences_per_second=None if slowest is None else slowest * gpus * efficiency,
    )


def exchange_s(nodes: tuple[tuple[Machine, int], ...], joint: Joint | None, work: Workload) -> float:
    """Return how long one exchange of gradients takes, in seconds: none without a GPU.

    It never falls when a node is added (the search relies on it), so a ring counts every node as if it had as many GPUs
    as the largest.
    """
    if not any(each.gpus for each, _ in nodes):
        return 0.0
    gradients_gb = work.parameters * work.gradient_bytes / 1e9
    count = sum(number for _, number in nodes)
    inner_s = max(_within_node_s(each, gradients_gb) for each, _ in nodes)
    seconds = inner_s
    if count > 1:
        gb_s = min(_network_gbps(each) for each, _ in nodes) / 8 * figure("fabric_efficiency")
        latency_s = max(hop_ms(each) for each, _ in nodes) / 1000
        outer_s = 2 * (count - 1) / count * gradients_gb / gb_s
        at_once = all(_nvlink(each) or each.gpus <= 1 for each, _ in nodes)
        hierarchical_s = (max(inner_s, outer_s) if at_once else inner_s + outer_s) + 2 * (count - 1) * latency_s
        gpus = count * max(each.gpus for each, _ in nodes)
        slowest_gb_s = min([gb_s, *(_within_node_gb_s(each) for each, _ in nodes if each.gpus > 1)])
        ring_s = 2 * (gpus - 1) / gpus * gradients_gb / slowest_gb_s + 2 * (gpus - 1) * latency_s
        seconds = min(hierarchical_s, ring_s)
    if joint is not None:
        own_gbps = min(_network_gbps(each) for each, _ in nodes)
        gb_s = min(own_gbps, joint.bandwidth_gbps or own_gbps) / 8 * figure("fabric_efficiency")
        steps = 2 * (joint.sites - 1)
        seconds += steps / joint.sites * gradients_gb / gb_s + steps * joint.latency_ms / 1000
    return seconds


def _within_node_s(node: Machine, gradients_gb: float) -> float:
    if node.gpus <= 1:
        return 0.0
    return 2 * (node.gpus - 1) / node.gpus * gradients_gb / _within_node_gb_s(node)


@lru_cache(maxsize=4096)
def _within_node_gb_s(node: Machine) -> float:
    """Return what each GPU of a node sends to the others at once, in GB/s."""
    if not _nvlink(node):
        generations: int = gpu_speed(node.gpu).pcie_generation - _OLDEST_PCIE
        return figure("pcie_3_gb_s") * 2.0**generations * figure("pcie_share")
    both_ways_gb_s = node.nvlink_gb_s or 0.0
    gb_s = both_ways_gb_s / 2 * figure("nvlink_efficiency")
    adds_up = (
        node.nvlink == Nvlink.NVSWITCH.value
        and both_ways_gb_s >= figure("nvls_gb_s")
        and node.gpus >= figure("nvls_gpus")
    )
    return gb_s * figure("nvls_gain") if adds_up else gb_s


def _nvlink(node: Machine) -> bool:
    return node.nvlink not in {None, Nvlink.NONE.value} and bool(node.nvlink_gb_s)


def _network_gbps(node: Machine) -> float:
    return node.network_gbps or figure("network_gbps_unknown")


def hop_ms(node: Machine) -> float:
    """Return the one-way latency to another such machine at the same site."""
    if node.hop_ms is not None:
        return node.hop_ms
    rdma = node.fabric is not None and Fabric(node.fabric).rdma
    return figure("rdma_latency_ms") if rdma else figure("ethernet_latency_ms")


def _unknown_network(nodes: tuple[tuple[Machine, int], ...]) -> bool:
    return sum(count for _, count in nodes) > 1 and any(each.network_gbps is None for each, _ in nodes)


@cache
def gpu_speed(gpu: str | None) -> GpuSpeed:
    """Return the figures of one GPU by its id; an unknown one counts as the slowest of the table, derived."""
    table = _speeds()
    if gpu in table:
        return table[gpu]
    slowest = min(table.values(), key=lambda speed: speed.images_per_second)
    return GpuSpeed(slowest.images_per_second, None, slowest.dense_tflops, slowest.pcie_generation, derived=True)


class _Known(NamedTuple):
    """The figures of one GPU as published; None where there are none."""

    images: float | None
    tflops: float | None
    gb_s: float | None


@cache
def _speeds() -> dict[str | None, GpuSpeed]:
    """Return the speeds of the table.

    A GPU without a published figure takes that of the published GPU nearest in memory bandwidth (else in TFLOPS), times
    the smaller of the two ratios; missing TFLOPS likewise.
    """
    measured, sequences = _measured("resnet50-fp16"), _measured("bert-large-squad-fp16")
    published_sequences = {gpu.id: _number(gpu.bert_large_fp16_seq_s) or sequences.get(gpu.id) for gpu in all_gpus()}
    known = {
        gpu.id: _Known(
            _number(gpu.resnet50_fp16_img_s) or measured.get(gpu.id),
            _number(gpu.bf16_dense_tflops or gpu.fp16_dense_tflops),
            _number(gpu.mem_bw_gb_s),
        )
        for gpu in all_gpus()
    }
    generations = {gpu.id: gpu.pcie_gen or _OLDEST_PCIE for gpu in all_gpus()}
    published = [row for _, row in sorted(known.items()) if row.images and row.tflops and row.gb_s]
    speeds: dict[str | None, GpuSpeed] = {}
    for gpu, row in known.items():
        scales = _scales(row, published)
        if scales is None:
            continue
        model, scale = scales
        speeds[gpu] = GpuSpeed(
            images_per_second=row.images or (model.images or 0.0) * scale,
            sequences_per_second=published_sequences[gpu],
            dense_tflops=row.tflops or (model.tflops or 0.0) * scale,
            pcie_generation=generations[gpu],
            derived=row.images is None,
        )
    return speeds


def _scales(row: _Known, published: list[_Known]) -> tuple[_Known, float] | None:
    """Return the published GPU most like `row` and the factor to it; None when nothing of `row` is known."""
    if row.gb_s:
        gb_s = row.gb_s
        model = min(published, key=lambda each: abs(math.log((each.gb_s or 1.0) / gb_s)))
    elif row.tflops:
        tflops = row.tflops
        model = min(published, key=lambda each: abs(math.log((each.tflops or 1.0) / tflops)))
    else:
        return None
    pairs = ((row.gb_s, model.gb_s), (row.tflops, model.tflops))
    return model, min(ours / theirs for ours, theirs in pairs if ours and theirs)


def _measured(workload: str) -> dict[str, float]:
    """Return the rate per GPU of a workload in benchmarks.csv, of the runs with the fewest GPUs."""
    found: dict[str, tuple[int, float]] = {}
    for row in rows("benchmarks.csv"):
        if row["workload"] == workload:
            count = int(row["gpu_count"])
            each = (count, float(row["value"]) / count)
            found[row["gpu"]] = min(each, found.get(row["gpu"], each), key=lambda known: (known[0], -known[1]))
    return {gpu: rate for gpu, (_, rate) in found.items()}


def _number(value: Decimal | None) -> float | None:
    return None if value is None else float(value)
