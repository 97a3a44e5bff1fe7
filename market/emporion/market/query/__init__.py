"""Structural queries over offers: `cuda >= 12.1 and "pytorch==2.1.0" in preinstalled`."""

from __future__ import annotations

from emporion.market.query.fields import FIELDS, Field
from emporion.market.query.grammar import Query, parse_query

__all__ = ["FIELDS", "Field", "Query", "parse_query"]
