"""How often a placement is interrupted, and what each interruption costs in time.

    interruptions per day = sum over spot pools of -ln(1 - p) / T      p: published share per month, T: that month
                          + GPUs * 24 / GPU hours per hardware failure (every market)
    mean recovery         = boot + bootstrap + restore of the checkpoint + half a checkpoint interval
    loss_s_per_day        = interruptions per day * mean recovery

Machines of one spot pool go together, so a pool counts once however many nodes it has. A spot pool without a published
rate gets a conservative prior and is marked. `checkpoint_interval: auto` is Daly's optimum for the write time of one
checkpoint and the mean time between interruptions.

What was observed of a pool (T hours up, k interruptions) pulls its rate by the gamma-Poisson rule: a rate r per hour
that is trusted like H hours of watching becomes

    (r * H + k) / (H + T)

so that few hours hardly move it and many replace it. Without an observation it is exactly the prior's
(docs/explanation/stability.md).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import NamedTuple

from emporion.market.figures import figure
from emporion.market.intent.model import Intent
from emporion.market.observed.spot import SpotEvents
from emporion.market.offer import Market, Offer
from emporion.market.tables import rows

__all__ = [
    "Hazard",
    "Recovering",
    "Stability",
    "checkpoint_interval_s",
    "hazard",
    "observed_hazard",
    "pool_hazard",
    "recovering",
    "stability",
]

_DAY_S = 86_400


class Hazard(NamedTuple):
    """Interruptions per day of one pool, hardware failures not counted."""

    per_day: float
    assumed: bool
    """Whether it is the prior for pools without a published rate, or that prior hardly pulled by an observation."""


class Recovering(NamedTuple):
    """What an intent says about recovery."""

    checkpoint_gb: float
    interval_s: int | None
    """None: chosen by `checkpoint_interval_s`."""


@dataclass(frozen=True, slots=True)
class Stability:
    """A placement's expected interruptions."""

    interruptions_per_day: float
    mean_recovery_s: float
    checkpoint_interval_s: float
    assumed: bool
    """Whether a pool's rate is the prior."""

    @property
    def loss_s_per_day(self) -> float:
        """Seconds of training lost per day."""
        return min(self.interruptions_per_day * self.mean_recovery_s, float(_DAY_S))


def hazard(offer: Offer, seen: SpotEvents | None = None) -> Hazard:
    """Return the interruptions per day of a pool of this offer: 0 unless it is spot.

    `seen` pulls the published or assumed rate; an assumed one stays marked until more was seen than it is trusted with.
    """
    if offer.market is not Market.SPOT:
        return _NONE
    prior = pool_hazard(offer.provider, offer.region, offer.instance_type)
    exposure = seen.exposure(offer) if seen is not None else None
    return prior if exposure is None else observed_hazard(prior, *exposure)


def pool_hazard(provider: str, region: str, instance_type: str) -> Hazard:
    """Return the interruptions per day of a region's spot machines of one type: the published rate, else a prior."""
    bucket = _advisor().get((provider, region, instance_type))
    return _prior() if bucket is None else _bucket(bucket)


def observed_hazard(prior: Hazard, up_hours: float, interruptions: int) -> Hazard:
    """Return a rate pulled by what was observed of the pool; `up_hours` is above 0."""
    trusted_hours = figure("spot_unknown_trust_hours" if prior.assumed else "spot_published_trust_hours")
    per_hour = (prior.per_day / 24 * trusted_hours + interruptions) / (trusted_hours + up_hours)
    return Hazard(per_hour * 24, assumed=prior.assumed and up_hours < trusted_hours)


_NONE = Hazard(0.0, assumed=False)


@cache
def _prior() -> Hazard:
    return Hazard(figure("spot_unknown_per_day"), assumed=True)


@cache
def _bucket(index: str) -> Hazard:
    rate = -math.log(1 - figure(f"spot_bucket_{index}")) / figure("spot_period_hours")
    return Hazard(rate * 24, assumed=False)


@cache
def _advisor() -> Mapping[tuple[str, str, str], str]:
    return {
        (row["provider"], row["region"], row["instance_type"]): row["interruption_bucket"]
        for row in rows("spot_advisor.csv")
    }


def recovering(intent: Intent) -> Recovering:
    """Return what the stability model needs of an intent."""
    parameters = intent.model.parameters or figure("parameters_default")
    size_gb = parameters * figure("checkpoint_bytes_per_parameter") / 1e9
    return Recovering(size_gb, intent.lifecycle.checkpoint_interval_s)


@lru_cache(maxsize=65536)
def stability(hazards: tuple[Hazard, ...], gpus: int, nodes: int, recovery: Recovering) -> Stability:
    """Return the stability of pools with these hazards that have `gpus` GPUs on `nodes` machines in all."""
    per_day = math.fsum(each.per_day for each in hazards) + gpus * 24 / figure("failure_gpu_hours")
    transfer_s = recovery.checkpoint_gb / (figure("checkpoint_gb_s_per_node") * nodes)
    if recovery.interval_s is not None:
        interval_s = float(recovery.interval_s)
    else:
        interval_s = checkpoint_interval_s(transfer_s, _DAY_S / per_day if per_day else math.inf)
    mean_s = figure("boot_s") + figure("bootstrap_s") + transfer_s + interval_s / 2
    return Stability(per_day, mean_s, interval_s, any(each.assumed for each in hazards))


def checkpoint_interval_s(write_s: float, between_s: float) -> float:
    """Return Daly's interval for a checkpoint that takes `write_s`, with `between_s` between interruptions.

    The whole interval counts as compute time. It is never more than a day, with no interruption at all too.
    """
    if math.isinf(between_s):
        return float(_DAY_S)
    if write_s >= 2 * between_s:
        return min(between_s, float(_DAY_S))
    ratio = write_s / (2 * between_s)
    daly_s = math.sqrt(2 * write_s * between_s) * (1 + math.sqrt(ratio) / 3 + ratio / 9) - write_s
    return min(daly_s, float(_DAY_S))
