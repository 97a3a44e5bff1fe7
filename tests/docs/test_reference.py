from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

REPO = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def generate() -> ModuleType:
    spec = importlib.util.spec_from_file_location("generate", REPO / "docs" / "generate.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["generate"] = module
    spec.loader.exec_module(module)
    return module


def test_the_reference_says_what_the_program_does_now(generate: ModuleType) -> None:
    assert generate.stale() == [], "run: python docs/generate.py"


def test_the_errors_of_every_room_are_found(generate: ModuleType) -> None:
    raised = [one for path in sorted(REPO.glob("*/emporion/**/*.py")) for one in generate._raised(path)]
    assert len(raised) > 50
    assert {one.code for one in raised} >= {"E-GPU", "E-USAGE", "E-BUSY"}
    assert {one.room for one in raised} >= {"market", "cli", "operations", "components", "localcloud", "engine"}
