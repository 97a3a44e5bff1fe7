"""A recipe's image, really built by buildah on a base made here, and its health check really run in it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from stub_gpu import build_stub

from emporion.images.build import build_image, epoch_of, verify_image
from emporion.images.builders import BUILDERS, Job
from emporion.images.recipe import recipe_of
from emporion.images.render import render
from emporion.images.statement import own_key
from emporion.nodes.bundle import health_check

pytestmark = [pytest.mark.build, pytest.mark.timeout(1800)]
CERTIFICATES = Path("/etc/ssl/certs/ca-certificates.crt")
BASE = "localhost/emporion-test-base:bookworm"
BASE_FILE = "FROM scratch\nADD base.tar /\nCOPY ca.crt /opt/host-ca.crt\nENV PIP_CERT=/opt/host-ca.crt\n"


@dataclass(frozen=True)
class Image:
    """An image in a storage of its own."""

    archive: Path
    tag: str
    stub: Path
    key_folder: Path

    def run(self, conf: str, *arguments: str) -> tuple[int, dict[str, Any]]:
        """Run the health check in a container whose driver is the stub."""
        (self.stub / "node.conf").write_text(conf)
        name = subprocess.run(["buildah", "from", self.tag], capture_output=True, text=True, check=True).stdout.strip()
        check = ["/opt/venv/bin/python", "/opt/emporion/healthcheck.py", "--json", "--load-seconds", "0.05", *arguments]
        shown = [
            "--volume",
            f"{self.stub}:/stub:ro",
            "--env",
            "LD_LIBRARY_PATH=/stub",
            "--env",
            "NVML_STUB_CONF=/stub/node.conf",
        ]
        done = subprocess.run(
            ["buildah", "run", "--isolation", "chroot", *shown, name, "--", "/opt/emporion/entrypoint.sh", *check],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        subprocess.run(["buildah", "rm", name], capture_output=True, check=True)
        assert done.stdout, done.stderr
        return done.returncode, json.loads(done.stdout)


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory) -> Image:
    """The image of a T4 on Azure without a framework: every layer that needs neither a GPU nor gigabytes."""
    for program in ("buildah", "mmdebstrap", "cc"):
        if shutil.which(program) is None:
            pytest.skip(f"{program} is not on PATH: no image can be built here")
    if os.geteuid() != 0:
        pytest.skip("not root: mmdebstrap and chroot isolation cannot be used here")
    folder = tmp_path_factory.mktemp("build")
    storage = folder / "storage.conf"
    storage.write_text(f'[storage]\ndriver = "vfs"\ngraphroot = "{folder}/root"\nrunroot = "{folder}/run"\n')
    os.environ["CONTAINERS_STORAGE_CONF"], os.environ["BUILDAH_ISOLATION"] = str(storage), "chroot"
    made = subprocess.run(
        ["mmdebstrap", "--variant=minbase", "--include=ca-certificates", "bookworm", folder / "base.tar"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    if made.returncode:
        pytest.skip(f"mmdebstrap makes no base here: {made.stderr.splitlines()[-1:]}")
    shutil.copy(CERTIFICATES, folder / "ca.crt")
    (folder / "Dockerfile").write_text(BASE_FILE)
    based = subprocess.run(
        ["buildah", "bud", "--format", "docker", "--tag", BASE, folder], capture_output=True, text=True, check=False
    )
    if based.returncode:
        pytest.skip(f"buildah does not run here: {based.stderr.splitlines()[-1:]}")
    (folder / "base.tar").unlink()
    return _built(folder)


def _built(folder: Path) -> Image:
    context, stub = folder / "context", folder / "stub"
    context.mkdir()
    for name, text in render(
        recipe_of({"gpu": "t4", "cloud": "azure", "framework": "none"}), health_check()
    ).files.items():
        (context / name).write_text(text)
    stub.mkdir()
    assert build_stub(stub)
    arguments = {"BASE": BASE, "APT_SNAPSHOT": ""}
    epoch = epoch_of((context / "Dockerfile").read_text())
    job = Job(context, folder / "image.tar", "localhost/emporion-test:t4", epoch, arguments)
    lines: list[str] = []
    outcome = build_image(
        job, BUILDERS["buildah"], own_key(folder), clock=lambda: datetime.now(UTC), report=lines.append, twice=True
    )
    assert outcome.reproducible, "\n".join(lines[-40:])
    return Image(outcome.built.archive, job.tag, stub, folder)


T4 = """all.count=1
all.name=Tesla T4
all.cuda_name=Tesla T4
all.cc_major=7
all.cc_minor=5
all.cuda_cc_major=7
all.cuda_cc_minor=5
all.bus_bits=256
all.cuda_bus_bits=256
all.cuda_sms=40
all.real_sms=40
all.cuda_l2_mb=4
all.memory_mib=15360
all.cuda_memory_mib=15109
all.pci_id=0x1EB8
all.nvlinks=0
all.real_gb_s=260
"""


def test_the_image_keeps_what_its_recipe_says(image: Image) -> None:
    built, predicate = verify_image(image.archive, own_key(image.key_folder).public_key())
    config = built.config["config"]
    assert config["User"] == "10001:10001"
    assert config["Healthcheck"]["Test"][1:] == [
        "/opt/venv/bin/python",
        "/opt/emporion/healthcheck.py",
        "--gpu",
        "t4-16gb",
    ]
    assert config["Labels"]["emporion.archs"] == "sm_75"
    assert not any(entry.startswith("NVIDIA_VISIBLE_DEVICES") for entry in config["Env"])
    assert predicate["runDetails"]["builder"]["id"].endswith("/buildah")  # type: ignore[index]


@pytest.mark.parametrize(
    ("conf", "code", "status", "found"),
    [
        pytest.param("", 0, "healthy", "no-nvlink", id="healthy"),
        pytest.param("all.temp=93", 1, "unhealthy", "overheated", id="hot"),
        pytest.param("all.ecc_uncorrected=2", 1, "unhealthy", "ecc-uncorrected", id="ecc"),
        pytest.param("all.lost=1", 1, "unhealthy", "lost", id="lost"),
        pytest.param("all.cuda_wrong=1", 1, "unhealthy", "wrong-result", id="wrong"),
        pytest.param("all.real_sms=20\nall.real_gb_s=100", 1, "unhealthy", None, id="posing"),
        pytest.param("all.err.init=9", 1, "unknown", None, id="no driver"),
    ],
)
def test_its_health_check_tells_the_nodes_state(
    image: Image, conf: str, code: int, status: str, found: str | None
) -> None:
    ended, report = image.run(f"{T4}{conf}\n", "--gpu", "t4-16gb")
    codes = {finding["code"] for gpu in report["gpus"] for finding in gpu["findings"]}
    assert report["status"] == status, report
    assert found is None or found in codes
    assert bool(ended) == bool(code)
