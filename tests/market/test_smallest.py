"""Smallest sets of keys, against trying every set."""

from __future__ import annotations

from itertools import combinations

from hypothesis import given
from hypothesis import strategies as st

from emporion.market.placement.smallest import smallest_sets

KEYS = 7
CORES = st.lists(st.frozensets(st.integers(0, KEYS - 1), min_size=1, max_size=4), min_size=1, max_size=6)


@given(CORES)
def test_exactly_the_smallest_sets_that_hit_every_core_are_found(cores: list[frozenset[int]]) -> None:
    def serves(given_up: frozenset[int]) -> bool:
        return all(core & given_up for core in cores)

    every = [some for size in range(KEYS + 1) for some in combinations(range(KEYS), size) if serves(frozenset(some))]
    least = len(every[0])
    assert smallest_sets(KEYS, serves) == [some for some in every if len(some) == least]


def test_none_is_found_when_all_keys_together_are_not_enough() -> None:
    assert smallest_sets(3, lambda _given_up: False) == []


def test_few_sets_are_tried_where_many_keys_must_give_way() -> None:
    tried = []

    def serves(given_up: frozenset[int]) -> bool:
        tried.append(given_up)
        return given_up >= frozenset(range(9))

    assert smallest_sets(14, serves) == [tuple(range(9))]
    assert len(tried) < 200
