"""The one-file health check against a stub of the driver: each fault is found by its test, and nothing else is."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path
from typing import Any

import pytest
from stub_gpu import StubNode

from emporion.nodes.check.judge import DETECTIONS

A40_BY_CUDA = """all.cuda_sms=84
all.cuda_cc_minor=6
all.cuda_bus_bits=384
all.cuda_l2_mb=6
all.cuda_memory_mib=45400
all.real_sms=84
all.real_gb_s=620
"""
A40_THAT_LIES = "all.real_sms=84\nall.real_gb_s=620\n"


def codes(report: dict[str, Any]) -> set[str]:
    found = [*report["findings"], *(finding for gpu in report["gpus"] for finding in gpu["findings"])]
    return {finding["code"] for finding in found}


FAULTS = [
    ("healthy", "", 0, "healthy", set()),
    ("hot", "gpu0.temp=93", 1, "unhealthy", {"overheated"}),
    ("thermal slowdown", "gpu0.throttle=64", 1, "unhealthy", {"overheated"}),
    ("power brake", "gpu0.throttle=128", 0, "degraded", {"power-brake"}),
    ("ecc", "gpu0.ecc_uncorrected=3", 1, "unhealthy", {"ecc-uncorrected"}),
    ("remap pending", "gpu0.remap_pending=1", 0, "degraded", {"remap-pending"}),
    ("remap failed", "gpu0.remap_failed=1", 1, "unhealthy", {"remap-failed"}),
    ("nvlink down", "gpu0.nvlink_down=6", 1, "unhealthy", {"nvlink-down"}),
    ("narrow slot", "gpu0.pcie_width=8", 0, "degraded", {"pcie-width"}),
    ("lost", "gpu0.lost=1", 1, "unhealthy", {"lost"}),
    ("wrong result", "gpu0.cuda_wrong=1", 1, "unhealthy", {"wrong-result"}),
    ("slow copies", "gpu0.real_gb_s=1200", 0, "degraded", {"slow"}),
    ("xid", "all.xid=48", 1, "unhealthy", {"xid"}),
    ("launch fails", "gpu0.cuda_err.cuLaunchKernel=700", 1, "unknown", {"no-load"}),
    ("after daemon-reload", "gpu0.err.nvmlDeviceGetTemperature=999", 1, "unhealthy", {"call-failed"}),
    ("a board without NVLink", "gpu0.nvlinks=0", 0, "healthy", {"no-nvlink"}),
    ("power cap", "gpu0.power_limit_mw=250000", 0, "healthy", {"power-capped"}),
    ("busy", "gpu0.busy=60", 0, "healthy", {"busy"}),
    ("a job that waits and holds the memory", "gpu0.memory_free_mib=900", 0, "healthy", {"busy"}),
    ("a PCI id of no other GPU", "all.pci_id=0x1DB4", 0, "healthy", set()),
    ("not permitted", "gpu0.err.nvmlDeviceGetEccMode=4", 0, "healthy", set()),
    ("no such link", "gpu0.err.nvmlDeviceGetNvLinkState=2", 0, "healthy", {"no-nvlink"}),
    ("no bridge", "all.name=NVIDIA A100 80GB PCIe\ngpu0.nvlink_down=4095", 0, "healthy", {"no-nvlink"}),
    ("every link down on a board that is all links", "gpu0.nvlink_down=4095", 1, "unhealthy", {"nvlink-down"}),
    ("a reset is required", "gpu0.err.nvmlDeviceGetTemperature=16", 1, "unhealthy", {"call-failed"}),
    ("another PCI id", "all.pci_id=0x20B7", 1, "unhealthy", {"identity"}),
    ("less memory", "all.memory_mib=40960", 1, "unhealthy", {"identity"}),
    ("no driver", "all.err.init=9", 1, "unknown", {"no-driver"}),
    ("no GPU", "all.count=0", 1, "unknown", {"no-gpus"}),
]  # fmt: skip


@pytest.mark.parametrize(
    ("conf", "code", "status", "found"), [row[1:] for row in FAULTS], ids=[row[0] for row in FAULTS]
)
def test_each_fault_is_found_by_its_test(node: StubNode, conf: str, code: int, status: str, found: set[str]) -> None:
    ended, report = node.check(f"all.count=1\n{conf}\n", "--gpu", "a100-80gb")
    assert (ended, report["status"]) == (code, status)
    assert codes(report) == found


def test_an_a40_that_says_it_is_an_a100_is_found_by_what_cuda_says(node: StubNode) -> None:
    ended, report = node.check(f"all.count=1\n{A40_BY_CUDA}", "--gpu", "a100-80gb")
    assert (ended, report["status"]) == (1, "unhealthy")
    (gpu,) = report["gpus"]
    assert gpu["name"] == "NVIDIA A100-SXM4-80GB"
    text = next(finding["text"] for finding in gpu["findings"] if finding["code"] == "identity")
    assert "SMs 84 by CUDA, not 108" in text
    assert "bus bits 384 by CUDA, not 5120" in text


def test_an_a40_that_lies_in_all_attributes_is_found_by_what_it_does_and_by_nothing_else(node: StubNode) -> None:
    ended, report = node.check(f"all.count=1\n{A40_THAT_LIES}", "--gpu", "a100-80gb")
    assert (ended, report["status"]) == (1, "unhealthy")
    (gpu,) = report["gpus"]
    assert codes(report) == {"identity-measured"}
    assert {"a40-48gb", "a6000-48gb"} <= set(gpu["fits"])
    assert "a100-80gb" not in gpu["fits"]
    assert "blocks ran on 84 SMs, not on 108" in gpu["findings"][0]["text"]
    ended, report = node.check(f"all.count=1\n{A40_THAT_LIES}", "--gpu", "a100-80gb", "--no-load")
    assert (ended, report["status"]) == (0, "healthy"), "without the load nobody can tell"


def test_a_gpu_that_nothing_runs_on_is_unknown_and_no_success(node: StubNode) -> None:
    node.libraries = node.libraries / "no-launch"
    ended, report = node.check("all.count=1\n", "--gpu", "a100-80gb")
    assert (ended, report["status"]) == (1, "unknown")
    assert "the driver has no cuLaunchKernel" in str(report["gpus"][0]["findings"])
    assert node.check("all.count=1\n", "--gpu", "a100-80gb", "--strict")[0] == 3


def test_one_lost_gpu_leaves_the_others_judged(node: StubNode) -> None:
    ended, report = node.check("all.count=4\ngpu3.lost=1\n", "--gpu", "a100")
    assert (ended, report["status"]) == (1, "unhealthy")
    assert [gpu["status"] for gpu in report["gpus"]] == ["healthy", "healthy", "healthy", "unhealthy"]


def test_a_gpu_cut_into_instances_is_not_called_broken(node: StubNode) -> None:
    conf = "all.count=1\nall.mig=1\nall.cuda_sms=98\nall.real_sms=98\nall.err.nvmlDeviceGetUtilizationRates=3\n"
    ended, report = node.check(conf + "all.err.nvmlDeviceGetRemappedRows=3\n", "--gpu", "a100-80gb")
    assert (ended, report["status"]) == (0, "healthy")
    assert codes(report) == {"mig"}


def test_a_driver_that_was_updated_in_place_is_told_with_both_versions(node: StubNode, tmp_path: Path) -> None:
    (tmp_path / "version").write_text("NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.90.07  Fri May 31 2026\n")
    (tmp_path / "libnvidia-ml.so.550.107.02").touch()
    ended, report = node.check(
        "all.err.init=18\n",
        EMPORION_NVIDIA_VERSION=str(tmp_path / "version"),
        LD_LIBRARY_PATH=f"{node.libraries}:{tmp_path}",
    )
    assert (ended, report["status"]) == (1, "unknown")
    (finding,) = report["findings"]
    assert finding["code"] == "mismatch"
    assert "550.90.07" in finding["text"]
    assert "550.107.02" in finding["text"]
    assert "reboot" in finding["fix"]


def test_without_a_claim_the_name_is_one(node: StubNode) -> None:
    _, report = node.check("all.count=1\nall.name=NVIDIA A100-PCIE-40GB\nall.cuda_name=NVIDIA A100-PCIE-40GB\n")
    assert report["gpus"][0]["claimed"] == ["a100-40gb"]
    assert codes(report) == {"identity"}
    ended, report = node.check("all.count=1\nall.name=NVIDIA X1\nall.cuda_name=NVIDIA X1\n")
    assert (ended, report["status"], codes(report)) == (1, "unknown", {"unclaimed"})


def test_a_claim_that_the_table_does_not_know_is_unknown(node: StubNode) -> None:
    ended, report = node.check("all.count=1\n", "--gpu", "b300")
    assert (ended, report["status"], codes(report)) == (1, "unknown", {"unclaimed"})


def test_two_checks_do_not_load_a_gpu_at_once(node: StubNode, tmp_path: Path) -> None:
    handle = os.open(tmp_path / "lock", os.O_CREAT | os.O_RDWR)
    fcntl.flock(handle, fcntl.LOCK_EX)
    ended, report = node.check("all.count=1\n", "--gpu", "a100-80gb")
    os.close(handle)
    assert (ended, codes(report)) == (0, {"busy"})
    assert report["gpus"][0]["measured"] is None


def test_strict_tells_degraded_from_healthy(node: StubNode) -> None:
    assert node.check("all.count=1\ngpu0.pcie_width=8\n", "--gpu", "a100-80gb", "--strict")[0] == 1
    assert node.check("all.count=1\n", "--gpu", "a100-80gb", "--strict")[0] == 0


def test_every_test_of_the_detection_table_is_met_here_or_in_the_judges_tests() -> None:
    here = set().union(*(row[4] for row in FAULTS)) | {"identity-measured", "mig", "unclaimed"}
    only_there = {"nvlink-errors", "pcie-replays", "unseen"}
    assert here | only_there >= set(DETECTIONS)
