"""What other currencies are worth: read strictly, dated, all problems at once."""

from __future__ import annotations

from datetime import date
from decimal import Decimal

import pytest

from emporion.market.errors import UserError
from emporion.market.money import Rate, parse_money, parse_rates

TODAY = date(2026, 12, 1)


def test_a_rate_is_of_today_or_of_the_day_it_names() -> None:
    assert parse_rates(["EUR=1.10", "gbp = 1.3 @ 2026-11-30", "¥=0.0064"], TODAY) == {
        "EUR": Rate(Decimal("1.10"), "2026-12-01"),
        "GBP": Rate(Decimal("1.3"), "2026-11-30"),
        "JPY": Rate(Decimal("0.0064"), "2026-12-01"),
    }


@pytest.mark.parametrize(
    ("text", "code", "says"),
    [
        ("EUR", "E-CURRENCY", "'EUR' is not the rate of a currency"),
        ("=1.1", "E-CURRENCY", "'=1.1' is not the rate of a currency"),
        ("EURO=1.1", "E-CURRENCY", "'EURO=1.1' is not the rate of a currency"),
        ("USD=1", "E-CURRENCY", "'USD=1': USD is what rates are given in"),
        ("EUR=1,1", "E-NUMBER", "'1,1' cannot be read for sure"),
        ("EUR=0", "E-RANGE", "'0' is zero"),
        ("EUR=-1", "E-RANGE", "'-1' is negative"),
        ("EUR=", "E-NUMBER", "a number is missing"),
        ("EUR=1.1@", "E-CURRENCY", "'' is not a day"),
        ("EUR=1.1@2026-02-30", "E-CURRENCY", "'2026-02-30' is not a day"),
        ("EUR=1.1@2026-12-02", "E-CURRENCY", "'2026-12-02' is still to come"),
    ],
)
def test_what_is_no_rate_is_refused(text: str, code: str, says: str) -> None:
    with pytest.raises(UserError) as caught:
        parse_rates([text], TODAY)
    assert (caught.value.code, caught.value.where) == (code, "--rate")
    assert says in caught.value.what


def test_a_currency_has_one_rate_and_all_problems_are_told_at_once() -> None:
    assert parse_rates(["EUR=1.10", "EUR=1.10"], TODAY).keys() == {"EUR"}
    with pytest.raises(UserError) as caught:
        parse_rates(["EUR=1.10", "EUR=1.20", "X=1"], TODAY)
    assert [each.code for each in caught.value.problems()] == ["E-CONTRADICTION", "E-CURRENCY"]


def test_an_amount_is_converted_exactly_and_the_error_names_the_flag() -> None:
    assert parse_money("€2.80/gpu/hr", parse_rates(["EUR=1.10"], TODAY)).usd == Decimal("3.0800")
    with pytest.raises(UserError) as caught:
        parse_money("5 CHF")
    assert caught.value.fix == "write the amount in USD, or say the rate: emporion plan --rate CHF=…"
