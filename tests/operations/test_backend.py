"""State files that were cut short, and locks of engines that died."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from fake_pulumi import deploy

from emporion.market.clouds import CloudApi
from emporion.market.errors import ExitCode, UserError
from emporion.operations.backend import is_locked_by_the_dead, mend_torn_files
from emporion.operations.pulumi import Pulumi
from emporion.operations.recovery import recover


def stored(pulumi: Pulumi, state: str, copy: str, attributes: str = "{}") -> Path:
    folder = pulumi.project.directory / "backend" / ".pulumi" / "stacks" / "shop"
    folder.mkdir(parents=True)
    (folder / "dev.json").write_text(state)
    (folder / "dev.json.bak").write_text(copy)
    (folder / "dev.json.attrs").write_text(attributes)
    return folder


@pytest.mark.parametrize("torn", ["", '{"version": 3, "chec'], ids=["empty", "cut short"])
def test_a_torn_state_is_restored_from_the_copy_before_it(pulumi: Pulumi, torn: str) -> None:
    folder = stored(pulumi, torn, '{"version": 3}')
    assert mend_torn_files(pulumi, "dev")
    assert (folder / "dev.json").read_text() == '{"version": 3}'
    assert not mend_torn_files(pulumi, "dev")


def test_torn_attributes_are_dropped_and_the_state_is_kept(pulumi: Pulumi) -> None:
    folder = stored(pulumi, '{"version": 3}', "{}", attributes="")
    assert mend_torn_files(pulumi, "dev")
    assert (folder / "dev.json").read_text() == '{"version": 3}'
    assert not (folder / "dev.json.attrs").exists()


def test_a_state_without_a_readable_copy_is_an_error_that_names_the_checkpoints(pulumi: Pulumi) -> None:
    stored(pulumi, "", "")
    with pytest.raises(UserError, match="damaged and so is its copy") as error:
        mend_torn_files(pulumi, "dev")
    assert "history" in str(error.value.fix)


def lock(pulumi: Pulumi, text: str) -> Path:
    folder = pulumi.project.directory / "backend" / ".pulumi" / "locks" / "organization" / "shop" / "dev"
    folder.mkdir(parents=True)
    path = folder / "1.json"
    path.write_text(text)
    return path


def written(pid: int, host: str) -> str:
    return json.dumps({"pid": pid, "username": "me", "hostname": host, "timestamp": "2026-12-01T00:00:00Z"})


def nowhere(plugin: str, region: str) -> CloudApi:
    raise AssertionError((plugin, region))


def dead_pid() -> int:
    child = subprocess.Popen(["true"])
    child.wait()
    return child.pid


@pytest.mark.parametrize("torn", [False, True], ids=["dead engine", "torn lock file"])
def test_the_lock_of_a_dead_engine_is_removed(pulumi: Pulumi, torn: bool) -> None:
    path = lock(pulumi, '{"pid": 1' if torn else written(dead_pid(), socket.gethostname()))
    deploy(pulumi, [], [])
    recovered = recover(pulumi, "dev", 0, nowhere, lambda _line: None)
    assert recovered.lock_removed
    assert not path.exists()


def test_a_reused_process_id_is_not_an_engine(pulumi: Pulumi) -> None:
    lock(pulumi, written(os.getpid(), socket.gethostname()))
    assert is_locked_by_the_dead(pulumi, "dev")


def test_the_lock_of_another_host_is_never_removed(pulumi: Pulumi) -> None:
    path = lock(pulumi, written(dead_pid(), "elsewhere"))
    with pytest.raises(UserError, match="being updated by process") as error:
        is_locked_by_the_dead(pulumi, "dev")
    assert (error.value.code, error.value.exit_code) == ("E-BUSY", ExitCode.FAILED)
    assert path.exists()


def test_a_living_engine_is_waited_for_and_then_named(pulumi: Pulumi, tmp_path: Path) -> None:
    engine = tmp_path / "pulumi-sleep"
    engine.write_text(f"#!{sys.executable}\nimport sys\nsys.stdin.read()\n")
    engine.chmod(0o755)
    with subprocess.Popen([str(engine)], stdin=subprocess.PIPE) as child:
        path = lock(pulumi, written(child.pid, socket.gethostname()))
        threading.Event().wait(0.2)  # until the script's name is the process's
        waits: list[float] = []
        with pytest.raises(UserError, match=f"process {child.pid}"):
            is_locked_by_the_dead(pulumi, "dev", waits.append)
        assert waits == [1.0, 2.0, 4.0]
        assert path.exists()
        child.kill()


def test_a_lock_that_goes_away_while_waiting_is_no_error(pulumi: Pulumi, tmp_path: Path) -> None:
    engine = tmp_path / "pulumi-sleep"
    engine.write_text(f"#!{sys.executable}\nimport sys\nsys.stdin.read()\n")
    engine.chmod(0o755)
    with subprocess.Popen([str(engine)], stdin=subprocess.PIPE) as child:
        path = lock(pulumi, written(child.pid, socket.gethostname()))
        threading.Event().wait(0.2)
        assert not is_locked_by_the_dead(pulumi, "dev", lambda _s: path.unlink())
        child.kill()
