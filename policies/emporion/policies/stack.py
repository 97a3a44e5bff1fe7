"""The whole of a stack, for rules that one resource cannot answer."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TypeVar

from emporion.market.bill import Bill, make_bill
from emporion.market.facts import Fact, Purchase
from emporion.market.resources import Resource

__all__ = ["Stack"]

F = TypeVar("F", bound=Fact)


class Stack:
    """Every resource of a stack with its facts, and what they cost."""

    def __init__(self, resources: Sequence[Resource] = (), facts: Sequence[Fact] = (), urn: str = "") -> None:
        self.resources = resources
        self.facts = facts
        self.urn = urn
        """Of the stack's own resource; empty: there is none."""

    def all(self, kind: type[F]) -> list[F]:
        """Return the facts of one kind."""
        return [fact for fact in self.facts if isinstance(fact, kind)]

    @cached_property
    def bill(self) -> Bill:
        """What the resources cost: made only when a rule asks for it."""
        return make_bill(self.all(Purchase))
