"""The cheapest placement against a mixed-integer program (HiGHS) on markets too large to enumerate.

On demand, with nothing to restore, the loss depends on the number of GPUs alone, so the cost is linear in machines:

    minimise    sum price[i] n[i] (1 + loss) + per_node sum n[i] + sum fixed[r] z[r]
    subject to  sum size[i] n[i] = gpus,   y[i] <= n[i] <= gpus y[i],   y[i] <= z[region of i],   sum y[i] <= max_pools
                sum grams[i] n[i] <= ceiling,   sum uses[q, i] n[i] <= limit[q]
"""

from __future__ import annotations

from dataclasses import replace
from random import Random

import numpy as np
import pytest
from scipy.optimize import Bounds, LinearConstraint, milp  # type: ignore[import-untyped]
from small_markets import MACHINES, NANO, PLACES, Row, Setting, made, overhead, plain_demand, search_of

from emporion.market.offer import Market
from emporion.market.placement.candidates import STEP
from emporion.market.placement.quotas import Quota, Unit
from emporion.market.placement.search import Search
from emporion.market.stability import Recovering

DAY_S = 86_400
NOTHING_LOST = Recovering(0.0, 0)


def market(dice: Random, offers: int) -> list[Row]:
    rows = []
    for _ in range(offers):
        machine = dice.randrange(len(MACHINES))
        price = MACHINES[machine][2] * dice.randint(60_000, 140_000)
        rows.append((machine, dice.randrange(len(PLACES)), Market.ON_DEMAND, price))
    return rows


def solved(search: Search, gpus: int) -> float | None:
    """Return the least cost per hour in USD that the program finds, None: it has no solution."""
    offers = search.candidates
    regions = sorted({offer.site[:2] for offer in offers})
    many, places = len(offers), len(regions)
    loss_s = round(search.stability([offers[0].kind], [1]).mean_recovery_s * gpus * 24 / 51_000)
    known = [overhead(*region, 1)[0] for region in regions]
    per_node = overhead(*regions[0], 2)[0] - known[0]
    zeros = np.zeros(many)
    costs = np.concatenate(
        [
            [offer.price * (1 + loss_s / DAY_S) + per_node for offer in offers],
            zeros,
            [each - per_node for each in known],
        ]
    )
    sizes = np.array([offer.size for offer in offers], dtype=float)
    eye = np.eye(many)
    stands = np.array([[float(offer.site[:2] == region) for region in regions] for offer in offers])
    none = np.zeros(places)
    limits = [
        LinearConstraint(np.concatenate([sizes, zeros, none]), gpus, gpus),
        LinearConstraint(np.hstack([eye, -gpus * eye, np.zeros((many, places))]), -np.inf, 0),
        LinearConstraint(np.hstack([eye, -eye, np.zeros((many, places))]), 0, np.inf),
        LinearConstraint(np.hstack([np.zeros((many, many)), eye, -stands]), -np.inf, 0),
        LinearConstraint(np.concatenate([zeros, np.ones(many), none]), 0, search.demand.max_pools),
    ]
    if search.tariff.carbon is not None:
        emitted = np.array([float(offer.carbon) for offer in offers])
        limits.append(LinearConstraint(np.concatenate([emitted, zeros, none]), 0, search.tariff.carbon))
    for number, limit in enumerate(search.tariff.quotas):
        uses = np.array([float(dict(offer.limits).get(number, 0)) for offer in offers])
        limits.append(LinearConstraint(np.concatenate([uses, zeros, none]), 0, limit))
    upper = np.concatenate([np.full(many, gpus), np.ones(many + places)])
    found = milp(
        costs / NANO,
        integrality=np.ones(len(costs)),
        bounds=Bounds(0, upper),
        constraints=limits,
        options={"mip_rel_gap": 0.0},
    )
    return None if found.x is None else float(found.fun)


def cheapest(search: Search) -> float | None:
    point = next(iter(search.front().points), None)
    return None if point is None else point[0].cost * STEP / NANO


@pytest.mark.parametrize("seed", range(36))
def test_the_cheapest_placement_is_that_of_a_mixed_integer_program(seed: int) -> None:
    dice = Random(seed)  # noqa: S311 - a test's data
    rows, gpus = market(dice, dice.choice([20, 40, 60])), dice.choice([7, 24, 100, 257])
    quotas: tuple[Quota, ...] = ()
    if seed % 3 == 1:
        quotas = (
            Quota("aws", "*", "*", None, dice.randint(0, gpus), Unit.GPUS),
            Quota("azure", "*", "*", None, dice.randint(0, 4), Unit.MACHINES),
        )
    grams = dice.randint(200, 400) * gpus if seed % 3 == 2 else None
    demand = plain_demand(gpus, max_pools=dice.choice([1, 2, 2]))
    search = replace(search_of(made(rows), demand, Setting(grams=grams, quotas=quotas)), recovery=NOTHING_LOST)
    program, ours = solved(search, gpus), cheapest(replace(search, by_cost=True))
    assert (program is None) is (ours is None)
    if program is not None and ours is not None:
        assert ours == pytest.approx(program, rel=1e-6, abs=2e-4)
    full = cheapest(search)
    assert full == ours
