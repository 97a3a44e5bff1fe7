"""One comment of a pull request on GitHub, written again by every run instead of repeated."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http.client import HTTPException
from pathlib import Path
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.request import Request, urlopen

from emporion.market.errors import ExitCode, UserError

__all__ = ["PullRequest", "Send", "find_pull_request", "send", "write_comment"]

TIMEOUT_S = 30
PAGE = 100
TOKENS = ("GITHUB_TOKEN", "GH_TOKEN")
"""Variables that may hold the token, the first one that is set counts."""

Send = Callable[[str, str, Mapping[str, str], bytes | None], Any]
"""Method, address, headers and body of a request; the answer's JSON."""


@dataclass(frozen=True, slots=True)
class PullRequest:
    """Where the comment goes."""

    api: str
    repository: str
    number: int
    token: str = field(repr=False)


def find_pull_request(environ: Mapping[str, str]) -> PullRequest:
    """Return the pull request that a run of GitHub Actions is about.

    Raises: UserError E-PULL-REQUEST: when it is about none, or there is no token.
    """
    token = next((environ[name] for name in TOKENS if environ.get(name)), None)
    repository, event = environ.get("GITHUB_REPOSITORY"), environ.get("GITHUB_EVENT_PATH")
    if not token or not repository or not event:
        raise UserError(
            "E-PULL-REQUEST",
            "a comment needs GITHUB_TOKEN, GITHUB_REPOSITORY and GITHUB_EVENT_PATH in the environment",
            "--comment",
            "run it in GitHub Actions, with `permissions: pull-requests: write`",
        )
    try:
        document = json.loads(Path(event).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise UserError("E-PULL-REQUEST", "the event file cannot be read", event, "run it in GitHub Actions") from error
    number = (document.get("pull_request") or {}).get("number")
    if not isinstance(number, int):
        raise UserError(
            "E-PULL-REQUEST", "this run is about no pull request", event, "run it on the event `pull_request`"
        )
    return PullRequest(environ.get("GITHUB_API_URL", "https://api.github.com"), repository, number, token)


def write_comment(pull: PullRequest, marker: str, text: str, send: Send) -> str:
    """Write the comment that begins with `marker`; return `updated` or `created`.

    Raises: UserError E-PULL-REQUEST: when GitHub refuses.
    """
    comments = f"{pull.api}/repos/{pull.repository}/issues/{pull.number}/comments"
    headers = {
        "Accept": "application/vnd.github+json",
        "Authorization": f"Bearer {pull.token}",
        "Content-Type": "application/json",
    }
    body = json.dumps({"body": text}).encode()
    page = 1
    while True:
        found = send("GET", f"{comments}?per_page={PAGE}&page={page}", headers, None)
        for one in found:
            if str(one.get("body") or "").startswith(marker):
                send("PATCH", f"{pull.api}/repos/{pull.repository}/issues/comments/{one['id']}", headers, body)
                return "updated"
        if len(found) < PAGE:
            send("POST", comments, headers, body)
            return "created"
        page += 1


def send(method: str, address: str, headers: Mapping[str, str], body: bytes | None) -> Any:  # noqa: ANN401 - JSON
    """Send a request, return its answer. Raises: UserError E-PULL-REQUEST: when there is none, or it is a refusal."""
    if not address.startswith("https://"):
        raise UserError(
            "E-PULL-REQUEST", f"{address} is not reached over TLS", "GITHUB_API_URL", "use an https address"
        )
    request = Request(address, body, dict(headers), method=method)  # noqa: S310 - https, as asserted above
    try:
        with urlopen(request, timeout=TIMEOUT_S) as answer:  # noqa: S310 - likewise
            return json.loads(answer.read())
    except HTTPError as error:
        raise UserError(
            "E-PULL-REQUEST",
            f"GitHub answers {error.code} to {method}",
            address,
            "give the job `permissions: pull-requests: write`",
            ExitCode.FAILED,
        ) from error
    except (URLError, HTTPException, OSError, ValueError) as error:
        raise UserError(
            "E-PULL-REQUEST", "GitHub does not answer", address, "run the job again", ExitCode.FAILED
        ) from error
