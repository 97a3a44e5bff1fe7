"""Options that several commands share."""

from __future__ import annotations

from pathlib import Path

import click

__all__ = ["json_option", "project_option", "yes_option"]

json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON to stdout.")
yes_option = click.option("-y", "--yes", is_flag=True, help="Do not ask.")
project_option = click.option(
    "--project",
    "project",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="The project's folder; the nearest one with a Pulumi.yaml by default.",
)
