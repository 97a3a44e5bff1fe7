"""A plan as the JSON of schema `emporion.plan/1` (DESIGN.md section 6)."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from emporion.market.carbon import emission
from emporion.market.cost_lines import plain_usd
from emporion.market.fallback import keeps_budget, on_demand_cost
from emporion.market.intent import intent_json
from emporion.market.placement.candidates import usd
from emporion.market.placement.model import Placement, Pool, SiteLink, StagePart
from emporion.market.plan.planning import Plan
from emporion.market.plan.recommendation import recommendation
from emporion.market.stages.outcome import critical_path_hours

__all__ = ["SCHEMA", "placement_json", "plan_json"]

SCHEMA = "emporion.plan/1"


def plan_json(plan: Plan) -> dict[str, Any]:
    """Return a plan's JSON; money as decimal strings in USD, unknown as null. Equal plans give equal JSON."""
    warnings = list(plan.warnings)
    if plan.error is not None:
        warnings.insert(0, plan.error.what)
    return {
        "schema": SCHEMA,
        "intent": intent_json(plan.intent),
        "catalogue": _catalogue(plan),
        "feasible": plan.feasible,
        **_stages(plan),
        "recommendation": _recommendation(plan),
        "solutions": [placement_json(each, rank, plan) for rank, each in enumerate(plan.solutions, 1)],
        "not_deployable": [placement_json(each, rank, plan) for rank, each in enumerate(plan.not_deployable, 1)],
        "rejected": [{"reason": each.reason, "offers": each.offers, "example": each.example} for each in plan.rejected],
        "relaxations": [
            {
                "change": each.change,
                "from": each.before,
                "to": each.after,
                "total": plain_usd(each.total_usd_per_hour),
            }
            for each in plan.relaxations
        ],
        "warnings": warnings,
    }


def _stages(plan: Plan) -> dict[str, Any]:
    """Return what holds for all placements of several stages; nothing for one."""
    if plan.stages is None:
        return {}
    return {
        "epsilon": _significant(plan.stages.epsilon),
        "critical_path_hours": _number(critical_path_hours(plan.stages.graph)),
    }


def _stage(part: StagePart) -> dict[str, Any]:
    own = part.placement
    site = own.sites[0]
    return {
        "name": part.name,
        "needs": list(part.needs),
        "hours": _number(part.hours),
        "provider": site.provider,
        "region": site.region,
        "zone": site.zone,
        "gpus": own.gpus,
        "surplus": own.surplus,
        "deploy_note": own.deploy_problem,
        "usd_per_hour": plain_usd(usd(own.vector.cost)),
        "run_total": plain_usd(own.cost.run_total),
        "throughput": own.vector.throughput,
        "loss_s_per_day": own.vector.loss_s,
    }


def _recommendation(plan: Plan) -> dict[str, Any] | None:
    found = recommendation(plan)
    return None if found is None else {"rank": found.rank, "prefer": found.prefer, "why": found.why}


def _catalogue(plan: Plan) -> dict[str, Any]:
    """Return what was planned over; `rates` and `observed` only where there were some."""
    rates = [
        {"currency": currency, "usd": plain_usd(rate.usd), "as_of": rate.as_of}
        for currency, rate in sorted(plan.rates.items())
    ]
    told: dict[str, Any] = {"version": plan.catalogue.version, "as_of": plan.catalogue.as_of}
    seen = plan.choice.terms.observed
    counts = {"links": len(seen.links), "spot_events": len(seen.spot), "nodes": len(seen.nodes)}
    told |= {"observed": counts} if any(counts.values()) else {}
    return {**told, "rates": rates} if rates else told


def placement_json(placement: Placement, rank: int | None, plan: Plan) -> dict[str, Any]:
    """Return a placement as it stands in a plan's JSON; `rank` is None where it is in no front."""
    performance, stability = placement.performance, placement.stability
    return {
        "rank": rank,
        "recommended": placement is plan.recommended,
        "deployable": placement.deployable,
        "deploy_note": placement.deploy_problem,
        "gpus": placement.gpus,
        "surplus": placement.surplus,
        **({"stages": [_stage(each) for each in placement.stages]} if placement.stages else {}),
        "nodes": [_pool(pool) for pool in placement.pools],
        "objectives": {
            "usd_per_hour": plain_usd(usd(placement.vector.cost)),
            "throughput": placement.vector.throughput,
            "loss_s_per_day": placement.vector.loss_s,
            **({"carbon_g_per_hour": placement.vector.carbon} if plan.carbon else {}),
        },
        "cost": {**placement.cost.to_json(), "fallback": _fallback(placement, plan)},
        "performance": {
            "images_per_second": _significant(performance.images_per_second),
            "tokens_per_second": _significant(performance.tokens_per_second),
            "sequences_per_second": None
            if performance.sequences_per_second is None
            else _significant(performance.sequences_per_second),
            "scaling_efficiency": round(performance.scaling_efficiency, 4),
            "derived": performance.derived,
        },
        "stability": {
            "interruptions_per_day": _significant(stability.interruptions_per_day),
            "mean_recovery_s": round(stability.mean_recovery_s),
            "checkpoint_interval_s": round(stability.checkpoint_interval_s),
            "assumed": stability.assumed,
        },
        "links": [_link(link) for link in placement.links],
        **(_carbon(placement) if plan.carbon else {}),
    }


def _carbon(placement: Placement) -> dict[str, Any]:
    """Return what of a placement's emission is not known: its figure is a bound then."""
    unknown = sorted({name for pool in placement.pools for name in emission(pool.offer).unknown})
    return {"carbon": {"bound": bool(unknown), "unknown": unknown}}


def _fallback(placement: Placement, plan: Plan) -> dict[str, Any] | None:
    """Return what the placement costs with its spot machines on demand; None: none of them is spot."""
    cost = on_demand_cost(placement.pools, placement.cost)
    if cost is None:
        return None
    return {
        "compute": plain_usd(cost.part("compute")),
        "total": plain_usd(cost.total),
        "upper_total": plain_usd(cost.upper_total),
        "unknown": list(cost.unknown),
        "keeps_budget": keeps_budget(cost, plan.intent),
    }


def _pool(pool: Pool) -> dict[str, Any]:
    offer = pool.offer
    node = {
        "provider": offer.provider,
        "region": offer.region,
        "zone": offer.zone,
        "instance_type": offer.instance_type,
        "gpu": offer.gpu,
        "gpus_per_node": offer.gpu_count,
        "vram_gb_per_gpu": _number(offer.gpu_vram_gb),
        "count": pool.count,
        "market": offer.market.value,
        "usd_per_hour": plain_usd(offer.usd_per_hour),
        "offer": offer.id,
        "source": offer.source,
        "as_of": offer.as_of,
    }
    return node if pool.stage is None else {"stage": pool.stage, **node}


def _link(link: SiteLink) -> dict[str, Any]:
    return {
        "sites": [{"provider": end.provider, "region": end.region, "zone": end.zone} for end in link.ends],
        "fabric": link.fabric,
        "latency_ms": link.latency_ms,
        "bandwidth_gbps": link.bandwidth_gbps,
        "modelled": link.modelled,
        "bandwidth_modelled": link.bandwidth_modelled,
        "source": link.source,
        "as_of": link.as_of,
    }


def _number(value: Decimal | None) -> float | int | None:
    if value is None:
        return None
    return int(value) if value == int(value) else float(value)


def _significant(value: float) -> float:
    """Return a modelled figure to six significant digits: more would be made up."""
    return float(f"{value:.6g}")
