from __future__ import annotations

import gzip
import logging
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from email.utils import format_datetime

import httpx
import pytest
from cloud_ask import NOW
from price_server import Reply, price_server

from emporion.market.errors import UserError
from emporion.market.offers.adapter import Adapter
from emporion.market.offers.ask import HttpAsk, Stopped

URL = "https://prices.example/v1/list"
ADAPTER = Adapter("lambda", "lambda", "Lambda Cloud API", ("LAMBDA_API_KEY",), lambda _ask: iter(()))


@dataclass
class Web:
    """A network that gives one answer after the other, the last one for ever."""

    answers: list[Callable[[httpx.Request], httpx.Response]]
    asked: list[httpx.Request] = field(default_factory=list)
    waited: list[float] = field(default_factory=list)

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.asked.append(request)
        return self.answers[min(len(self.asked), len(self.answers)) - 1](request)

    def ask(self) -> HttpAsk:
        return HttpAsk(ADAPTER, NOW, {}, httpx.MockTransport(self), wait=self.waited.append)


def said(status: int = 200, text: str | bytes = '{"price": 1.10}', **headers: str) -> Callable[..., httpx.Response]:
    named = {"content-type": "application/json", **{name.replace("_", "-"): value for name, value in headers.items()}}
    return lambda _request: httpx.Response(status, content=text, headers=named)


def trouble(error: type[httpx.TransportError]) -> Callable[..., httpx.Response]:
    def fail(request: httpx.Request) -> httpx.Response:
        raise error(f"no way to {request.url}", request=request)

    return fail


def failed(web: Web, way: str = "get", url: str = URL) -> UserError:
    ask = web.ask()
    ways: dict[str, Callable[[], object]] = {
        "get": lambda: ask.get(url), "text": lambda: ask.text(url), "post": lambda: ask.post(url, json={}),
    }  # fmt: skip
    with pytest.raises(UserError) as caught:
        ways[way]()
    assert (caught.value.code, int(caught.value.exit_code)) == ("E-ADAPTER", 1)
    assert "lambda" in caught.value.what
    return caught.value


def test_amounts_are_read_as_they_are_written() -> None:
    web = Web([said()])
    assert web.ask().get(URL).body == {"price": Decimal("1.10")}
    assert str(web.ask().get(URL).body["price"]) == "1.10"


def test_a_url_keeps_its_own_query_without_parameters_and_takes_those_that_are_given() -> None:
    web = Web([said()])
    web.ask().get(f"{URL}?$skip=100&b=%20c")
    web.ask().get(URL, params={"page": "2"}, headers={"X-Key": "k"})
    assert [request.url.query for request in web.asked] == [b"$skip=100&b=%20c", b"page=2"]
    assert web.asked[1].headers["x-key"] == "k"


def test_what_passes_is_asked_again_and_longer_each_time() -> None:
    web = Web([said(500), trouble(httpx.ReadTimeout), trouble(httpx.ConnectError), said(429), said()])
    assert web.ask().get(URL).body["price"] == Decimal("1.1")
    assert len(web.waited) == 4
    assert all(low <= wait <= 2 * low for wait, low in zip(web.waited, (0.25, 0.5, 1, 2), strict=True))
    again = Web(list(web.answers))
    again.ask().get(URL)
    assert again.waited == web.waited, "the jitter is seeded"


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (said(500), "prices.example answers 500 (5 attempts)"),
        (said(429), "prices.example answers 429 (5 attempts)"),
        (trouble(httpx.ConnectError), "prices.example cannot be reached (5 attempts)"),
        (trouble(httpx.ReadTimeout), "prices.example does not answer in time (5 attempts)"),
        (trouble(httpx.RemoteProtocolError), "prices.example breaks off its answer (5 attempts)"),
        (said(content_encoding="gzip"), "prices.example answers what cannot be unpacked (5 attempts)"),
    ],
)
def test_what_does_not_pass_is_given_up_after_five_attempts(answer: Callable[..., httpx.Response], says: str) -> None:
    web = Web([answer])
    assert says in failed(web).what
    assert len(web.asked) == 5


@pytest.mark.parametrize(
    ("text", "low", "high"),
    [
        ("7", 7, 7),
        ("0", 0, 0),
        ("in 40 s", 1, 41),
        ("soon", 0.25, 0.5),
    ],
)
def test_a_server_that_says_when_is_waited_for(text: str, low: float, high: float) -> None:
    at = format_datetime(datetime.now(tz=UTC) + timedelta(seconds=40))
    web = Web([said(429, retry_after=at if text == "in 40 s" else text), said()])
    web.ask().get(URL)
    assert low <= web.waited[0] <= high


@pytest.mark.parametrize("text", ["-3", "1e9", "\u00b2", "", "tomorrow"])
def test_a_time_that_is_none_is_left_aside(text: str) -> None:
    web = Web([lambda _request: httpx.Response(503, headers=[(b"retry-after", text.encode())]), said()])
    web.ask().get(URL)
    assert 0.25 <= web.waited[0] <= 0.5


def test_a_server_that_asks_for_an_hour_is_not_waited_for() -> None:
    web = Web([said(503, retry_after="3600")])
    error = failed(web)
    assert "asks to wait for 3600 s" in error.what
    assert error.fix == "try again in 3600 s"
    assert web.waited == []


@pytest.mark.parametrize("way", ["get", "post"])
@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (
            said(text="<!doctype html><html>", content_type="text/html; charset=utf-8"),
            "answers a web page instead of JSON",
        ),
        (said(text="  <html></html>"), "answers a web page instead of JSON"),
        (said(text="a,b\n1,2\n", content_type="text/csv"), "answers text/csv instead of JSON"),
        (said(text=""), "answers nothing"),
        (said(text=" \n"), "answers nothing"),
        (said(text='{"Items": [{"a": 1}, {"a"'), "answers JSON that is cut"),
        (said(text='{"a": 1} {"b": 2}'), "answers what is not JSON"),
        (said(text='{"a": NaN}'), "answers what is not JSON"),
        (said(text="[" * 100_000 + "]" * 100_000), "answers what is not JSON"),
        (said(text=b'{"a": "\xff"}'), "answers text that is not UTF-8"),
        (said(204), "answers (204)"),
        (said(400), "answers (400)"),
        (said(404), "has no such page (404)"),
    ],
)
def test_an_answer_that_is_none_is_one_clear_error(answer: Callable[..., httpx.Response], says: str, way: str) -> None:
    web = Web([answer])
    assert says in failed(web, way).what
    assert len(web.asked) == 1


def test_a_key_that_is_refused_is_named_and_never_told() -> None:
    web = Web([said(401, '{"error": "bad key s3cret"}')])
    error = failed(web, url=f"{URL}?api_key=s3cret")
    assert error.fix == "check LAMBDA_API_KEY"
    assert "s3cret" not in str(error)
    assert "api_key" not in str(error)


def test_no_address_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "emporion")
    web = Web([trouble(httpx.ConnectError)])
    failed(web, url=f"{URL}?api_key=s3cret")
    assert "host=prices.example" in caplog.text
    assert "s3cret" not in "".join(
        record.getMessage() for record in caplog.records if record.name.startswith("emporion")
    )


def test_an_answer_is_bounded_however_well_it_packs() -> None:
    bomb = gzip.compress(b" " * (65 << 20))
    assert "answers more than 64 MiB" in failed(Web([said(text=bomb, content_encoding="gzip")])).what


def test_a_page_is_read_as_text_and_nothing_else_is() -> None:
    page = said(text="# Prices\n", content_type="text/markdown")
    assert Web([page]).ask().text(URL) == "# Prices\n"
    assert "answers application/pdf instead of text" in failed(Web([said(content_type="application/pdf")]), "text").what
    assert "answers nothing" in failed(Web([said(text="", content_type="text/html")]), "text").what


def test_a_redirect_stays_on_its_host_and_on_https() -> None:
    web = Web([said(302, "", location="https://prices.example/v2/list?x=1"), said()])
    assert web.ask().get(URL, params={"page": "1"}).body["price"] == Decimal("1.1")
    assert str(web.asked[1].url) == "https://prices.example/v2/list?x=1"


@pytest.mark.parametrize("place", ["https://elsewhere.example/v1", "http://prices.example/v1", "//other.example/"])
def test_a_redirect_elsewhere_is_not_followed(place: str) -> None:
    web = Web([said(301, "", location=place), said()])
    assert "sends elsewhere (301)" in failed(web).what
    assert len(web.asked) == 1


def test_what_was_posted_is_never_sent_on() -> None:
    web = Web([said(307, "", location="https://prices.example/v2"), said()])
    assert "sends elsewhere (307)" in failed(web, "post").what


def test_redirects_come_to_an_end() -> None:
    assert "sends on more than 3 times" in failed(Web([said(302, "", location=URL)])).what


@pytest.mark.parametrize(
    "url", ["http://prices.example/v1", "ftp://prices.example", "https://", "nonsense", "http://[::1"]
)
def test_no_key_leaves_without_https(url: str) -> None:
    web = Web([said()])
    failed(web, url=url)
    assert web.asked == []


def test_nobody_is_asked_once_the_refresh_has_ended() -> None:
    web, stop = Web([said(500)]), threading.Event()
    ask = HttpAsk(ADAPTER, NOW, {}, httpx.MockTransport(web), stop=stop, wait=lambda _seconds: stop.set())
    with pytest.raises(Stopped):
        ask.get(URL)
    with pytest.raises(Stopped):
        ask.progress("pages", 1, None)
    assert len(web.asked) == 1


def test_without_httpx_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "httpx", None)
    with pytest.raises(UserError, match="httpx is not installed") as caught:
        HttpAsk(ADAPTER, NOW, {}).get(URL)
    assert caught.value.fix == "install emporion[lambda]"


@pytest.fixture
def real_ask() -> Iterator[HttpAsk]:
    with HttpAsk(ADAPTER, NOW, {}, wait=lambda _seconds: None) as ask:
        yield ask


def test_a_real_server_is_asked_as_a_real_one(real_ask: HttpAsk) -> None:
    with price_server({"list": lambda asked: Reply.of({"asked": asked})}) as server:
        assert real_ask.get(f"{server.url}/list", params={"a": "1"}).body == {"asked": "a=1"}
        assert real_ask.post(f"{server.url}/list", json={"b": [2]}).body == {"asked": {"b": [2]}}
        assert server.asked[0][2]["User-Agent"] == "emporion"


def test_a_real_server_that_breaks_off_has_not_answered(real_ask: HttpAsk) -> None:
    with (
        price_server({"list": lambda _asked: Reply(b'{"data": [1, 2', promised=400)}) as server,
        pytest.raises(UserError, match=r"breaks off its answer \(5 attempts\)"),
    ):
        real_ask.get(f"{server.url}/list")


def test_nobody_listens_there(real_ask: HttpAsk) -> None:
    with price_server() as server:
        gone = server.url
    with pytest.raises(UserError, match=r"127\.0\.0\.1 cannot be reached"):
        real_ask.get(f"{gone}/list")
