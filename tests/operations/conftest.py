"""The stand-in for Pulumi."""

from __future__ import annotations

from pathlib import Path

import pytest
from fake_pulumi import fake_pulumi

from emporion.operations.pulumi import Pulumi


@pytest.fixture
def pulumi(tmp_path: Path) -> Pulumi:
    return fake_pulumi(tmp_path)
