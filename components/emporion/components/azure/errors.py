"""What Azure's error codes mean and how to mend them: the rows of `data/errors.csv`, each with its source and date."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from importlib.resources import files
from types import MappingProxyType

from emporion.market.clouds import CloudError, ErrorKind
from emporion.market.clouds import classify as classify_with

__all__ = ["CREDENTIAL_CODES", "ERRORS", "classify"]

CREDENTIAL_CODES = frozenset({"ExpiredAuthenticationToken", "InvalidAuthenticationToken"})
"""Codes that mean: nobody is logged in, or not any more."""


def _read() -> dict[str, CloudError]:
    lines = (files("emporion.components.azure") / "data" / "errors.csv").read_text(encoding="utf-8").splitlines()
    return {
        row["code"]: CloudError(
            row["code"],
            ErrorKind(row["kind"]),
            row["what"],
            row["fix"],
            tuple(phrase for phrase in row["phrases"].split("|") if phrase),
            f"{row['source']}, {row['as_of']}",
        )
        for row in csv.DictReader(lines)
    }


ERRORS: Mapping[str, CloudError] = MappingProxyType(_read())
"""Azure's codes, by code."""


def classify(text: str) -> CloudError | None:
    """Return what a diagnostic of the engine says about Azure; None: it names no code at all."""
    return classify_with(ERRORS, text)
