"""What the figures of a placement rest on: who published them, or how they were derived."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from emporion.market.figures import figures
from emporion.market.gpus import gpu_info
from emporion.market.observed import Observed
from emporion.market.offer import Market, Offer
from emporion.market.performance import gpu_speed
from emporion.market.placement.model import Placement
from emporion.market.stability import hazard

__all__ = ["Basis", "bases"]


@dataclass(frozen=True, slots=True)
class Basis:
    """One figure of a placement."""

    name: str
    value: str
    """With its unit."""
    quality: str
    """`published`, `observed`, `derived`, `modelled` or `assumed`."""
    basis: str


def bases(placement: Placement, observed: Observed) -> tuple[Basis, ...]:
    """Return the figures of speed and stability that a placement is compared by, each with what it rests on."""
    return (*_speed(placement), *_losses(placement, observed))


def _speed(placement: Placement) -> Iterator[Basis]:
    performance = placement.performance
    gpus = [pool.offer.gpu for pool in placement.pools if pool.offer.gpu_count]
    for gpu in dict.fromkeys(gpus):
        speed = gpu_speed(gpu)
        where = f"data/gpus.csv, data/benchmarks.csv: {gpu_info(gpu).source if gpu else '?'}"
        how = "from the published GPU nearest in memory bandwidth, by bandwidth and dense TFLOPS"
        yield Basis(
            f"images/s of one {gpu or 'GPU of unknown model'}",
            f"{speed.images_per_second:.6g} images/s",
            "derived" if speed.derived else "published",
            how if speed.derived else where,
        )
    if not gpus:
        return
    yield Basis(
        "scaling efficiency",
        f"{performance.scaling_efficiency:.1%}",
        "modelled",
        "compute / (compute + exchange of gradients): docs/explanation/performance-model.md",
    )
    yield Basis(
        "throughput",
        f"{placement.vector.throughput:g} images/s",
        "derived" if performance.derived else "modelled",
        f"images/s of the slowest GPU x {placement.gpus} GPUs x efficiency, to 4 digits",
    )


def _losses(placement: Placement, observed: Observed) -> Iterator[Basis]:
    stability = placement.stability
    for pool in placement.pools:
        if pool.offer.market is Market.SPOT:
            yield _interruptions(pool.offer, observed)
    failure = figures()["failure_gpu_hours"]
    gpus = sum(pool.gpus for pool in placement.pools)
    yield Basis(
        "hardware failures",
        f"{gpus * 24 / failure.value:.3g} a day",
        failure.quality,
        f"{gpus} GPUs x 24 h / {failure.value:g} h: {failure.source}, {failure.as_of}",
    )
    yield Basis(
        "mean recovery",
        f"{stability.mean_recovery_s:.0f} s",
        "modelled",
        f"boot, bootstrap, restore, half a checkpoint interval of {stability.checkpoint_interval_s:.0f} s: "
        "data/model_figures.csv",
    )
    yield Basis(
        "lost time",
        f"{placement.vector.loss_s} s a day",
        "modelled",
        "interruptions a day x mean recovery, whole seconds",
    )


def _interruptions(offer: Offer, observed: Observed) -> Basis:
    rate = hazard(offer, observed.spot_events)
    exposure = observed.spot_events.exposure(offer)
    name, value = f"interruptions of {offer.instance_type}", f"{rate.per_day:.3g} a day"
    if rate.assumed:
        return Basis(name, value, "assumed", "no rate is published: a conservative prior (data/model_figures.csv)")
    if exposure is not None:
        basis = f"{exposure.interruptions} seen in {exposure.up_hours:g} h, with the published rate or the prior"
        return Basis(name, value, "observed", basis)
    return Basis(name, value, "published", "upper edge of its bucket in the Spot Advisor (data/spot_advisor.csv)")
