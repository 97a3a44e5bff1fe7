from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from desk import Desk, make_desk


@pytest.fixture(scope="session")
def new_desk(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Desk]:
    return lambda name: make_desk(tmp_path_factory.mktemp(name))


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return make_desk(tmp_path)
