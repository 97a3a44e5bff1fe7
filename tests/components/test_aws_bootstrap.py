"""What nodes run at their first boot."""

from __future__ import annotations

import base64
import datetime as dt
import hashlib
import importlib.util
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from types import ModuleType

import pytest
from botocore.auth import S3SigV4Auth, SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from hypothesis import given
from hypothesis import strategies as st
from placements import PLACEMENT, build, with_pool
from syrupy.assertion import SnapshotAssertion

from emporion.components.aws.bootstrap import USER_DATA_LIMIT, NodeFacts, bootstrap_key, render
from emporion.components.aws.instance_types import instance_types
from emporion.components.aws.nics import nics

FACTS = NodeFacts(
    role="node", stack="shop/dev", pool="gpu-0", region="us-east-1", store="emporion-dev-0123456789abcdef0123",
    log_group="/emporion/emporion-dev-0123456789abcdef0123", checkpoint_uri="s3://models/run", scheduler="slurm",
    controller_ip="10.0.0.10", munge_parameter="/emporion/emporion-dev-0123456789abcdef0123", gpus=8, efa_interfaces=4,
    nvme=True,
)  # fmt: skip
LONGEST = replace(
    FACTS,
    stack="p" * 100 + "/" + "s" * 100,
    pool="gpu-99-" + "x" * 60,
    region="ap-southeast-3",
    checkpoint_uri="s3://" + "b" * 63 + "/" + "k" * 1024,
    log_group="/" + "l" * 511,
    lustre_dns="fs-0123456789abcdef0.fsx.ap-southeast-3.amazonaws.com",
    lustre_mount="abcdefgh",
)
TEMPLATES = Path(str(files("emporion.components.aws").joinpath("templates")))


def test_the_user_data_of_a_node(snapshot: SnapshotAssertion) -> None:
    assert render(FACTS) == snapshot


def test_the_bootstrap_script(snapshot: SnapshotAssertion) -> None:
    assert (TEMPLATES / "bootstrap.sh").read_text() == snapshot


@pytest.mark.parametrize("name", sorted(instance_types()))
@pytest.mark.parametrize("role", ["node", "controller"])
@pytest.mark.parametrize("scheduler", ["slurm", "none"])
def test_user_data_fits_for_every_type_and_option(name: str, role: str, scheduler: str) -> None:
    kind = instance_types()[name]
    efa = sum(nic.efa for nic in nics(kind, rdma=kind.efa_interfaces > 0))
    facts = replace(LONGEST, role=role, scheduler=scheduler, gpus=kind.gpus, efa_interfaces=efa, nvme=kind.nvme_gb > 0)
    assert len(render(facts).encode()) <= USER_DATA_LIMIT


def test_user_data_that_would_not_fit_is_not_handed_over() -> None:
    with pytest.raises(ValueError, match="EC2 takes 16384"):
        render(replace(FACTS, checkpoint_uri="s3://b/" + "x" * USER_DATA_LIMIT))


def test_the_pinned_checksum_is_that_of_the_file_in_the_bucket() -> None:
    content = build().one("BucketObjectv2")["content"]
    digest = hashlib.sha256(content.encode()).hexdigest()
    assert build().one("BucketObjectv2")["key"] == bootstrap_key() == f"bootstrap/{digest}/bootstrap.sh"
    assert f"'{digest}'" in render(FACTS)


def test_what_the_nodes_of_a_cluster_get_is_what_was_rendered() -> None:
    text = base64.b64decode(build(with_pool(instance_type="p5.48xlarge")).one("LaunchTemplate")["userData"]).decode()
    assert "EMPORION_EFA_INTERFACES=32\n" in text
    assert "EMPORION_GPUS=8\n" in text
    assert "EMPORION_NVME=1\n" in text
    assert "EMPORION_POOL=gpu-0\n" in text
    assert "EMPORION_STACK=emporion/dev\n" in text


def test_no_secret_is_in_the_user_data() -> None:
    text = render(FACTS)
    assert "munge.key" not in text
    assert "SECRET" not in text
    assert "BEGIN" not in text


def _settings(text: str, folder: Path) -> Mapping[str, str]:
    """Return what a shell reads from the settings of rendered user data."""
    body = text.split("<<'SETTINGS'\n", 1)[1].split("\nSETTINGS\n", 1)[0]
    file = folder / "node.env"
    file.write_text(body + "\n")
    script = f'set -eu; . {file}; printf \'%s\\0%s\\0%s\' "$EMPORION_STACK" "$EMPORION_CHECKPOINT_URI" "$EMPORION_POOL"'
    out = subprocess.run(["bash", "-c", script], check=True, capture_output=True, text=True).stdout.split("\0")
    return dict(zip(("stack", "checkpoint_uri", "pool"), out, strict=True))


@given(uri=st.text(st.characters(min_codepoint=32, max_codepoint=126), max_size=60))
def test_a_setting_reaches_the_node_whatever_is_in_it(uri: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    seen = _settings(render(replace(FACTS, checkpoint_uri=uri)), tmp_path_factory.mktemp("settings"))
    assert seen == {"stack": "shop/dev", "checkpoint_uri": uri, "pool": "gpu-0"}


@pytest.mark.parametrize("lustre", [False, True])
def test_the_scripts_are_valid_and_strict_bash(tmp_path: Path, *, lustre: bool) -> None:
    facts = replace(FACTS, lustre_dns="fs.example", lustre_mount="abcdefgh") if lustre else FACTS
    rendered = tmp_path / "user_data.sh"
    rendered.write_text(render(facts))
    for script in (rendered, TEMPLATES / "bootstrap.sh"):
        assert "set -Eeuo pipefail" in script.read_text()
        subprocess.run(["bash", "-n", str(script)], check=True)


@pytest.mark.skipif(shutil.which("shellcheck") is None, reason="shellcheck is not installed")
def test_the_scripts_pass_shellcheck(tmp_path: Path) -> None:
    rendered = tmp_path / "user_data.sh"
    rendered.write_text(render(FACTS))
    for script in (rendered, TEMPLATES / "bootstrap.sh"):
        found = subprocess.run(["shellcheck", "--shell=bash", str(script)], check=False, capture_output=True, text=True)
        assert found.stdout == ""


def _client() -> ModuleType:
    spec = importlib.util.spec_from_file_location("aws_client", TEMPLATES / "aws_client.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("service", "path", "headers", "body"),
    [
        pytest.param("s3", "/bootstrap/0123/bootstrap.sh", {}, b"", id="object"),
        pytest.param(
            "ssm", "/", {"x-amz-target": "AmazonSSM.GetParameter", "content-type": "application/x-amz-json-1.1"},
            b'{"Name": "/emporion/x", "WithDecryption": true}', id="parameter",
        ),
        pytest.param(
            "logs", "/", {"x-amz-target": "Logs_20140328.PutLogEvents", "content-type": "application/x-amz-json-1.1"},
            b'{"logEvents": []}', id="log",
        ),
    ],
)  # fmt: skip
def test_the_nodes_own_signature_is_the_sdks(
    service: str, path: str, headers: dict[str, str], body: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    keys = ("AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", "token/with+signs=")
    now = dt.datetime(2026, 12, 1, 1, 2, 3, tzinfo=dt.UTC)
    host = f"{service}.us-east-1.amazonaws.com"
    method = "POST" if body else "GET"
    ours = _client().sign(
        method=method, host=host, path=path, headers=headers, body=body, service=service, region="us-east-1", keys=keys,
        now=now,
    )  # fmt: skip
    request = AWSRequest(method, f"https://{host}{path}", headers=dict(headers), data=body)
    request.headers["X-Amz-Content-SHA256"] = hashlib.sha256(body).hexdigest()
    monkeypatch.setattr("botocore.auth.get_current_datetime", lambda: now.replace(tzinfo=None), raising=False)
    (S3SigV4Auth if service == "s3" else SigV4Auth)(Credentials(*keys), service, "us-east-1").add_auth(request)
    assert ours["authorization"] == request.headers["Authorization"]


def test_the_controller_waits_for_nobody_and_the_nodes_for_its_key() -> None:
    script = (TEMPLATES / "bootstrap.sh").read_text()
    assert "put-parameter" in script
    controller = next(item for item in build(PLACEMENT).of("Instance") if "launchTemplate" not in item)
    assert "EMPORION_ROLE=controller\n" in controller["userData"]
    assert "EMPORION_GPUS=0\n" in controller["userData"]
