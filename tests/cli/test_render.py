from __future__ import annotations

import io
import json
from datetime import date
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emporion.cli.render import age, confirm, error_json, json_out, money, print_error, table
from emporion.market.errors import ExitCode, UserError, UserErrors


def test_a_table_has_no_borders_and_no_trailing_blanks() -> None:
    assert table(["NAME", "$/HR"], [["a", "1.00"], ["long name", None]], right=["$/HR"]) == (
        "NAME       $/HR\na          1.00\nlong name     ?"
    )


@given(st.lists(st.lists(st.one_of(st.none(), st.text("abc", max_size=5)), min_size=3, max_size=3), max_size=5))
def test_columns_of_a_table_start_at_the_same_place(rows: list[list[str | None]]) -> None:
    lines = table(["FIRST", "SECOND", "THIRD"], rows).split("\n")
    start = lines[0].index("SECOND")
    for line, row in zip(lines[1:], rows, strict=True):
        assert line[start:].startswith("?" if row[1] is None else row[1])


@pytest.mark.parametrize(
    ("usd", "shown"),
    [
        pytest.param(Decimal("32.1"), "32.10", id="two places"),
        pytest.param("0.005", "0.00", id="half to even"),
        pytest.param(None, "?", id="unknown is not zero"),
    ],
)
def test_money(usd: Decimal | str | None, shown: str) -> None:
    assert money(usd) == shown


@pytest.mark.parametrize(
    ("as_of", "shown"),
    [
        pytest.param("2026-12-01", "0 d", id="today"),
        pytest.param("2026-11-20", "11 d", id="days"),
        pytest.param("2026-07", "5 mo", id="a month"),
        pytest.param("2024", "2 y", id="a year counts from its first day"),
        pytest.param("2027-01-01", "0 d", id="the future is new"),
        pytest.param(None, "?", id="no date"),
    ],
)
def test_ages(as_of: str | None, shown: str) -> None:
    assert age(as_of, date(2026, 12, 1)) == shown


def test_json_has_the_schema_first_and_money_as_text(capsys: pytest.CaptureFixture[str]) -> None:
    json_out("emporion.test/1", {"usd": Decimal("1.10")})
    out = capsys.readouterr().out
    assert list(json.loads(out)) == ["schema", "usd"]
    assert json.loads(out)["usd"] == "1.10"


ALL = UserErrors.of(
    [UserError("E-ONE", "first", "a.yaml:1  x", "mend it"), UserError("E-TWO", "second", exit_code=ExitCode.BAD_INPUT)]
)


def test_every_problem_of_a_document_is_printed() -> None:
    stream = io.StringIO()
    print_error(ALL, stream)
    assert stream.getvalue() == "error: first  [E-ONE]\n  --> a.yaml:1  x\n  try: mend it\nerror: second  [E-TWO]\n"


def test_every_problem_of_a_document_is_in_its_json() -> None:
    assert error_json(ALL)["errors"] == [
        {"code": "E-ONE", "what": "first", "where": "a.yaml:1  x", "fix": "mend it"},
        {"code": "E-TWO", "what": "second", "where": None, "fix": None},
    ]


def test_yes_answers_beforehand() -> None:
    confirm("spend", yes=True, where="emporion up")


def test_without_a_terminal_a_question_is_bad_input() -> None:
    with pytest.raises(UserError, match="there is no terminal") as error:
        confirm("spend", yes=False, where="emporion up")
    assert error.value.exit_code is ExitCode.BAD_INPUT
    assert error.value.fix == "add --yes to go on unasked"
