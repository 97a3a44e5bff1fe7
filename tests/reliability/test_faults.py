"""What the cloud, the machine and the user can do to `up`: each ends in one clear error, and a rerun goes on."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from desk import EMPORION, Desk

from emporion.localcloud.faults import clear_faults, fail, slow, throttle
from emporion.localcloud.world import World

pytestmark = pytest.mark.engine


def refused(desk: Desk, code: int, *arguments: str) -> str:
    result = desk.run(*arguments)
    assert result.returncode == code, result.stdout + result.stderr
    assert "Traceback" not in result.stderr + result.stdout
    return result.stderr


def test_no_capacity_names_the_clouds_code_and_the_ways_on(desk: Desk) -> None:
    desk.done("local", "capacity", "set", "aws", "us-east-1", "p4d.24xlarge", "1")
    said = refused(desk, 1, "up", "demo.yaml", "--yes")
    assert "InsufficientInstanceCapacity" in said
    assert "--pin demo" in said
    assert "emporion down demo" in said
    desk.done("local", "capacity", "set", "aws", "us-east-1", "p4d.24xlarge", "2")
    desk.done("up", "demo", "--yes")
    assert desk.json("status", "demo")["missing"] == {}


@pytest.mark.parametrize(
    ("code", "says"),
    [
        pytest.param("VcpuLimitExceeded", "E-QUOTA", id="quota"),
        pytest.param("UnauthorizedOperation", "E-PERMISSION", id="permission"),
        pytest.param("SpotMaxPriceTooLow", "E-SPOT-PRICE", id="spot price"),
    ],
)
def test_an_error_code_of_the_cloud_is_told_with_its_fix(desk: Desk, code: str, says: str) -> None:
    with World.open(desk.home) as world:
        fail(world, code, operation="create", token="aws:ec2/instance:Instance")
    said = refused(desk, 1, "up", "demo.yaml", "--yes")
    assert code in said
    assert says in said
    assert "try: " in said
    desk.done("up", "demo", "--yes")


def test_throttling_is_waited_out(desk: Desk) -> None:
    with World.open(desk.home) as world:
        throttle(world, 3)
    desk.done("up", "demo.yaml", "--yes")
    assert desk.json("status", "demo")["missing"] == {}


def test_throttling_without_end_is_an_error(desk: Desk) -> None:
    with World.open(desk.home) as world:
        throttle(world, 0, operation="create", token="aws:ec2/vpc:Vpc")
    assert "E-THROTTLED" in refused(desk, 1, "up", "demo.yaml", "--yes")
    with World.open(desk.home) as world:
        clear_faults(world)
    desk.done("up", "demo", "--yes")


def started(desk: Desk) -> subprocess.Popen[str]:
    """Start an `up` that hangs in the bucket's create for a while, and wait until it is there."""
    with World.open(desk.home) as world:
        slow(world, 4, operation="create", token="aws:s3/bucket:Bucket")
    child = subprocess.Popen(
        [EMPORION, "up", "demo.yaml", "--yes"],
        cwd=desk.project,
        env=desk.environ(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    locks = desk.home / "state" / ".pulumi" / "locks"
    deadline = time.monotonic() + 60
    while not (list(locks.rglob("*.json")) and "aws:s3/bucket:Bucket" in creates_under_way(desk)):
        assert time.monotonic() < deadline, child.communicate(timeout=5)
        time.sleep(0.1)
    return child


def creates_under_way(desk: Desk) -> str:
    return "\n".join(path.read_text() for path in (desk.home / "state").rglob("demo.json") if path.is_file())


def test_control_c_saves_the_state_and_the_rerun_goes_on(desk: Desk) -> None:
    child = started(desk)
    child.send_signal(signal.SIGINT)
    out, err = child.communicate(timeout=120)
    assert child.returncode == 130, err
    assert "E-INTERRUPTED" in err
    assert "Traceback" not in out + err
    assert not list((desk.home / "state" / ".pulumi" / "locks").rglob("*.json"))
    desk.done("up", "demo", "--yes")
    assert desk.json("up", "demo", "--yes")["changed"] == 0


def test_a_second_update_at_the_same_time_is_told_to_wait(desk: Desk) -> None:
    child = started(desk)
    with World.open(desk.home) as world:
        slow(world, 20, operation="create", token="aws:ec2/instance:Instance")
    said = refused(desk, 1, "up", "demo", "--yes")
    assert "E-BUSY" in said
    child.communicate(timeout=200)
    assert child.returncode == 0


def test_the_engines_death_at_our_side_leaves_the_lock_to_a_rerun(desk: Desk) -> None:
    child = started(desk)
    (lock,) = (desk.home / "state" / ".pulumi" / "locks").rglob("*.json")
    os.kill(json.loads(lock.read_text())["pid"], signal.SIGKILL)
    child.communicate(timeout=60)
    assert child.returncode == 1
    desk.done("up", "demo", "--yes")
    assert desk.json("up", "demo", "--yes")["changed"] == 0


def test_two_stacks_at_once_do_not_meet(desk: Desk) -> None:
    other = (desk.project / "demo.yaml").read_text().replace("name: demo", "name: other")
    (desk.project / "other.yaml").write_text(other)
    children = [
        subprocess.Popen(
            [EMPORION, "up", f"{name}.yaml", "--yes"],
            cwd=desk.project,
            env=desk.environ(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        for name in ("demo", "other")
    ]
    for child in children:
        out, _ = child.communicate(timeout=300)
        assert child.returncode == 0, out
    desk.done("down", "demo", "--yes")
    assert desk.json("status", "other")["missing"] == {}


@pytest.mark.skipif(os.geteuid() != 0 or not Path("/proc/mounts").exists(), reason="mounting a small disk needs root")
def test_a_full_disk_is_one_error(new_desk: Callable[[str], Desk]) -> None:
    desk = new_desk("full")
    desk.home.mkdir(exist_ok=True)
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(desk.home)], check=False)
    if mounted.returncode:
        pytest.skip("this machine does not let root mount")
    try:
        with suppress(OSError), (desk.home / "fill").open("wb") as file:
            while True:
                file.write(b"x" * 1024)
                file.flush()
        said = refused(desk, 1, "up", "demo.yaml", "--yes")
        assert "error: " in said
    finally:
        subprocess.run(["umount", str(desk.home)], check=True)
