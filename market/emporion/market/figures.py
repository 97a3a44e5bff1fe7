"""The constants of the performance and stability models: data/model_figures.csv, each with its source and date."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from emporion.market.tables import rows

__all__ = ["Figure", "figure", "figures"]


@dataclass(frozen=True, slots=True)
class Figure:
    """One constant of a model."""

    name: str
    value: float
    unit: str
    quality: str
    """`published` or `assumed`."""
    source: str
    as_of: str


@cache
def figures() -> dict[str, Figure]:
    """Return every constant by its name."""
    return {
        row["name"]: Figure(row["name"], float(row["value"]), row["unit"], row["quality"], row["source"], row["as_of"])
        for row in rows("model_figures.csv")
    }


@cache
def figure(name: str) -> float:
    """Return the value of one constant."""
    return figures()[name].value
