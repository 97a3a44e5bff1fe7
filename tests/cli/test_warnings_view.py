"""Warnings of a plan on a screen."""

from __future__ import annotations

from emporion.cli.warnings_view import SHOWN_WARNINGS, grouped

AGES = [f"prices of {name} are of 2026-0{month}: check before you rely on them" for month, name in enumerate("abc", 1)]


def test_ages_of_several_providers_are_one_line() -> None:
    assert grouped(AGES) == [
        "prices are more than a week old: a 2026-01, b 2026-02, c 2026-03: check before you rely on them"
    ]
    assert grouped(AGES[:1]) == AGES[:1]


def test_the_same_about_several_offers_is_told_once_with_the_first() -> None:
    told = grouped(f"aws/us-east-1/t{number}/spot: spot costs more than on demand" for number in range(5))
    assert told == [
        "aws/us-east-1/t0/spot, aws/us-east-1/t1/spot, aws/us-east-1/t2/spot and 2 more: spot costs more than on demand"
    ]


def test_keys_that_are_not_acted_on_are_one_line() -> None:
    told = grouped(["not acted on in this version: image", "not acted on in this version: tags"])
    assert told == ["not acted on in this version: image, tags"]


def test_what_is_alone_keeps_its_words_and_order() -> None:
    assert grouped(["first", "second: with a colon", "third"]) == ["first", "second: with a colon", "third"]


def test_no_more_than_a_screenful_and_the_ages_stay() -> None:
    told = grouped([*(f"note {number}" for number in range(30)), *AGES])
    assert len(told) == SHOWN_WARNINGS
    assert told[-2] == "and 24 more: --json lists all"
    assert told[-1].startswith("prices are more than a week old")
    assert grouped([f"note {number}" for number in range(30)])[-1] == "and 23 more: --json lists all"
