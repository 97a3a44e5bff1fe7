"""The code that the page of the resource graph shows is run, and its tables name every column."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path

from emporion.market.observed import LINK_COLUMNS, NODE_COLUMNS, SPOT_COLUMNS

PAGES = Path(__file__).resolve().parents[2] / "docs" / "explanation"
GRAPH = (PAGES / "resource-graph.md").read_text(encoding="utf-8")


def test_the_example_runs_and_prints_a_node_and_a_link() -> None:
    (code,) = re.findall(r"```python\n(.*?)```", GRAPH, re.DOTALL)
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(compile(code, "resource-graph.md", "exec"), {})  # noqa: S102 - our own page
    node, link = out.getvalue().splitlines()
    assert re.fullmatch(r"\S+ \S+ \d+ (efa|infiniband|roce|tcpx) \d+", node)
    assert re.fullmatch(r"\d+\.\d+ \S+ \S+ (True|False)", link)


def test_every_column_of_the_files_is_explained() -> None:
    stability = (PAGES / "stability.md").read_text(encoding="utf-8")
    assert [name for name in (*LINK_COLUMNS, *NODE_COLUMNS) if f"`{name}`" not in GRAPH] == []
    assert [name for name in SPOT_COLUMNS if f"`{name}`" not in stability] == []
