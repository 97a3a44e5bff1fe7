"""`emporion offers`: the marketplace."""

from __future__ import annotations

import click

from emporion.cli.lazy import LazyGroup

__all__ = ["offers"]


@click.group(
    cls=LazyGroup,
    sections={
        "Commands": {
            "list": "emporion.cli.offers_list:list_",
            "explain": "emporion.cli.offers_explain:explain",
            "refresh": "emporion.cli.offers_refresh:refresh",
            "register": "emporion.cli.offers_register:register",
            "registered": "emporion.cli.offers_register:registered",
            "unregister": "emporion.cli.offers_register:unregister",
        }
    },
    short_help="What can be rented, where and at what price.",
)
def offers() -> None:
    """Look at the marketplace: every offer of every provider, and what is known of a machine type."""
