"""The network as a refresh sees it: HTTP answers that are whole, of the right kind and of bounded size, or one error.

An address stands in no message and no log: keys can be in its query. What is named is the provider and the host.
"""

from __future__ import annotations

import json
import logging
import random
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from decimal import Decimal
from email.utils import parsedate_to_datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any, NoReturn, Self

from emporion.market.errors import ExitCode, UserError
from emporion.market.offers.adapter import Adapter, Page

if TYPE_CHECKING:
    import httpx

__all__ = ["HttpAsk", "Stopped", "failure"]

_log = logging.getLogger(__name__)

_ATTEMPTS = 5
_FIRST_PAUSE_S = 0.5
_LONGEST_PAUSE_S = 30.0
_LONGEST_RETRY_AFTER_S = 60.0
"""What a server may ask to wait; one that asks for more is not waited for."""
_REQUEST_TIMEOUT_S = 30.0
"""For connecting and for each piece of an answer; the refresh's own limit bounds the whole."""
_LARGEST = 64 << 20
"""Bytes of an answer, unpacked. The largest documented page (5,000 SKUs of Google Cloud) has a tenth of that."""
_REDIRECTS = 3
_TOO_MANY_REQUESTS = 429
_SERVER_ERROR = 500
_LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost"})
_REFUSALS: Mapping[int, str] = {401: "refuses the key", 403: "refuses access", 404: "has no such page"}


class Stopped(Exception):  # noqa: N818 - no error: nobody waits for the answer any more
    """The refresh has ended before the adapter did."""


def failure(provider: str, host: str, what: str, fix: str | None = None) -> UserError:
    """Return the error for a source that gives no usable answer."""
    told = fix or "try again later"
    return UserError("E-ADAPTER", f"prices of {provider} cannot be read: {host} {what}", host, told, ExitCode.FAILED)


@dataclass
class HttpAsk:
    """`Ask` over HTTP, for one adapter and one refresh."""

    adapter: Adapter
    now: datetime
    env: Mapping[str, str]
    transport: httpx.BaseTransport | None = None
    """None: the real network."""
    listen: Callable[[str, int, int | None], None] = lambda _what, _done, _total: None
    stop: threading.Event = field(default_factory=threading.Event)
    """Set when nobody waits any more: pauses end, and the next question raises `Stopped`."""
    wait: Callable[[float], object] | None = None
    """How to wait so many seconds; None: until `stop` at most."""

    @cached_property
    def _jitter(self) -> random.Random:
        return random.Random(f"{self.adapter.provider} {self.now.isoformat()}")  # noqa: S311 - no secret

    @cached_property
    def _client(self) -> httpx.Client:
        try:
            import httpx  # noqa: PLC0415 - an extra, and only a refresh needs it
        except ModuleNotFoundError:
            raise UserError(
                "E-ADAPTER",
                f"prices of {self.adapter.provider} cannot be read: httpx is not installed",
                self.adapter.provider,
                f"install emporion[{self.adapter.extra}]",
                ExitCode.FAILED,
            ) from None
        agent = {"User-Agent": "emporion", "Accept-Encoding": "gzip, deflate"}
        return httpx.Client(timeout=_REQUEST_TIMEOUT_S, headers=agent, transport=self.transport, trust_env=True)

    def __enter__(self) -> Self:
        """Return itself; nothing is opened before the first question."""
        return self

    def __exit__(self, *_error: object) -> None:
        """Close what was opened."""
        if "_client" in self.__dict__:
            self._client.close()

    def get(
        self, url: str, *, params: Mapping[str, str] | None = None, headers: Mapping[str, str] | None = None
    ) -> Page:
        """Return the JSON that a URL answers (`Ask.get`); without `params` the query of the URL stays."""
        return self._json("GET", url, headers or {}, params=params)

    def post(self, url: str, *, json: Any, headers: Mapping[str, str] | None = None) -> Page:  # noqa: ANN401 - JSON
        """Return the JSON that a POST answers (`Ask.post`)."""
        return self._json("POST", url, headers or {}, json=json)

    def text(self, url: str, *, headers: Mapping[str, str] | None = None) -> str:
        """Return the text of a page (`Ask.text`)."""
        answer = self._ask("GET", url, {"Accept": "text/*", **(headers or {})})
        if answer.kind and not answer.kind.startswith("text/"):
            self._fail(answer.host, f"answers {answer.kind[:40]} instead of text")
        return self._decoded(answer)

    def pause(self, attempt: int) -> None:
        """Wait before an attempt (`Ask.pause`)."""
        longest = min(_LONGEST_PAUSE_S, _FIRST_PAUSE_S * 2 ** (attempt - 1))
        self._sleep(longest * self._jitter.uniform(0.5, 1.0))

    def progress(self, what: str, done: int, total: int | None) -> None:
        """Tell how far the adapter is (`Ask.progress`).

        Raises: Stopped: when nobody wants to know.
        """
        self._check()
        self.listen(what, done, total)

    def _check(self) -> None:
        if self.stop.is_set():
            raise Stopped

    def _sleep(self, seconds: float) -> None:
        (self.wait or self.stop.wait)(seconds)
        self._check()

    def _fail(self, host: str, what: str, fix: str | None = None) -> NoReturn:
        raise failure(self.adapter.provider, host, what, fix) from None

    def _json(self, method: str, url: str, headers: Mapping[str, str], **more: Any) -> Page:  # noqa: ANN401 - httpx's
        answer = self._ask(method, url, {"Accept": "application/json", **headers}, **more)
        start = answer.content.lstrip()[:1]
        if answer.kind.startswith("text/html") or start == b"<":
            self._fail(answer.host, "answers a web page instead of JSON")
        if answer.kind and answer.kind != "application/json" and not answer.kind.endswith("+json"):
            self._fail(answer.host, f"answers {answer.kind[:40]} instead of JSON")
        text = self._decoded(answer)
        try:
            return Page(json.loads(text, parse_float=Decimal, parse_constant=_no_number), answer.headers)
        except (ValueError, RecursionError):
            whole = text.rstrip()[-1:] in {"}", "]"}
            self._fail(answer.host, "answers what is not JSON" if whole else "answers JSON that is cut")

    def _decoded(self, answer: _Answer) -> str:
        if not answer.content.strip():
            self._fail(answer.host, "answers nothing")
        try:
            return answer.content.decode("utf-8-sig")
        except UnicodeDecodeError:
            self._fail(answer.host, "answers text that is not UTF-8")

    def _ask(self, method: str, url: str, headers: Mapping[str, str], **more: Any) -> _Answer:  # noqa: ANN401
        """Return a good answer, after as many attempts as it takes and are allowed."""
        host = self._host(url)
        attempt = 1
        while True:
            self._check()
            started = time.monotonic()
            answer, trouble = self._attempt(method, url, host, headers, more)
            _log.info(
                "provider=%s host=%s method=%s status=%s bytes=%d seconds=%.2f",
                self.adapter.provider, host, method, answer.status if answer else trouble,
                len(answer.content) if answer else 0, time.monotonic() - started,
            )  # fmt: skip
            if answer is not None:
                if not _is_passing(answer.status):
                    self._check_status(answer)
                    return answer
                trouble = f"answers {answer.status}"
            if attempt == _ATTEMPTS:
                self._fail(host, f"{trouble} ({_ATTEMPTS} attempts)")
            self._pause_as_asked(attempt, answer, host)
            attempt += 1

    def _pause_as_asked(self, attempt: int, answer: _Answer | None, host: str) -> None:
        asked = None if answer is None else _retry_after_s(answer.headers.get("retry-after"))
        if asked is None:
            self.pause(attempt)
        elif asked > _LONGEST_RETRY_AFTER_S:
            self._fail(host, f"asks to wait for {asked:.0f} s", f"try again in {asked:.0f} s")
        else:
            self._sleep(asked)

    def _check_status(self, answer: _Answer) -> None:
        """See to it that an answer is one.

        Raises: UserError E-ADAPTER: when it is a refusal, or a redirect that is not followed.
        """
        if answer.status == 200:  # noqa: PLR2004 - the one code of an answer with content
            return
        what = f"{_REFUSALS.get(answer.status, 'answers')} ({answer.status})"
        fix = None
        if answer.status in {401, 403} and self.adapter.needs:
            fix = f"check {', '.join(self.adapter.needs)}"
        self._fail(answer.host, what, fix)

    def _attempt(
        self, method: str, url: str, host: str, headers: Mapping[str, str], more: Mapping[str, Any]
    ) -> tuple[_Answer | None, str]:
        """Return the answer, or what hindered it and may pass."""
        client = self._client
        import httpx  # noqa: PLC0415 - is there: the client is

        try:
            with self._followed(client, method, url, headers, more) as response:
                content = self._content(response, host)
                kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
                return _Answer(host, response.status_code, kind, content, dict(response.headers)), ""
        except httpx.TimeoutException:
            return None, "does not answer in time"
        except (httpx.TransportError, httpx.DecodingError) as error:
            return None, _trouble(error)

    @contextmanager
    def _followed(
        self, client: httpx.Client, method: str, url: str, headers: Mapping[str, str], more: Mapping[str, Any]
    ) -> Iterator[httpx.Response]:
        """Yield the response after the redirects of a GET, which stay on the host and go by https."""
        import httpx  # noqa: PLC0415

        target, rest = httpx.URL(url), dict(more)
        for _ in range(_REDIRECTS + 1):
            with client.stream(method, target, headers=dict(headers), follow_redirects=False, **rest) as response:
                if not response.has_redirect_location:
                    yield response
                    return
                place = target.join(response.headers["location"])
            if method != "GET" or place.scheme != "https" or place.host != target.host:
                self._fail(target.host, f"sends elsewhere ({response.status_code}), to {place.host or '?'}")
            target, rest = place, {}
        self._fail(target.host, f"sends on more than {_REDIRECTS} times")

    def _content(self, response: httpx.Response, host: str) -> bytes:
        pieces, size = [], 0
        for piece in response.iter_bytes():
            self._check()
            size += len(piece)
            if size > _LARGEST:
                self._fail(host, f"answers more than {_LARGEST >> 20} MiB")
            pieces.append(piece)
        return b"".join(pieces)

    def _host(self, url: str) -> str:
        """Return the host of an address.

        Raises: UserError E-ADAPTER: when it is not one that a key may be sent to.
        """
        client = self._client
        import httpx  # noqa: PLC0415 - is there: the client is

        try:
            place = httpx.URL(url)
        except httpx.InvalidURL:
            self._fail(self.adapter.source, "leads to what is no address")
        if not place.host or (place.scheme != "https" and place.host not in _LOOPBACK) or client.is_closed:
            self._fail(place.host or self.adapter.source, "is not asked: its address is not https")
        return place.host


@dataclass(frozen=True, slots=True)
class _Answer:
    host: str
    status: int
    kind: str
    """The content type, small letters, without parameters."""
    content: bytes
    headers: Mapping[str, str]


def _is_passing(status: int) -> bool:
    return status == _TOO_MANY_REQUESTS or status >= _SERVER_ERROR


def _retry_after_s(text: str | None) -> float | None:
    """Return the seconds of a Retry-After header: a number, or a date."""
    if text is None:
        return None
    if text.strip().isascii() and text.strip().isdigit():
        return float(text.strip()[:9])
    try:
        at = parsedate_to_datetime(text)
    except ValueError:
        return None
    at = at if at.tzinfo else at.replace(tzinfo=UTC)
    return max(0.0, (at - datetime.now(tz=UTC)).total_seconds())


def _trouble(error: Exception) -> str:
    """Return what hindered an answer; the message of httpx may hold the address."""
    words = {"ConnectError": "cannot be reached", "DecodingError": "answers what cannot be unpacked"}
    return words.get(type(error).__name__, "breaks off its answer")


def _no_number(text: str) -> NoReturn:
    message = f"{text} is no number of JSON"
    raise ValueError(message)
