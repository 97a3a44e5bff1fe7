"""The front over a graph of stages against every combination, on random small graphs."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from itertools import product
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from emporion.market.graph import nano
from emporion.market.placement.candidates import STEP, rounded
from emporion.market.stages.labels import Label, Labels, Layout, Merger, best_of
from emporion.market.stages.solve import Fronts, solve
from emporion.market.stages.tolls import Edge, Tolls, groups_of

NONE = float("-inf")
PLACES = (
    ("aws", "us-east-1"),
    ("aws", "us-east-2"),
    ("aws", "eu-west-1"),
    ("aws", "eu-west-2"),
    ("gcp", "us-central1"),
    ("gcp", "europe-west4"),
    ("azure", "eastus"),
    ("azure", "westus"),
    ("nowhere", "x"),
    ("nowhere", "y"),
)
"""Pairs with rates of their own, pairs that are alike, and pairs whose rate is not known."""
Option = tuple[tuple[str, str], Label]
Problem = tuple[list[list[Option]], list[Edge]]


def numbers(layout: Layout, with_gpus: bool) -> st.SearchStrategy[Label]:
    # near costs make ties of rounded costs, equal ones ties of everything
    costs = st.one_of(
        st.integers(1, 5).map(lambda usd: usd * 10**9),
        st.integers(-2, 2).map(lambda half: 10**9 + half * STEP // 2),
        st.integers(1, 10**10),
    )
    speeds = st.integers(1, 3).map(lambda speed: -float(speed)) if with_gpus else st.just(NONE)
    return st.builds(
        lambda cost, speed, loss, carbon, bound, gpus: (
            cost,
            speed,
            loss,
            *layout.rest(carbon=carbon, judged=cost + bound, gpus=gpus, hours=2),
        ),
        costs,
        speeds,
        st.integers(0, 3),
        st.integers(0, 3),
        st.sampled_from([0, 10**9]),
        st.integers(0, 2),
    )


def edge(producer: int, consumer: int, size: int, hours: int) -> Edge:
    return Edge(producer, consumer, (f"s{producer}", f"s{consumer}"), Decimal(size), Decimal(hours), hours)


@st.composite
def problems(draw: st.DrawFn, layout: Layout, shape: str = "any") -> Problem:
    count = draw(st.integers(1, 5)) if shape == "any" else {"chain": 4, "diamond": 4, "fan": 7}[shape]
    places = draw(st.lists(st.sampled_from(PLACES), min_size=1, max_size=4, unique=True))
    pairs = {
        "chain": [(0, 1), (1, 2), (2, 3)],
        "diamond": [(0, 1), (0, 2), (1, 3), (2, 3)],
        "fan": [pair for middle in range(1, 6) for pair in ((0, middle), (middle, 6))],
        "any": [(one, other) for other in range(count) for one in range(other) if draw(st.booleans())],
    }[shape]
    sizes, hours = st.sampled_from([0, 1, 10, 100, 1000]), st.sampled_from([1, 10])
    edges = [edge(one, other, draw(sizes), draw(hours)) for one, other in pairs]
    stages = [
        draw(
            st.lists(
                st.tuples(st.sampled_from(places), numbers(layout, with_gpus=stage % 3 != 2)),
                min_size=1,
                max_size=2 if shape == "fan" else 5,
            )
        )
        for stage in range(count)
    ]
    return stages, edges


def weights(stages: Sequence[Sequence[Option]]) -> list[int]:
    found = [1]
    for each in reversed(stages[1:]):
        found.insert(0, found[0] * len(each))
    return found


def solved(stages: Sequence[Sequence[Option]], edges: Sequence[Edge], layout: Layout, merger: Merger) -> Labels:
    fronts: list[Fronts] = []
    for options, weight in zip(stages, weights(stages), strict=True):
        by_place: Fronts = {}
        for rank, (place, label) in enumerate(options):
            by_place.setdefault(place, []).append((*label, rank * weight))
        fronts.append(by_place)
    tolls = Tolls(layout, *groups_of({place for each in fronts for place in each}))
    return final(solve(fronts, edges, tolls, merger))


def final(labels: Labels) -> Labels:
    return best_of([(rounded(one[0]), *one[1:]) for one in labels])


def every(stages: Sequence[Sequence[Option]], edges: Sequence[Edge], layout: Layout) -> Labels:
    """Return the front by going through every combination, each edge priced between the very places."""
    found: Labels = []
    for ranks in product(*(range(len(options)) for options in stages)):
        places, labels = zip(*(options[rank] for options, rank in zip(stages, ranks, strict=True)), strict=True)
        cost = sum(label[0] for label in labels)
        rest = [sum(column) for column in zip(*(label[2:] for label in labels), strict=True)]
        for each in edges:
            line = each.line(places[each.producer], places[each.consumer])
            known = 0 if line.usd_per_hour is None else nano(line.usd_per_hour)
            judged = known if line.upper_usd_per_hour is None else nano(line.upper_usd_per_hour)
            cost += known
            more = (0, *layout.rest(judged=judged, hours=each.scale))
            rest = [one + other for one, other in zip(rest, more, strict=True)]
        key = sum(rank * weight for rank, weight in zip(ranks, weights(stages), strict=True))
        found.append((cost, max(label[1] for label in labels), *rest, key))
    return final(found)


PLAIN, CARBON = Layout(), Layout(carbon=True)
BUDGET = Layout(judged=True, gpus=True, run=True)


@pytest.mark.parametrize("shape", ["any", "chain", "diamond", "fan"])
@settings(max_examples=120, deadline=None)
@given(data=st.data())
def test_the_front_is_that_of_every_combination(shape: str, data: st.DataObject) -> None:
    stages, edges = data.draw(problems(PLAIN, shape))
    merger = Merger()
    assert solved(stages, edges, PLAIN, merger) == every(stages, edges, PLAIN)
    assert merger.epsilon == 0


@pytest.mark.parametrize("layout", [CARBON, BUDGET], ids=["carbon", "budget"])
@settings(max_examples=80, deadline=None)
@given(data=st.data())
def test_it_is_so_with_carbon_and_with_what_budgets_are_judged_by(layout: Layout, data: st.DataObject) -> None:
    stages, edges = data.draw(problems(layout))
    assert solved(stages, edges, layout, Merger()) == every(stages, edges, layout)


@settings(max_examples=50, deadline=None)
@given(problems(PLAIN), st.randoms(use_true_random=False))
def test_the_order_of_the_needs_changes_nothing(problem: Problem, random: Random) -> None:
    stages, edges = problem
    shuffled = list(edges)
    random.shuffle(shuffled)
    assert solved(stages, edges, PLAIN, Merger()) == solved(stages, shuffled, PLAIN, Merger())


@settings(max_examples=50, deadline=None)
@given(problems(PLAIN), st.sampled_from(PLACES), numbers(PLAIN, with_gpus=True))
def test_one_option_more_never_makes_anything_worse(problem: Problem, place: tuple[str, str], more: Label) -> None:
    stages, edges = problem
    longer = [[*stages[0], (place, more)], *stages[1:]]
    fewer = [label[:3] for label in solved(stages, edges, PLAIN, Merger())]
    found = [label[:3] for label in solved(longer, edges, PLAIN, Merger())]
    for vector in fewer:
        assert any(all(new <= old for new, old in zip(each, vector, strict=True)) for each in found)


@settings(max_examples=60, deadline=None)
@given(problems(PLAIN))
def test_a_thinned_front_has_something_within_its_epsilon_for_every_combination(problem: Problem) -> None:
    stages, edges = problem
    merger = Merger(most=2)
    found = solved(stages, edges, PLAIN, merger)
    for cost, speed, loss, *_ in every(stages, edges, PLAIN):
        factor = 1 + merger.epsilon
        assert any(
            each[0] <= cost and -each[1] * factor >= -speed * (1 - 1e-9) and each[2] <= loss * factor * (1 + 1e-9)
            for each in found
        )
