"""Requests to Azure Resource Manager: retries, pages, and errors as UserError."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import httpx

from emporion.components.azure.api.credentials import RESOURCE, Credentials, Token, credentials
from emporion.components.azure.errors import CREDENTIAL_CODES, ERRORS
from emporion.market.clouds import ErrorKind
from emporion.market.errors import ExitCode, UserError

__all__ = ["Rest"]

ATTEMPTS = 5
STORAGE, STORAGE_VERSION = "https://storage.azure.com", "2023-11-03"
TIMEOUT_S = 30
LONGEST_PAUSE_S = 30.0
_MOST_PAGES = 1000
_RETRIED = frozenset({408, 429, 500, 502, 503, 504})

Body = Mapping[str, Any]


class Rest:
    """One subscription, seen from one region."""

    def __init__(
        self,
        region: str,
        *,
        transport: httpx.BaseTransport | None = None,
        who: Callable[[httpx.Client], Credentials] = credentials,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        """Open nothing yet: credentials are looked for at the first request."""
        self.region = region
        self._client = httpx.Client(timeout=TIMEOUT_S, transport=transport, headers={"User-Agent": "emporion"})
        self._who = who
        self._sleep = sleep
        self._token: Token | None = None

    @property
    def token(self) -> Token:
        """The token of this session, asked for once."""
        if self._token is None:
            self._token = self._who(self._client).token()
        return self._token

    @property
    def subscription(self) -> str:
        """The path of the subscription (`/subscriptions/…`)."""
        return f"/subscriptions/{self.token.subscription}"

    def get(self, path: str, version: str, **params: str) -> Body | None:
        """Return what lies at a path, None when there is nothing (404).

        Raises: UserError E-CREDENTIALS, E-CLOUD.
        """
        return self._answer("GET", f"{RESOURCE}{path}", {"api-version": version, **params})

    def delete(self, path: str, version: str) -> None:
        """Delete what lies at a path; what is gone already is fine."""
        self._answer("DELETE", f"{RESOURCE}{path}", {"api-version": version})

    def blobs(self, store: str, container: str) -> str | None:
        """Return the first level of a container's listing (XML), empty when it is not there; None: it may not be read.

        It is asked of the store itself, with a token of its own.
        """
        bearer = self._who(self._client).token(STORAGE).text
        try:
            answer = self._client.get(
                f"https://{store}.blob.core.windows.net/{container}",
                params={"restype": "container", "comp": "list", "delimiter": "/", "maxresults": "10"},
                headers={"Authorization": f"Bearer {bearer}", "x-ms-version": STORAGE_VERSION},
            )
        except httpx.TransportError:
            return None
        if answer.status_code == httpx.codes.NOT_FOUND:
            return ""
        return answer.text if answer.is_success else None

    def all(self, path: str, version: str, **params: str) -> Iterator[Body]:
        """Yield the items of a list, page by page; none of a list that is not there.

        Raises: UserError E-CREDENTIALS, E-CLOUD (also: when a page leads away from Azure, or back).
        """
        url, asked, seen = f"{RESOURCE}{path}", {"api-version": version, **params}, set[str]()
        while url not in seen and len(seen) < _MOST_PAGES:
            seen.add(url)
            page = self._answer("GET", url, asked)
            yield from (page or {}).get("value") or ()
            following = (page or {}).get("nextLink")
            if not following:
                return
            if not str(following).startswith(f"{RESOURCE}/"):
                break
            url, asked = str(following), {}
        raise self._failed("a list of Azure leads away or back", "OddPage")

    def bare_list(self, path: str, version: str) -> Sequence[Body]:
        """Return the items of a list that Azure answers without an envelope."""
        answer = self._request("GET", f"{RESOURCE}{path}", {"api-version": version})
        if answer.status_code == httpx.codes.NOT_FOUND:
            return []
        if not answer.is_success:
            raise self._refused(answer)
        found: Any = answer.json()
        if not isinstance(found, list):
            raise self._failed("Azure answers something that is no list", "OddAnswer")
        return found

    def _answer(self, method: str, url: str, params: Mapping[str, str]) -> Body | None:
        answer = self._request(method, url, params)
        if answer.status_code == httpx.codes.NOT_FOUND:
            return None
        if not answer.is_success:
            raise self._refused(answer)
        found: Any = answer.json() if answer.content else {}
        if not isinstance(found, dict):
            raise self._failed("Azure answers something that is no document", "OddAnswer")
        return found

    def _request(self, method: str, url: str, params: Mapping[str, str]) -> httpx.Response:
        last = ""
        for attempt in range(ATTEMPTS):
            headers = {"Authorization": f"Bearer {self.token.text}"}
            try:
                answer = self._client.request(method, url, params=params or None, headers=headers)
            except httpx.TransportError as error:
                last = type(error).__name__
                self._pause(attempt, None)
                continue
            if answer.status_code in _RETRIED:
                last = _code(answer)
                self._pause(attempt, answer.headers.get("Retry-After"))
                continue
            return answer
        raise self._failed(f"Azure does not answer: {last}", last)

    def _pause(self, attempt: int, asked: str | None) -> None:
        if attempt == ATTEMPTS - 1:
            return
        wait = float(asked) if asked and asked.isdigit() else float(2**attempt)
        self._sleep(min(wait, LONGEST_PAUSE_S))

    def _refused(self, answer: httpx.Response) -> UserError:
        code = _code(answer)
        if code in CREDENTIAL_CODES or answer.status_code == httpx.codes.UNAUTHORIZED:
            return UserError(
                "E-CREDENTIALS", f"Azure does not take these credentials: {code}", f"azure {self.region}",
                "az login, then run the same command again", ExitCode.FAILED,
            )  # fmt: skip
        return self._failed(f"Azure refuses: {_text(answer)}", code)

    def _failed(self, what: str, code: str) -> UserError:
        row = ERRORS.get(code)
        fix = row.fix if row else "run the same command again in a minute"
        kind = f" ({row.what})" if row and row.kind is not ErrorKind.OTHER else ""
        return UserError("E-CLOUD", f"{what}{kind}", f"azure {self.region}", fix, ExitCode.FAILED)


def _error(answer: httpx.Response) -> Mapping[str, Any]:
    try:
        found = answer.json()
    except ValueError:
        return {}
    error = found.get("error") if isinstance(found, dict) else None
    return error if isinstance(error, dict) else {}


def _code(answer: httpx.Response) -> str:
    """Return the error's own code; an answer of something else than Azure is told by its status."""
    return str(_error(answer).get("code") or f"HTTP {answer.status_code}")


def _text(answer: httpx.Response) -> str:
    message = str(_error(answer).get("message") or "").strip().splitlines()
    return f"{_code(answer)}: {message[0][:200]}" if message else _code(answer)
