from __future__ import annotations

import math
import statistics

from hypothesis import given
from hypothesis import strategies as st

from emporion.localcloud.chance import lognormal, normal, unit


@given(st.text(), st.lists(st.one_of(st.text(), st.integers())))
def test_the_same_question_has_the_same_answer_between_0_and_1(seed: str, about: list[object]) -> None:
    assert 0 < unit(seed, *about) < 1
    assert unit(seed, *about) == unit(seed, *about)


def test_other_seeds_and_other_subjects_have_other_answers() -> None:
    answers = {unit("7", "a"), unit("8", "a"), unit("7", "b"), unit("7", "a", "b"), unit("7", "ab")}
    assert len(answers) == 5


def test_draws_have_the_distribution_that_they_are_named_after() -> None:
    normals = [normal("7", number) for number in range(4000)]
    assert abs(statistics.mean(normals)) < 0.05
    assert abs(statistics.stdev(normals) - 1) < 0.05
    delays = sorted(lognormal(120, 300, "7", number) for number in range(4000))
    assert math.isclose(statistics.median(delays), 120, rel_tol=0.05)
    assert math.isclose(delays[3800], 300, rel_tol=0.1)
