"""What a live source of offers is: a record found by entry point, and one function that asks it.

::

    [project.entry-points."emporion.offers"]
    lambda = "emporion.market.offers.adapters.lambda_cloud:ADAPTER"

Importing an adapter loads no SDK and no HTTP client; asking it may. A whole cloud brings its adapter in its own folder
(`components/<cloud>/offers.py`), a market that only has prices lies in `market/offers/adapters/`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import cache
from importlib.metadata import entry_points
from typing import Any, Protocol

__all__ = ["Adapter", "Ask", "Page", "Row", "installed_adapters"]

Row = Mapping[str, str]
"""One line of an offers file (data/README.md, "Columns of an offers file"), with `source` and `as_of` filled in."""


@dataclass(frozen=True, slots=True)
class Page:
    """One answer of an HTTP API, already read as JSON (or as text where the source publishes a page)."""

    body: Any
    headers: Mapping[str, str] = field(default_factory=dict)


class Ask(Protocol):
    """What a refresh hands to an adapter: the only way to the network, the clock and the environment."""

    @property
    def now(self) -> datetime:
        """When the refresh began, UTC; what an answer without a time of its own is dated."""
        ...

    @property
    def env(self) -> Mapping[str, str]:
        """Environment variables, for keys (`LAMBDA_API_KEY`)."""
        ...

    def get(
        self, url: str, *, params: Mapping[str, str] | None = None, headers: Mapping[str, str] | None = None
    ) -> Page:
        """Return the JSON that a URL answers, after retries with back-off on 429, 5xx and time-outs.

        Raises: UserError E-ADAPTER: when it cannot be reached, refuses, or answers something that is not JSON.
        """
        ...

    def post(self, url: str, *, json: Any, headers: Mapping[str, str] | None = None) -> Page:  # noqa: ANN401 - JSON
        """Return the JSON that a POST answers; as `get`."""
        ...

    def text(self, url: str, *, headers: Mapping[str, str] | None = None) -> str:
        """Return the text of a page; as `get`, for sources that publish prices as a page or CSV."""
        ...

    def pause(self, attempt: int) -> None:
        """Wait before the attempt with this number (1 is the first retry): exponential, with seeded jitter."""
        ...

    def progress(self, what: str, done: int, total: int | None) -> None:
        """Tell how far the adapter is: `done` pages (or regions) of `total`, None while unknown."""
        ...


@dataclass(frozen=True, slots=True)
class Adapter:
    """One live source of offers."""

    provider: str
    """The provider of its offers (`lambda`)."""
    extra: str
    """The extra of this package with what it needs to ask."""
    source: str
    """What the source is called, in the column `source` and in messages."""
    needs: tuple[str, ...]
    """Environment variables without which it cannot ask; empty: the prices are public."""
    fetch: Callable[[Ask], Iterator[Row]]
    """Yield the rows of every offer.

    Raises: UserError E-ADAPTER: when the source cannot be asked or answers what is not its documented shape; rows
    yielded before it are not used: old data stays.
    """
    lists_stock: bool = False
    """Whether its list holds what is free at the moment: then few offers are no sign of a cut answer."""


@cache
def installed_adapters() -> Mapping[str, Adapter]:
    """Return every adapter by provider, sorted; loads no SDK."""
    found = {entry.name: entry.load() for entry in entry_points(group="emporion.offers")}
    return dict(sorted(found.items()))
