"""The official release of the engine: fetched, compared with its published checksum, unpacked."""

from __future__ import annotations

import hashlib
import http.client
import platform
import queue
import re
import shutil
import sys
import tarfile
import threading
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import IO

from emporion.engine.errors import EngineError
from emporion.engine.find import VERSION

__all__ = ["archive_name", "download"]

URL_VARIABLE = "EMPORION_ENGINE_URL"
"""Overrides the folder of the release: a mirror, or a test's server. Empty: do not download."""

_RELEASES = f"https://github.com/pulumi/pulumi/releases/download/v{VERSION}"
_SYSTEMS = {"linux": "linux", "darwin": "darwin"}
_MACHINES = {"x86_64": "x64", "amd64": "x64", "aarch64": "arm64", "arm64": "arm64"}

_STALL_S = 5.0
"""Longest wait for a connection and for the next bytes."""
_FIRST_ANSWER_S = 15.0
"""Longest wait for the checksums, name resolution and redirects included."""
_TRIES = 5
_CHUNK = 1 << 20
_MIB = 1 << 20
_REPORT_EVERY = 20 * _MIB

_Report = Callable[[str], None]
_NETWORK_ERRORS = (urllib.error.URLError, http.client.HTTPException, OSError)


class Unreachable(Exception):  # noqa: N818 - not a failure of the installation: the next source is tried
    """This source does not answer or does not have the release; the message says why."""


def archive_name(system: str = sys.platform, machine: str = platform.machine()) -> str:
    """Return the name of the release's archive for a machine. Raises: `Unreachable`: when none is published."""
    published = _SYSTEMS.get(system), _MACHINES.get(machine.lower())
    if None in published:
        raise Unreachable(f"no engine is published for {system} on {machine}")
    return f"pulumi-v{VERSION}-{published[0]}-{published[1]}.tar.gz"


def download(kept: Path, bin_dir: Path, environ: Mapping[str, str], report: _Report) -> None:
    """Put the official release's programs into `bin_dir`; what has arrived stays in `kept`, so a rerun resumes.

    Raises: `Unreachable`: when the source does not answer within 5 s or lacks the release. `EngineError`
    E-ENGINE-CHECKSUM: when the archive is not the published one (it is deleted, nothing of it is unpacked).
    """
    base = environ.get(URL_VARIABLE, _RELEASES).rstrip("/")
    if not base:
        raise Unreachable(f"the download is switched off by an empty {URL_VARIABLE}")
    name = archive_name()
    expected = _published_checksum(base, name)
    kept.mkdir(parents=True, exist_ok=True)
    archive = kept / name
    if not archive.exists():
        part = kept / f"{name}.part"
        _fetch(f"{base}/{name}", part, report)
        part.replace(archive)
    seen = _sha256(archive)
    if seen != expected:
        archive.unlink()
        raise EngineError(
            "E-ENGINE-CHECKSUM",
            f"the downloaded engine has the sha256 {seen}, published is {expected}; it was deleted",
            f"{base}/{name}",
            "run `emporion engine install` again; when it repeats, the mirror or a proxy changes what you download",
        )
    try:
        _unpack(archive, bin_dir)
    finally:
        archive.unlink()


def _published_checksum(base: str, name: str) -> str:
    """Return the sha256 that the release publishes for one of its files."""
    url = f"{base}/pulumi-{VERSION}-checksums.txt"
    text = _within(_FIRST_ANSWER_S, lambda: _read_text(url), url)
    for line in text.splitlines():
        match = re.fullmatch(r"([0-9a-fA-F]{64})\s+\*?(?:\./)?(\S+)", line.strip())
        if match and match[2] == name:
            return match[1].lower()
    raise Unreachable(f"{url} has no checksum for {name}")


def _within(seconds: float, work: Callable[[], str], url: str) -> str:
    """Return what `work` returns, or give up: name resolution knows no time-out of its own."""
    answers: queue.Queue[str | Unreachable] = queue.Queue()

    def run() -> None:
        try:
            answers.put(work())
        except Unreachable as error:
            answers.put(error)

    threading.Thread(target=run, daemon=True).start()
    try:
        answer = answers.get(timeout=seconds)
    except queue.Empty:
        raise Unreachable(f"{url} did not answer within {seconds:.0f} s") from None
    if isinstance(answer, Unreachable):
        raise answer
    return answer


def _read_text(url: str) -> str:
    try:
        with _open(url) as answer:
            return answer.read(_MIB).decode("utf-8", "replace")
    except _NETWORK_ERRORS as error:
        raise Unreachable(f"{url}: {_why(error)}") from error


def _fetch(url: str, part: Path, report: _Report) -> None:
    """Write a file, going on where an earlier run or a broken connection stopped."""
    for attempt in range(1, _TRIES + 1):
        try:
            _fetch_rest(url, part, report)
        except urllib.error.HTTPError as error:
            if error.code == http.HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE and part.exists():
                error.close()
                part.unlink()  # longer than the file: not a part of it
            else:
                raise Unreachable(f"{url}: {_why(error)}") from error
        except (urllib.error.URLError, http.client.HTTPException, ConnectionError, TimeoutError) as error:
            if attempt == _TRIES:
                raise Unreachable(f"{url}: {_why(error)}, {_TRIES} times") from error
            report(f"the download stopped ({_why(error)}); going on")
        else:
            return
    raise Unreachable(f"{url}: no usable answer in {_TRIES} tries")


def _fetch_rest(url: str, part: Path, report: _Report) -> None:
    have = part.stat().st_size if part.exists() else 0
    with _open(url, {"Range": f"bytes={have}-"} if have else {}) as answer:
        if answer.status != http.HTTPStatus.PARTIAL_CONTENT:
            have = 0
        length = answer.headers.get("Content-Length")
        total = have + int(length) if length else None
        with part.open("ab" if have else "wb") as file:
            reported = have
            while chunk := _read(answer):
                file.write(chunk)
                have += len(chunk)
                if have - reported >= _REPORT_EVERY:
                    reported = have
                    report(f"downloading the engine: {have // _MIB} of {total // _MIB if total else '?'} MiB")
        if total is not None and have < total:
            raise http.client.IncompleteRead(b"", total - have)


def _read(answer: http.client.HTTPResponse) -> bytes:
    try:
        return answer.read(_CHUNK)
    except OSError as error:  # told apart from a disk that is full
        raise ConnectionError(_why(error)) from error


def _open(url: str, headers: Mapping[str, str] | None = None) -> http.client.HTTPResponse:
    request = urllib.request.Request(url, headers={"User-Agent": "emporion", **(headers or {})})  # noqa: S310 - http(s)
    answer: http.client.HTTPResponse = urllib.request.urlopen(request, timeout=_STALL_S)  # noqa: S310 - likewise
    return answer


def _why(error: BaseException) -> str:
    if isinstance(error, urllib.error.HTTPError):
        error.close()  # it holds the connection
        return f"HTTP {error.code}"
    reason = getattr(error, "reason", error)
    if isinstance(reason, TimeoutError):
        return f"no answer within {_STALL_S:.0f} s"
    return str(getattr(reason, "strerror", None) or reason).lower() or type(error).__name__


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _unpack(archive: Path, bin_dir: Path) -> None:
    """Copy the programs of the archive, all in one folder of it, into `bin_dir`; paths inside it decide nothing."""
    bin_dir.mkdir(parents=True, exist_ok=True)
    try:
        with tarfile.open(archive) as tar:
            for member in tar:
                content = tar.extractfile(member) if member.isfile() else None
                if content is not None:
                    _write_program(content, bin_dir / Path(member.name).name)
    except (tarfile.TarError, EOFError) as error:
        raise Unreachable(f"{archive.name} is not a readable archive: {error}") from error


def _write_program(content: IO[bytes], path: Path) -> None:
    with path.open("wb") as file:
        shutil.copyfileobj(content, file, _CHUNK)
    path.chmod(0o755)
