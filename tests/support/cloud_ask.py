"""A refresh without a network: what a test answers to an adapter's questions, and what the import makes of its rows."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from emporion.market.money import Rate
from emporion.market.offers.adapter import Page, Row
from emporion.market.offers.catalogue import Catalogue
from emporion.market.offers.load import load_csv

__all__ = ["NOW", "FakeAsk", "imported", "prices"]

NOW = datetime(2026, 12, 1, 6, 0, tzinfo=UTC)

Answer = Callable[[str, Mapping[str, str], Mapping[str, str]], Any]
"""(address, parameters or JSON that was posted, headers) -> the JSON or text; it may raise what the real one raises."""


@dataclass
class FakeAsk:
    """Implements `emporion.market.offers.adapter.Ask`."""

    answer: Answer = lambda _url, _params, _headers: {}
    env: Mapping[str, str] = field(default_factory=dict)
    now: datetime = NOW
    asked: list[tuple[str, Mapping[str, str], Mapping[str, str]]] = field(default_factory=list)
    told: list[tuple[str, int, int | None]] = field(default_factory=list)

    def get(
        self, url: str, *, params: Mapping[str, str] | None = None, headers: Mapping[str, str] | None = None
    ) -> Page:
        self.asked.append((url, params or {}, headers or {}))
        return Page(self.answer(url, params or {}, headers or {}))

    def post(self, url: str, *, json: Any, headers: Mapping[str, str] | None = None) -> Page:
        self.asked.append((url, json, headers or {}))
        return Page(self.answer(url, json, headers or {}))

    def text(self, url: str, *, headers: Mapping[str, str] | None = None) -> str:
        return str(self.get(url, headers=headers).body)

    def pause(self, attempt: int) -> None:
        raise AssertionError(f"these adapters leave waiting to their clients (attempt {attempt})")

    def progress(self, what: str, done: int, total: int | None) -> None:
        self.told.append((what, done, total))


def prices(rows: Iterable[Row]) -> dict[tuple[str, str], tuple[str, str]]:
    """Return (zone or region, type) -> (on-demand, spot) of an adapter's rows, as they are written."""
    return {
        (row["zone"] or row["region"], row["instance_type"]): (row["on_demand_usd_hr"], row["spot_usd_hr"])
        for row in rows
    }


def imported(rows: Iterable[Row], folder: Path, rates: Mapping[str, Rate] | None = None) -> Catalogue:
    """Return what the real import makes of an adapter's rows."""
    found = list(rows)
    path = folder / "refreshed.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(dict.fromkeys(name for row in found for name in row)), restval="")
        writer.writeheader()
        writer.writerows(found)
    return load_csv(path, rates=rates)
