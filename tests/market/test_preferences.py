"""Which solution is recommended, by name or by weights."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from plans import AWS, NOW

from emporion.market.errors import UserError
from emporion.market.intent import intent_from_flags
from emporion.market.offers import load_bundled
from emporion.market.placement.front import Vector
from emporion.market.placement.model import Placement
from emporion.market.placement.prefer import preference, recommend
from emporion.market.plan import make_plan

CHEAP, FAST, STEADY, CLEAN = (
    Vector(100, 10.0, 900, 500),
    Vector(900, 100.0, 800, 900),
    Vector(500, 20.0, 0, 700),
    Vector(600, 15.0, 850, 100),
)
FRONT = (CHEAP, FAST, STEADY, CLEAN)


@pytest.fixture(scope="module")
def one() -> Placement:
    """Return some placement, to put vectors on."""
    return make_plan(intent_from_flags(gpus="a100:8"), load_bundled(), clouds=AWS, now=NOW).solutions[0]


def picked(one: Placement, text: str, front: tuple[Vector, ...] = FRONT) -> Vector:
    return recommend([replace(one, vector=vector) for vector in front], preference(text)).vector


@pytest.mark.parametrize(
    ("text", "best"),
    [
        ("cost", CHEAP),
        ("speed", FAST),
        ("stability", STEADY),
        ("carbon", CLEAN),
        ("cost=1", CHEAP),
        ("speed=2", FAST),
        ("stability=0.1", STEADY),
        ("carbon=7", CLEAN),
        ("cost=1,speed=0", CHEAP),
        ("cost=0.2,speed=0.8", FAST),
        # cost 0.5, 1, 0.375+, 0.3125...: worked by hand below
        ("cost=0.5,stability=0.5", STEADY),
    ],
)
def test_a_preference_picks_the_best_in_its_sense(one: Placement, text: str, best: Vector) -> None:
    assert picked(one, text) == best


def test_weights_sum_how_far_each_objective_is_from_the_best_of_the_front(one: Placement) -> None:
    # cost from 0 to 10, loss from 0 to 100: a = 0.7 * 0 + 0.3 * 1, b = 0.7 * 0.4 + 0.3 * 0.1, c = 0.7 * 1 + 0.3 * 0
    a, b, c = Vector(0, 1.0, 100), Vector(4, 1.0, 10), Vector(10, 1.0, 0)
    assert picked(one, "cost=0.7,stability=0.3", (a, b, c)) == a
    assert picked(one, "cost=0.69,stability=0.31", (a, b, c)) == b


def test_weights_are_shares_of_their_sum(one: Placement) -> None:
    assert preference("cost=1,speed=3").weights == preference("cost=25, speed=75").weights
    assert picked(one, "cost=1,speed=3") == picked(one, "cost=100,speed=300")


def test_an_objective_in_which_all_are_equal_decides_nothing(one: Placement) -> None:
    front = (Vector(5, 2.0, 7), Vector(9, 3.0, 7))
    assert picked(one, "stability=1", front) == front[0]


def test_of_equal_scores_the_cheaper_is_picked(one: Placement) -> None:
    front = (Vector(10, 2.0, 5), Vector(0, 1.0, 5))
    assert picked(one, "cost=1,speed=1", front) == front[1]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("cheap", "one of balanced, cost, speed, stability, carbon"),
        ("sped", "did you mean speed"),
        ("cots=1", "did you mean cost"),
        ("balanced=1", "no objective is called 'balanced'"),
        ("cost=-1", "'-1' is no weight of cost"),
        ("cost=nan", "'nan' is no weight"),
        ("cost=inf", "'inf' is no weight"),
        ("cost=", "'' is no weight"),
        ("cost=1e3", "'1e3' is no weight"),
        ("cost=0,speed=0", "all weights are 0"),
        ("cost=1,cost=2", "cost has two weights"),
        ("cost=1,", "no objective is called ''"),
        ("", "no preference is called ''"),
    ],
)
def test_a_preference_that_is_none_is_refused(text: str, said: str) -> None:
    with pytest.raises(UserError) as caught:
        preference(text)
    assert caught.value.code == "E-PREFER"
    assert said in str(caught.value)


@settings(max_examples=500, deadline=None)
@given(st.one_of(st.text(max_size=40), st.from_regex(r"(cost|speed|x)=[0-9.e+-]{0,20}(,(carbon|cost)=.{0,5})?")))
def test_no_text_brings_a_traceback(text: str) -> None:
    try:
        found = preference(text)
    except UserError as error:
        assert error.code == "E-PREFER"  # noqa: PT017 - anything else is a traceback
    else:
        assert not found.weights or abs(sum(found.weights.values()) - 1) < 1e-9
