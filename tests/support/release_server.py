"""A server on the loopback that publishes the engine as Pulumi does, and can misbehave in the ways that servers do."""

from __future__ import annotations

import hashlib
import io
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Thread

from emporion.engine.download import archive_name
from emporion.engine.find import SHIM_FILES, VERSION


def release_archive(*, host: bool = True, folder: str = "pulumi") -> bytes:
    """A release as Pulumi packs it: one folder of programs."""
    programs = {"pulumi": f"#!/bin/sh\necho v{VERSION}\n"}
    if host:
        programs |= dict.fromkeys(("pulumi-language-python", *SHIM_FILES), "#!/bin/sh\n")
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w:gz") as tar:
        for name, text in programs.items():
            member = tarfile.TarInfo(f"{folder}/{name}")
            member.size, member.mode = len(text), 0o755
            tar.addfile(member, io.BytesIO(text.encode()))
    return raw.getvalue()


@dataclass
class Release:
    """What the server has and what it was asked for."""

    archive: bytes = field(default_factory=release_archive)
    checksum: str | None = None
    """Published instead of the right one."""
    missing: bool = False
    renamed: bool = False
    """Publishes checksums of other machines' archives only."""
    silent: bool = False
    """Accepts connections and never answers."""
    cut_at: int | None = None
    """Ends the first transfer of the archive after so many bytes."""
    delay_s: float = 0.0
    requests: list[tuple[str, str | None]] = field(default_factory=list)
    url: str = ""
    closing: Event = field(default_factory=Event)

    def checksums(self) -> bytes:
        digest = self.checksum or hashlib.sha256(self.archive).hexdigest()
        name = "pulumi-other.tar.gz" if self.renamed else archive_name()
        return f"{'0' * 64}  pulumi-v{VERSION}-windows-x64.zip\n{digest}  {name}\n".encode()


def _handler(release: Release) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            release.requests.append((self.path.rsplit("/", 1)[-1], self.headers.get("Range")))
            if release.silent:
                release.closing.wait(60)
                return
            if release.missing:
                self.send_error(404)
            elif self.path.endswith("-checksums.txt"):
                self._send(200, release.checksums())
            else:
                release.closing.wait(release.delay_s)
                self._send_archive()

        def _send_archive(self) -> None:
            wanted = self.headers.get("Range")
            start = int(wanted.removeprefix("bytes=").removesuffix("-")) if wanted else 0
            if start > len(release.archive):
                self.send_error(416)
                return
            rest = release.archive[start:]
            cut, release.cut_at = release.cut_at, None
            self._send(206 if wanted else 200, rest, cut)

        def _send(self, status: int, body: bytes, cut: int | None = None) -> None:
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body[:cut])

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class's name
            """Say nothing: pytest shows what matters."""

    return Handler


@contextmanager
def serve(published: Release) -> Iterator[Release]:
    """Serve a release until the block ends."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(published))
    server.daemon_threads = True
    published.url = f"http://127.0.0.1:{server.server_address[1]}/v{VERSION}"
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield published
    published.closing.set()
    server.shutdown()
    server.server_close()
    thread.join()
