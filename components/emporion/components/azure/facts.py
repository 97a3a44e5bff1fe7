"""Azure resources as neutral facts for rules. Types and properties are those of pulumi-azure-native 3.29."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

from emporion.components.azure.facts_common import common
from emporion.components.azure.facts_machines import MACHINES
from emporion.components.azure.facts_network import NETWORK
from emporion.components.azure.facts_purchases import PURCHASES
from emporion.components.azure.facts_storage import STORAGE
from emporion.market.fact_values import is_free
from emporion.market.facts import Fact, Purchase
from emporion.market.resources import Others, Resource

__all__ = ["facts"]

FREE = Path(__file__).with_name("data") / "free_types.csv"
READERS: Mapping[str, Callable[[Resource, Others | None], Iterable[Fact]]] = {**MACHINES, **NETWORK, **STORAGE}
VERSIONED = re.compile(r"(?P<module>azure-native:[a-z]+)/v\d{8}(?:preview)?:")
"""A type token that names the API's version; the properties are the same."""


def facts(resource: Resource, others: Others | None) -> Iterator[Fact]:
    """Yield the facts of a resource; `others` are those of its stack, once all are known."""
    kind = VERSIONED.sub(r"\g<module>:", resource.type)
    if kind in READERS:
        yield from READERS[kind](resource, others)
    if others is not None and kind.startswith("azure-native:"):
        if kind in PURCHASES:
            yield from PURCHASES[kind](resource, others)
        elif not is_free(kind, FREE):
            yield Purchase(**common(resource))
