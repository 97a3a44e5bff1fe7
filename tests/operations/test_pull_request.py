"""The comment of a pull request: found by its marker, written over, the token nowhere but in a header."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from emporion.market.errors import UserError
from emporion.operations.pull_request import find_pull_request, send, write_comment

MARKER = "<!-- emporion cost guard -->"
REPO = Path(__file__).parents[2]


def environ(folder: Path, event: Any) -> dict[str, str]:
    path = folder / "event.json"
    path.write_text(json.dumps(event))
    return {"GITHUB_TOKEN": "secret-token", "GITHUB_REPOSITORY": "me/shop", "GITHUB_EVENT_PATH": str(path)}


class GitHub:
    """A pull request with comments; each call is kept."""

    def __init__(self, *bodies: str) -> None:
        self.comments = [{"id": number, "body": body} for number, body in enumerate(bodies)]
        self.calls: list[tuple[str, str]] = []

    def __call__(self, method: str, address: str, headers: Mapping[str, str], body: bytes | None) -> Any:
        assert headers["Authorization"] == "Bearer secret-token"
        self.calls.append((method, address.removeprefix("https://api.github.com/repos/me/shop/issues/")))
        if method == "GET":
            page = int(address.rpartition("=")[2])
            return self.comments[(page - 1) * 100 : page * 100]
        assert body is not None
        text = json.loads(body)["body"]
        if method == "PATCH":
            self.comments[int(address.rpartition("/")[2])]["body"] = text
        else:
            self.comments.append({"id": len(self.comments), "body": text})
        return {}


def test_the_second_run_writes_over_the_first(tmp_path: Path) -> None:
    pull = find_pull_request(environ(tmp_path, {"pull_request": {"number": 7}}))
    assert "secret-token" not in repr(pull)
    hub = GitHub("looks good")
    assert write_comment(pull, MARKER, f"{MARKER}\n+$1", hub) == "created"
    assert write_comment(pull, MARKER, f"{MARKER}\n+$2", hub) == "updated"
    assert [one["body"] for one in hub.comments] == ["looks good", f"{MARKER}\n+$2"]
    assert hub.calls[-1] == ("PATCH", "comments/1")


def test_it_is_found_behind_many_others(tmp_path: Path) -> None:
    pull = find_pull_request(environ(tmp_path, {"pull_request": {"number": 7}}))
    hub = GitHub(*["hello"] * 250, f"{MARKER}\nold")
    assert write_comment(pull, MARKER, f"{MARKER}\nnew", hub) == "updated"
    assert hub.comments[250]["body"] == f"{MARKER}\nnew"


@pytest.mark.parametrize("event", [{}, {"pull_request": None}, {"pull_request": {"number": "7"}}])
def test_a_run_about_no_pull_request_is_refused(event: Any, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="about no pull request"):
        find_pull_request(environ(tmp_path, event))


def test_without_a_token_or_tls_nothing_is_sent(tmp_path: Path) -> None:
    given = environ(tmp_path, {"pull_request": {"number": 7}})
    with pytest.raises(UserError, match="needs GITHUB_TOKEN"):
        find_pull_request({**given, "GITHUB_TOKEN": ""})
    with pytest.raises(UserError, match="not reached over TLS"):
        send("GET", "http://127.0.0.1/", {"Authorization": "Bearer secret-token"}, None)
    (tmp_path / "event.json").write_text("{")
    with pytest.raises(UserError, match="cannot be read"):
        find_pull_request(given)


def test_the_action_puts_no_input_into_a_script() -> None:
    action = yaml.safe_load((REPO / "action.yml").read_text(encoding="utf-8"))
    for step in action["runs"]["steps"]:
        assert "${{" not in step["run"]
    used = "".join(str(step.get("env")) for step in action["runs"]["steps"])
    assert {name for name in action["inputs"] if f"inputs.{name} " not in used} <= {"policies"}


@pytest.mark.parametrize("name", [".pre-commit-hooks.yaml", "docs/examples/ci/gitlab.yml"])
def test_the_other_templates_are_yaml_and_call_commands_that_exist(name: str) -> None:
    text = (REPO / name).read_text(encoding="utf-8")
    assert yaml.safe_load(text)
    assert "emporion policy check" in text
