"""Structural queries over offers: `cuda >= 12.1 and "pytorch==2.1.0" in preinstalled`.

The grammar is imported at its first use: most plans have no query, and it costs 15 ms.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from emporion.market.query.fields import FIELDS, Field
    from emporion.market.query.grammar import Query, parse_query

__all__ = ["FIELDS", "Field", "Query", "parse_query"]


def __getattr__(name: str) -> object:
    """Return what this package makes public, imported at its first use."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from emporion.market.query import fields, grammar  # noqa: PLC0415 - see above

    found: object = getattr(grammar if hasattr(grammar, name) else fields, name)
    return found
