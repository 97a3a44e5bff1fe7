"""Every rendered recipe is a snapshot, passes the linter, and holds what the tables ask for."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from emporion.images.bases import devel_base, runtime_base
from emporion.images.recipe import recipe_of
from emporion.images.render import Rendered, render
from emporion.images.tables import rows
from emporion.market.errors import UserError

HEALTH = "print('healthy')\n"
GPUS = ["a100", "h100", "b200", "l4", "t4"]
CLOUDS = ["aws", "azure", "gcp"]
WISHES: dict[str, dict[str, Any]] = {
    "kernels": {"gpu": "h100", "cloud": "aws", "pytorch": "2.8", "cuda": "12.8", "ops": "flash-attn,rope"},
    "compiled": {"gpu": "b200", "cloud": "gcp", "pytorch": "2.12", "cuda": "13.0", "ops": "flash-attn",
                 "compile_kernels": True},
    "compat": {"gpu": "a100", "cloud": "azure", "driver": "535.183.01", "cuda": "13.0", "compat_layer": True},
    "bare": {"gpu": "t4", "cloud": "azure", "framework": "none"},
    "user": {"gpu": "l4", "cloud": "gcp", "deterministic": True, "packages": ["git"], "pip": ["numpy==2.3.5"],
             "env": {"OMP_NUM_THREADS": "8", "GREETING": 'say "$HOME"'}},
}  # fmt: skip


def made(**said: Any) -> Rendered:
    return render(recipe_of(said), HEALTH)


def lint(path: Path) -> str:
    program = Path(sys.executable).with_name("hadolint")
    done = subprocess.run([program, "--no-color", path], capture_output=True, text=True, check=False)
    return done.stdout + done.stderr


@pytest.mark.parametrize("cloud", CLOUDS)
@pytest.mark.parametrize("gpu", GPUS)
def test_each_gpu_on_each_cloud_has_its_recipe(
    gpu: str, cloud: str, tmp_path: Path, snapshot: SnapshotAssertion
) -> None:
    rendered = made(gpu=gpu, cloud=cloud)
    assert rendered.files == snapshot
    check(rendered, tmp_path)


@pytest.mark.parametrize("name", WISHES)
def test_each_kind_of_layer_has_its_recipe(name: str, tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    rendered = made(**WISHES[name])
    assert rendered.files == snapshot
    check(rendered, tmp_path)


def check(rendered: Rendered, folder: Path) -> None:
    """See to it that linter and shells take the files, and that they say nothing that an image must not."""
    dockerfile = rendered.files["Dockerfile"]
    (folder / "Dockerfile").write_text(dockerfile)
    assert lint(folder / "Dockerfile") == ""
    shell = subprocess.run(
        ["bash", "-n"], input=rendered.files["entrypoint.sh"], capture_output=True, text=True, check=False
    )
    assert (shell.returncode, shell.stderr) == (0, "")
    assert "<<" not in dockerfile, "buildah 1.28 knows no heredocs"
    assert not re.search(r"--(link|parents|exclude)\b", dockerfile)
    assert all("@sha256:" in line for line in dockerfile.splitlines() if re.match(r"ARG \w*BASE=", line))
    assert re.search(r"^USER 10001:10001$", dockerfile, re.MULTILINE)
    baked = set(re.findall(r'^(?:ENV|   ) (\w+)="', dockerfile, re.MULTILINE))
    assert baked
    assert not baked & {row["name"] for row in rows("never_baked.csv")}


def test_equal_recipes_give_equal_bytes_fast() -> None:
    first = made(**WISHES["kernels"])
    started = time.process_time()
    assert made(**WISHES["kernels"]).files == first.files
    assert time.process_time() - started < 0.1


def test_the_wheel_of_kernels_is_the_one_for_the_bases_python() -> None:
    dockerfile = made(**WISHES["kernels"]).files["Dockerfile"]
    assert "flash_attn-2.8.3.post1+cu12torch2.8cxx11abiTRUE-cp312-cp312-linux_x86_64.whl" in dockerfile
    assert "FROM ${DEVEL_BASE}" not in dockerfile


def test_kernels_are_compiled_for_the_gpu_alone_within_memory() -> None:
    dockerfile = made(**WISHES["compiled"]).files["Dockerfile"]
    assert 'FLASH_ATTN_CUDA_ARCHS="100"' in dockerfile
    assert 'TORCH_CUDA_ARCH_LIST="10.0"' in dockerfile
    assert "MemAvailable" in dockerfile
    assert "COPY --from=kernels /wheels" in dockerfile


def test_the_compat_layer_is_only_there_where_it_was_allowed() -> None:
    with_layer = made(**WISHES["compat"])
    assert "COPY --from=compat /usr/local/cuda-13.0/compat" in with_layer.files["Dockerfile"]
    assert "NVIDIA_DISABLE_REQUIRE" in with_layer.files["Dockerfile"]
    assert "/proc/driver/nvidia/version" in with_layer.files["entrypoint.sh"]
    without = made(**{**WISHES["compat"], "compat_layer": False})
    assert "compat" not in without.files["Dockerfile"].replace("emporion image", "")
    assert any("cuda 13.0 -> 12.9" in warning for warning in without.warnings)


def test_fp8_is_on_from_hopper_and_off_on_ampere() -> None:
    assert 'EMPORION_FP8="1"' in made(gpu="h100", cloud="aws").files["Dockerfile"]
    assert 'EMPORION_FP8="0"' in made(gpu="a100", cloud="aws").files["Dockerfile"]


def test_a_value_of_the_users_stays_one_value() -> None:
    assert 'GREETING="say \\"\\$HOME\\""' in made(**WISHES["user"]).files["Dockerfile"]


def test_an_impossible_image_is_refused_with_a_way_out() -> None:
    with pytest.raises(UserError) as caught:
        made(gpu="v100", cloud="aws", ops="flash-attn")
    assert (caught.value.code, caught.value.exit_code) == ("E-IMAGE", 3)
    assert caught.value.fix == "leave flash-attn out"


def test_a_base_of_the_users_takes_the_place_of_ours() -> None:
    base = f"registry.example/cuda:1@sha256:{'a' * 64}"
    assert f"ARG BASE={base}" in made(gpu="h100", cloud="aws", base=base).files["Dockerfile"]


def test_a_machine_without_a_known_base_is_refused() -> None:
    with pytest.raises(UserError, match="E-BASE"):
        made(gpu="gh200", cloud="aws", driver="580.95.05")
    with pytest.raises(UserError, match="E-BASE"):
        devel_base((12, 1), (3, 10), "x86_64")
    assert runtime_base((3, 12), "x86_64").startswith("ubuntu:24.04@sha256:")


@pytest.mark.parametrize("row", rows("node_env.csv"), ids=lambda row: f"{row['cloud']}-{row['name'] or row['value']}")
def test_every_setting_of_a_node_is_decided_on_the_node(row: Any) -> None:
    gpu = row["gpus"].split()[0] if row["gpus"] else "a100"
    rendered = made(gpu=gpu, cloud=row["cloud"])
    assert f'"{row["needs_path"]}" ]' in rendered.files["entrypoint.sh"]
    assert row["value"] in rendered.files["entrypoint.sh"]
    beside = made(gpu="t4", cloud=row["cloud"])
    assert (row["needs_path"] in beside.files["entrypoint.sh"]) == (not row["gpus"])


def test_issue_3_the_drivers_floor_is_asked_for_and_not_the_toolkits_own() -> None:
    dockerfile = made(gpu="rtx4090", cloud="aws", driver="550.54.14", pytorch="2.8", cuda="12.8").files["Dockerfile"]
    assert 'NVIDIA_REQUIRE_CUDA="cuda>=12.0"' in dockerfile


def test_issue_7_extensions_that_are_compiled_on_a_host_without_gpu_know_their_architecture() -> None:
    assert 'TORCH_CUDA_ARCH_LIST="8.0"' in made(gpu="a100", cloud="aws").files["Dockerfile"]


def test_issue_8_the_fabrics_plugin_is_found_by_looking_and_the_build_fails_without() -> None:
    rendered = made(gpu="h100", cloud="aws")
    assert "find /opt/amazon /opt/aws-ofi-nccl -name 'libnccl-net*.so'" in rendered.files["Dockerfile"]
    assert 'test -n "${plugin}"' in rendered.files["Dockerfile"]
    assert 'export NCCL_NET="AWS Libfabric"' in rendered.files["entrypoint.sh"]


def test_issue_9_who_builds_with_buildah_is_told_to_keep_the_health_check() -> None:
    assert "`--format docker`, or they drop the health check" in made(gpu="h100", cloud="aws").files["Dockerfile"]


def test_issue_10_packages_of_the_users_must_not_replace_torch() -> None:
    dockerfile = made(gpu="h100", cloud="aws", pip=["numpy==2.3.5"]).files["Dockerfile"]
    assert dockerfile.index("numpy==2.3.5") < dockerfile.index("assert torch.__version__ ==")
    with pytest.raises(UserError, match="would replace what the recipe chose"):
        made(gpu="h100", cloud="aws", pip=["torch==2.9.0"])


def run_entrypoint(rendered: Rendered, folder: Path) -> subprocess.CompletedProcess[str]:
    program = folder / "entrypoint.sh"
    program.write_text(
        rendered.files["entrypoint.sh"]
        .replace("/proc/driver/nvidia", str(folder))
        .replace("/opt/emporion", str(folder))
    )
    return subprocess.run(
        [shutil.which("bash") or "bash", program, "sh", "-c", 'echo "${LD_LIBRARY_PATH:-}|$1"', "sh", "one two"],
        capture_output=True, text=True, check=False, env={"PATH": "/usr/bin:/bin"},
    )  # fmt: skip


@pytest.mark.parametrize(
    ("host", "layer", "used"),
    [
        pytest.param("535.183.01", "580.95.05", True, id="older driver"),
        pytest.param("590.48.01", "580.95.05", False, id="newer driver: 803 otherwise"),
        pytest.param("580.95.05", "580.95.05", False, id="the same"),
        pytest.param("580.105.08", "580.95.05", False, id="105 is after 95"),
    ],
)
def test_the_compat_layer_is_taken_by_older_drivers_alone(tmp_path: Path, host: str, layer: str, *, used: bool) -> None:
    (tmp_path / "cuda-compat").mkdir()
    (tmp_path / "cuda-compat" / f"libcuda.so.{layer}").touch()
    (tmp_path / "version").write_text(
        f"NVRM version: NVIDIA UNIX x86_64 Kernel Module  {host}  Thu Jun  5 00:00:00 UTC 2026\nGCC version: 12.3.0\n"
    )
    ran = run_entrypoint(made(**WISHES["compat"]), tmp_path)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout == f"{f'{tmp_path}/cuda-compat' if used else ''}|one two\n"


def test_the_entrypoint_hands_everything_on_where_there_is_no_driver(tmp_path: Path) -> None:
    ran = run_entrypoint(made(**WISHES["compat"]), tmp_path)
    assert (ran.returncode, ran.stdout) == (0, "|one two\n")
