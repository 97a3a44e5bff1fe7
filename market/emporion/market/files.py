"""Files that are written whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path

__all__ = ["write_whole"]


def write_whole(path: Path, text: str) -> None:
    """Put a text in the place of what a file held: a reader sees the old one or the new one, so does one after a crash.

    The folder must be there. Line ends are written as they are in the text.

    Raises: OSError: when it cannot be written; nothing is left behind then.
    """
    unfinished = path.with_name(f".new-{os.getpid()}-{path.name}")
    unfinished.unlink(missing_ok=True)  # of a process of this number that was killed
    try:
        with unfinished.open(
            "x", encoding="utf-8", newline=""
        ) as file:  # never through a link that someone else put there
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)
