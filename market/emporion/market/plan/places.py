"""Whether the places that an intent names are there: of its own constraints, of its stages, of its recovery side."""

from __future__ import annotations

from collections.abc import Iterator

from emporion.market.errors import UserError, did_you_mean
from emporion.market.intent.model import Constraints, DataSet, Intent, Recovery
from emporion.market.offers import Catalogue
from emporion.market.sites import regions
from emporion.market.transfer import dataset_place

__all__ = ["place_problems"]


def place_problems(intent: Intent, catalogue: Catalogue) -> list[UserError]:
    """Return one problem for each provider (E-PROVIDER) and each region (E-REGION) that does not exist."""
    found = [problem for path, wish in _wishes(intent) for problem in _problems(intent, catalogue, path, wish)]
    return [*found, *(problem for path, data in _datasets(intent) for problem in _store_problems(intent, path, data))]


def _wishes(intent: Intent) -> Iterator[tuple[str, Constraints | Recovery]]:
    yield "constraints", intent.constraints
    yield "recovery", intent.recovery
    for index, stage in enumerate(intent.stages):
        yield f"stages[{index}].constraints", stage.constraints


def _datasets(intent: Intent) -> Iterator[tuple[str, DataSet]]:
    for number, data in enumerate(intent.data):
        yield f"data[{number}]", data
    for index, stage in enumerate(intent.stages):
        for key, several in (("data_in", stage.data_in), ("data_out", stage.data_out)):
            for number, data in enumerate(several):
                yield f"stages[{index}].{key}[{number}]", data


def _store_problems(intent: Intent, path: str, data: DataSet) -> Iterator[UserError]:
    """Yield the problem of a dataset's region, which is one of its store's provider, not a glob."""
    store = dataset_place(data)
    if store is None or data.region is None or (store[0], data.region) in regions():
        return
    near = did_you_mean(data.region, [name for provider, name in regions() if provider == store[0]])
    yield UserError(
        "E-REGION",
        f"no region of {store[0]} is called {data.region!r}",
        intent.where(f"{path}.region"),
        f"did you mean {near}" if near else "name the one region in which the bucket lies",
    )


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
