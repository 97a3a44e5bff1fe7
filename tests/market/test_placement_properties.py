"""What must hold of every front, whatever the market."""

from __future__ import annotations

from dataclasses import replace
from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st
from small_markets import (
    Row,
    Setting,
    demands,
    front_of,
    judged,
    made,
    offers,
    overhead,
    plain_demand,
    search_of,
    settings_of,
)

from emporion.market.placement.candidates import Tariff
from emporion.market.placement.demand import Demand
from emporion.market.placement.front import dominates


@settings(max_examples=200, deadline=None)
@given(offers(12), demands(), settings_of(), st.randoms(use_true_random=False))
def test_the_order_of_the_offers_changes_nothing(
    rows: list[Row], demand: Demand, setting: Setting, random: Random
) -> None:
    found = made(rows)
    shuffled = list(found)
    random.shuffle(shuffled)
    one, other = (search_of(some, demand, setting).front() for some in (found, shuffled))
    assert repr(front_of(one)) == repr(front_of(other))


@settings(max_examples=200, deadline=None)
@given(offers(12).filter(bool), demands(), settings_of())
def test_one_offer_more_never_makes_the_best_dearer_slower_or_less_stable(
    rows: list[Row], demand: Demand, setting: Setting
) -> None:
    found = made(rows)
    fewer, more = (list(front_of(search_of(some, demand, setting).front())) for some in (found[:-1], found))
    for vector in fewer:
        assert any(other == vector or dominates(other, vector) for other in more)


@settings(max_examples=200, deadline=None)
@given(offers(), demands(), st.sampled_from([10, 1000]))
def test_prices_in_a_larger_unit_choose_the_same_machines(rows: list[Row], demand: Demand, factor: int) -> None:
    rows = [(machine, place, market, price * 100) for machine, place, market, price in rows]
    scaled = [(machine, place, market, price * factor) for machine, place, market, price in rows]
    small, large = search_of(made(rows), demand), search_of(made(scaled), demand)
    for search, times in ((small, 1), (large, factor)):
        search.tariff = Tariff(lambda *place, times=times: (overhead(*place)[0] * times, None), lambda _gpus: None)
    # rounding is to a fixed step, so a scaled market can only tell more placements apart
    assert set(front_of(small.front()).values()) <= set(front_of(large.front()).values())


@settings(max_examples=100, deadline=None)
@given(offers(), demands(), st.integers(2, 9))
def test_without_overhead_all_prices_times_a_number_cost_that_much(
    rows: list[Row], demand: Demand, factor: int
) -> None:
    scaled = [(machine, place, market, price * factor) for machine, place, market, price in rows]
    free = Tariff(lambda *_place: (0, 0), lambda _gpus: None)
    costs = []
    for some in (rows, scaled):
        point = next(iter(replace(search_of(made(some), demand), tariff=free, by_cost=True).front().points), None)
        costs.append(None if point is None else point[0].cost)
    small, large = costs
    assert (small is None) is (large is None)
    if small is not None and large is not None:
        assert abs(large - small * factor) <= factor  # each is rounded to a step


@settings(max_examples=150, deadline=None)
@given(offers(25), demands(), settings_of())
def test_no_solution_is_dominated_and_each_is_feasible_and_worth_what_it_says(
    rows: list[Row], demand: Demand, setting: Setting
) -> None:
    found = made(rows)
    search = search_of(found, demand, setting)
    points = search.front().points
    vectors = [vector for vector, _, _ in points]
    assert vectors == sorted(vectors, key=lambda each: (each.cost, -each.throughput, each.loss_s, each.carbon))
    assert not any(dominates(one, other) for one in vectors for other in vectors)
    for vector, _, placed in points:
        chosen, counts = zip(*placed.parts, strict=True)
        assert judged(search, found, setting, chosen, counts) == vector


@settings(max_examples=60, deadline=None)
@given(offers(), st.sampled_from([64, 256, 1000]))
def test_the_cheapest_of_many_gpus_is_that_of_every_count_tried(rows: list[Row], gpus: int) -> None:
    """Large counts go through ranges of counts: here each count of each pair is tried by itself."""
    found = made(rows)
    search = replace(search_of(found, plain_demand(gpus)), by_cost=True)
    point = next(iter(search.front().points), None)
    best = None
    for one in search.candidates:
        for other in search.candidates:
            for count in range(1, gpus // one.size + 1):
                rest = gpus - count * one.size
                if rest % other.size or (one is other and rest) or (one is not other and not rest):
                    continue
                chosen, counts = ((one, other), (count, rest // other.size)) if rest else ((one,), (count,))
                vector = judged(replace(search, by_cost=False), found, Setting(), chosen, counts)
                if vector is not None and (best is None or vector.cost < best):
                    best = vector.cost
    assert (None if point is None else point[0].cost) == best
