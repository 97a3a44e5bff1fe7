"""The whole of a stack, for rules that one resource cannot answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

from emporion.market.facts import Fact
from emporion.market.resources import Resource

__all__ = ["Stack"]

F = TypeVar("F", bound=Fact)


@dataclass(frozen=True, slots=True)
class Stack:
    """Every resource of a stack with its facts."""

    resources: Sequence[Resource]
    facts: Sequence[Fact]
    urn: str = ""

    def all(self, kind: type[F]) -> list[F]:
        """Return the facts of one kind."""
        return [fact for fact in self.facts if isinstance(fact, kind)]
