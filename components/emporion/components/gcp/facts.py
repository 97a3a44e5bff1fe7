"""Google Cloud resources as neutral facts for rules. Types and properties are those of pulumi-gcp 10.2."""

from __future__ import annotations

from pathlib import Path

from emporion.components.gcp.facts_common import common
from emporion.components.gcp.facts_machines import MACHINES
from emporion.components.gcp.facts_purchases import PURCHASES
from emporion.components.gcp.facts_services import SERVICES
from emporion.market.fact_source import fact_source

__all__ = ["facts"]

facts = fact_source(
    "gcp:",
    {**MACHINES, **SERVICES},
    PURCHASES,
    free=Path(__file__).with_name("data") / "free_types.csv",
    common=common,
)
