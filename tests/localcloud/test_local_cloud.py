from __future__ import annotations

import os
import subprocess
import sys
import time
from importlib.metadata import version
from pathlib import Path

import pytest

from emporion.localcloud import World, install_stand_ins, reset_world, start_world, status, stop_world, world_path
from emporion.localcloud.processes import home_from, note_plugin

PYTHON = Path(sys.executable)


def test_a_world_that_was_never_started_has_a_status(home: Path) -> None:
    assert status(home) == {
        "schema": "emporion.world/1",
        "world": str(world_path(home)),
        "running": False,
        "resources": {},
        "total": 0,
        "plugins": [],
    }
    assert not home.exists()


def test_start_makes_the_world_and_the_plugins_and_again_changes_nothing(home: Path) -> None:
    first = start_world(home, home / "pulumi", PYTHON)
    assert first["running"]
    (plugin,) = (home / "pulumi" / "plugins").rglob("pulumi-resource-aws")
    assert plugin.parent.name == f"resource-aws-v{version('pulumi-aws')}"
    assert os.access(plugin, os.X_OK)
    written = plugin.stat().st_mtime_ns
    assert start_world(home, home / "pulumi", PYTHON) == first
    assert plugin.stat().st_mtime_ns == written


def test_what_exists_is_counted_also_when_stopped(home: Path) -> None:
    start_world(home, home / "pulumi", PYTHON)
    with World.open(home) as world:
        for name in ("a", "b"):
            world.insert(provider="aws", scope="", region="", token="aws:t", resource_id=name, inputs={}, outputs={})
    stopped = stop_world(home)
    assert (stopped["running"], stopped["resources"], stopped["total"]) == (False, {"aws:t": 2}, 2)
    assert status(home) == stopped
    assert start_world(home, home / "pulumi", PYTHON)["total"] == 2


def test_reset_forgets_and_leaves_running_what_ran(home: Path) -> None:
    start_world(home, home / "pulumi", PYTHON)
    with World.open(home) as world:
        world.insert(provider="aws", scope="", region="", token="t", resource_id="a", inputs={}, outputs={})
    after = reset_world(home)
    assert (after["running"], after["total"]) == (True, 0)


def test_reset_mends_a_damaged_world(home: Path) -> None:
    world_path(home).parent.mkdir(parents=True)
    world_path(home).write_bytes(b"damaged " * 1000)
    assert reset_world(home)["total"] == 0
    with World.open(home) as world:
        assert world.counts() == {}


def test_stop_ends_the_plugin_processes_and_spares_a_stranger_with_an_old_number(home: Path) -> None:
    start_world(home, home / "pulumi", PYTHON)
    sleep = [sys.executable, "-c", "import time; time.sleep(60)"]
    with subprocess.Popen(sleep) as plugin, subprocess.Popen(sleep) as stranger:
        with World.open(home) as world:
            note_plugin(world, plugin.pid, "aws", os.getpid())
            note_plugin(world, stranger.pid, "aws", os.getpid())
            world.query("SELECT 1")
            with world.transaction() as connection:
                connection.execute("UPDATE plugins SET born = 'earlier' WHERE pid = ?", (stranger.pid,))
        assert status(home)["plugins"] == [plugin.pid]
        assert stop_world(home)["plugins"] == []
        assert plugin.wait(timeout=10) != 0
        time.sleep(0.1)
        assert stranger.poll() is None
        stranger.kill()


def test_a_folder_with_a_quote_in_its_name_is_quoted_in_the_plugin(home: Path, tmp_path: Path) -> None:
    odd = tmp_path / "it's python"
    odd.write_text("#!/bin/sh\nprintf '%s\\n' \"$@\"\n")
    odd.chmod(0o755)
    plugin = install_stand_ins(home / "pulumi", odd)[0]
    said = subprocess.run([plugin, "127.0.0.1:1"], capture_output=True, text=True, check=True).stdout.split()
    assert said[-1] == "127.0.0.1:1"
    assert said[:3] == ["-P", "-m", "emporion.localcloud.plugin"]


def test_processes_that_were_killed_are_forgotten_when_the_next_one_comes(home: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", "pass"]) as gone, World.open(home) as world:
        note_plugin(world, gone.pid, "aws", os.getpid())
        gone.wait(timeout=10)
        note_plugin(world, os.getpid(), "aws", os.getppid())
        assert world.query("SELECT pid FROM plugins") == [(os.getpid(),)]


@pytest.mark.parametrize(
    ("environ", "home"),
    [
        ({"EMPORION_HOME": "/a/b"}, "/a/b"),
        ({"XDG_STATE_HOME": "/state"}, "/state/emporion"),
        ({"EMPORION_HOME": "", "XDG_STATE_HOME": ""}, str(Path.home() / ".local/state/emporion")),
    ],
)
def test_the_home_is_where_the_environment_says(environ: dict[str, str], home: str) -> None:
    assert str(home_from(environ)) == home
