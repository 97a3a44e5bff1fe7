"""Fakes at the room's seams: programs on PATH, and a release server on the loopback."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from release_server import Release, serve


@pytest.fixture
def program() -> Callable[..., Path]:
    """Write a shell script where a program would lie."""

    def write(path: Path, body: str = "exit 0") -> Path:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"#!/bin/sh\n{body}\n")
        path.chmod(0o755)
        return path

    return write


@pytest.fixture
def release() -> Iterator[Release]:
    with serve(Release()) as published:
        yield published
