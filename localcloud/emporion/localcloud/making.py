"""One resource while it is made: what the cloud's rules may ask (`emporion.market.stand_in.Making`)."""

from __future__ import annotations

import hashlib
import re
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from string import Formatter
from typing import Any

from emporion.localcloud.world import Resource, World
from emporion.market.stand_in import Compute, Row, StandIn

__all__ = ["Maker"]

HEX = re.compile(r"hex(\d+)")


@dataclass(slots=True)
class Maker:
    """The world as the rules of one resource see it."""

    world: World
    rules: StandIn
    token: str
    name: str
    region: str
    inputs: Mapping[str, Any]
    seed: str
    id: str = ""
    old: Mapping[str, Any] = field(default_factory=dict)
    project: str | None = None
    stack: str | None = None

    @classmethod
    def of(cls, world: World, rules: StandIn, row: Resource) -> Maker:
        """Return the maker of something that exists."""
        return cls(
            world,
            rules,
            row.token,
            row.id,
            row.region,
            row.inputs,
            f"{world.name}/{row.seq}",
            row.id,
            row.outputs,
            row.project,
            row.stack,
        )

    @property
    def account(self) -> str:
        """The reserved account."""
        return self.rules.account

    def hex(self, digits: int, salt: str = "") -> str:
        """Return hex digits that stay the same for this resource and `salt`; at most 64."""
        return hashlib.sha256(f"{self.seed}/{salt}".encode()).hexdigest()[:digits]

    def text(self, template: str) -> str:
        """Return a template filled in."""
        fields = {name.split(".")[0] for _, name, _, _ in Formatter().parse(template) if name}
        return template.format(**{name: self._field(name) for name in fields})

    def make_id(self, template: str | Compute) -> str:
        """Return the id that a rule gives."""
        return self.text(template) if isinstance(template, str) else str(template(self))

    def _field(self, name: str) -> object:
        digits = HEX.fullmatch(name)
        if digits:
            return self.hex(int(digits[1]), "id")
        if name == "uuid":
            return str(uuid.UUID(self.hex(32, "uuid")))
        if name in ("id", "region", "account"):
            return getattr(self, name)
        return self.inputs.get(name) or ""

    def find(self, token: str, id_or_name: str) -> Row | None:
        """Return what the world holds under this type and id in this region (or anywhere, for global types)."""
        rule = self.rules.types.get(token)
        scope = "" if rule and rule.is_global else self.region
        found = self.world.resource(self.rules.plugin, scope, token, id_or_name)
        return _row(found) if found else None

    def find_by(self, token: str, output: str, value: object) -> Row | None:
        """Return the first of a type in this region (global types: anywhere) one of whose outputs has this value."""
        return next((row for row in self._rows(token) if row.outputs.get(output) == value), None)

    def all(self, token: str) -> Sequence[Row]:
        """Return everything of one type in this region, oldest first."""
        return list(self._rows(token))

    def _rows(self, token: str) -> Iterator[Row]:
        rule = self.rules.types.get(token)
        region = None if rule and rule.is_global else self.region
        return (_row(one) for one in self.world.resources(self.rules.plugin, token, region))


def _row(resource: Resource) -> Row:
    return Row(
        resource.token,
        resource.id,
        resource.region,
        resource.inputs,
        resource.outputs,
        resource.facts.get("versions", {}),
    )
