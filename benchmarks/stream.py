"""Long offers files: written into a pipe by one process, read by another under 512 MiB of address space."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from emporion.market.tables import DATA
from report import Section

LIMIT_MIB = 512
CASES = (
    ("300 MB, 22,000 different rows", 300 * 10**6, 10),
    ("5 GB, 100,000 different rows", 5 * 10**9, 46),
    ("5 GB, every row different", 5 * 10**9, None),
)
"""What, bytes, and after how many snapshots with other machine names they come again."""

WRITE = """
import sys
from itertools import count
from pathlib import Path
snapshot, pipe, size, again = Path(sys.argv[1]).read_bytes(), sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
cut = snapshot.index(b"\\n") + 1
head, body = snapshot[:cut], b"\\n" + snapshot[cut:].rstrip(b"\\n")
for known in (b"aws", b"gcp", b"azure", b"lambda", b"nebius", b"coreweave", b"runpod", b"vast"):
    body = body.replace(b"\\n" + known + b",", b"\\n@" + known + b",")
try:
    with open(pipe, "wb") as file:
        left = size - file.write(head.rstrip(b"\\n"))
        for number in count():
            left -= file.write(body.replace(b"\\n@", b"\\np%d" % (number % again if again else number)))
            if left <= 0:
                break
        file.write(b"\\n")
except BrokenPipeError:
    pass
"""
READ = """
import json, resource, sys, time
from pathlib import Path
resource.setrlimit(resource.RLIMIT_AS, (int(sys.argv[2]) << 20,) * 2)
from emporion.market.errors import UserError
from emporion.market.offers import OfferFilter, load_csv
began, said = time.monotonic(), ""
try:
    rows = load_csv(Path(sys.argv[1])).count(OfferFilter())
except UserError as error:
    rows, said = 0, error.what
used = resource.getrusage(resource.RUSAGE_SELF)
print(json.dumps([rows, said, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024, time.monotonic() - began]))
"""


def sections() -> list[Section]:
    """Read each stream once and return the table."""
    rows = []
    for what, size, again in CASES:
        kept, said, cpu_s, peak_mib, wall_s = _read(size, again)
        ended = f"refused: {said}" if said else f"{kept:,} rows kept"
        rows.append([what, f"{cpu_s:.1f}", f"{wall_s:.1f}", f"{peak_mib:.0f}", ended])
    return [
        Section(
            "stream",
            "Offers files of any length",
            f"`--offers` of a pipe, its reader under {LIMIT_MIB} MiB of address space; one run each.",
            ["stream", "CPU s", "wall s", "peak MiB", "outcome"],
            rows,
            (
                "Rows that come again are noted and cost no memory.",
                "A stream that is refused is not read to its end: the writer is told at once.",
            ),
        )
    ]


def _read(size: int, again: int | None) -> tuple[int, str, float, float, float]:
    with tempfile.TemporaryDirectory() as folder:
        pipe = Path(folder) / "offers.fifo"
        os.mkfifo(pipe)
        arguments = [str(DATA / "offers.csv"), str(pipe), str(size), str(again or 0)]
        with subprocess.Popen([sys.executable, "-I", "-S", "-c", WRITE, *arguments]) as writer:
            done = subprocess.run(
                [sys.executable, "-c", READ, str(pipe), str(LIMIT_MIB)], capture_output=True, text=True, check=True
            )
            if writer.wait():
                message = "the stream could not be written"
                raise RuntimeError(message)
    rows, said, cpu_s, peak_mib, wall_s = json.loads(done.stdout)
    return rows, said, cpu_s, peak_mib, wall_s
