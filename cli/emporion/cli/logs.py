"""Logging to stderr as `key=value` lines, switched on by `-v`."""

from __future__ import annotations

import logging
import sys

__all__ = ["configure"]


class _KeyValue(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        text = record.getMessage()
        quoted = '"' + text.replace('"', "'") + '"' if " " in text and "=" not in text else text
        line = (
            f"time={self.formatTime(record, '%H:%M:%S')} level={record.levelname.lower()} logger={record.name} {quoted}"
        )
        return line if record.exc_info is None else f"{line}\n{self.formatException(record.exc_info)}"


def configure(*, verbose: int) -> None:
    """Send Emporion's log lines to stderr: information at 1, everything at 2."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_KeyValue())
    logger = logging.getLogger("emporion")
    logger.handlers = [handler]
    logger.propagate = False
    logger.setLevel(logging.DEBUG if verbose > 1 else logging.INFO)
