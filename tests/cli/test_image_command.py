from __future__ import annotations

import io
import json
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest
from terminal import Emporion

RECIPES = sorted((Path(__file__).parents[2] / "images" / "recipes").glob("*.yaml"))
H100 = ("--gpu", "h100", "--cuda", "12.8", "--pytorch", "2.8", "--ops", "flash-attn,rope", "--cloud", "aws")


def test_a_dockerfile_goes_to_stdout_and_the_whole_context_to_a_folder(emporion: Emporion) -> None:
    ran = emporion("image", "render", *H100)
    assert ran.code == 0
    assert ran.out.startswith("# h100 on aws (efa)")
    assert "aws-ofi-nccl 1.21.1 was tested with NCCL 2.31.2; torch 2.8.0 brings 2.27.3" in ran.err
    assert emporion("image", "render", *H100, "--out", "build").code == 0
    assert Path("build/Dockerfile").read_text() == ran.out
    assert Path("build/entrypoint.sh").stat().st_mode & 0o111
    done = subprocess.run(
        [sys.executable, "build/healthcheck.py", "--help"], capture_output=True, text=True, check=True
    )
    assert "--strict" in done.stdout


def test_the_document_holds_files_and_verdict(emporion: Emporion) -> None:
    document = emporion("image", "render", *H100, "--json").document
    assert (document["schema"], sorted(document["files"])) == (
        "emporion.image/1",
        ["Dockerfile", "entrypoint.sh", "healthcheck.py"],
    )
    assert document["verdict"]["chosen"]["flash_attn"] == "2.8.3.post1"


@pytest.mark.parametrize("cloud", ["aws", "azure", "gcp"])
@pytest.mark.parametrize("recipe", RECIPES, ids=lambda path: path.stem)
def test_every_example_recipe_is_rendered_for_every_cloud(emporion: Emporion, recipe: Path, cloud: str) -> None:
    ran = emporion("image", "render", str(recipe), "--cloud", cloud)
    assert ran.code == 0, ran.err
    assert ("flash-attn" in ran.out) == (recipe.stem != "pytorch-t4")


def test_there_is_an_example_for_each_gpu() -> None:
    assert [path.stem for path in RECIPES] == [
        "pytorch-a100",
        "pytorch-b200",
        "pytorch-h100",
        "pytorch-l4",
        "pytorch-t4",
    ]


def test_flags_win_over_the_file(emporion: Emporion) -> None:
    Path("mine.yaml").write_text('gpu: t4\ncloud: gcp\npytorch: "2.8"\ndeterministic: true\n')
    ran = emporion("image", "render", "mine.yaml", "--gpu", "l4")
    assert "# l4 on gcp" in ran.out
    assert "torch==2.8.0" in ran.out
    assert "CUBLAS_WORKSPACE_CONFIG" in ran.out


def test_a_cloud_without_the_gpu_is_a_warning(emporion: Emporion) -> None:
    ran = emporion("image", "render", "--gpu", "l4", "--cloud", "azure")
    assert ran.code == 0
    assert "no offer of azure has l4" in ran.err


@pytest.mark.parametrize(
    ("arguments", "code", "text"),
    [
        (("--gpu", "mi300x", "--cloud", "aws"), 3, "[E-GPU-VENDOR]"),
        (("--gpu", "v100", "--cloud", "aws", "--ops", "flash-attn"), 3, "try: leave flash-attn out"),
        (("--gpu", "b200", "--cloud", "aws", "--cuda", "12.1"), 3, "no code for sm_100"),
        (("--gpu", "h100", "--cloud", "aws", "--base", "ubuntu:24.04"), 2, "[E-BASE]"),
        (("--gpu", "h1000", "--cloud", "aws"), 2, "[E-GPU]"),
        (("--gpu", "h100"), 2, "the recipe says no cloud"),
        (("none.yaml",), 2, "[E-RECIPE]"),
    ],
)
def test_what_cannot_be_rendered_is_told(emporion: Emporion, arguments: tuple[str, ...], code: int, text: str) -> None:
    ran = emporion("image", "render", *arguments)
    assert (ran.code, ran.out) == (code, "")
    assert text in ran.err


def test_the_health_check_is_one_file(emporion: Emporion) -> None:
    text = emporion("image", "healthcheck").out
    assert text.startswith("#!/usr/bin/env python3")
    ran = emporion("image", "healthcheck", "--out", "check.py", "--json")
    assert (ran.document["file"], ran.document["text"]) == ("check.py", None)
    assert Path("check.py").read_text() == text


@pytest.mark.parametrize(
    ("node", "code", "works", "why"),
    [
        (("--gpu", "h100", "--driver", "580.95.05"), 0, True, ""),
        (("--gpu", "h100", "--driver", "470.82.01"), 3, False, "not 12.x"),
        (("--gpu", "t4", "--driver", "580.95.05"), 3, False, "flash-attn 2.8.3.post1 holds no code for sm_75"),
        (("--gpu", "gh200", "--driver", "580.95.05"), 3, False, "the image is for x86_64, the node is aarch64"),
        (("--gpu", "h100"), 3, None, "driver is not known"),
        (("--driver", "580.95.05"), 3, None, "GPU is not known"),
        (("--offer", "aws/us-east-1/use1-az2/p4d.24xlarge/spot"), 3, None, "driver is not known"),
    ],
)
def test_an_image_is_checked_before_it_runs(
    emporion: Emporion, node: tuple[str, ...], code: int, works: bool | None, why: str
) -> None:
    emporion("image", "render", *H100, "--out", "build")
    ran = emporion("image", "check", "build", *node, "--json")
    assert (ran.code, ran.document["works"]) == (code, works)
    assert why in " ".join(ran.document["why"])


def test_a_recipe_is_checked_as_its_image_would_be(emporion: Emporion) -> None:
    Path("mine.yaml").write_text('gpu: h100\npytorch: "2.15"\ncuda: "13.2"\n')
    Path("node.json").write_text(json.dumps({"gpu": "h100", "driver": "570.124.06"}))
    ran = emporion("image", "check", "mine.yaml", "--node", "node.json")
    assert (ran.code, ran.out) == (3, "does not run\n")
    assert "not 13.x" in ran.err


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("none",), "E-IMAGE-FILE"),
        ((".",), "E-IMAGE-FILE"),
        (("build", "--offer", "aws/nowhere"), "E-OFFER"),
        (("build", "--node", "none.json"), "E-FILE"),
    ],
)
def test_what_cannot_be_checked_is_told(emporion: Emporion, arguments: tuple[str, ...], code: str) -> None:
    emporion("image", "render", *H100, "--out", "build")
    ran = emporion("image", "check", *arguments)
    assert ran.code == 2
    assert f"[{code}]" in ran.err


def test_a_compat_package_is_named_only_where_it_helps(emporion: Emporion) -> None:
    ran = emporion("image", "inject-driver-compat", "--cuda", "13.0", "--gpu", "a100", "--driver", "535.183")
    assert (ran.code, ran.out) == (0, "cuda-compat-13-0\n")
    ran = emporion("image", "inject-driver-compat", "--cuda", "12.8", "--gpu", "a100", "--driver", "535.183")
    assert (ran.code, ran.out) == (0, "")
    ran = emporion("image", "inject-driver-compat", "--cuda", "13.0", "--gpu", "rtx4090", "--driver", "535.183")
    assert (ran.code, ran.out) == (3, "")
    assert "error 804" in ran.err
    ran = emporion("image", "inject-driver-compat", "--cuda", "13.0", "--gpu", "a100", "--json")
    assert (ran.code, ran.document["needed"]) == (3, None)


def test_kernels_come_as_a_wheel_or_from_a_build(emporion: Emporion) -> None:
    ran = emporion("image", "compile-kernels", "--gpu", "h100", "--pytorch", "2.8", "--ops", "flash-attn", "--json")
    assert ran.code == 0
    assert "flash_attn-2.8.3.post1+cu12torch2.8cxx11abiTRUE" in ran.document["wheel"]
    ran = emporion("image", "compile-kernels", "--gpu", "b200", "--pytorch", "2.12", "--ops", "flash-attn")
    assert "FLASH_ATTN_CUDA_ARCHS=100" in ran.out
    assert "no wheel of flash-attn is published" in ran.err
    assert emporion("image", "compile-kernels", "--gpu", "t4", "--ops", "flash-attn").code == 3
    assert emporion("image", "compile-kernels", "--gpu", "h100").code == 2
    assert emporion("image", "compile-kernels", "--ops", "rope").code == 2


def builder(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Put a stand-in for buildah on PATH that makes an image with the labels of a T4's."""
    config = {"config": {"User": "10001:10001", "Healthcheck": {"Test": []}, "Labels": {"emporion.archs": "sm_75"}}}
    with tarfile.open(folder / "made.tar", "w") as tar:
        for name, document in (("c.json", config), ("manifest.json", [{"Config": "c.json"}])):
            raw = json.dumps(document).encode()
            info = tarfile.TarInfo(name)
            info.size = len(raw)
            tar.addfile(info, io.BytesIO(raw))
    (folder / "bin").mkdir()
    script = f'[ "$1" = push ] || exit 0\nto=${{3#docker-archive:}}\ncp {folder}/made.tar "${{to%%.tar:*}}.tar"'
    (folder / "bin" / "buildah").write_text(f"#!/bin/sh\n{script}\n")
    (folder / "bin" / "buildah").chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder / 'bin'}:/usr/bin:/bin")


def test_an_image_is_built_checked_and_verified(
    emporion: Emporion, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    builder(tmp_path, monkeypatch)
    bare = ("--gpu", "t4", "--cloud", "azure", "--framework", "none", "--builder", "buildah")
    document = emporion("image", "build", *bare, "--twice", "--json").document
    assert (document["builder"], document["reproducible"], document["sbom"]) == ("buildah", True, None)
    assert document["image_id"].startswith("sha256:")
    ran = emporion("image", "verify", "image.tar")
    assert (ran.code, ran.out.split()[1]) == (0, document["image_id"])
    verified = emporion("image", "verify", "image.tar", "--json").document
    assert verified["provenance"]["buildDefinition"]["buildType"] == "urn:emporion:image-build:1"
    assert emporion("image", "check", "image.tar", "--gpu", "t4").code == 0
    assert emporion("image", "check", "image.tar", "--gpu", "h100").code == 3


def test_an_image_without_its_statement_is_not_verified(
    emporion: Emporion, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    builder(tmp_path, monkeypatch)
    emporion("image", "render", "--gpu", "t4", "--cloud", "azure", "--framework", "none", "--out", "context")
    assert emporion("image", "build", "context", "--builder", "buildah", "--out", "t4.tar").code == 0
    Path("t4.tar.intoto.json").unlink()
    ran = emporion("image", "verify", "t4.tar")
    assert ran.code == 3
    assert "there is no statement" in ran.err


@pytest.mark.parametrize(
    ("arguments", "code", "text"),
    [
        (("--builder", "buildah", "--gpu", "t4", "--cloud", "aws"), 1, "apt-get install buildah"),
        (("--gpu", "t4", "--cloud", "aws"), 1, "no builder of images is on PATH"),
    ],
)
def test_a_builder_that_is_missing_is_told(
    emporion: Emporion, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], code: int, text: str
) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    ran = emporion("image", "build", *arguments)
    assert ran.code == code
    assert text in ran.err


def test_what_cannot_be_built_is_told(emporion: Emporion, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    builder(tmp_path, monkeypatch)
    Path("empty").mkdir()
    assert "[E-CONTEXT]" in emporion("image", "build", "empty", "--builder", "buildah").err
    assert "[E-USAGE]" in emporion("image", "build", "empty", "--builder", "buildah", "--build-arg", "BASE").err
    assert "[E-KEY-FILE]" in emporion("image", "verify", "image.tar", "--key", "none.pub").err
