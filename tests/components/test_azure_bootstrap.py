"""What Azure's nodes run at their first boot."""

from __future__ import annotations

import base64
import hashlib
import importlib.util
import json
import shutil
import struct
import subprocess
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from types import ModuleType

import pytest

from emporion.components.azure.bootstrap import CUSTOM_DATA_LIMIT, NodeFacts, render
from emporion.components.azure.machine import NOBODYS_KEY

TEMPLATES = Path(str(files("emporion.components.azure").joinpath("templates")))
FACTS = NodeFacts(
    role="node", stack="shop/dev", pool="gpu-0", region="eastus",
    identity="/subscriptions/s/resourceGroups/g/providers/Microsoft.ManagedIdentity/userAssignedIdentities/node",
    checkpoint_uri="https://em0.blob.core.windows.net/checkpoints", scheduler="slurm", controller_ip="10.0.0.10",
    vault="em-1", secret="munge", gpus=8, infiniband=True, nvme=True,
)  # fmt: skip


def module(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, TEMPLATES / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    return loaded


def test_custom_data_fits_with_room_for_the_longest_names() -> None:
    longest = replace(FACTS, stack="p" * 100 + "/" + "s" * 100, pool="gpu-99-" + "x" * 50, identity="/" + "i" * 500)
    assert len(render(longest).encode()) <= CUSTOM_DATA_LIMIT
    assert CUSTOM_DATA_LIMIT == 65_535


def test_custom_data_that_would_not_fit_is_not_handed_over() -> None:
    with pytest.raises(ValueError, match="Azure takes 65535"):
        render(replace(FACTS, checkpoint_uri="x" * CUSTOM_DATA_LIMIT))


@pytest.mark.parametrize("role", ["node", "controller"])
def test_custom_data_is_a_script_that_bash_reads(tmp_path: Path, role: str) -> None:
    script = tmp_path / "custom_data.sh"
    script.write_text(render(replace(FACTS, role=role)))
    assert script.read_text().startswith("#!/bin/bash\n")
    subprocess.run(["bash", "-n", str(script)], check=True)


@pytest.mark.skipif(shutil.which("shellcheck") is None, reason="shellcheck is not installed")
def test_the_scripts_pass_shellcheck(tmp_path: Path) -> None:
    script = tmp_path / "custom_data.sh"
    script.write_text(render(FACTS))
    for path in (script, TEMPLATES / "bootstrap.sh"):
        found = subprocess.run(["shellcheck", str(path)], capture_output=True, text=True, check=False)
        assert found.returncode == 0, found.stdout


def test_settings_are_quoted_for_the_shell(tmp_path: Path) -> None:
    text = render(replace(FACTS, stack='a\'b $(touch /tmp/x) "c"'))
    (settings,) = [part.partition("\nEMPORION_SETTINGS\n")[0] for part in text.split("<<'EMPORION_SETTINGS'\n")[1:]]
    file = tmp_path / "node.env"
    file.write_text(settings)
    read = subprocess.run(
        ["bash", "-c", f'source {file}; printf %s "$EMPORION_STACK"'], capture_output=True, text=True, check=True
    )
    assert read.stdout == 'a\'b $(touch /tmp/x) "c"'


def test_every_setting_that_the_script_reads_is_given() -> None:
    import re  # noqa: PLC0415 - this test alone

    script = (TEMPLATES / "bootstrap.sh").read_text()
    used = set(re.findall(r"\bEMPORION_[A-Z_]+\b", script))
    given = {line.partition("=")[0] for line in render(FACTS).splitlines() if line.startswith("EMPORION_")}
    assert used <= given
    assert given - used <= {"EMPORION_REGION", "EMPORION_SETTINGS", "EMPORION_CLIENT", "EMPORION_EVENTS",
                            "EMPORION_SCRIPT"}  # fmt: skip


def test_nobody_holds_the_key_of_the_machines() -> None:
    kind, _, rest = NOBODYS_KEY.partition(" ")
    data = base64.b64decode(rest.split()[0])
    assert kind == "ssh-ed25519"
    point = hashlib.sha256(b"emporion/nobody/0").digest()
    assert data == struct.pack(">I", 11) + b"ssh-ed25519" + struct.pack(">I", 32) + point
    prime = 2**255 - 19
    y = int.from_bytes(point, "little") & (2**255 - 1)
    d = -121665 * pow(121666, -1, prime)
    square = (y * y - 1) * pow(d * y * y + 1, -1, prime) % prime
    assert y < prime
    assert pow(square, (prime - 1) // 2, prime) == 1, "not a point of the curve"


@pytest.mark.parametrize(
    ("kind", "names", "ends"),
    [
        ("Preempt", ["set_0"], True),
        ("Terminate", ["set_0", "set_1"], True),
        ("Preempt", ["set_1"], False),
        ("Reboot", ["set_0"], False),
    ],
)
def test_only_an_event_that_ends_this_machine_counts(kind: str, names: list[str], *, ends: bool) -> None:
    event = {"EventId": "1", "EventType": kind, "Resources": names, "NotBefore": "Mon, 01 Dec 2026 08:00:00 GMT"}
    found = module("scheduled_events").ending({"Events": [event]}, "set_0")
    assert (found == event) is ends
    assert module("scheduled_events").ending({}, "set_0") is None


def test_a_notice_is_left_for_the_jobs_and_the_node_is_drained(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    events = module("scheduled_events")
    scontrol, asked = tmp_path / "scontrol", tmp_path / "asked"
    scontrol.write_text(f'#!/bin/sh\necho "$@" > {asked}\n')
    scontrol.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.setattr(events, "NOTICE", tmp_path / "run" / "interruption.json")
    events.leave({"EventId": "1", "EventType": "Preempt", "NotBefore": "soon"})
    assert json.loads((tmp_path / "run" / "interruption.json").read_text()) == {
        "kind": "Preempt", "at": "soon", "id": "1"
    }  # fmt: skip
    assert "State=DRAIN Reason=azure-preempt" in asked.read_text()


def test_a_secret_is_asked_for_at_its_own_vault() -> None:
    assert module("azure_client").secret_url("em-1", "munge") == (
        "https://em-1.vault.azure.net/secrets/munge?api-version=7.4"
    )
