"""Every row of the known bugs is met by what it describes, and not by what lies beside it."""

from __future__ import annotations

from datetime import date
from typing import Any

import pytest

from emporion.images.cuda import reach, toolkits
from emporion.images.driver_bugs import bugs, host_of, maintained, matching
from emporion.images.node import node_of
from emporion.images.solve import solve
from emporion.images.versions import Version, dotted, kernel_version, parse_driver, ranges
from emporion.images.wish import wish_of
from emporion.market.errors import UserError


def met(driver: str, **said: Any) -> set[str]:
    host = host_of(
        driver, said.get("kernel"), said.get("gpus", ()), said.get("holds", ()), said.get("fabric_manager")
    )  # fmt: skip
    return {bug.id for bug, unknown in matching(host) if not unknown}


ROWS = [
    ("gsp-timeouts", "525.60.13", {}, "525.105.17", {}),
    ("rcu-symbol", "535.154.05", {"kernel": "6.1.76"}, "535.161.08", {"kernel": "6.1.76"}),
    ("rcu-symbol", "550.40.07", {"kernel": "6.8.0-31-generic"}, "550.40.07", {"kernel": "6.6.14"}),
    ("debian-cloud-kernel", "525.125.06", {"kernel": "6.1.0-18-cloud-amd64"}, "525.125.06",
     {"kernel": "6.1.0-17-cloud"}),
    ("vma-start-write", "570.153.02", {"kernel": "6.15.3", "holds": ("closed-modules",)}, "570.153.02",
     {"kernel": "6.15.3", "holds": ("open-modules",)}),
    ("amd-all-reduce", "570.172.08", {"gpus": ("a100-80gb",), "holds": ("amd-cpu",)}, "550.163.01",
     {"gpus": ("a100-80gb",), "holds": ("amd-cpu",)}),
    ("accounting-null", "570.124.06", {"holds": ("accounting",)}, "570.133.20", {"holds": ("accounting",)}),
    ("tensor-parallel-hang", "545.29.02", {"holds": ("multi-gpu",)}, "545.29.06", {"holds": ("multi-gpu",)}),
    ("p2p-hang", "560.35.03", {"holds": ("multi-gpu",)}, "570.26", {"holds": ("multi-gpu",)}),
    ("fabric-manager-differs", "550.54.14", {"fabric_manager": "550.54.15"}, "550.54.14",
     {"fabric_manager": "550.54.14"}),
    ("hmm-kaslr", "575.57.08", {"holds": ("hmm", "kaslr")}, "575.57.08", {"holds": ("hmm",)}),
    ("shutdown-panic", "580.105.08", {}, "580.126.16", {}),
    ("dkms-580", "580.119.02", {"kernel": "6.17.9-1"}, "580.119.02", {"kernel": "6.17.8"}),
    ("dkms-550", "550.163.01", {"kernel": "6.17.2"}, "550.163.01", {"kernel": "6.16.1"}),
    ("cuda12-newer-minor", "525.147.05", {"holds": ("cuda-newer-minor",)},
     "525.125.06", {"holds": ("cuda-newer-minor",)}),
    ("pynvml-process-api", "525.147.05", {"holds": ("pynvml-11.5",)}, "530.30.02", {"holds": ("pynvml-11.5",)}),
    ("kernel-6.4", "530.41.03", {"kernel": "6.4.1"}, "530.41.03", {"kernel": "6.3.9"}),
    ("hwe-compiler", "580.65.06", {"kernel": "6.8.0-87-generic", "holds": ("open-modules",)}, "580.82.07",
     {"kernel": "6.8.0-87-generic", "holds": ("open-modules",)}),
    ("azure-fabric-manager", "550.54.14", {"holds": ("azure-hpc", "nvswitch")}, "535.54.03",
     {"holds": ("azure-hpc", "nvswitch")}),
]  # fmt: skip


@pytest.mark.parametrize(("bug", "driver", "said", "other", "beside"), ROWS, ids=[f"{row[0]}" for row in ROWS])
def test_a_row_is_met_by_what_it_describes_alone(
    bug: str, driver: str, said: dict[str, Any], other: str, beside: dict[str, Any]
) -> None:
    assert bug in met(driver, **said)
    assert bug not in met(other, **beside)


def test_every_row_has_a_test_a_source_and_a_date() -> None:
    assert {row[0] for row in ROWS} == {bug.id for bug in bugs()}
    assert all(bug.source and bug.as_of and bug.fix for bug in bugs())


def test_a_row_that_depends_on_what_was_not_said_is_named_with_it() -> None:
    found = dict(matching(host_of("560.35.03", None, (), (), None)))
    bug = next(bug for bug in found if bug.id == "p2p-hang")
    assert found[bug] == ("jobs use several GPUs",)


def test_a_driver_that_is_not_known_may_have_any_bug_and_surely_none() -> None:
    found = matching(host_of("[N/A]", None, (), (), None))
    assert len(found) == len(bugs())
    assert all(unknown for _, unknown in found)


def test_a_choice_warns_of_the_drivers_bugs() -> None:
    verdict = solve(wish_of(), node_of("a100", "525.147.05"))
    assert any("cuda12-newer-minor" in warning for warning in verdict.warnings)
    assert not any("known to be bad" in warning for warning in solve(wish_of(), node_of("a100", "580.95.05")).warnings)


@pytest.mark.parametrize(
    ("text", "read"),
    [("418.87.01", (418, 87, 1)), ("[N/A]", None), ("[Not Supported]", None), ("", None), (" 550.54 ", (550, 54))],
)
def test_a_drivers_version_is_whole_numbers_or_unknown(text: str, read: Version | None) -> None:
    assert parse_driver(text) == read


def test_versions_are_compared_as_numbers() -> None:
    older, newer = parse_driver("550.9"), parse_driver("550.54")
    assert older is not None
    assert newer is not None
    assert older < newer


@pytest.mark.parametrize("text", ["550,54", "R550", "-1", "550..1"])
def test_what_is_no_version_of_a_driver_is_refused(text: str) -> None:
    with pytest.raises(UserError, match="E-DRIVER"):
        parse_driver(text)


def test_what_is_no_kernel_or_condition_is_refused() -> None:
    with pytest.raises(UserError, match="E-KERNEL"):
        kernel_version("linux")
    with pytest.raises(UserError, match="did you mean multi-gpu"):
        host_of("550.54", None, (), ("multigpu",), None)


def test_a_range_is_read_or_refused() -> None:
    assert ranges("[;526)")[0].holds((418, 87))
    with pytest.raises(ValueError, match="not a version"):
        ranges("<526")


def test_a_branch_is_maintained_until_its_month_is_over() -> None:
    assert maintained((535, 183), date(2026, 6, 30))
    assert maintained((535, 183), date(2026, 7, 1)) is False
    assert maintained((525, 60, 13), date(2020, 1, 1)) is False
    assert maintained((999,), date(2026, 6, 1)) is None


@pytest.mark.parametrize("one", toolkits(), ids=lambda one: dotted(one.cuda))
def test_every_row_of_cuda_is_native_to_its_driver(one: Any) -> None:
    verdict = solve(wish_of(cuda=dotted(one.cuda)), node_of("a100", one.driver_text))
    assert verdict.status != "blocked"
    assert verdict.combination is not None
    assert verdict.combination.route == "native"


LAYERS = [(one, branch) for one in toolkits() for branch in one.forward_branches or ()]


@pytest.mark.parametrize(("one", "branch"), LAYERS, ids=lambda value: str(getattr(value, "cuda", value)))
def test_every_branch_that_a_layer_takes_is_taken_where_it_is_needed(one: Any, branch: int) -> None:
    node = node_of("a100", f"{branch}.999")
    without, with_layer = reach(one.cuda, node), reach(one.cuda, node, compat_layer=True)
    assert with_layer.refused is None
    assert (with_layer.route == "compat-layer") == (without.route is None)
    assert reach(one.cuda, node_of("rtx4090", "450.1"), compat_layer=True).route is None
