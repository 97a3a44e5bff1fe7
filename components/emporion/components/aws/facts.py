"""AWS resources as neutral facts for rules. Types and properties are those of pulumi-aws 7.51."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

from emporion.components.aws.facts_access import ACCESS
from emporion.components.aws.facts_machines import MACHINES
from emporion.components.aws.facts_network import NETWORK
from emporion.components.aws.facts_storage import STORAGE
from emporion.market.facts import Fact
from emporion.market.resources import Others, Resource

__all__ = ["facts"]

READERS: Mapping[str, Callable[[Resource, Others | None], Iterable[Fact]]] = {
    **MACHINES,
    **NETWORK,
    **STORAGE,
    **ACCESS,
}


def facts(resource: Resource, others: Others | None) -> Iterator[Fact]:
    """Yield the facts of a resource; `others` are those of its stack, once all are known."""
    reader = READERS.get(resource.type)
    if reader is not None:
        yield from reader(resource, others)
