"""What to tell when nothing serves an intent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from decimal import ROUND_UP, Decimal

from emporion.market.budget import ceilings
from emporion.market.cost_lines import plain_usd
from emporion.market.errors import ExitCode, UserError
from emporion.market.intent.model import Budget, Intent, Topology
from emporion.market.placement.candidates import usd
from emporion.market.placement.choose import Choice, choose
from emporion.market.placement.model import Relaxation
from emporion.market.placement.quotas import limits_of
from emporion.market.units import Count, format_count

__all__ = ["code_of", "infeasible_error", "wish_text"]

_CODES = {
    "cost_control": "E-BUDGET",
    "resources.gpus.topology": "E-TOPOLOGY",
    "resources.gpus.min_vram": "E-VRAM",
    "resources.gpus.min_total_vram": "E-VRAM",
    "resources.network": "E-NETWORK",
    "constraints.max_carbon": "E-CARBON",
}
"""Code by the key to blame, longest prefix first; any other is E-INFEASIBLE."""
_CENT = Decimal("0.01")


def infeasible_error(choice: Choice, relaxations: Sequence[Relaxation]) -> UserError:
    """Return the error of an infeasible intent: what is missing, where it is asked, and the smallest changes."""
    intent = choice.intent
    key = _key(relaxations)
    hints = [
        *_per_gpu(choice),
        *_over_quota(choice),
        *(f"{each.change}: {each.after} (${plain_usd(each.total_usd_per_hour)}/hr)" for each in relaxations[:4]),
    ]
    return UserError(
        code_of(key),
        "; ".join([f"nothing serves {wish_text(intent)}", *_seen(choice, key)]),
        intent.where(key),
        "; or ".join(hints) or "ask for another GPU model or number: emporion offers list shows what there is",
        ExitCode.INFEASIBLE,
    )


def _key(relaxations: Sequence[Relaxation]) -> str:
    """Return the key to blame: the budget where it alone keeps all out, else what gives way most cheaply."""
    changes = [each.change.split(" + ") for each in relaxations]
    budgets = [keys for keys in changes if all(key.startswith("cost_control") for key in keys)]
    keys = next(iter(budgets or changes), ["resources"])
    return next((key for key in keys if key.startswith("cost_control")), keys[0])


def code_of(key: str) -> str:
    """Return the code of an error that blames a key of an intent."""
    found = [prefix for prefix in _CODES if key == prefix or key.startswith(f"{prefix}.")]
    return _CODES[max(found, key=len)] if found else "E-INFEASIBLE"


def wish_text(intent: Intent) -> str:
    """Return the wish in words: `16 x a100 joined by NVLink in us-east-1`."""
    gpus, places = intent.resources.gpus, intent.constraints
    parts = [f"{intent.resources.nodes_min or 1} nodes"]
    if gpus is not None:
        count = Count(gpus.count_min, gpus.count_max)
        parts = [f"{format_count(count)} x {' or '.join(gpus.asked) or 'any GPU'}"]
        if gpus.topology is Topology.NVLINK:
            parts.append("joined by NVLink")
    if intent.resources.network.low_latency:
        parts.append("with a low-latency network")
    if places.regions:
        parts.append(f"in {' or '.join(places.regions)}")
    if places.providers:
        parts.append(f"of {' or '.join(places.providers)}")
    return " ".join(parts)


def _seen(choice: Choice, key: str) -> list[str]:
    """Return the nearest figure that there is: the cheapest cost left, or the largest memory seen."""
    if code_of(key) == "E-BUDGET":
        cheapest = _cheapest_left(choice)
        return [] if cheapest is None else [cheapest]
    gpus = choice.intent.resources.gpus
    if gpus is None or gpus.min_vram is None:
        return []
    model = " or ".join(gpus.asked) or "GPU"
    sizes = [offer.gpu_vram_gb for offer in choice.graph.offers if offer.gpu_vram_gb is not None]
    return [f"the largest {model} seen has {max(sizes).normalize():f} GB"] if sizes else []


def _cheapest_left(choice: Choice) -> str | None:
    """Return what the cheapest placement costs, on the basis of the budget, and the bound where that alone is above."""
    intent = choice.intent
    free = choose(replace(intent, budget=Budget()), choice.catalogue, choice.terms)
    cheapest, least = free.cheapest(), free.least_judged()
    if cheapest is None or least is None:
        return None
    cost, (judged, gpus) = usd(cheapest[0].cost), least
    limits = ceilings(intent.budget, intent.model.hours)
    told = [f"the cheapest left is {plain_usd(cost)} USD an hour"]
    told += [each.write(_cents(each.needed(cost, gpus))) for each in limits if each.per_gpu and gpus]
    most = [limit for each in limits if (limit := each.most_per_hour(gpus)) is not None]
    if most and cost <= min(most) < judged:
        told.append(f"at most {plain_usd(_cents(judged))}, which a budget is judged by")
    return ", ".join(told)


def _over_quota(choice: Choice) -> list[str]:
    """Return the quotas that keep out the cheapest placement there would be without any, with what it needs."""
    quotas = choice.terms.quotas
    cheapest = choose(choice.intent, choice.catalogue, replace(choice.terms, quotas=())).cheapest() if quotas else None
    if cheapest is None:
        return []
    needed = dict.fromkeys(quotas, 0)
    for candidate, count in cheapest[1].parts:
        for number, uses in limits_of(choice.graph.offers[candidate.number], quotas):
            needed[quotas[number]] += uses * count
    return [f"ask for more quota: {each.text}, {use} needed" for each, use in needed.items() if use > each.limit]


def _cents(amount: Decimal) -> Decimal:
    return amount.quantize(_CENT, ROUND_UP)


def _per_gpu(choice: Choice) -> list[str]:
    """Return the hint that a ceiling on the whole cluster would hold per GPU, where it would."""
    intent = choice.intent
    if intent.resources.gpus is None:
        return []
    hints = []
    for ceiling in ceilings(intent.budget, intent.model.hours):
        each = replace(ceiling, per_gpu=True)
        if ceiling.per_gpu or getattr(intent.budget, each.field) is not None:
            continue
        changed = replace(intent.budget, **{ceiling.field: None, each.field: ceiling.usd})  # type: ignore[arg-type]
        if choose(replace(intent, budget=changed), choice.catalogue, choice.terms).cheapest() is not None:
            hints.append(f"{each.text}, which holds: {ceiling.text} is the ceiling of the whole cluster")
    return hints
