"""`emporion intent`: the language of wishes."""

from __future__ import annotations

import json

import click

from emporion.cli.lazy import Group

__all__ = ["intent"]


@click.group(cls=Group, short_help="The schema of intents.")
def intent() -> None:
    """Show what an intent file may say."""


@intent.command(short_help="Print the JSON Schema of intent files.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON to stdout (it always does).")
def schema(*, as_json: bool) -> None:  # noqa: ARG001 - every command takes --json
    """Print the JSON Schema of intent files: every key, its units, spellings and default."""
    from emporion.market.intent import intent_schema

    click.echo(json.dumps(intent_schema(), indent=2, ensure_ascii=False))
