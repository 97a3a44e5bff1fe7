"""Images: the solver over everything that the tables hold, rendering, and what the health check itself costs."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from itertools import product
from pathlib import Path
from time import process_time

from emporion.images.frameworks import releases, wheel_cuda
from emporion.images.node import Node
from emporion.images.recipe import clouds, recipe_of
from emporion.images.render import render
from emporion.images.solve import solve
from emporion.images.versions import parse_driver
from emporion.images.wish import candidates, wish_of
from emporion.market.gpus import all_gpus
from emporion.nodes.bundle import health_check
from measure import measure
from report import Section

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "support"))
from naive_images import forbidden

DRIVERS = (
    None,
    "418.87.01",
    "470.82.01",
    "525.60.13",
    "535.183.01",
    "550.54.14",
    "570.133.20",
    "580.95.05",
    "590.48.01",
    "620.10.01",
)
OPS = ((), ("flash-attn",), ("flash-attn", "rope"))
RENDER_LIMIT_S = 0.1


def sections() -> list[Section]:
    """Measure and return the section of this benchmark."""
    rows = [_solver(), _render(), *_commands(), *_health_checks()]
    intro = "CPU of one call; solver and rendering warm and in process, commands and health check from start to exit."
    return [Section("images", "Images", intro, ("what", "calls", "CPU ms", "target"), rows)]


def _solver() -> list[str]:
    """Solve every GPU x driver x release x kernels, and compare each answer with the tables read plainly."""
    gpus = [gpu.id for gpu in all_gpus() if gpu.compute_capability]
    wishes = [wish_of(torch=torch, ops=ops) for torch in (None, *(one.text for one in releases())) for ops in OPS]
    solved, spent = 0, 0.0
    for gpu, driver, wish in product(gpus, DRIVERS, wishes):
        node = Node((gpu,), parse_driver(driver) if driver else None, driver)
        began = process_time()
        found = solve(wish, node).combination
        spent += process_time() - began
        solved += 1
        for candidate in candidates(wish):
            wrong = forbidden(candidate.torch.text, candidate.wheel, candidate.python, node, wish)
            if found is not None and candidate == found.candidate:
                if wrong:
                    raise RuntimeError(f"{candidate.name} on {gpu} with {driver} is forbidden")
                break
            above = found is None or (candidate.torch.version, wheel_cuda(candidate.wheel)) >= (
                found.candidate.torch.version,
                wheel_cuda(found.candidate.wheel),
            )
            if above and not wrong:
                raise RuntimeError(f"{candidate.name} on {gpu} with {driver} was lowered without need")
    return [
        "solver, GPU x driver x torch x kernels, each compared with the tables",
        f"{solved:,}",
        f"{spent / solved * 1000:.2f}",
        "",
    ]


def _render() -> list[str]:
    recipes = [
        recipe_of({"gpu": gpu, "cloud": cloud}) for gpu in ("a100", "h100", "b200", "l4", "t4") for cloud in clouds()
    ]
    program = health_check()
    for recipe in recipes:
        render(recipe, program)
    began = process_time()
    for recipe in recipes:
        render(recipe, program)
    each_s = (process_time() - began) / len(recipes)
    target = f"{'met' if each_s <= RENDER_LIMIT_S else 'missed'}: <= {RENDER_LIMIT_S} s"
    return ["a recipe rendered", str(len(recipes)), f"{each_s * 1000:.1f}", target]


def _commands() -> list[list[str]]:
    with tempfile.TemporaryDirectory() as home:
        environ = {**os.environ, "EMPORION_HOME": home}
        emporion = str(Path(sys.executable).with_name("emporion"))
        found = []
        for words in (("env", "check", "--gpu", "a100"), ("image", "render", "--gpu", "h100", "--cloud", "aws")):
            cost = measure([emporion, *words], environ=environ)
            found.append([f"`emporion {' '.join(words)}`", "5", f"{cost.cpu_s * 1000:.0f}", ""])
        return found


def _health_checks() -> list[list[str]]:
    """Run the one file against the stub of the driver, where there is a C compiler."""
    from stub_gpu import build_stub  # noqa: PLC0415 - it needs the path above

    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        if not build_stub(place):
            return []
        (place / "check.py").write_text(health_check())
        rows = []
        for count, load in ((1, "--no-load"), (8, "--no-load"), (1, "--load-seconds=0.05")):
            (place / "node.conf").write_text(f"all.count={count}\n")
            environ = {**os.environ, "LD_LIBRARY_PATH": folder, "NVML_STUB_CONF": str(place / "node.conf")}
            argv = [sys.executable, str(place / "check.py"), load, "--lock", str(place / "lock")]
            subprocess.run(argv, env=environ, check=True, capture_output=True)
            cost = measure(argv, environ=environ)
            rows.append([f"health check of {count} GPUs on the stub, `{load}`", "5", f"{cost.cpu_s * 1000:.0f}", ""])
        return rows
