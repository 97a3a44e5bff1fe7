"""The search against a naive enumeration of the stated search space, on random small markets."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from small_markets import (
    Row,
    Setting,
    demands,
    front_of,
    made,
    naive_front,
    offers,
    plain_demand,
    search_of,
    settings_of,
)

from emporion.market.offer import Market
from emporion.market.placement.demand import Demand
from emporion.market.placement.quotas import Quota, Unit

ON_DEMAND = Market.ON_DEMAND


def check(rows: list[Row], demand: Demand, setting: Setting) -> None:
    found = made(rows)
    search = search_of(found, demand, setting)
    assert front_of(search.front()) == naive_front(search, found, setting)


@settings(max_examples=1200, deadline=None)
@given(offers(), demands(), settings_of(carbon=False, quotas=False))
def test_the_front_is_that_of_a_naive_enumeration(rows: list[Row], demand: Demand, setting: Setting) -> None:
    check(rows, demand, setting)


@settings(max_examples=600, deadline=None)
@given(offers(), demands(), settings_of())
def test_so_it_is_with_carbon_and_quotas(rows: list[Row], demand: Demand, setting: Setting) -> None:
    check(rows, demand, setting)


@settings(max_examples=150, deadline=None)
@given(offers(5), demands(max_pools=3), settings_of())
def test_so_it_is_with_three_pools(rows: list[Row], demand: Demand, setting: Setting) -> None:
    check(rows, demand, setting)


@pytest.mark.soak
@settings(max_examples=20_000, deadline=None)
@given(offers(9), demands(), settings_of())
def test_so_it_is_in_many_markets(rows: list[Row], demand: Demand, setting: Setting) -> None:
    check(rows, demand, setting)


@settings(max_examples=200, deadline=None)
@given(offers(), demands(), settings_of())
def test_the_search_by_cost_alone_finds_the_cheapest(rows: list[Row], demand: Demand, setting: Setting) -> None:
    found = made(rows)
    search = search_of(found, demand, setting)
    least = min((vector.cost for vector in front_of(search.front())), default=None)
    cheapest = replace(search, by_cost=True).front().points
    assert (cheapest[0][0].cost if cheapest else None) == least


@settings(max_examples=300, deadline=None)
@given(offers(), demands(), settings_of())
def test_what_was_searched_before_need_not_be_searched_again(rows: list[Row], demand: Demand, setting: Setting) -> None:
    found = made(rows)
    search = search_of(found, demand, setting)
    mine = [each for each in search.candidates if each.site.provider == "aws"]
    first = replace(search, candidates=mine, demand=demand.at_one_site()).front()
    settled = frozenset(each.number for each in mine)
    assert set(front_of(replace(search, settled=settled).front(first))) == set(naive_front(search, found, setting))


def test_eight_gpu_boxes_and_a_four_gpu_box_stand_together() -> None:
    rows = [(2, 0, ON_DEMAND, 800_000), (1, 0, ON_DEMAND, 420_000)]
    search = search_of(made(rows), plain_demand(20))
    parts = [[(each.size, count) for each, count in found.parts] for _, _, found in search.front().points]
    assert sorted(parts[0]) == [(4, 1), (8, 2)]


@pytest.mark.parametrize(("limit", "together"), [(144, True), (143, False)])
def test_two_pools_share_a_quota_over_the_whole_placement(limit: int, *, together: bool) -> None:
    rows = [(2, 0, ON_DEMAND, 800_000), (1, 0, ON_DEMAND, 420_000), (0, 2, ON_DEMAND, 100_000)]
    quota = Quota("aws", "us-*", "*", None, limit, Unit.VCPUS)
    found = front_of(search_of(made(rows), plain_demand(12), Setting(quotas=(quota,))).front())
    names = [{each.split("/")[3].split("-")[0] for each in key} for key in found.values()]
    assert {"small"} in names
    assert ({"whole", "half"} in names) is together


def test_one_regions_overhead_is_never_added_to_anothers_price() -> None:
    cheap_machine, cheap_site = (2, 2, ON_DEMAND, 800_000), (3, 0, ON_DEMAND, 900_000)
    for vector, key in front_of(search_of(made([cheap_machine, cheap_site]), plain_demand(8)).front()).items():
        region = key[0].split("/")[1]
        price = 80_000 if region == "eu-west-1" else 90_000
        assert vector.cost > price + len(f"aws{region}") * 100
