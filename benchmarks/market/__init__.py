"""Planning beside SkyPilot and gpuhunt: the same offers, warm calls in process, loading excluded on both sides."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from market.offers import SHAPES, Market, write_gpuhunt, write_ours, write_skypilot
from market.pipelines import CHAIN, DIAMOND, GB_BETWEEN, ONE, Wish
from measure import measure_once
from peers import python_with
from report import Section

SKYPILOT, GPUHUNT = "skypilot==0.14.1", "gpuhunt==0.1.34"
HERE = Path(__file__).resolve().parent
ROWS = 60_000
MATCHING = 24_000
PLACES = (20, 60, 200)
GROWTH = (1_000, 10_000, 100_000, 1_000_000)
LIMIT_S = 180
"""How long a side may take for one question, warm-up included."""
TARGET = 20
PEAK_LIMIT_MIB = 300


@dataclass(frozen=True)
class Question:
    """One wish over one market."""

    market: Market
    wish: Wish
    runs: int = 3

    @property
    def label(self) -> str:
        """What is asked, for the table."""
        kind = f"{self.market.matching:,} rows match" if self.market.matching else "padded"
        stages = {"one": "one task", "chain": "chain of 3", "diamond": "diamond of 5"}[self.wish.name]
        return f"{stages}, {self.market.places} places, {kind}"


QUESTIONS = (
    *(Question(Market(ROWS, places), ONE) for places in PLACES),
    Question(Market(ROWS, 200, MATCHING), ONE),
    *(Question(Market(ROWS, places), CHAIN) for places in PLACES),
    *(Question(Market(ROWS, places), DIAMOND, runs=1) for places in PLACES),
)


def sections() -> list[Section]:
    """Measure and return the sections of this benchmark."""
    skypilot, gpuhunt = python_with("skypilot", SKYPILOT), python_with("gpuhunt", GPUHUNT)
    with tempfile.TemporaryDirectory(prefix="emporion-bench-") as folder:
        root = Path(folder)
        rows = [_asked(Sides(root, skypilot, gpuhunt), question) for question in QUESTIONS]
        grown = list(_growth(root))
    return [_peers(rows), _grown(grown)]


@dataclass(frozen=True)
class Sides:
    """Where the sides run and where their catalogues lie."""

    root: Path
    skypilot: Path | None
    gpuhunt: Path | None

    def ours(self, market: Market, wish: Wish, runs: int) -> dict[str, Any]:
        """Return what Emporion takes for a wish."""
        offers = self._made(market, "ours", lambda path: write_ours(market, path / "offers.csv"))
        intent = self.root / f"{wish.name}.yaml"
        intent.write_text(wish.intent(), encoding="utf-8")
        gpu = wish.stages[0][1]
        spec = {"offers": str(offers / "offers.csv"), "intent": str(intent), "runs": max(runs, 3), "gpu": gpu}
        return _child([sys.executable, str(HERE / "ours.py")], spec, {}) or {}

    def ask_skypilot(self, market: Market, wish: Wish, runs: int) -> dict[str, Any] | None:
        """Return what SkyPilot takes; None: it is not here or did not answer in time."""
        if self.skypilot is None:
            return None
        folder = self._made(market, "skypilot", lambda path: write_skypilot(market, path / ".sky/catalogs/v8"))
        spec = {"stages": wish.tasks(), "runs": runs, "gb": GB_BETWEEN}
        environ = {
            "HOME": str(folder), "SKY_RUNTIME_DIR": str(folder), "SKYPILOT_DISABLE_USAGE_COLLECTION": "1",
        }  # fmt: skip
        return _child([str(self.skypilot), str(HERE / "peer_skypilot.py")], spec, environ)

    def ask_gpuhunt(self, market: Market, wish: Wish, runs: int) -> dict[str, Any] | None:
        """Return what gpuhunt takes to filter and sort for a single task; it places no pipelines."""
        if self.gpuhunt is None or len(wish.stages) > 1:
            return None
        folder = self._made(market, "gpuhunt", lambda path: write_gpuhunt(market, path))
        gpu = wish.stages[0][1]
        name, count, vram = SHAPES[gpu][0].removesuffix("-80GB"), SHAPES[gpu][1], SHAPES[gpu][2]
        spec = {"folder": str(folder), "gpu": name, "count": count, "gb": vram, "runs": runs}
        return _child([str(self.gpuhunt), str(HERE / "peer_gpuhunt.py")], spec, {})

    def _made(self, market: Market, side: str, write: Any) -> Path:  # noqa: ANN401 - a writer of this module
        folder = self.root / f"{market.rows}-{market.places}-{market.matching}-{side}"
        if not folder.is_dir():
            folder.mkdir()
            write(folder)
        return folder


def _child(command: Sequence[str], spec: Mapping[str, Any], environ: Mapping[str, str]) -> dict[str, Any] | None:
    """Return the JSON that a side prints last; None: it took longer than the limit.

    Raises: RuntimeError: when it fails.
    """
    clean = {key: value for key, value in os.environ.items() if not key.startswith(("EMPORION_", "PULUMI_", "PYTHON"))}
    try:
        done = subprocess.run(
            [*command, json.dumps(spec)],
            env={**clean, **environ},
            capture_output=True,
            text=True,
            timeout=LIMIT_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return None
    answers = [line for line in done.stdout.splitlines() if line.startswith("{")]
    if done.returncode or not answers:
        message = f"{command[-1]} exited {done.returncode}: {done.stderr[-800:]}"
        raise RuntimeError(message)
    found: dict[str, Any] = json.loads(answers[-1])
    return found


def _asked(sides: Sides, question: Question) -> list[str]:
    asked = (question.market, question.wish, question.runs)
    print(f"asking: {question.label}", file=sys.stderr)
    ours, sky, gpuhunt = sides.ours(*asked), sides.ask_skypilot(*asked), sides.ask_gpuhunt(*asked)
    mine = min(ours["seconds"])
    if sky is not None and len(question.wish.stages) == 1 and abs(sky["cost"] - ours["cost"]) > 1e-6 * ours["cost"]:
        message = f"{question.label}: SkyPilot sees {sky['cost']}, Emporion {ours['cost']}"
        raise RuntimeError(message)
    row = [question.label, f"{mine * 1000:.1f}", str(ours["solutions"]), f"{ours['peak_mib']:.0f}"]
    if sky is None:
        row += ["none in time" if sides.skypilot else "?", f"> {LIMIT_S / mine:.0f}" if sides.skypilot else "?", "?"]
    else:
        ratio = min(sky["seconds"]) / mine
        row += [f"{min(sky['seconds']) * 1000:.0f}", f"{ratio:.0f}", f"{sky['peak_mib']:.0f}"]
    row.append("-" if gpuhunt is None else f"{min(gpuhunt['seconds']) / mine:.1f}")
    return row


def _peers(rows: Sequence[Sequence[str]]) -> Section:
    return Section(
        "market",
        "The optimiser",
        f"Warm calls in one process, catalogue loaded beforehand on every side, {ROWS:,} rows of generated offers, the "
        "same for all. Best of the runs. SkyPilot finds one cheapest plan, gpuhunt filters and sorts, Emporion returns "
        "the exact Pareto front with full-chain cost, reasons left to be asked for.",
        [
            "question",
            "Emporion ms",
            "solutions",
            "peak MiB",
            "SkyPilot ms",
            "times slower",
            "peak MiB",
            "gpuhunt, times slower",
        ],
        rows,
        (
            f"Target: {TARGET} times faster than SkyPilot, below {PEAK_LIMIT_MIB} MiB; 200 places in under 3 s.",
            (
                f"{SKYPILOT}: `Optimizer.optimize(dag, quiet=True)` over aws, azure and lambda, its catalogues "
                "written from the same rows; only the look-up of enabled clouds is replaced. Of each cloud it weighs "
                "the cheapest machine type alone."
            ),
            f"{GPUHUNT}: `Catalog.query` over items that were read beforehand.",
            "Both see the same cheapest machine for a single task (checked); Emporion weighs its full chain.",
            "A place is a region of a cloud.",
            "Repeat: `./run bench market`.",
        ),
    )


def _growth(root: Path) -> Iterator[list[str]]:
    intent = root / "growth.yaml"
    intent.write_text(ONE.intent(), encoding="utf-8")
    for rows in GROWTH:
        print(f"growing: {rows:,} offers", file=sys.stderr)
        market = Market(rows, min(200, rows // 50), int(rows * 0.4))
        offers = root / f"growth-{rows}.csv"
        write_ours(market, offers)
        spec = {"offers": str(offers), "intent": str(intent), "runs": 3, "gpu": ONE.stages[0][1]}
        found = _child([sys.executable, str(HERE / "ours.py")], spec, {}) or {}
        environ = {**os.environ, "XDG_CACHE_HOME": str(root / "cache"), "EMPORION_HOME": str(root / "home")}
        command = [str(Path(sys.executable).with_name("emporion")), "plan", str(intent), "--offers", str(offers)]
        first = measure_once([*command, "--json"], environ=environ)
        later = measure_once([*command, "--json"], environ=environ)
        yield [
            f"{rows:,}", f"{found['loading']:.2f}", f"{found['first']:.2f}", f"{min(found['seconds']) * 1000:.1f}",
            f"{found['peak_mib']:.0f}", f"{first.cpu_s:.2f}", f"{later.cpu_s:.2f}", f"{later.peak_mib:.0f}",
        ]  # fmt: skip
        offers.unlink()


def _grown(rows: Sequence[Sequence[str]]) -> Section:
    return Section(
        "growth",
        "How planning grows",
        "One task (8 x a100-80gb); 40 % of the rows match. In process: reading the file without a cache, the first "
        "plan (the graph is built), later plans. As a command: CPU of the first run and of the next, which reads the "
        "compiled form.",
        [
            "offers",
            "read s",
            "first plan s",
            "later ms",
            "peak MiB",
            "command, first s",
            "command s",
            "peak MiB",
        ],
        rows,
        (
            (
                f"Target: below {PEAK_LIMIT_MIB} MiB. Met up to 100,000 offers; missed at 1,000,000, where every row "
                "is an object of its own (about 1.1 KiB: each generated row has an instance type and a price that no "
                "other row has, so nothing is shared)."
            ),
        ),
    )
