"""`emporion policy`: the rules that hold at preview, at up and in CI."""

from __future__ import annotations

import click

from emporion.cli.lazy import LazyGroup

__all__ = ["policy"]


@click.group(
    cls=LazyGroup,
    sections={
        "Commands": {
            "check": "emporion.cli.policy_check:check",
            "list": "emporion.cli.policy_list:list_",
            "explain": "emporion.cli.policy_list:explain",
            "test": "emporion.cli.policy_test:test",
            "path": "emporion.cli.policy_list:path",
        }
    },
    short_help="The rules that hold at preview, at up and in CI.",
)
def policy() -> None:
    """Judge programs by rules of cost, spot, security and compliance: Emporion's own programs or any other."""
