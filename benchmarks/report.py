"""The page of measurements: each benchmark owns one section between two marks and rewrites only that."""

from __future__ import annotations

import platform
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

PAGE = Path(__file__).resolve().parents[1] / "docs" / "reference" / "performance.md"
HEAD = """# Performance

Measured by `./run bench`, which rewrites this page. Every table was made in one run on one machine; compare within a
table, not between them. CPU is user + system time, the best of several runs; memory is the peak of resident memory.
"""


@dataclass(frozen=True)
class Section:
    """One benchmark's result."""

    name: str
    title: str
    intro: str
    heads: Sequence[str]
    rows: Sequence[Sequence[str]]
    notes: Sequence[str] = ()

    def markdown(self, date: str) -> str:
        """Return the section as it stands on the page."""
        machine = f"{platform.machine()}, Python {platform.python_version()}, {platform.system()} {platform.release()}"
        lines = [list(self.heads), ["---", *["--:"] * (len(self.heads) - 1)], *self.rows]
        table = "\n".join(f"| {' | '.join(cells)} |" for cells in lines)
        notes = "".join(f"\n- {note}" for note in self.notes)
        notes = f"\n{notes}\n" if notes else "\n"
        return f"## {self.title}\n\n{self.intro} Measured {date} on {machine}.\n\n{table}\n{notes}"


def write(sections: Sequence[Section], date: str, page: Path = PAGE) -> None:
    """Put sections on the page, each in its place; others stay."""
    text = page.read_text(encoding="utf-8") if page.is_file() else HEAD
    for section in sections:
        begin, end = f"<!-- begin {section.name} -->", f"<!-- end {section.name} -->"
        block = f"{begin}\n{section.markdown(date)}{end}\n"
        old = re.search(f"{re.escape(begin)}.*?{re.escape(end)}\n", text, re.DOTALL)
        text = text.replace(old[0], block) if old else f"{text}\n{block}"
    page.parent.mkdir(parents=True, exist_ok=True)
    page.write_text(text, encoding="utf-8")
