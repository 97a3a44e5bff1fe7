"""The performance model against published figures, as its page says."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

from emporion.market.tables import rows

REPO = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def model() -> ModuleType:
    spec = importlib.util.spec_from_file_location("performance_model", REPO / "docs" / "performance_model.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["performance_model"] = module
    spec.loader.exec_module(module)
    return module


def test_the_page_shows_the_model_as_it_is(model: ModuleType) -> None:
    text = model.PAGE.read_text(encoding="utf-8")
    assert model.page(text) == text, "run: python docs/performance_model.py"
    assert all(table in text for table in model.tables().values())


def test_every_run_on_several_gpus_is_compared_if_its_board_was_measured_alone(model: ModuleType) -> None:
    several = [row for row in rows("benchmarks.csv") if row["gpu_count"] != "1"]
    assert {row["gpu"] for row in several} - {run.gpu for run in model.training()} == {"h200-141gb"}
    assert len(model.training()) == len([row for row in several if row["gpu"] != "h200-141gb"]) == 66


@pytest.mark.parametrize(
    ("workload", "median", "least", "greatest"),
    [
        ("resnet50-fp16", 0.02, -0.03, 0.11),
        ("bert-base-squad-fp16", 0.03, -0.09, 0.25),
        ("bert-large-squad-fp16", 0.07, -0.15, 0.63),
    ],
)
def test_training_is_off_by_no_more_than_the_page_says(
    model: ModuleType, workload: str, median: float, least: float, greatest: float
) -> None:
    summary = {name: figures for name, *figures in model.summary(model.training())}
    _, middle, low, high = summary[workload]
    assert abs(middle) <= median
    assert least <= low <= high <= greatest


def test_but_for_two_boards_training_is_off_by_at_most_a_seventh(model: ModuleType) -> None:
    others = [r for r in model.training() if r.possible and (r.gpu, r.board) not in _SLOW_BOARDS]
    assert len(others) > 40
    assert max(abs(run.error) for run in others) <= 0.14


_SLOW_BOARDS = {("a100-80gb", "sxm4"), ("v100-16gb", "sxm2")}


def test_measured_all_reduces_are_within_an_eighth_and_floors_are_not_far_exceeded(model: ModuleType) -> None:
    for bus in model.bus_bandwidths():
        if bus.kind == "measured":
            assert abs(bus.error) <= 0.125, bus
        else:
            assert bus.error <= 0.25, bus
            assert bus.error >= (-0.55 if "PCIe, 1 node" in bus.machines else -0.06), bus


def test_what_no_scaling_explains_is_told_apart(model: ModuleType) -> None:
    odd = {(run.workload, run.gpu, run.board, run.gpus) for run in model.training() if not run.possible}
    assert ("bert-base-squad-fp16", "b200-192gb", "sxm", 8) in odd
    assert all(workload.startswith("bert") for workload, *_ in odd)
    assert len(odd) == 6
