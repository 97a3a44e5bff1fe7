"""What is said of a GPU, from what a probe saw: fakes stand at the seam, no driver is needed."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from emporion.nodes.check.judge import Judged, judge_gpu, worst
from emporion.nodes.check.main import check_node, claimed_ids
from emporion.nodes.check.models import Model, against, named
from emporion.nodes.check.seen import Attributes, GpuSeen, Measured, NodeSeen


def looks_like(model: Model, **also: Any) -> GpuSeen:
    attributes = Attributes(
        f"NVIDIA {model.family}", model.compute_capability, model.sms, model.bus_bits, model.l2_mb,
        int((model.vram_gb or 0) * 1024 * 0.98), model.pci_ids[0],
    )  # fmt: skip
    return replace(GpuSeen(0, nvml=replace(attributes, sms=None, l2_mb=None), cuda=attributes), **also)


def runs_like(model: Model, copy: float = 0.9, gemm: float | None = 0.7) -> Measured:
    tflops = None if gemm is None or model.fp16_tflops is None else gemm * model.fp16_tflops
    return Measured("torch and driver", copy * (model.mem_bw_gb_s or 0), tflops, model.sms, correct=True)


def judge(
    seen: GpuSeen, measured: Measured | None, claim: str, models: dict[str, Model], after: GpuSeen | None = None
) -> Judged:
    return judge_gpu(seen, after or seen, measured, [claim], models, busy=None)


def codes(judged: Judged) -> list[str]:
    return [finding.code for finding in judged.findings]


def all_models() -> list[str]:
    from emporion.nodes.check.models import load_models  # noqa: PLC0415 - parameters are made before fixtures
    from emporion.nodes.table import identity_json  # noqa: PLC0415

    return list(load_models(identity_json()))


@pytest.mark.parametrize("gpu", all_models())
def test_every_gpu_of_the_table_is_healthy_as_itself(gpu: str, models: dict[str, Model]) -> None:
    judged = judge(looks_like(models[gpu]), runs_like(models[gpu]), gpu, models)
    assert (judged.status, codes(judged)) == ("healthy", [])
    assert gpu in judged.fits


@pytest.mark.parametrize("gpu", [gpu for gpu in all_models() if not gpu.startswith("a40")])
def test_an_a40_is_healthy_as_nothing_else_that_the_table_can_tell_apart(gpu: str, models: dict[str, Model]) -> None:
    a40 = models["a40-48gb"]
    judged = judge(looks_like(a40), runs_like(a40), gpu, models)
    assert judged.status == "unhealthy"
    assert "a40-48gb" in judged.fits


def test_an_a40_posing_as_an_a100_lists_what_it_may_be(models: dict[str, Model]) -> None:
    a40, a100 = models["a40-48gb"], models["a100-80gb"]
    honest = judge(looks_like(a40), runs_like(a40), "a100-80gb", models)
    assert codes(honest)[0] == "identity"
    assert honest.fits == ("a40-48gb",), "its PCI id tells it from an RTX A6000"
    unmarked = replace(
        looks_like(a40),
        nvml=replace(looks_like(a40).nvml, pci_id=None),
        cuda=replace(looks_like(a40).cuda, pci_id=None),
    )
    assert judge(unmarked, runs_like(a40), "a100-80gb", models).fits == ("a40-48gb", "a6000-48gb")
    lying = judge(looks_like(a100), runs_like(a40), "a100-80gb", models)
    assert codes(lying) == ["identity-measured"]
    assert {"a40-48gb", "a6000-48gb"} <= set(lying.fits)
    assert judge(looks_like(a100), None, "a100-80gb", models).status == "healthy", "only the load tells"


def test_an_a800_is_told_from_an_a100_by_id_and_links(models: dict[str, Model]) -> None:
    a800 = models["a800-80gb"]
    seen = looks_like(a800, nvlinks_up=8, nvlinks_down=0)
    assert against(models["a100-80gb"], seen) == [
        "PCI id 20f3 by CUDA, not 20b2 or 20b5",
        "PCI id 20f3 by NVML, not 20b2 or 20b5",
        "8 NVLinks, not 12",
    ]
    assert judge(seen, runs_like(a800), "a800-80gb", models).status == "healthy"


def test_one_slow_figure_is_a_slow_gpu_and_two_are_another_one(models: dict[str, Model]) -> None:
    h100 = models["h100-80gb-sxm"]
    slow = judge(looks_like(h100), runs_like(h100, copy=0.6), "h100-80gb-sxm", models)
    assert (slow.status, codes(slow)) == ("degraded", ["slow"])
    posing = replace(runs_like(models["h100-80gb-pcie"], gemm=0.6), sms=None, copy_gb_s=1700.0, gemm_tflops=440.0)
    assert codes(judge(looks_like(h100), posing, "h100-80gb-sxm", models)) == ["identity-measured"]


def test_a_number_of_sms_that_no_gpu_has_is_no_slow_gpu(models: dict[str, Model]) -> None:
    t4 = models["t4-16gb"]
    judged = judge(looks_like(t4), replace(runs_like(t4), sms=20), "t4-16gb", models)
    assert codes(judged) == ["identity-measured"]
    assert judged.fits == ()
    assert "as nothing that the table knows would" in judged.findings[0].text


def test_a_power_limit_and_heat_are_no_proof_of_a_fake(models: dict[str, Model]) -> None:
    h100 = models["h100-80gb-sxm"]
    posing = replace(runs_like(h100), sms=None, copy_gb_s=1700.0, gemm_tflops=440.0)
    capped = looks_like(h100, power_limit_w=350.0, power_default_w=700.0)
    assert judge(capped, posing, "h100-80gb-sxm", models).status == "degraded"
    assert "slow" in codes(judge(looks_like(h100, throttle_bits=0x8), posing, "h100-80gb-sxm", models))
    assert judge(capped, runs_like(h100, gemm=0.45), "h100-80gb-sxm", models).status == "healthy"
    assert judge(looks_like(h100), runs_like(h100, gemm=0.45), "h100-80gb-sxm", models).status == "degraded"


def test_a_figure_from_memory_speaks_against_nothing(models: dict[str, Model]) -> None:
    b200 = models["b200-192gb"]
    seen = looks_like(b200)
    other = replace(seen, nvml=replace(seen.nvml, pci_id="29bc", bus_bits=7680), cuda=replace(seen.cuda, pci_id="29bc"))
    assert judge(other, runs_like(b200), "b200-192gb", models).status == "healthy"


def test_errors_that_come_under_load_count_and_old_ones_do_not(models: dict[str, Model]) -> None:
    h100 = models["h100-80gb-sxm"]
    before = looks_like(h100, nvlinks_up=18, nvlinks_down=0, nvlink_errors=4, pcie_replays=100)
    assert judge(before, runs_like(h100), "h100-80gb-sxm", models).status == "healthy"
    after = replace(before, nvlink_errors=5, pcie_replays=101)
    assert codes(judge(before, runs_like(h100), "h100-80gb-sxm", models, after)) == ["nvlink-errors", "pcie-replays"]


def test_a_gpu_of_which_nothing_is_told_is_unknown(models: dict[str, Model]) -> None:
    judged = judge(GpuSeen(0), None, "a100-80gb", models)
    assert (judged.status, codes(judged)[0]) == ("unknown", "unseen")


def test_the_gravest_status_is_the_nodes() -> None:
    assert worst(["healthy", "unknown", "degraded"]) == "unknown"
    assert worst(["healthy", "unknown", "unhealthy"]) == "unhealthy"
    assert worst([]) == "unknown"


@pytest.mark.parametrize(
    ("text", "ids"),
    [
        ("NVIDIA A100-SXM4-80GB", ["a100-80gb"]),
        ("NVIDIA A100 80GB PCIe", ["a100-80gb"]),
        ("NVIDIA A10", ["a10-24gb"]),
        ("NVIDIA A10G", ["a10g-24gb"]),
        ("Tesla T4", ["t4-16gb"]),
        ("NVIDIA RTX A6000", ["a6000-48gb"]),
        ("NVIDIA GeForce RTX 4090", ["rtx4090-24gb"]),
        ("NVIDIA H100 80GB HBM3", ["h100-80gb-pcie", "h100-80gb-sxm"]),
        ("NVIDIA L4", ["l4-24gb"]),
        ("NVIDIA X1", []),
        (None, []),
    ],
)
def test_a_name_of_the_driver_is_a_claim(text: str | None, ids: list[str], models: dict[str, Model]) -> None:
    assert [model.gpu for model in named(text, models)] == ids


def test_a_claim_is_ids_families_or_a_word_that_stays(models: dict[str, Model]) -> None:
    assert claimed_ids("a100", models) == ["a100-40gb", "a100-80gb"]
    assert claimed_ids("h100-80gb-sxm, t4", models) == ["h100-80gb-sxm", "t4-16gb"]
    assert claimed_ids("b300-288gb", models) == ["b300-288gb"]
    assert claimed_ids(None, models) == []


class FakeProbe:
    """A node of equal GPUs; its loads are counted."""

    def __init__(self, seen: GpuSeen, measured: Measured, count: int = 1) -> None:
        self.gpus = tuple(replace(seen, index=at) for at in range(count))
        self.measured = measured
        self.seconds: list[float] = []

    def look(self) -> NodeSeen:
        return NodeSeen("580.95.05", self.gpus)

    def load(self, index: int, seconds: float) -> Measured:
        assert 0 <= index < len(self.gpus)
        self.seconds.append(seconds)
        return self.measured


def test_the_loads_of_a_node_stay_within_dockers_minute(models: dict[str, Model]) -> None:
    h100 = models["h100-80gb-sxm"]
    probe = FakeProbe(looks_like(h100), runs_like(h100), 16)
    report = check_node(probe, models, ["h100-80gb-sxm"])
    assert report["status"] == "healthy"
    assert len(probe.seconds) == 16
    assert sum(probe.seconds) <= 24


def test_a_busy_gpu_is_not_loaded_and_stays_healthy(models: dict[str, Model]) -> None:
    h100 = models["h100-80gb-sxm"]
    probe = FakeProbe(looks_like(h100, busy_percent=97), runs_like(h100))
    report = check_node(probe, models, ["h100-80gb-sxm"])
    assert (report["status"], probe.seconds) == ("healthy", [])
    assert report["gpus"][0]["findings"][0]["text"] == "a job keeps the GPU 97 % busy: the load was left out"


def test_a_gpu_of_unknown_business_is_loaded(models: dict[str, Model]) -> None:
    h100 = models["h100-80gb-sxm"]
    probe = FakeProbe(looks_like(h100, busy_percent=None), runs_like(h100))
    check_node(probe, models, [], load=True)
    assert len(probe.seconds) == 1
