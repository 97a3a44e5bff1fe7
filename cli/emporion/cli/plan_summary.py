"""The answer of a plan in a few lines: what is recommended and why, how old the prices are, what is not known."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import date
from typing import Any

from emporion.cli.render import age, money

__all__ = ["answer", "least", "machines", "recommended", "summary"]

Document = Mapping[str, Any]


def recommended(plan: Document) -> Document | None:
    """Return the recommended solution of a plan, None without any."""
    return next((one for one in plan["solutions"] if one["recommended"]), None)


def machines(solution: Document) -> str:
    """Return the machines of a solution in words: `2 x p4d.24xlarge spot, aws use1-az2`."""
    pools = " + ".join(
        f"{node['count']} x {node['instance_type']} {node['market'].replace('_', '-')}" for node in solution["nodes"]
    )
    sites = dict.fromkeys(f"{node['provider']} {node['zone'] or node['region']}" for node in solution["nodes"])
    return f"{pools}, {' and '.join(sites)}"


def answer(plan: Document) -> str:
    """Return the recommended solution of a plan that has one, with its price, in a few words."""
    best = recommended(plan)
    return "none" if best is None else f"{machines(best)}, {_price(best['cost'])}"


def _price(cost: Document) -> str:
    """Return the price an hour, marked where it is a lower bound."""
    return f"{least(cost)}${money(cost['total'])}/hr"


def least(cost: Document) -> str:
    """Return the mark of a total that is a lower bound: something is unknown, and no bound is known."""
    return ">=" if cost["unknown"] and cost["upper_total"] is None else ""


def summary(plan: Document, today: date | None) -> list[tuple[str, str]]:
    """Return the lines by their names; `today` is what ages count to, None leaves them out."""
    best = recommended(plan)
    if best is None:
        return [("recommended", "none: nothing of this can be stood up")] if plan["solutions"] else []
    cost, goals = best["cost"], best["objectives"]
    worth = [
        _price(cost),
        f"{goals['throughput']:g} images/s",
        f"{goals['loss_s_per_day']} s lost a day",
    ]
    if goals.get("carbon_g_per_hour") is not None:
        worth.append(f"{goals['carbon_g_per_hour']} gCO2e/h")
    found = [("recommended", f"{machines(best)}: {', '.join(worth)}")]
    why = plan.get("recommendation")
    if why is not None:
        found.append(("why", why["why"]))
    found += [("prices", text) for text in _ages(best, today)]
    found += [("unknown", text) for text in _unknown(cost)]
    return found


def _ages(best: Document, today: date | None) -> Iterator[str]:
    dates = dict.fromkeys((node["provider"], node.get("as_of")) for node in best["nodes"])
    told = [
        f"{provider} of {as_of or 'no date'}{f', {age(as_of, today)} old' if today and as_of else ''}"
        for provider, as_of in dates
    ]
    if told:
        yield "; ".join(told)


def _unknown(cost: Document) -> Iterator[str]:
    upper, unknown = cost["upper_total"], cost["unknown"]
    if not unknown:
        return
    bounds = {line["item"]: line["upper_usd_per_hour"] for line in cost["lines"] if line["usd_per_hour"] is None}
    bounded = [item for item in unknown if upper is not None and bounds.get(item) is not None]
    free = [item for item in unknown if item not in bounded]
    parts = []
    if bounded:
        parts.append(f"{', '.join(bounded)}: at most ${money(upper)}/hr with {'it' if len(bounded) == 1 else 'them'}")
    if free:
        parts.append(f"{', '.join(free)}: no bound" + ("" if upper is not None else ", the total is a lower bound"))
    yield "; ".join(parts)
