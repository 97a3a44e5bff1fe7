"""The error codes of units, GPU names and intents: stable, each with its meaning; all end with exit code 2."""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["CODES"]

CODES: Mapping[str, str] = {
    "E-CONTRADICTION": "two keys, or a key and its value, cannot both hold",
    "E-COUNT": "a whole number, or a range `a..b`, is expected",
    "E-CURRENCY": "an amount is in a currency that has no rate, or in two",
    "E-DUPLICATE": "a key or a stage's name stands twice",
    "E-FILE": "the intent file does not exist, cannot be read, is not UTF-8 or is too large",
    "E-GPU": "no GPU has this name; near ones are named",
    "E-INTENT-JSON": "a normalised intent (`emporion.intent/1`) is of another schema, or damaged",
    "E-KEY": "a key that no intent has",
    "E-MISSING": "something that the intent cannot do without is not there",
    "E-MONEY": "an amount of money, or its basis, cannot be read",
    "E-NUMBER": "a number cannot be read, or not for sure (`2,5`)",
    "E-RANGE": "a number is zero, negative, not finite or too large",
    "E-TYPE": "a list, a mapping or a single value stands where another of them is expected",
    "E-UNIT": "a unit is missing, unknown, or may mean two things",
    "E-UNSUPPORTED": "a promise that this version cannot keep and will not pretend to keep",
    "E-VALUE": "a word that is not among the allowed ones, or text of the wrong form",
    "E-WHERE": "a query over offers (`--where`) cannot be read; the place in it is shown",
    "E-YAML": "the file is not one YAML mapping of plain values",
}
"""Code -> meaning, sorted."""
