"""What a command knows of its surroundings: environment, clock, home. Nothing else of Emporion reads them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

__all__ = ["environment", "home", "now"]


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
