"""The network as a refresh sees it: what servers really do, over MockTransport and over a real loopback server."""

from __future__ import annotations

import gzip
import threading
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from email.utils import format_datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import httpx
import pytest

from emporion.market.errors import ExitCode, UserError
from emporion.market.offers.adapter import Adapter
from emporion.market.offers.ask import HttpAsk, Stopped

NOW = datetime(2026, 12, 1, 6, 0, tzinfo=UTC)
KEY = "k-very-secret"
URL = f"https://prices.test/list?key={KEY}"
JSON = {"content-type": "application/json"}
Answer = Callable[[httpx.Request], httpx.Response]


def adapter() -> Adapter:
    return Adapter("lambda", "lambda", "Lambda prices", ("LAMBDA_API_KEY",), lambda _ask: iter(()))


class Script:
    """Answers the questions one after the other, the last answer for ever; notes what was asked and how long waited."""

    def __init__(self, *answers: Answer | httpx.Response) -> None:
        self.answers, self.asked, self.waited = list(answers), list[httpx.Request](), list[float]()
        self.ask = HttpAsk(adapter(), NOW, {}, httpx.MockTransport(self._answer), wait=self.waited.append)

    def _answer(self, request: httpx.Request) -> httpx.Response:
        answer = self.answers[min(len(self.asked), len(self.answers) - 1)]
        self.asked.append(request)
        return answer if isinstance(answer, httpx.Response) else answer(request)


def timed_out(request: httpx.Request) -> httpx.Response:
    raise httpx.ReadTimeout(f"timed out: {request.url}", request=request)


def unreachable(request: httpx.Request) -> httpx.Response:
    raise httpx.ConnectError(f"no route to {request.url}", request=request)


def cut_off(request: httpx.Request) -> httpx.Response:
    raise httpx.RemoteProtocolError("peer closed connection", request=request)


def good(_request: httpx.Request) -> httpx.Response:
    return httpx.Response(200, json={"price": 1.10})


def status(code: int, **headers: str) -> Answer:
    return lambda _request: httpx.Response(code, headers={name.replace("_", "-"): at for name, at in headers.items()})


def content(body: bytes, kind: str | None = "application/json", **headers: str) -> Answer:
    told = {**({"content-type": kind} if kind else {}), **{name.replace("_", "-"): at for name, at in headers.items()}}
    return lambda _request: httpx.Response(200, content=body, headers=told)


def refused(script: Script, url: str = URL, **more: Any) -> UserError:
    with pytest.raises(UserError) as caught:
        script.ask.get(url, **more)
    error = caught.value
    assert (error.code, error.exit_code) == ("E-ADAPTER", ExitCode.FAILED)
    assert KEY not in str(error)
    assert "lambda" in error.what
    assert error.what == error.what.strip(". ")
    return error


def test_numbers_of_an_answer_are_exact() -> None:
    assert Script(content(b'{"price": 1.10}')).ask.get(URL).body == {"price": Decimal("1.10")}


@pytest.mark.parametrize("trouble", [timed_out, unreachable, cut_off, status(429), status(500), status(503)])
def test_what_passes_is_tried_again(trouble: Answer) -> None:
    script = Script(trouble, trouble, good)
    assert script.ask.get(URL).body["price"] == Decimal("1.1")
    assert len(script.asked) == 3
    assert len(script.waited) == 2


@pytest.mark.parametrize(
    ("trouble", "what"),
    [
        (timed_out, "does not answer in time"),
        (unreachable, "cannot be reached"),
        (cut_off, "breaks off its answer"),
        (status(500), "answers 500"),
        (status(429), "answers 429"),
    ],
)
def test_what_does_not_pass_is_an_error_that_names_the_host_and_the_attempts(trouble: Answer, what: str) -> None:
    script = Script(trouble)
    error = refused(script)
    assert f"prices.test {what} (5 attempts)" in error.what
    assert len(script.asked) == 5


def test_pauses_grow_and_are_the_same_for_the_same_refresh() -> None:
    first, second = Script(status(500)), Script(status(500))
    refused(first)
    refused(second)
    assert first.waited == second.waited
    assert all(0.5 * 0.5 * 2**n <= pause <= 0.5 * 2**n for n, pause in enumerate(first.waited))


@pytest.mark.parametrize("asked", ["7", format_datetime(datetime.now(tz=UTC) + timedelta(seconds=30), usegmt=True)])
def test_retry_after_is_honoured(asked: str) -> None:
    script = Script(status(429, retry_after=asked), good)
    script.ask.get(URL)
    assert 5 < script.waited[0] <= 30


@pytest.mark.parametrize("asked", ["soon", "-3", "", "1e9", "\u00b2"])
def test_a_retry_after_that_is_no_time_is_left_aside(asked: str) -> None:
    script = Script(lambda _request: httpx.Response(503, headers=[(b"retry-after", asked.encode())]), good)
    script.ask.get(URL)
    assert 0 <= script.waited[0] <= 1


def test_a_server_that_asks_for_an_hour_is_not_waited_for() -> None:
    script = Script(status(429, retry_after="3600"))
    assert "asks to wait for 3600 s" in refused(script).what
    assert len(script.asked) == 1


@pytest.mark.parametrize(
    ("answer", "what"),
    [
        (content(b"<!doctype html><p>Sign in", "text/html; charset=utf-8"), "a web page instead of JSON"),
        (content(b"<html>", None), "a web page instead of JSON"),
        (content(b"a,b\n1,2\n", "text/csv"), "text/csv instead of JSON"),
        (content(b""), "answers nothing"),
        (content(b" \n "), "answers nothing"),
        (content(b'{"data": [{"price": 1'), "JSON that is cut"),
        (content(b'{"data": nothing}'), "what is not JSON"),
        (content(b'{"price": NaN}'), "what is not JSON"),
        (content(b"[" * 200_000), "JSON that is cut"),
        (content(b"\xff\xfe{"), "not UTF-8"),
        (status(204), "answers (204)"),
        (status(404), "has no such page (404)"),
        (status(400), "answers (400)"),
    ],
)
def test_what_is_no_answer_is_said_at_once(answer: Answer, what: str) -> None:
    script = Script(answer)
    assert what in refused(script).what
    assert len(script.asked) == 1


@pytest.mark.parametrize("code", [401, 403])
def test_a_refused_key_is_named_by_its_variable_never_by_its_value(code: int) -> None:
    error = refused(Script(status(code)))
    assert error.fix == "check LAMBDA_API_KEY"


def test_an_answer_may_be_packed_but_not_grow_without_end() -> None:
    packed = content(gzip.compress(b'{"price": 1}'), content_encoding="gzip")
    assert Script(packed).ask.get(URL).body == {"price": 1}
    bomb = content(gzip.compress(b" " * (80 << 20)), content_encoding="gzip")
    assert "more than 64 MiB" in refused(Script(bomb)).what


def test_what_cannot_be_unpacked_is_tried_again() -> None:
    assert Script(content(b"no gzip", content_encoding="gzip"), good).ask.get(URL).body["price"] == Decimal("1.1")


def test_a_redirect_on_the_host_is_followed() -> None:
    script = Script(status(302, location="/v2/list"), good)
    script.ask.get(URL, headers={"Authorization": f"Bearer {KEY}"})
    assert str(script.asked[1].url) == "https://prices.test/v2/list"


@pytest.mark.parametrize(
    "place",
    ["https://elsewhere.test/list", "http://prices.test/list", "https://prices.test.evil.test/", "file:///etc/passwd",
     "//elsewhere.test/x"],
)  # fmt: skip
def test_a_redirect_elsewhere_takes_no_key_along(place: str) -> None:
    script = Script(status(302, location=place), good)
    assert "sends elsewhere" in refused(script, headers={"Authorization": f"Bearer {KEY}"}).what
    assert len(script.asked) == 1


def test_a_redirect_in_a_circle_ends() -> None:
    assert "sends on more than" in refused(Script(status(302, location="/list"))).what


def test_a_post_is_not_redirected() -> None:
    script = Script(status(307, location="/v2"), good)
    with pytest.raises(UserError, match="sends elsewhere"):
        script.ask.post(URL, json={"query": "q"})


@pytest.mark.parametrize("url", ["http://prices.test/", "ftp://prices.test/", "prices.test", "", "https://"])
def test_only_https_is_asked(url: str) -> None:
    script = Script(good)
    refused(script, url)
    assert not script.asked


def test_text_is_text() -> None:
    assert Script(content(b"<p>prices</p>", "text/html")).ask.text(URL) == "<p>prices</p>"
    with pytest.raises(UserError, match="instead of text"):
        Script(content(b"{}")).ask.text(URL)


def test_a_refresh_that_has_ended_asks_nothing_more() -> None:
    script = Script(good)
    script.ask.stop.set()
    with pytest.raises(Stopped):
        script.ask.get(URL)
    with pytest.raises(Stopped):
        script.ask.progress("pages", 1, None)
    assert not script.asked


class Handler(BaseHTTPRequestHandler):
    """A server that cuts its first answer short, refuses the second and gives the third."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self.server.seen += 1  # type: ignore[attr-defined]
        body = b'{"price": 2.5}'
        if self.server.seen == 1:  # type: ignore[attr-defined]
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", "1000")
            self.end_headers()
            self.wfile.write(body[:5])
            self.close_connection = True
            return
        busy = self.server.seen == 2  # type: ignore[attr-defined]
        self.send_response(503 if busy else 200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", "0" if busy else str(len(body)))
        self.end_headers()
        self.wfile.write(b"" if busy else body)

    def log_message(self, format: str, *arguments: object) -> None:  # noqa: A002 - the base class's name
        """Say nothing."""


@pytest.fixture
def server() -> Iterator[ThreadingHTTPServer]:
    running = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    running.seen = 0  # type: ignore[attr-defined]
    thread = threading.Thread(target=running.serve_forever, args=(0.05,))
    thread.start()
    yield running
    running.shutdown()
    thread.join()
    running.server_close()


def test_over_a_real_connection_a_cut_answer_and_a_busy_server_pass(server: ThreadingHTTPServer) -> None:
    ask = HttpAsk(adapter(), NOW, {}, wait=lambda _seconds: None)
    try:
        assert ask.get(f"http://127.0.0.1:{server.server_port}/list").body == {"price": Decimal("2.5")}
    finally:
        ask.close()
    assert server.seen == 3  # type: ignore[attr-defined]
