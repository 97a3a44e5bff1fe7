"""The front as a picture in a terminal."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from syrupy.assertion import SnapshotAssertion

from emporion.cli.scatter import Dot, Markers, scatter

RICH, PLAIN = Markers.of("utf-8"), Markers.of("ascii")
FRONT = [
    Dot(6.66, 10960, 179, 1, solution=True, recommended=True),
    Dot(10.50, 10960, 138, 2, solution=True),
    Dot(27.60, 12420, 114, 3, solution=True),
    Dot(5.32, 2521, 58, 1, solution=False),
    Dot(6.28, 7741, 1631, 2, solution=False),
]
DOTS = st.lists(
    st.builds(
        Dot,
        st.floats(0, 1e4),
        st.floats(0, 1e6),
        st.integers(0, 86_400),
        st.integers(1, 600),
        solution=st.booleans(),
        recommended=st.booleans(),
    ),
    min_size=1,
    max_size=30,
)


def test_a_front_as_a_picture(snapshot: SnapshotAssertion) -> None:
    assert scatter(FRONT, width=80, markers=RICH) == snapshot


def test_a_picture_in_ascii(snapshot: SnapshotAssertion) -> None:
    text = scatter(FRONT, width=80, markers=PLAIN)
    assert text.isascii()
    assert text == snapshot


@given(dots=DOTS, width=st.integers(60, 200))
def test_a_picture_is_as_wide_as_the_screen_at_most_and_ends_no_line_in_blanks(dots: list[Dot], width: int) -> None:
    lines = scatter(dots, width=width, markers=RICH).split("\n")
    assert max(map(len, lines)) <= width
    assert all(line == line.rstrip() for line in lines)


@pytest.mark.parametrize("number", [1, 3])
def test_equal_placements_are_one_dot_in_the_middle(number: int) -> None:
    dots = [Dot(5.0, 100.0, 60, rank, solution=True, recommended=rank == 1) for rank in range(1, number + 1)]
    text = scatter(dots, width=80, markers=RICH)
    assert text.split("across")[0].count("★") == 1
    assert ("behind others" in text) == (number > 1)
    assert "lost a day: ● 60 s" in text


def test_500_placements_stay_within_the_picture() -> None:
    chance = random.Random(4)  # noqa: S311 - a picture, no secret
    dots = [
        Dot(chance.uniform(1, 90), chance.uniform(1, 9000), chance.randrange(5000), rank, solution=True)
        for rank in range(1, 501)
    ]
    lines = scatter(dots, width=80, markers=RICH).split("\n")
    assert len(lines) < 24
    assert "behind others" in "\n".join(lines)


def test_the_recommended_one_is_never_behind_another() -> None:
    dots = [Dot(5.0, 100.0, 9, 1, solution=True), Dot(5.0, 100.0, 9, 2, solution=True, recommended=True)]
    assert "★2" in scatter(dots, width=80, markers=RICH)


def test_costs_far_apart_are_drawn_by_their_logarithm() -> None:
    near = scatter([FRONT[0], FRONT[1]], width=80, markers=RICH)
    far = scatter([FRONT[0], Dot(600.0, 9000, 60, 2, solution=True)], width=80, markers=RICH)
    assert ("(log)" in near, "(log)" in far) == (False, True)


def test_styles_do_not_change_the_picture() -> None:
    def strong(text: str, _style: str) -> str:
        return f"<{text}>"

    painted = scatter(FRONT, width=80, markers=RICH, paint=strong)
    assert painted.replace("<", "").replace(">", "") == scatter(FRONT, width=80, markers=RICH)


@pytest.mark.parametrize("encoding", [None, "ascii", "latin-1", "no-such-encoding"])
def test_a_stream_that_cannot_print_the_markers_gets_letters(encoding: str | None) -> None:
    assert Markers.of(encoding) == PLAIN
