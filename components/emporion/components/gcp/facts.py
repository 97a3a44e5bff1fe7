"""Google Cloud resources as neutral facts for rules. Types and properties are those of pulumi-gcp 10.2."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

from emporion.components.gcp.facts_common import common
from emporion.components.gcp.facts_machines import MACHINES
from emporion.components.gcp.facts_purchases import PURCHASES
from emporion.components.gcp.facts_services import SERVICES
from emporion.market.fact_values import is_free
from emporion.market.facts import Fact, Purchase
from emporion.market.resources import Others, Resource

__all__ = ["facts"]

FREE = Path(__file__).with_name("data") / "free_types.csv"
READERS: Mapping[str, Callable[[Resource, Others | None], Iterable[Fact]]] = {**MACHINES, **SERVICES}


def facts(resource: Resource, others: Others | None) -> Iterator[Fact]:
    """Yield the facts of a resource; `others` are those of its stack, once all are known."""
    if resource.type in READERS:
        yield from READERS[resource.type](resource, others)
    if others is not None and resource.type.startswith("gcp:"):
        if resource.type in PURCHASES:
            yield from PURCHASES[resource.type](resource, others)
        elif not is_free(resource.type, FREE):
            yield Purchase(**common(resource))
