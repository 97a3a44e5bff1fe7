"""Fixtures of the market's tests: the snapshot, markets of a few rows, an intent from text, what is wrong with one."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from plans import written

from emporion.market.errors import ExitCode, UserError
from emporion.market.intent import Intent, load_intent
from emporion.market.offers import Catalogue, load_bundled


@pytest.fixture(scope="session")
def bundled() -> Catalogue:
    """Return the bundled snapshot, read once for all tests."""
    return load_bundled()


@pytest.fixture
def market(tmp_path: Path) -> Callable[..., Catalogue]:
    """Return what makes a catalogue of rows, the columns `more` behind the usual ones."""
    return lambda *rows, more="": written(tmp_path, rows, more)


@pytest.fixture
def intent_of(tmp_path: Path) -> Callable[..., Intent]:
    def load(text: str | bytes, **flags: object) -> Intent:
        path = tmp_path / "intent.yaml"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return load_intent(path, flags)

    return load


@pytest.fixture
def problems_of(intent_of: Callable[..., Intent]) -> Callable[..., list[tuple[int, str, str]]]:
    """Return (line, code, key) of every problem of a text, in the order shown; line 0: no line."""

    def problems_of(text: str | bytes, **flags: object) -> list[tuple[int, str, str]]:
        with pytest.raises(UserError) as caught:
            intent_of(text, **flags)
        found = []
        for problem in caught.value.problems():
            assert problem.exit_code is ExitCode.BAD_INPUT
            assert problem.what == problem.what.strip(". ")
            assert problem.fix, problem
            match = re.fullmatch(r"(?:.*intent\.yaml(?::(\d+))?(?::\d+)?)?(?:  )?(.*)", problem.where or "")
            assert match, problem.where
            found.append((int(match[1] or 0), problem.code, match[2]))
        return found

    return problems_of
