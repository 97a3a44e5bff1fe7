"""Whether the places that an intent names are there: of its own constraints, of its stages, of its recovery side."""

from __future__ import annotations

from collections.abc import Iterator

from emporion.market.errors import UserError
from emporion.market.intent.model import Constraints, Intent, Recovery
from emporion.market.offers import Catalogue

__all__ = ["place_problems"]


def place_problems(intent: Intent, catalogue: Catalogue) -> list[UserError]:
    """Return one problem for each provider (E-PROVIDER) and each region (E-REGION) that does not exist."""
    return [problem for path, wish in _wishes(intent) for problem in _problems(intent, catalogue, path, wish)]


def _wishes(intent: Intent) -> Iterator[tuple[str, Constraints | Recovery]]:
    yield "constraints", intent.constraints
    yield "recovery", intent.recovery
    for index, stage in enumerate(intent.stages):
        yield f"stages[{index}].constraints", stage.constraints


def _problems(intent: Intent, catalogue: Catalogue, path: str, wish: Constraints | Recovery) -> Iterator[UserError]:
    there = tuple(name for name in wish.providers if name in catalogue.providers)
    try:
        catalogue.check_providers(wish.providers, intent.where(f"{path}.providers"))
    except UserError as error:
        yield from error.problems()
    try:
        catalogue.check_regions(wish.regions, there, intent.where(f"{path}.regions"))
    except UserError as error:
        yield from error.problems()
