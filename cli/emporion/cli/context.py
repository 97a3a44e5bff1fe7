"""What a command knows of its surroundings: environment, clock, project. Nothing else of Emporion reads them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from emporion.operations.project import Project

__all__ = ["environment", "home", "now", "project"]


def environment() -> Mapping[str, str]:
    """Return the environment of this process."""
    return os.environ


def now() -> datetime:
    """Return the time, UTC."""
    return datetime.now(tz=UTC)


def home() -> Path:
    """Return the folder of world, state and logs (`EMPORION_HOME`)."""
    from emporion.engine import home_dir

    return home_dir(environment())


def project(explicit: Path | None) -> Project:
    """Return the project in use: that of `--project`, else the nearest Pulumi.yaml at or above this folder.

    Raises: UserError E-PROJECT: when there is none.
    """
    from emporion.operations.project import find_project

    return find_project(Path.cwd()) if explicit is None else find_project(explicit, explicit=True)
