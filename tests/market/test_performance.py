"""The performance model against published figures."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emporion.market.figures import figures
from emporion.market.gpus import all_gpus
from emporion.market.intent.model import Model
from emporion.market.performance import Joint, Machine, Workload, exchange_s, gpu_speed, performance, workload

WORK = workload(Model())
P4D = Machine("a100-40gb", 8, "nvswitch", 600.0, "efa", 400.0)
SLOW = Machine("a100-40gb", 8, "nvswitch", 600.0, "ethernet", 10.0)
PCIE = Machine("a100-40gb", 8, "none", None, "ethernet", 100.0)
BENCHMARKS = Path(__file__).parents[2] / "market/emporion/market/data/benchmarks.csv"


def test_a_published_figure_is_taken_as_it_is() -> None:
    speed = gpu_speed("a100-80gb")
    assert (speed.images_per_second, speed.derived) == (1582.0, False)


def test_a_gpu_measured_only_with_others_counts_its_share() -> None:
    speed = gpu_speed("h200-141gb")
    assert speed.images_per_second == pytest.approx(21591 / 8)
    assert not speed.derived


@pytest.mark.parametrize("gpu", [gpu.id for gpu in all_gpus()])
def test_every_gpu_has_a_speed_and_what_is_not_published_is_marked(gpu: str) -> None:
    with BENCHMARKS.open() as file:
        published = {row["gpu"] for row in csv.DictReader(file) if row["workload"] == "resnet50-fp16"}
    speed = gpu_speed(gpu)
    assert speed.images_per_second > 0
    assert speed.dense_tflops > 0
    assert speed.derived == (gpu not in published)


def test_an_unknown_model_counts_as_the_slowest() -> None:
    assert gpu_speed(None).images_per_second == min(gpu_speed(gpu.id).images_per_second for gpu in all_gpus())
    assert gpu_speed(None).derived


def test_a_derived_figure_is_not_above_what_its_bandwidth_and_tflops_allow() -> None:
    like = gpu_speed("b200-192gb")
    assert gpu_speed("b300-288gb").images_per_second == pytest.approx(like.images_per_second)


@pytest.mark.parametrize(
    ("gpu", "form", "nvlink_gb_s"),
    [("a100-80gb", "sxm4", 600.0), ("h100-80gb-sxm", "sxm5", 900.0), ("v100-16gb", "sxm2", 300.0)],
)
def test_eight_gpus_in_a_node_are_within_a_tenth_of_the_measured_rate(gpu: str, form: str, nvlink_gb_s: float) -> None:
    with BENCHMARKS.open() as file:
        measured = {
            int(row["gpu_count"]): float(row["value"])
            for row in csv.DictReader(file)
            if (row["gpu"], row["form_factor"], row["workload"]) == (gpu, form, "resnet50-fp16")
        }
    modelled = performance(((Machine(gpu, 8, "nvswitch", nvlink_gb_s, None, None), 1),), None, WORK)
    assert modelled.images_per_second == pytest.approx(measured[8], rel=0.1)


def test_one_gpu_alone_loses_nothing() -> None:
    alone = performance(((Machine("a100-40gb", 1, "none", None, None, None), 1),), None, WORK)
    assert alone.scaling_efficiency == 1
    assert alone.images_per_second == 1396


def test_a_better_link_never_scales_worse() -> None:
    def efficiency(machine: Machine, count: int, joint: Joint | None = None) -> float:
        return performance(((machine, count),), joint, WORK).scaling_efficiency

    assert efficiency(P4D, 1) > efficiency(PCIE, 1)
    assert efficiency(P4D, 2) > efficiency(SLOW, 2)
    assert efficiency(P4D, 2) > efficiency(P4D, 2, Joint(1.0, None, 2)) > efficiency(P4D, 2, Joint(60.0, 5.0, 2))
    assert efficiency(P4D, 2, Joint(10.0, 5.0, 2)) > efficiency(P4D, 2, Joint(60.0, 5.0, 2))


def test_the_slowest_gpu_bounds_a_mixed_placement() -> None:
    fast = Machine("h100-80gb-sxm", 8, "nvswitch", 900.0, "efa", 3200.0)
    mixed = performance(((P4D, 1), (fast, 1)), None, WORK)
    assert mixed.images_per_second <= 16 * gpu_speed("a100-40gb").images_per_second


def test_an_unknown_network_is_assumed_and_marked() -> None:
    unknown = Machine("a100-40gb", 8, "nvswitch", 600.0, None, None)
    assert performance(((unknown, 2),), None, WORK).derived
    assert not performance(((unknown, 1),), None, WORK).derived


def test_a_slice_counts_its_part_of_the_gpu() -> None:
    slices = Machine("a100-40gb", 7, None, None, None, None, share=1 / 7)
    assert performance(((slices, 1),), None, WORK).images_per_second <= 1396 * (1 + 1e-9)


def test_wide_gradients_take_longer() -> None:
    wide, narrow = (workload(Model(parameters=10**9, precision=each)) for each in ("fp32", "bf16"))
    nodes = ((P4D, 2),)
    assert performance(nodes, None, wide).scaling_efficiency < performance(nodes, None, narrow).scaling_efficiency


@given(st.integers(1, 64), st.floats(1e8, 1e12), st.sampled_from([P4D, SLOW, PCIE]))
def test_efficiency_lies_between_nothing_and_one(nodes: int, parameters: float, machine: Machine) -> None:
    found = performance(((machine, nodes),), None, Workload(parameters, 2))
    assert 0 < found.scaling_efficiency <= 1


def test_every_constant_says_where_it_is_from() -> None:
    for each in figures().values():
        assert each.quality in {"published", "assumed"}
        assert each.source
        assert each.as_of
        assert each.unit


def test_machines_without_a_gpu_exchange_nothing() -> None:
    assert exchange_s(((Machine(None, 0, None, None, None, None), 4),), Joint(10.0, 5.0, 2), WORK) == 0


def test_the_levels_of_a_hierarchy_run_at_once_over_nvlink_and_add_up_over_pcie() -> None:
    fast, alone = (exchange_s(((P4D, count),), None, WORK) for count in (2, 1))
    fabric_s = 14 / (400 / 8 * 0.8)  # two nodes send every byte once
    assert fast == pytest.approx(max(alone, fabric_s) + 2 * 0.08 / 1000)
    slow = PCIE._replace(network_gbps=10.0)
    inner_s, outer_s = exchange_s(((slow, 1),), None, WORK), 14 / (10 / 8 * 0.8)
    assert exchange_s(((slow, 2),), None, WORK) == pytest.approx(inner_s + outer_s + 2 * 0.25 / 1000)


def test_a_ring_is_taken_where_it_is_faster() -> None:
    wide = Machine("a100-40gb", 8, "none", None, "efa", 400.0)
    ring_s = 2 * 127 / 128 * 14 / 12 + 2 * 127 * 0.08 / 1000  # 16 nodes of 8 GPUs at the speed of PCIe
    inner_s = exchange_s(((wide, 1),), None, WORK)
    hierarchical_s = inner_s + 2 * 15 / 16 * 14 / 40 + 2 * 15 * 0.08 / 1000
    assert ring_s < hierarchical_s
    assert exchange_s(((wide, 16),), None, WORK) == pytest.approx(ring_s)


@pytest.mark.parametrize(("gpus", "gain"), [(4, 1.0), (5, 1.0), (6, 1.24), (8, 1.24)])
def test_the_switches_of_hopper_add_up_from_six_gpus_on(gpus: int, gain: float) -> None:
    seconds = exchange_s(((Machine("h100-80gb-sxm", gpus, "nvswitch", 900.0, None, None), 1),), None, WORK)
    assert seconds == pytest.approx(2 * (gpus - 1) / gpus * 14 / (450 * 0.78 * gain))


def test_a_measured_latency_takes_the_place_of_the_modelled_one() -> None:
    near = P4D._replace(hop_ms=0.01)
    assert exchange_s(((P4D, 4),), None, WORK) - exchange_s(((near, 4),), None, WORK) == pytest.approx(6 * 0.07 / 1000)


def test_sequences_are_published_or_unknown_never_derived() -> None:
    fast, slow = Machine("h100-80gb-sxm", 1, None, None, None, None), Machine("t4-16gb", 1, None, None, None, None)
    assert performance(((fast, 1),), None, WORK).sequences_per_second == 301
    assert performance(((slow, 1),), None, WORK).sequences_per_second is None
    assert performance(((fast, 1), (slow, 1)), None, WORK).sequences_per_second is None


machines = st.builds(
    Machine,
    st.sampled_from(["a100-40gb", "h100-80gb-sxm", "t4-16gb", None]),
    st.integers(1, 16),
    st.sampled_from([None, "none", "mesh", "nvswitch"]),
    st.sampled_from([None, 300.0, 600.0, 900.0]),
    st.sampled_from([None, "efa", "ethernet"]),
    st.one_of(st.none(), st.floats(1, 6400)),
    hop_ms=st.one_of(st.none(), st.floats(0.001, 5)),
)


@given(
    st.lists(machines, min_size=1, max_size=3, unique=True), st.integers(1, 40), st.integers(1, 8), st.floats(1e8, 1e12)
)
def test_the_exchange_never_falls_with_another_node_nor_below_that_of_one_kind_alone(
    kinds: list[Machine], count: int, more: int, parameters: float
) -> None:
    work = Workload(parameters, 2)
    mixed = (*((kind, 1) for kind in kinds[1:]), (kinds[0], count))
    wider = (*((kind, 1) for kind in kinds[1:]), (kinds[0], count + more))
    seconds = exchange_s(mixed, None, work)
    assert seconds <= exchange_s(wider, None, work) * (1 + 1e-12)
    nodes = sum(number for _, number in mixed)
    assert all(exchange_s(((kind, nodes),), None, work) <= seconds * (1 + 1e-12) for kind in kinds)
