"""A price source on the loopback: a real server, and a way to it for questions that name another host."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import httpx

__all__ = ["Detour", "PriceServer", "Reply", "price_server"]


@dataclass(frozen=True)
class Reply:
    """What is answered."""

    body: bytes = b""
    status: int = 200
    kind: str = "application/json"
    headers: Mapping[str, str] = field(default_factory=dict)
    promised: int | None = None
    """The length that is promised; None: the real one."""

    @classmethod
    def of(cls, document: Any) -> Reply:
        return cls(json.dumps(document).encode())


@dataclass
class PriceServer:
    """Answers by host and path: `console.vast.ai/api/v0/bundles/`."""

    replies: dict[str, Callable[[Any], Reply]]
    url: str = ""
    asked: list[tuple[str, Any, Mapping[str, str]]] = field(default_factory=list)


@contextmanager
def price_server(replies: Mapping[str, Callable[[Any], Reply]] | None = None) -> Iterator[PriceServer]:
    server = PriceServer(dict(replies or {}))

    class Handler(BaseHTTPRequestHandler):
        def answer(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length", 0)))
            place = self.path.partition("?")[0].removeprefix("/")
            question = json.loads(body) if body else self.path.partition("?")[2]
            server.asked.append((place, question, dict(self.headers)))
            reply = server.replies[place](question) if place in server.replies else Reply(b"{}", 404)
            self.send_response(reply.status)
            self.send_header("Content-Type", reply.kind)
            self.send_header("Content-Length", str(len(reply.body) if reply.promised is None else reply.promised))
            for name, value in reply.headers.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(reply.body)

        do_GET = do_POST = answer  # noqa: N815 - the names of http.server

        def log_message(self, *_more: Any) -> None:
            """Say nothing."""

    listening = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    listening.daemon_threads = True
    server.url = f"http://127.0.0.1:{listening.server_address[1]}"
    thread = threading.Thread(target=listening.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield server
    finally:
        listening.shutdown()
        listening.server_close()
        thread.join()


class Detour(httpx.BaseTransport):
    """Leads every question to a server on the loopback, its real host first in the path."""

    def __init__(self, url: str) -> None:
        self._url = httpx.URL(url)
        self._way = httpx.HTTPTransport()

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        path = f"/{request.url.host}".encode() + request.url.raw_path
        place = self._url.copy_with(raw_path=path)
        return self._way.handle_request(
            httpx.Request(
                request.method, place, headers=request.headers, stream=request.stream, extensions=request.extensions
            )
        )

    def close(self) -> None:
        self._way.close()
