"""An explanation as the JSON of schema `emporion.explanation/1`."""

from __future__ import annotations

from typing import Any

from emporion.market.cost_lines import plain_usd
from emporion.market.offer import Offer
from emporion.market.placement.candidates import usd
from emporion.market.placement.model import Placement
from emporion.market.plan.bases import bases
from emporion.market.plan.document import placement_json
from emporion.market.plan.explain import Explanation, Rival, Walk
from emporion.market.plan.planning import Plan

__all__ = ["explanation_json"]


def explanation_json(plan: Plan, explanation: Explanation) -> dict[str, Any]:
    """Return what became of an offer; money as decimal strings in USD, unknown as null."""
    offer = explanation.offer
    return {
        "schema": "emporion.explanation/1",
        "offer": offer.id,
        "facts": _facts(offer),
        "walks": [_walk(plan, walk) for walk in explanation.walks],
    }


def _facts(offer: Offer) -> dict[str, Any]:
    def text(value: object) -> str | None:
        return None if value is None else format(value, "f")

    return {
        "provider": offer.provider,
        "region": offer.region,
        "zone": offer.zone,
        "instance_type": offer.instance_type,
        "market": offer.market.value,
        "gpu": offer.gpu,
        "gpus": offer.gpu_count,
        "vram_gb_per_gpu": text(offer.gpu_vram_gb),
        "vcpus": text(offer.vcpus),
        "memory_gb": text(offer.ram_gb),
        "usd_per_hour": plain_usd(offer.usd_per_hour),
        "on_demand_usd_per_hour": plain_usd(offer.on_demand_usd_per_hour),
        "source": offer.source,
        "as_of": offer.as_of,
    }


def _walk(plan: Plan, walk: Walk) -> dict[str, Any]:
    placement = walk.placement
    observed = plan.choice.terms.observed
    return {
        "stage": walk.stage,
        "verdict": walk.verdict,
        "rank": walk.rank,
        "reason": walk.reason,
        "checks": [
            {
                "key": check.key,
                "asked": check.asked,
                "seen": check.seen,
                "passed": check.passed,
                "reason": check.reason,
            }
            for check in walk.checks
        ],
        "placement": None if placement is None else placement_json(placement, walk.rank, plan),
        "figures": []
        if placement is None
        else [
            {"name": each.name, "value": each.value, "quality": each.quality, "basis": each.basis}
            for each in bases(placement, observed)
        ],
        "rivals": [] if placement is None else [_rival(each, placement) for each in walk.rivals],
    }


def _rival(rival: Rival, placement: Placement) -> dict[str, Any]:
    """Return a rival with how much it is better: all of these are 0 or more, and all 0 for an equal one."""
    ours, theirs = placement.vector, rival.placement.vector
    return {
        "label": rival.label,
        "offers": list(rival.placement.offer_ids),
        "usd_per_hour": plain_usd(usd(theirs.cost)),
        "cheaper_usd_per_hour": plain_usd(usd(ours.cost - theirs.cost)),
        "faster_images_per_second": float(f"{theirs.throughput - ours.throughput:.6g}"),
        "less_lost_s_per_day": ours.loss_s - theirs.loss_s,
        "less_carbon_g_per_hour": ours.carbon - theirs.carbon,
    }
