"""Offers files of any length: read once, in pieces, in bounded memory, or refused with one clear error."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
import threading
from collections.abc import Iterator
from contextlib import suppress
from itertools import count
from pathlib import Path

import pytest

from emporion.market.errors import UserError
from emporion.market.offers import Catalogue, load_csv
from emporion.market.offers.document import PIECE, Document
from emporion.market.tables import DATA

SNAPSHOT = (DATA / "offers.csv").read_bytes()
HEADER, BODY = SNAPSHOT[: SNAPSHOT.index(b"\n") + 1], SNAPSHOT[SNAPSHOT.index(b"\n") + 1 :]
MIB = 1 << 20

READ = """
import resource, sys
from pathlib import Path
resource.setrlimit(resource.RLIMIT_AS, (int(sys.argv[2]) << 20,) * 2)
from emporion.market.errors import UserError
from emporion.market.offers import OfferFilter, load_csv
try:
    found = load_csv(Path(sys.argv[1]))
except UserError as error:
    sys.exit(str(error))
print(found.count(OfferFilter()), found.noted("warning"))
"""


def repeated() -> Iterator[bytes]:
    while True:
        yield BODY


def distinct() -> Iterator[bytes]:
    for number in count():
        yield BODY.replace(b"\naws,", b"\np%d," % number).replace(b"\ngcp,", b"\nq%d," % number)


def feed(path: Path, content: Iterator[bytes], size: int) -> threading.Thread:
    """Write a header and `size` bytes or more into a pipe; the reader may go away before."""

    def write() -> None:
        with suppress(BrokenPipeError), path.open("wb") as file:
            left = size
            file.write(HEADER)
            while left > 0:
                left -= file.write(next(content))

    writer = threading.Thread(target=write)
    writer.start()
    return writer


@pytest.fixture
def pipe(tmp_path: Path) -> Path:
    path = tmp_path / "offers.fifo"
    os.mkfifo(path)
    return path


def read_under(limit_mib: int, pipe: Path, content: Iterator[bytes], size: int) -> subprocess.CompletedProcess[str]:
    """Read a stream in a process of its own that may have so much address space."""
    writer = feed(pipe, content, size)
    ran = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(READ), str(pipe), str(limit_mib)],
        capture_output=True,
        text=True,
        check=False,
    )
    writer.join()
    return ran


def test_a_stream_of_300_mb_is_read_under_512_mib_of_address_space(pipe: Path) -> None:
    ran = read_under(512, pipe, repeated(), 300 * MIB)
    assert (ran.returncode, ran.stderr) == (0, "")
    rows, repeats = map(int, ran.stdout.split())
    assert rows == BODY.count(b"\n")
    assert repeats > 300 * MIB // 250 - rows


def test_a_stream_of_more_rows_than_memory_holds_says_how_many_do(pipe: Path) -> None:
    ran = read_under(160, pipe, distinct(), 300 * MIB)
    assert ran.returncode == 1
    assert "offers file is too large for the memory" in ran.stderr
    assert "of its rows fit" in ran.stderr
    assert "Traceback" not in ran.stderr


def in_a_pipe(pipe: Path, content: bytes) -> Catalogue:
    def write() -> None:
        with suppress(BrokenPipeError), pipe.open("wb") as file:
            file.write(content)

    writer = threading.Thread(target=write)
    writer.start()
    try:
        return load_csv(pipe)
    finally:
        writer.join()


def test_a_pipe_gives_what_the_file_gives(pipe: Path, tmp_path: Path) -> None:
    content = HEADER + BODY * 4  # several pieces
    assert len(content) > PIECE
    (tmp_path / "offers.csv").write_bytes(content)
    piped, filed = in_a_pipe(pipe, content), load_csv(tmp_path / "offers.csv")
    assert piped.offers == filed.offers
    assert [(note.row, note.reason) for note in piped.notes] == [(note.row, note.reason) for note in filed.notes]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"], ids=["lf", "crlf", "cr"])
def test_rows_and_lines_are_the_same_wherever_the_edge_of_a_piece_falls(end: str) -> None:
    """On any byte of a line end, a letter or a quoted cell with a line end in it."""
    rows = ["acme,r1,,täg,A100", f'acme,"r,{end}2",,ü,A100', "", "acme,r3,,z,A100", "acme,r4,,ß,A100"]
    content = (HEADER.decode().strip() + end + end.join([*rows, ""])).encode()
    whole = list(Document("whole", iter([content])).rows())
    assert [line for line, _ in whole] == [2, 3, 6, 7]
    for edge in range(len(HEADER) + 1, len(content)):
        assert list(Document("cut", iter([content[:edge], content[edge:]])).rows()) == whole


@pytest.mark.parametrize(
    ("content", "says"),
    [
        pytest.param(HEADER + b"x" * (3 * PIECE), "a row is longer than 1 MiB", id="line without end"),
        pytest.param(HEADER + b'"\n",' * PIECE, "a row is longer than 1 MiB", id="row without end"),
        pytest.param(
            HEADER + b'acme,"' + b"x\n" * PIECE, "is not CSV: field larger than field limit", id="quote without end"
        ),
        pytest.param(HEADER + BODY * 4 + b"a,\xff", "is not text in UTF-8", id="not text, late"),
        pytest.param(HEADER + BODY * 4 + b"a,\0", "is binary, not CSV", id="binary, late"),
        pytest.param(HEADER + BODY * 4 + b"acme,r1", "is truncated: 2 of 13 fields", id="cut, late"),
        pytest.param(HEADER + BODY * 4 + "acme,ä".encode()[:-1], "is not text in UTF-8", id="cut within a letter"),
        pytest.param(b"\n" * (2 * PIECE), "is empty", id="nothing, but much of it"),
    ],
)
def test_what_goes_wrong_far_into_a_stream_is_one_clear_error(pipe: Path, content: bytes, says: str) -> None:
    with pytest.raises(UserError) as caught:
        in_a_pipe(pipe, content)
    assert says in str(caught.value)
    late = content.startswith(HEADER + BODY)
    line = content.count(b"\n") + 1
    assert not late or f"{pipe}:{line}" in str(caught.value)


def test_of_a_stream_of_bad_rows_a_thousand_notes_are_kept_and_all_are_counted(tmp_path: Path) -> None:
    good = BODY[: BODY.index(b"\n") + 1]
    path = tmp_path / "offers.csv"
    path.write_bytes(HEADER + good + b"acme,r1,,t,A100,1,40,8,64,cheap,,a test,2026-11-30\n" * 2500)
    found = load_csv(path)
    assert (len(found.refused), found.noted("refused")) == (1000, 2500)
    assert f"{path}: refused: 2497 more rows" in found.warnings
