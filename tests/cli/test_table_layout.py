"""Tables and texts that fit a screen."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from emporion.cli.layout import WIDE, clean, fold, grid

HEADS = ["NAME", "PLACE", "$/HR", "WHY"]
WORDS = st.text("abc /_-", max_size=40).map(str.strip)
ROWS = st.lists(st.tuples(WORDS, WORDS, st.decimals(0, 999, places=2).map(str), WORDS), min_size=1, max_size=6)


@given(rows=ROWS, width=st.integers(50, 120))
def test_no_line_is_wider_than_the_screen_and_no_number_is_cut(rows: list[tuple[str, ...]], width: int) -> None:
    lines = grid(HEADS, rows, width=width, right={"$/HR"}, drop=("PLACE",), wrap={"WHY"}).split("\n")
    assert max(map(len, lines)) <= width
    for row in rows:
        assert any(row[2] in line for line in lines)


@given(rows=ROWS)
def test_a_pipe_gets_every_cell_whole(rows: list[tuple[str, ...]]) -> None:
    text = grid(HEADS, rows, width=WIDE, right={"$/HR"}, drop=("PLACE",), wrap={"WHY"})
    assert all(cell in text for row in rows for cell in row)
    assert "…" not in text


def test_columns_are_left_out_before_texts_become_unreadable() -> None:
    row = ["a" * 30, "b" * 30, "1.00", "c" * 30]
    text = grid(HEADS, [row], width=57, right={"$/HR"}, drop=("PLACE",), wrap={"WHY"})
    assert "PLACE" not in text
    assert "1.00" in text


def test_the_last_text_is_cut_visibly_and_others_go_on_in_the_next_line() -> None:
    first, second, third = grid(
        ["NAME", "$/HR", "SOURCE"], [["x-" * 12, "1.00", "s" * 50]], width=40, right={"$/HR"}
    ).split("\n")
    assert first.startswith("NAME")
    assert second.endswith("s…")
    assert second.split()[0] + third == "x-" * 12


def test_ids_go_on_in_the_next_line_where_their_parts_end() -> None:
    assert fold("aws/us-west-2/usw2-lax1-az1/g4dn.xlarge/spot", 30) == [
        "aws/us-west-2/usw2-lax1-az1/",
        "g4dn.xlarge/spot",
    ]


@given(text=st.text("ab /-", max_size=200), width=st.integers(10, 60))
def test_folding_loses_nothing_but_blanks(text: str, width: int) -> None:
    lines = fold(text, width, "  ")
    assert all(len(line) <= width for line in lines)
    assert "".join("".join(lines).split()) == "".join(text.split())


def test_names_cannot_move_the_cursor() -> None:
    assert clean("a\x1b[2Jb\u202e") == "a\\x1b[2Jb\\u202e"
    assert "\x1b" not in grid(["NAME"], [["\x1b]0;title\x07"]], width=WIDE)
