"""`emporion plan --html FILE`."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
import subprocess
import sys
from datetime import UTC, datetime
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from terminal import Emporion

from emporion.cli.page.figures import SHOWN_BARS
from emporion.cli.page.write import page as whole

WISH = ("--gpus", "a100:8", "--min-vram", "40gb")
HEAD = (
    "provider,region,zone,instance_type,gpu,gpu_count,gpu_vram_gb,vcpus,ram_gb,on_demand_usd_hr,spot_usd_hr,source,"
    "as_of"
)
HOSTILE = "<script>alert(1)</script>"
VOID = {"meta", "br"}


class Page(HTMLParser):
    """What a page is made of."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: list[str] = []
        self.words: list[str] = []
        self.open: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        (self.scripts if self.open[-1:] == ["script"] else self.words).append(data)

    @property
    def figures(self) -> dict[str, Any]:
        """The pictures' data."""
        found: dict[str, Any] = json.loads(self.scripts[0])
        return found


def page(emporion: Emporion, *arguments: str, code: int = 0) -> Page:
    ran = emporion("plan", *arguments, "--html", "plan.html")
    assert ran.code == code, ran.err
    assert "wrote plan.html" in ran.err
    made = Page(Path("plan.html").read_text(encoding="utf-8"))
    assert made.open == []
    return made


def test_json_stays_alone_on_stdout_and_the_page_says_the_same(emporion: Emporion) -> None:
    ran = emporion("plan", *WISH, "--json", "--html", "plan.html")
    assert ran.err == "wrote plan.html\n"
    made = Page(Path("plan.html").read_text(encoding="utf-8"))
    words = " ".join(made.words)
    for solution in ran.document["solutions"]:
        assert solution["nodes"][0]["instance_type"] in words
        for line in solution["cost"]["lines"]:
            assert line["item"] in words
    for rejection in ran.document["rejected"]:
        assert rejection["reason"] in words
    assert ran.document["recommendation"]["why"] in words
    assert ran.document["catalogue"]["version"] in words


def test_a_page_asks_nothing_of_a_network(emporion: Emporion) -> None:
    made = page(emporion, *WISH)
    for tag, attributes in made.tags:
        assert tag not in {"link", "img", "iframe", "object", "embed", "base", "form"}
        assert "src" not in attributes
        assert (attributes.get("href") or "#").startswith("#")
        assert not [name for name in attributes if name.startswith("on")]


def test_only_the_pages_own_scripts_may_run(emporion: Emporion) -> None:
    made = page(emporion, *WISH)
    policy = next(each["content"] or "" for tag, each in made.tags if "http-equiv" in each)
    allowed = set(re.findall(r"'sha256-([^']+)'", policy))
    hashes = {base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in made.scripts[1:]}
    assert hashes == allowed
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    assert [each.get("type") for tag, each in made.tags if tag == "script"] == ["application/json", None, None]


def test_a_hostile_name_stays_a_name(emporion: Emporion) -> None:
    rows = [
        f'aws,us-east-1,use1-az1,"{HOSTILE}</script><b onload=x>",a100-80gb,8,80,96,1152,10,,"{HOSTILE}",2026-11-30',
        'aws,us-east-1,use1-az1,"%{x}<a href=javascript:alert(1)>",a100-80gb,8,80,96,1152,12,9,me,2026-11-30',
    ]
    Path("offers.csv").write_text("\n".join([HEAD, *rows]) + "\n", encoding="utf-8")
    made = page(emporion, *WISH, "--offers", "offers.csv", "--scheduler", "none")
    assert "b" not in [tag for tag, _ in made.tags]
    assert len(made.scripts) == 3
    assert "<" not in made.scripts[0]
    shown = [text for figure in made.figures.values() for text in texts(figure)]
    assert any("alert(1)" in text for text in shown)
    for text in shown:
        assert not re.search(r"<(?!/?b>|br>)", text), text


def texts(figure: Any) -> list[str]:
    if isinstance(figure, dict):
        return [text for value in figure.values() for text in texts(value)]
    if isinstance(figure, list):
        return [text for value in figure for text in texts(value)]
    return [figure] if isinstance(figure, str) else []


def test_the_pictures_are_ones_that_plotly_draws(emporion: Emporion) -> None:
    import plotly.graph_objects as go  # type: ignore[import-untyped]

    figures = page(emporion, *WISH).figures
    assert set(figures) == {"front", "costs", "graph"}
    for figure in figures.values():
        assert go.Figure(figure).data
    document = emporion("plan", *WISH, "--json").document
    dots = [x for trace in figures["front"]["data"] for x in trace["x"]]
    everything = [*document["solutions"], *document["not_deployable"]]
    assert sorted(dots) == sorted(float(one["objectives"]["usd_per_hour"]) for one in everything)
    best = next(trace for trace in figures["graph"]["data"] if trace.get("name") == "recommended")
    assert best["text"] == [f"aws {next(o for o in everything if o['recommended'])['nodes'][0]['region']}"]


def test_bars_add_up_to_what_a_solution_costs(emporion: Emporion) -> None:
    document = emporion("plan", *WISH, "--json").document
    bars = page(emporion, *WISH).figures["costs"]["data"]
    shown = [one for place, one in enumerate(document["solutions"]) if place < SHOWN_BARS or one["recommended"]]
    for place, solution in enumerate(shown):
        known = sum(bar["x"][place] or 0 for bar in bars if bar["name"] != "unknown, at most")
        assert known == pytest.approx(float(solution["cost"]["total"]))


def test_links_are_marked_as_modelled_and_unknown_stays_unknown(emporion: Emporion) -> None:
    words = " ".join(page(emporion, *WISH).words)
    assert "modelled" in words
    assert "unknown: checkpoints, NAT data, data transfer" in words


def test_an_infeasible_plan_has_a_page_too(emporion: Emporion) -> None:
    made = page(emporion, *WISH, "--max-cost", "$1/hr", code=3)
    words = " ".join(made.words)
    assert "Possible with the smallest changes" in words
    assert "cost_control.max_hourly" in words
    assert "nothing serves 8 x a100" in words
    assert set(made.figures) == {"graph"}


def test_every_table_has_heads_and_every_picture_has_words(emporion: Emporion) -> None:
    made = page(emporion, *WISH)
    assert all(each.get("scope") == "col" for tag, each in made.tags if tag == "th")
    pictures = [each for tag, each in made.tags if "chart" in (each.get("class") or "")]
    assert len(pictures) == 3
    assert all(each["role"] == "img" and each["aria-label"] for each in pictures)
    ids = [each["id"] for _, each in made.tags if each.get("id")]
    assert len(ids) == len(set(ids))
    goals = {(each["href"] or "")[1:] for tag, each in made.tags if tag == "a"}
    assert goals <= set(ids)


@pytest.mark.parametrize(
    ("target", "says"),
    [
        pytest.param(".", "is a directory", id="directory"),
        pytest.param("nix/plan.html", "nix is no directory", id="no such folder"),
        pytest.param("-", "is no file", id="standard output"),
    ],
)
def test_what_cannot_be_written_is_one_clear_error_before_anything_is_planned(
    target: str, says: str, emporion: Emporion
) -> None:
    ran = emporion("plan", *WISH, "--html", target)
    assert (ran.code, ran.out) == (2, "")
    assert says in ran.err
    assert "[E-HTML]" in ran.err
    assert emporion("plan", *WISH, "--html", target, "--json").document["errors"][0]["code"] == "E-HTML"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_a_full_disk_is_one_clear_error(emporion: Emporion) -> None:
    ran = emporion("plan", *WISH, "--html", "/dev/full")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith("error: /dev/full cannot be written: No space left on device  [E-HTML]")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_may_not_be_written_is_refused(emporion: Emporion) -> None:
    Path("locked").mkdir(mode=0o500)
    assert "permission denied" in emporion("plan", *WISH, "--html", "locked/plan.html").err


def test_a_page_takes_the_place_of_an_older_one_whole_and_leaves_nothing_else(emporion: Emporion) -> None:
    Path("plan.html").write_text("old")
    Path("plan.html").chmod(0o600)
    page(emporion, *WISH)
    assert [path.name for path in Path.cwd().iterdir()] == ["plan.html"]


@pytest.mark.parametrize("flag", [("--show-intent",), ("--explain", "x")])
def test_a_page_of_what_is_not_planned_is_a_contradiction(flag: tuple[str, ...], emporion: Emporion) -> None:
    ran = emporion("plan", *WISH, "--html", "plan.html", *flag)
    assert (ran.code, Path("plan.html").exists()) == (2, False)
    assert "[E-CONTRADICTION]" in ran.err


def test_pictures_are_loaded_only_where_they_are_asked_for() -> None:
    heavy = ["plotly", "plotext", "rich", "jinja2", "emporion.cli.page"]
    script = (
        "import json, sys\nfrom emporion.cli.main import main\n"
        f"main({['plan', *WISH]!r})\n"
        f"print('LOADED', json.dumps([name for name in {heavy!r} if name in sys.modules]), file=sys.stderr)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert json.loads(done.stderr.rpartition("LOADED")[2]) == []


def test_a_page_of_500_solutions_details_some_and_always_the_recommended(emporion: Emporion) -> None:
    document = emporion("plan", *WISH, "--json").document
    first = document["solutions"][0]
    many = [{**first, "rank": rank, "recommended": rank == 400} for rank in range(1, 501)]
    text = whole({**document, "solutions": many}, {"regions": [], "links": []}, datetime(2026, 12, 1, tzinfo=UTC))
    made = Page(text)
    detailed = {each["id"] for tag, each in made.tags if tag == "details" and each.get("id")}
    assert "solution-400" in detailed
    assert len(detailed) < 100
    dots = [x for trace in made.figures["front"]["data"] for x in trace["x"]]
    assert len(dots) == 500 + len(document["not_deployable"])
