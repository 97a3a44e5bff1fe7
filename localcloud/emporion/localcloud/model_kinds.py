"""The table of what a world may model beyond its resources, and what it does unless somebody chose. No I/O here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

__all__ = ["MODELS", "Model"]


@dataclass(frozen=True, slots=True)
class Model:
    """One thing that a world may model."""

    name: str
    what: str
    values: tuple[str, ...]
    """The first one is the default."""


MODELS: Mapping[str, Model] = MappingProxyType(
    {
        each.name: each
        for each in (
            Model("delays", "How long creating, booting and setting up a machine takes.", ("none", "modelled")),
            Model("interruptions", "Whether spot machines are taken back by chance.", ("none", "modelled")),
            Model("prices", "Spot prices: the catalogue's, moving by chance, or recorded ones.", ("fixed", "moving")),
        )
    }
)
