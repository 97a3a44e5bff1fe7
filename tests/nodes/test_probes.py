"""The ways to look at a node: nvidia-smi's text, the real NVML module against the stub, our kernel, torch."""

from __future__ import annotations

import ast
import ctypes
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from stub_gpu import StubNode

from emporion.nodes.bundle import PARTS, health_check
from emporion.nodes.check.cuda import KERNEL_PTX, expected_word
from emporion.nodes.check.seen import ProbeFault
from emporion.nodes.check.smi import SMI_FIELDS, look_by_smi, parse_smi, seen_by_smi
from emporion.nodes.check.torch_load import measure_by_torch

CHECK = Path(sys.modules["emporion.nodes.bundle"].__file__ or "").with_name("check")


def test_what_is_no_number_is_unknown_and_never_0() -> None:
    (record,) = parse_smi("0, [Not Supported], 61, [N/A]\n", ("index", "fan", "temperature", "power"))
    assert record == {"index": "0", "fan": None, "temperature": "61", "power": None}


def test_two_gpus_are_two_records_in_their_order() -> None:
    assert parse_smi(" 16380\n5\n\n", ("memory",)) == [{"memory": "16380"}, {"memory": "5"}]


def test_a_node_is_read_from_nvidia_smi() -> None:
    one = "1, GPU-1, NVIDIA A40, 535.183.01, 8.6, 46068, 0x223510DE, [N/A], ERR!, 0, 300.00, 300.00, 8, 16"
    seen = seen_by_smi(f"{one}\n")
    (gpu,) = seen.gpus
    assert (seen.driver, gpu.index, gpu.nvml.pci_id, gpu.nvml.compute_capability) == ("535.183.01", 1, "2235", (8, 6))
    assert (gpu.temperature_c, gpu.busy_percent, gpu.ecc_uncorrected, gpu.pcie_width) == (None, None, 0, 8)
    assert len(one.split(",")) == len(SMI_FIELDS)


@pytest.mark.parametrize(
    ("script", "what"),
    [
        ("echo 'NVIDIA-SMI has failed'; exit 9", "nvidia-smi ends with 9: NVIDIA-SMI has failed"),
        (None, "neither nvidia-ml-py nor nvidia-smi"),
    ],
)
def test_an_nvidia_smi_that_fails_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str | None, what: str
) -> None:
    if script:
        (tmp_path / "nvidia-smi").write_text(f"#!/bin/sh\n{script}\n")
        (tmp_path / "nvidia-smi").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}")
    with pytest.raises(ProbeFault, match=what):
        look_by_smi()


P2P = """
import json, sys, pynvml
from emporion.nodes.check.nvml import p2p_status
pynvml.nvmlInit()
one, other = (pynvml.nvmlDeviceGetHandleByIndex(at) for at in (0, 1))
print(json.dumps([isinstance(pynvml.NVML_P2P_CAPS_INDEX_READ, tuple), p2p_status(pynvml, one, other)]))
"""


def test_gpus_that_reach_each_other_are_told_though_a_constant_is_a_tuple(node: StubNode) -> None:
    environment = {**os.environ, "LD_LIBRARY_PATH": str(node.libraries)}
    done = subprocess.run([sys.executable, "-c", P2P], capture_output=True, text=True, check=True, env=environment)
    assert done.stdout.strip() == '[true, {"read": 0, "write": 0, "nvlink": 1, "atomics": 0}]'


@pytest.mark.parametrize(("number", "rounds"), [(0, 1), (7, 1000), (4095 * 128 + 127, 17), (1, 2)])
def test_the_closed_form_is_what_the_kernels_loop_computes(number: int, rounds: int) -> None:
    word = number
    for _ in range(rounds):
        word = (word * 1664525 + 1013904223) % 2**32
    assert expected_word(number, rounds) == word


def ptxas() -> Path | None:
    found = sorted(Path(sys.prefix).glob("lib/python*/site-packages/nvidia/cuda_nvcc/bin/ptxas"))
    return found[0] if found else None


ARCHITECTURES = [50, 52, 60, 61, 70, 75, 80, 86, 89, 90, 100, 103, 120]


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_the_kernel_is_assembled_for_every_architecture(architecture: int, tmp_path: Path) -> None:
    program = ptxas()
    if program is None:
        pytest.skip("nvidia-cuda-nvcc-cu12 is not installed: no ptxas")
    (tmp_path / "kernel.ptx").write_text(KERNEL_PTX)
    command: list[str | Path] = [
        program,
        f"-arch=sm_{architecture}",
        "--warning-as-error",
        "-o",
        tmp_path / "kernel",
        tmp_path / "kernel.ptx",
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert (tmp_path / "kernel").stat().st_size


def test_the_parts_share_no_name_so_that_one_file_can_hold_them() -> None:
    defined: dict[str, str] = {}
    for part in PARTS:
        for statement in ast.parse((CHECK / f"{part}.py").read_text(encoding="utf-8")).body:
            names = [statement.name] if isinstance(statement, ast.ClassDef | ast.FunctionDef) else []
            if isinstance(statement, ast.Assign):
                names = [
                    leaf.id for target in statement.targets for leaf in ast.walk(target) if isinstance(leaf, ast.Name)
                ]
            for name in names:
                assert name == "__all__" or name not in defined, f"{name} in {part} and {defined.get(name)}"
                defined[name] = part
    assert {path.stem for path in CHECK.glob("*.py")} == {*PARTS, "__init__"}


def test_the_one_file_is_python_3_10_and_asks_for_nothing_of_ours() -> None:
    tree = ast.parse(health_check(), feature_version=(3, 10))
    imported = {
        alias.name if isinstance(one, ast.Import) else one.module or ""
        for one in ast.walk(tree)
        if isinstance(one, ast.Import | ast.ImportFrom)
        for alias in one.names
    }
    assert {name.split(".")[0] for name in imported} <= set(sys.stdlib_module_names) | {"__future__"}
    assert health_check() == health_check()


class FakeTensor:
    """As much of a tensor as the load needs."""

    def __init__(self, total: float = 0.0) -> None:
        self.total = total

    def repeat(self, *_: int) -> FakeTensor:
        return self

    def copy_(self, _: object) -> None:
        return None

    def sum(self) -> FakeTensor:
        return self

    def item(self) -> float:
        return self.total


class FakeTorch:
    """As much of torch as the load needs; its products are as right as they are told to be."""

    float16 = float32 = object()

    def __init__(self, total: float, fault: str | None = None) -> None:
        self.total = total
        self.fault = fault
        self.cuda = self

    def is_available(self) -> bool:
        return self.fault != "none"

    def synchronize(self, _: int) -> None:
        if self.fault and self.fault != "none":
            raise RuntimeError(self.fault)

    def make(self, *_: object, **__: object) -> Any:
        return FakeTensor(self.total)

    randn = zeros = empty_like = arange = ones = matmul = make


def test_torch_measures_and_its_arithmetic_is_checked() -> None:
    measured = measure_by_torch(FakeTorch(64 * 64 * 2016), 0, 0.01)
    assert measured.correct
    assert measured.gemm_tflops
    assert measured.copy_gb_s
    assert measure_by_torch(FakeTorch(1.0), 0, 0.01).correct is False


@pytest.mark.parametrize(
    ("fault", "said"), [("none", "torch sees no GPU"), ("CUDA error: an illegal\nmore", "CUDA error: an illegal")]
)
def test_a_torch_that_fails_says_why(fault: str, said: str) -> None:
    assert measure_by_torch(FakeTorch(0.0, fault), 0, 0.01).error == said


def test_the_stub_is_loaded_as_a_driver_is(libraries: Path) -> None:
    assert ctypes.CDLL(str(libraries / "libcuda.so.1")).cuInit(0) == 0
