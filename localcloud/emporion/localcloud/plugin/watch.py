"""The plugin leaves with its engine: a killed engine never tells its plugins to go (facts/engine.md section 3)."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable

__all__ = ["leave_with"]

INTERVAL_S = 0.2


def leave_with(
    engine: int,
    leave: Callable[[], None],
    parent: Callable[[], int] = os.getppid,
    interval_s: float = INTERVAL_S,
) -> threading.Thread:
    """Call `leave` once this process has another parent than `engine`; return the thread that watches."""

    def watch() -> None:
        while parent() == engine:
            time.sleep(interval_s)
        leave()

    thread = threading.Thread(target=watch, name="engine-watch", daemon=True)
    thread.start()
    return thread
