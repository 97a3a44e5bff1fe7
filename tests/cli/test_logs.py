from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest

from emporion.cli.logs import configure


@pytest.fixture(autouse=True)
def restored() -> Iterator[None]:
    logger = logging.getLogger("emporion")
    before = logger.handlers, logger.propagate, logger.level
    yield
    logger.handlers, logger.propagate = before[:2]
    logger.setLevel(before[2])


@pytest.mark.parametrize(
    ("verbose", "levels"), [pytest.param(1, ["info"], id="-v"), pytest.param(2, ["debug", "info"], id="-vv")]
)
def test_log_lines_are_keys_and_values_on_stderr(
    verbose: int, levels: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    configure(verbose=verbose)
    logger = logging.getLogger("emporion.market.offers")
    logger.debug("cache unusable file=%s", "a.cat")
    logger.info("two words")
    out, err = capsys.readouterr()
    assert out == ""
    lines = [dict(part.split("=", 1) for part in line.split(" ")[:3]) for line in err.splitlines()]
    assert [line["level"] for line in lines] == levels
    assert {line["logger"] for line in lines} == {"emporion.market.offers"}
    assert err.splitlines()[-1].endswith('"two words"')
