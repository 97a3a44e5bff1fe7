"""What a placement costs when its spot machines are rented on demand instead: what `spot_fallback: true` comes to.

Spot without a maximum price, or with -1, may cost up to the on-demand price as well, so this is also its worst case.
The lost time of spot is kept: on-demand machines lose no more.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal

from emporion.market.budget import within_budget
from emporion.market.cost import interruption_usd_per_hour, pool_line
from emporion.market.cost_lines import Cost, CostLine
from emporion.market.intent.model import Intent
from emporion.market.offer import Market
from emporion.market.pool import Pool

__all__ = ["keeps_budget", "on_demand_cost"]

_HOUR_S = 3600


def on_demand_cost(pools: Sequence[Pool], cost: Cost) -> Cost | None:
    """Return the full chain of these pools with every spot machine on demand; None: none of them is spot.

    A machine without a known on-demand price is a line without an amount.
    """
    if all(pool.offer.market is not Market.SPOT for pool in pools):
        return None
    swapped = [(pool, _on_demand(pool)) for pool in pools]
    lines = {pool_line(spot): _line(spot, instead) for spot, instead in swapped if spot is not instead}
    found = []
    for line in cost.lines:
        if line.part == "interruptions" and line.usd_per_hour is not None and line.quantity is not None:
            found.append(_interruptions(line, [new for old, new in swapped if line.stage in (None, old.stage)]))
        else:
            found.append(lines.get(line, line))
    return replace(cost, lines=tuple(found))


def keeps_budget(cost: Cost, intent: Intent) -> bool | None:
    """Return whether such a cost is within the intent's budget; None: a machine's on-demand price is unknown."""
    if any(breach.judged for breach in within_budget(cost, intent)):
        return False
    return None if any(line.part == "compute" and line.usd_per_hour is None for line in cost.lines) else True


def _on_demand(pool: Pool) -> Pool | None:
    offer = pool.offer
    if offer.market is not Market.SPOT:
        return pool
    usd = offer.on_demand_usd_per_hour
    return None if usd is None else replace(pool, offer=replace(offer, market=Market.ON_DEMAND, usd_per_hour=usd))


def _line(spot: Pool, instead: Pool | None) -> CostLine:
    if instead is not None:
        return pool_line(instead)
    line = pool_line(spot)
    return replace(
        line,
        item=f"{spot.count} x {spot.offer.instance_type} on-demand",
        unit_price=None,
        usd_per_hour=None,
        upper_usd_per_hour=None,
        source="its on-demand price is not known",
        quality="unknown",
    )


def _interruptions(line: CostLine, pools: Sequence[Pool | None]) -> CostLine:
    if None in pools:
        return replace(line, unit_price=None, usd_per_hour=None, upper_usd_per_hour=None, quality="unknown")
    loss_s = round((line.quantity or Decimal(0)) * _HOUR_S)
    compute = sum((pool.usd_per_hour for pool in pools if pool is not None), Decimal(0))
    usd = interruption_usd_per_hour(compute, loss_s)
    return replace(line, unit_price=compute / 24, usd_per_hour=usd, upper_usd_per_hour=usd)
