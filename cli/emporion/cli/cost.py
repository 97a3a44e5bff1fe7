"""`emporion cost`: what something costs before it is made, and a gate for what a change costs."""

from __future__ import annotations

import click

from emporion.cli.lazy import LazyGroup

__all__ = ["cost"]


@click.group(
    cls=LazyGroup,
    sections={
        "Commands": {
            "estimate": "emporion.cli.cost_estimate:estimate",
            "guard": "emporion.cli.cost_guard:guard",
        }
    },
    short_help="What something costs, and what a change costs.",
)
def cost() -> None:
    """Price programs and plans before anything is made: in a terminal, and as a gate in CI."""
