from __future__ import annotations

from typing import Any

import pytest

from emporion.localcloud.plugin.secrets import marked
from emporion.market.wire import SECRET, SIGNATURE, UNKNOWN_TEXT


def secret(value: object) -> dict[str, object]:
    return {SIGNATURE: SECRET, "value": value}


@pytest.mark.parametrize(
    ("values", "came", "out"),
    [
        pytest.param({"a": "x"}, {"a": "x"}, {"a": "x"}, id="nothing secret"),
        pytest.param({"a": "x"}, {"a": secret("x")}, {"a": secret("x")}, id="the value itself"),
        pytest.param(
            {"tags": {"open": "o", "hidden": "x"}}, {"tags": {"open": "o", "hidden": secret("x")}},
            {"tags": {"open": "o", "hidden": secret("x")}}, id="only the part that was secret",
        ),
        pytest.param(
            {"all": {"hidden": "x"}, "arn": "a"}, {"tags": {"hidden": secret("x")}},
            {"all": secret({"hidden": "x"}), "arn": "a"}, id="what was made from it",
        ),
        pytest.param({"url": "u/x/y"}, {"name": secret("x")}, {"url": secret("u/x/y")}, id="a text that holds it"),
        pytest.param({"a": "y"}, {"a": secret("x")}, {"a": secret("y")}, id="another value in its place"),
        pytest.param({"a": None}, {"a": secret("x")}, {"a": None}, id="nothing in its place"),
        pytest.param({"b": "y"}, {"a": secret("x")}, {"b": "y"}, id="another value elsewhere"),
        pytest.param({"n": 4242}, {"m": secret(4242)}, {"n": secret(4242)}, id="a number"),
        pytest.param({"on": True}, {"off": secret(value=True)}, {"on": True}, id="a boolean says nothing"),
        pytest.param(
            {"a": UNKNOWN_TEXT, "arn": UNKNOWN_TEXT},
            {"a": secret(UNKNOWN_TEXT)},
            {"a": secret(UNKNOWN_TEXT), "arn": UNKNOWN_TEXT},
            id="unknown and secret",
        ),
    ],
)  # fmt: skip
def test_what_came_marked_goes_out_marked(values: dict[str, Any], came: dict[str, Any], out: dict[str, Any]) -> None:
    assert marked(values, came) == out
