"""AWS resources as neutral facts for rules. Types and properties are those of pulumi-aws 7.51."""

from __future__ import annotations

from pathlib import Path

from emporion.components.aws.facts_access import ACCESS
from emporion.components.aws.facts_common import common
from emporion.components.aws.facts_machines import MACHINES
from emporion.components.aws.facts_network import NETWORK
from emporion.components.aws.facts_purchases import PURCHASES
from emporion.components.aws.facts_storage import STORAGE
from emporion.market.fact_source import fact_source

__all__ = ["facts"]

facts = fact_source(
    "aws:",
    {**MACHINES, **NETWORK, **STORAGE, **ACCESS},
    PURCHASES,
    free=Path(__file__).with_name("data") / "free_types.csv",
    common=common,
)
