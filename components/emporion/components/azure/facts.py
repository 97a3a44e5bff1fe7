"""Azure resources as neutral facts for rules. Types and properties are those of pulumi-azure-native 3.29."""

from __future__ import annotations

import re
from pathlib import Path

from emporion.components.azure.facts_common import common
from emporion.components.azure.facts_machines import MACHINES
from emporion.components.azure.facts_network import NETWORK
from emporion.components.azure.facts_purchases import PURCHASES
from emporion.components.azure.facts_storage import STORAGE
from emporion.market.fact_source import fact_source

__all__ = ["facts"]

VERSIONED = re.compile(r"(?P<module>azure-native:[a-z]+)/v\d{8}(?:preview)?:")
"""A type token that names the API's version; the properties are the same."""


def _spelled(kind: str) -> str:
    """Return a type token without the API's version."""
    return VERSIONED.sub(r"\g<module>:", kind)


facts = fact_source(
    "azure-native:",
    {**MACHINES, **NETWORK, **STORAGE},
    PURCHASES,
    free=Path(__file__).with_name("data") / "free_types.csv",
    common=common,
    spelled=_spelled,
)
