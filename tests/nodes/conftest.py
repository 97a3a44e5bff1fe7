from __future__ import annotations

from pathlib import Path

import pytest
from stub_gpu import StubNode, build_stub

from emporion.nodes.check.models import Model, load_models
from emporion.nodes.table import identity_json


@pytest.fixture(scope="session")
def libraries(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The stub's libraries, built once."""
    folder = tmp_path_factory.mktemp("stub")
    if not build_stub(folder):
        pytest.skip("no C compiler on PATH: the stub of a driver cannot be built")
    return folder


@pytest.fixture
def node(libraries: Path, tmp_path: Path) -> StubNode:
    return StubNode(libraries, tmp_path)


@pytest.fixture(scope="session")
def models() -> dict[str, Model]:
    return load_models(identity_json())
