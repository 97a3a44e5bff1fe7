from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emporion.market.errors import UserError
from emporion.market.money import Money, Rate, money_text, parse_money
from emporion.market.units import (
    MAX_COUNT,
    Count,
    Memory,
    format_bandwidth,
    format_carbon,
    format_count,
    format_duration,
    format_latency,
    format_memory,
    parse_bandwidth,
    parse_carbon,
    parse_count,
    parse_duration,
    parse_hours,
    parse_latency,
    parse_memory,
    parse_number,
    parse_parameters,
)

READERS: dict[str, Callable[[str], object]] = {
    reader.__name__: reader
    for reader in (
        parse_bandwidth,
        parse_carbon,
        parse_count,
        parse_duration,
        parse_hours,
        parse_latency,
        parse_memory,
        parse_money,
        parse_number,
        parse_parameters,
    )
}


def code(reader: Callable[[str], object], text: str) -> str:
    with pytest.raises(UserError) as caught:
        reader(text)
    assert caught.value.fix
    return caught.value.code


@pytest.mark.parametrize(
    ("text", "size", "binary"),
    [
        ("40gb", 40 * 10**9, False),
        ("40 GB", 40 * 10**9, False),
        ("1.5tb", 1_500_000_000_000, False),
        ("24GB", 24 * 10**9, False),
        ("24GiB", 24 << 30, True),
        ("24576MiB", 24 << 30, True),
        ("22888 MiB", 22888 << 20, True),
        ("80Gi", 80 << 30, True),
        ("2Ti", 2 << 40, True),
        ("0.3gib", 322122548, True),
    ],
)
def test_memory_is_decimal_or_binary_by_its_unit(text: str, size: int, binary: bool) -> None:
    assert parse_memory(text) == Memory(size, binary)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("80", "E-UNIT", id="no unit"),
        pytest.param("40g", "E-UNIT", id="g may be gb or gib"),
        pytest.param("40 gbps", "E-UNIT", id="a bandwidth"),
        pytest.param("2,5gb", "E-NUMBER", id="decimal comma"),
        pytest.param("-40gb", "E-RANGE", id="negative"),
        pytest.param("0gb", "E-RANGE", id="zero"),
        pytest.param("nan", "E-NUMBER", id="nan"),
        pytest.param("infgb", "E-NUMBER", id="inf"),
        pytest.param("", "E-NUMBER", id="empty"),
        pytest.param("1e3gb", "E-UNIT", id="exponent"),
        pytest.param("٤gb", "E-NUMBER", id="digits of another script"),
        pytest.param("9" * 400 + "gb", "E-RANGE", id="absurdly long"),
    ],
)
def test_memory_that_cannot_be_read_for_sure_is_refused(text: str, expected: str) -> None:
    assert code(parse_memory, text) == expected


def test_a_refused_unit_says_both_ways_to_write_it() -> None:
    with pytest.raises(UserError) as caught:
        parse_memory("40g")
    assert "40gb" in (caught.value.fix or "")
    assert "40gib" in (caught.value.fix or "")


def test_zero_memory_is_allowed_only_where_asked_for() -> None:
    assert parse_memory("0gb", zero=True) == Memory(0, binary=False)


@pytest.mark.parametrize(
    ("text", "gbps"),
    [
        ("25gbps", "25"),
        ("25Gbps", "25"),
        ("25Gb/s", "25"),
        ("400 Gbit/s", "400"),
        ("25GB/s", "200"),
        ("25GBps", "200"),
        ("1TB/s", "8000"),
        ("100mbps", "0.1"),
        ("1GiB/s", "8.589934592"),
    ],
)
def test_bandwidth_is_bits_or_bytes_by_the_case_of_its_b(text: str, gbps: str) -> None:
    assert parse_bandwidth(text) == Decimal(gbps)


@pytest.mark.parametrize("text", ["25", "25gb/s", "25GBPS", "25gb", "25 fast"])
def test_bandwidth_that_may_be_bits_or_bytes_is_refused(text: str) -> None:
    assert code(parse_bandwidth, text) == "E-UNIT"


@pytest.mark.parametrize(
    ("text", "ms"), [("5ms", "5"), ("15us", "0.015"), ("15µs", "0.015"), ("0.5s", "500"), ("200 ns", "0.0002")]
)
def test_latency_is_in_milliseconds(text: str, ms: str) -> None:
    assert parse_latency(text) == Decimal(ms)


@pytest.mark.parametrize("text", ["5", "5m", "5 min"])
def test_latency_needs_its_unit(text: str) -> None:
    assert code(parse_latency, text) == "E-UNIT"


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("30s", 30),
        ("10m", 600),
        ("24h", 86_400),
        ("7d", 604_800),
        ("1h30m", 5400),
        ("1 h 30 min", 5400),
        ("0.5h", 1800),
    ],
)
def test_duration_is_in_seconds(text: str, seconds: int) -> None:
    assert parse_duration(text) == seconds


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("600", "E-UNIT"),
        ("10x", "E-UNIT"),
        ("h", "E-NUMBER"),
        ("-5h", "E-RANGE"),
        ("0h", "E-RANGE"),
        ("0.1s", "E-RANGE"),
        ("100000d", "E-RANGE"),
        ("1,5h", "E-NUMBER"),
    ],
)
def test_duration_that_cannot_be_read_is_refused(text: str, expected: str) -> None:
    assert code(parse_duration, text) == expected


@pytest.mark.parametrize(("text", "hours"), [("12", "12"), ("12h", "12"), ("90m", "1.5"), ("0.25", "0.25")])
def test_hours_may_stand_without_unit(text: str, hours: str) -> None:
    assert parse_hours(text) == Decimal(hours)


@pytest.mark.parametrize(
    ("text", "money"),
    [
        ("$2.80/gpu/hr", Money(Decimal("2.80"), per_gpu=True, period="hour")),
        ("$16", Money(Decimal(16))),
        ("16", Money(Decimal(16))),
        ("$16/hr", Money(Decimal(16), period="hour")),
        ("$16/hour", Money(Decimal(16), period="hour")),
        ("$500", Money(Decimal(500))),
        ("$0.01", Money(Decimal("0.01"))),
        ("16 USD", Money(Decimal(16))),
        ("USD 16/day", Money(Decimal(16), period="day")),
        ("US$4000/month", Money(Decimal(4000), period="month")),
        ("$2/gpu", Money(Decimal(2), per_gpu=True)),
    ],
)
def test_money_is_exact_and_keeps_its_basis(text: str, money: Money) -> None:
    assert parse_money(text) == money


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("2,5", "E-NUMBER", id="decimal comma or thousands"),
        pytest.param("$1,000", "E-NUMBER", id="thousands or decimal comma"),
        pytest.param("$0", "E-RANGE", id="zero"),
        pytest.param("0.00", "E-RANGE", id="zero with cents"),
        pytest.param("-5", "E-RANGE", id="negative"),
        pytest.param("$-5", "E-RANGE", id="negative after the sign"),
        pytest.param("-$5", "E-RANGE", id="negative before the sign"),
        pytest.param("nan", "E-RANGE", id="nan"),
        pytest.param(".inf", "E-RANGE", id="yaml inf"),
        pytest.param("Infinity", "E-RANGE", id="infinity"),
        pytest.param("€10", "E-CURRENCY", id="euro sign"),
        pytest.param("10 EUR/hr", "E-CURRENCY", id="euro"),
        pytest.param("$10 EUR", "E-CURRENCY", id="two currencies"),
        pytest.param("$5/week", "E-MONEY", id="unknown basis"),
        pytest.param("$5/hr/hr", "E-MONEY", id="basis twice"),
        pytest.param("cheap", "E-MONEY", id="a word"),
        pytest.param("1e3", "E-MONEY", id="exponent"),
        pytest.param("$", "E-MONEY", id="no amount"),
        pytest.param("", "E-MONEY", id="empty"),
        pytest.param("$1.2.3", "E-NUMBER", id="two points"),
    ],
)
def test_money_that_cannot_be_read_for_sure_is_refused(text: str, expected: str) -> None:
    assert code(parse_money, text) == expected


def test_a_currency_is_converted_at_its_rate_and_refused_without_one() -> None:
    assert parse_money("10 EUR", {"EUR": Rate(Decimal("1.10"))}).usd == Decimal("11.00")
    with pytest.raises(UserError, match="no rate for EUR"):
        parse_money("10 EUR", {"GBP": Rate(Decimal("1.3"))})


@pytest.mark.parametrize(("text", "count"), [("4", Count(4, 4)), ("4..8", Count(4, 8)), (" 4 .. 8 ", Count(4, 8))])
def test_count_is_a_number_or_a_range(text: str, count: Count) -> None:
    assert parse_count(text) == count


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0", "E-RANGE"),
        ("-1", "E-RANGE"),
        ("0..4", "E-RANGE"),
        ("8..4", "E-RANGE"),
        (str(MAX_COUNT + 1), "E-RANGE"),
        ("2.5", "E-COUNT"),
        ("4..", "E-COUNT"),
        ("4-8", "E-COUNT"),
        ("4+", "E-COUNT"),
        ("010", "E-NUMBER"),
        ("4..08", "E-NUMBER"),
        ("9" * 5000, "E-RANGE"),
        ("four", "E-COUNT"),
        ("", "E-COUNT"),
        ("٤", "E-COUNT"),
    ],
)
def test_count_that_is_not_a_whole_number_above_zero_is_refused(text: str, expected: str) -> None:
    assert code(parse_count, text) == expected


@pytest.mark.parametrize(
    ("text", "number"), [("13b", 13 * 10**9), ("350M", 350 * 10**6), ("1.5t", 15 * 10**11), ("7", 7)]
)
def test_parameters_are_counted_exactly(text: str, number: int) -> None:
    assert parse_parameters(text) == number


@pytest.mark.parametrize(
    ("text", "expected"), [("13x", "E-UNIT"), ("b", "E-NUMBER"), ("1.5", "E-RANGE"), ("-7b", "E-RANGE")]
)
def test_parameters_that_cannot_be_read_are_refused(text: str, expected: str) -> None:
    assert code(parse_parameters, text) == expected


@pytest.mark.parametrize(("text", "grams"), [("500g/h", "500"), ("1.2kg/hr", "1200"), ("80gCO2e/hour", "80")])
def test_carbon_is_in_grams_per_hour(text: str, grams: str) -> None:
    assert parse_carbon(text) == Decimal(grams)


numbers = st.decimals(min_value="0.000001", max_value=10**9, allow_nan=False, allow_infinity=False, places=6)


@given(st.integers(1, 1 << 60), st.booleans())
def test_written_memory_reads_back(size: int, binary: bool) -> None:
    memory = Memory(size, binary)
    assert parse_memory(format_memory(memory)) == memory


@given(numbers)
def test_written_bandwidth_latency_carbon_and_money_read_back(value: Decimal) -> None:
    assert parse_bandwidth(format_bandwidth(value)) == value
    assert parse_latency(format_latency(value)) == value
    assert parse_carbon(format_carbon(value)) == value
    assert parse_money(f"${money_text(value)}/gpu/hr") == Money(value, per_gpu=True, period="hour")
    assert Decimal(money_text(value)) == value


@given(st.integers(1, 10 * 366 * 86_400))
def test_a_written_duration_reads_back(seconds: int) -> None:
    assert parse_duration(format_duration(seconds)) == seconds


@given(st.integers(1, MAX_COUNT), st.integers(1, MAX_COUNT))
def test_a_written_count_reads_back(one: int, other: int) -> None:
    count = Count(min(one, other), max(one, other))
    assert parse_count(format_count(count)) == count


@pytest.mark.parametrize("reader", READERS.values(), ids=READERS)
@given(text=st.one_of(st.text(), st.text("0123456789.,-+ $€/gGbBiIshmrukpdwnaMTe")))
def test_no_text_raises_anything_but_a_user_error(reader: Callable[[str], object], text: str) -> None:
    try:
        reader(text)
    except UserError as error:
        assert error.what.isprintable()  # noqa: PT017 - what is raised is the point
        assert error.fix  # noqa: PT017


@pytest.mark.parametrize(
    ("text", "written"), [("2.8", "2.80"), ("2.80", "2.80"), ("2.800", "2.80"), ("500", "500.00"), ("0.0034", "0.0034")]
)
def test_equal_amounts_are_written_equally(text: str, written: str) -> None:
    assert money_text(Decimal(text)) == written
