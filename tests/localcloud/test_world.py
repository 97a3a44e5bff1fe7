from __future__ import annotations

import signal
import sqlite3
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from clock import Clock

from emporion.localcloud.capacity import machine_limit
from emporion.localcloud.clock import REAL
from emporion.localcloud.world import World, world_path
from emporion.localcloud.world_file import FIRST
from emporion.market.errors import UserError


def add(world: World, name: str) -> int:
    return world.insert(
        provider="aws", scope="us-east-1", region="us-east-1", token="t", resource_id=name, inputs={"a": 1}, outputs={}
    )


def test_a_new_world_is_empty_runs_and_is_readable_by_its_owner_alone(world: World) -> None:
    assert world.counts() == {}
    assert world.running
    assert stat.S_IMODE(world.path.stat().st_mode) == 0o600
    assert stat.S_IMODE(world.path.parent.stat().st_mode) == 0o700


def test_what_was_added_is_there_after_a_reopening(home: Path, world: World, clock: Clock) -> None:
    add(world, "one")
    with World.open(home, clock) as again:
        (row,) = again.resources()
    assert (row.id, dict(row.inputs), row.created_at) == ("one", {"a": 1}, "2026-12-01T00:00:00.000Z")


def test_a_transaction_that_raises_leaves_nothing(world: World) -> None:
    def both() -> None:
        with world.transaction():
            add(world, "one")
            with world.transaction():
                add(world, "two")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        both()
    assert world.resources() == []


def test_an_id_exists_once_in_its_scope(world: World) -> None:
    add(world, "one")
    with pytest.raises(sqlite3.IntegrityError):
        add(world, "one")
    assert len(world.resources()) == 1


def test_what_something_made_goes_with_it(world: World) -> None:
    seq = add(world, "group")
    world.insert(
        provider="aws", scope="r", region="r", token="machine", resource_id="m", inputs={}, outputs={}, owner=seq
    )
    world.remove(seq)
    assert world.resources() == []


def test_seeds_never_repeat(world: World) -> None:
    seeds = [world.next_seed() for _ in range(20)]
    world.reset()
    assert len({*seeds, *(world.next_seed() for _ in range(20))}) == 40


def test_reset_forgets_everything_and_gives_the_world_another_name(world: World) -> None:
    before = world.name
    add(world, "one")
    world.log_call(provider="aws", region="r", operation="create", token="t", urn="u", resource_id="one", outcome="ok")
    world.reset()
    assert (world.counts(), world.calls()) == ({}, [])
    assert world.name != before
    assert world.meta("world") == world.name


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(b"not a database, but long enough to be taken for one" * 40, id="another file"),
        pytest.param(b"SQLite format 3\0" + b"\xff" * 8000, id="damaged"),
    ],
)
def test_a_file_that_is_no_world_is_one_clear_error(home: Path, content: bytes) -> None:
    world_path(home).parent.mkdir(parents=True)
    world_path(home).write_bytes(content)
    with pytest.raises(UserError, match="the local world is damaged") as refused:
        World.open(home)
    assert refused.value.code == "E-WORLD"
    assert refused.value.where == str(world_path(home))
    assert "emporion local reset" in (refused.value.fix or "")
    assert world_path(home).read_bytes() == content


def test_a_world_of_a_newer_version_is_refused(home: Path) -> None:
    World.open(home).close()
    with sqlite3.connect(world_path(home)) as connection:
        connection.execute("PRAGMA user_version = 99")
    connection.close()
    with pytest.raises(UserError, match="has schema 99, this version reads"):
        World.open(home)


def test_a_world_of_an_older_version_is_brought_up_and_keeps_what_it_holds(home: Path) -> None:
    path = world_path(home)
    path.parent.mkdir(parents=True)
    with sqlite3.connect(path) as old:
        old.executescript(FIRST)
        old.execute("INSERT INTO meta VALUES ('world', 'before')")
        old.execute("INSERT INTO capacity VALUES ('aws', 'us-east-1', '*', 'p5.48xlarge', 2)")
        old.execute("PRAGMA user_version = 1")
    old.close()
    with World.open(home) as world, World.open(home.with_name("new")) as new:
        assert (world.name, world.running, world.virtual_clock()) == ("before", True, REAL)
        assert machine_limit(world, "aws", "us-east-1", ("a", "b"), "p5.48xlarge") == (2, "*")
        tables = "SELECT name, sql FROM sqlite_master ORDER BY name"
        assert world.query(tables) == new.query(tables)


def test_an_older_world_that_cannot_be_brought_up_stays_as_it_was(home: Path) -> None:
    path = world_path(home)
    path.parent.mkdir(parents=True)
    with sqlite3.connect(path) as old:
        old.execute("PRAGMA user_version = 1")  # it has no tables
    old.close()
    with pytest.raises(UserError) as refused:
        World.open(home)
    assert (refused.value.code, refused.value.where) == ("E-WORLD", str(path))
    with sqlite3.connect(path) as old:
        assert old.execute("PRAGMA user_version").fetchone() == (1,)
    old.close()


def test_a_place_that_cannot_be_written_is_one_clear_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError) as refused:
        World.open(tmp_path / "file" / "home")
    assert refused.value.code == "E-DISK"


def test_a_full_disk_is_one_clear_error_and_leaves_the_world_whole(world: World) -> None:
    add(world, "one")
    with world.transaction() as connection:
        (pages,) = connection.execute("PRAGMA page_count").fetchone()
    world.query(f"PRAGMA max_page_count = {pages}")

    def fill() -> None:
        with world.transaction():
            for number in range(2000):
                add(world, f"more-{number}")

    with pytest.raises(UserError, match="full") as refused:
        fill()
    assert refused.value.code == "E-DISK"
    assert [row.id for row in world.resources()] == ["one"]


ADDS = """
import os, sys
from pathlib import Path
from emporion.localcloud.world import World
with World.open(Path(sys.argv[1])) as world:
    for number in range(10):
        world.insert(
            provider="aws", scope="", region="", token="t", resource_id=f"{os.getpid()}-{number}", inputs={}, outputs={}
        )
    print(world.name)
"""


def test_processes_that_open_a_new_world_at_once_share_one_and_lose_nothing(home: Path) -> None:
    children = [
        subprocess.Popen([sys.executable, "-c", ADDS, str(home)], stdout=subprocess.PIPE, text=True) for _ in range(4)
    ]
    names = {child.communicate(timeout=60)[0] for child in children}
    assert [child.returncode for child in children] == [0] * 4
    assert len(names) == 1
    with World.open(home) as world:
        assert world.counts() == {"t": 40}


KILLED = """
import sys, time
from pathlib import Path
from emporion.localcloud.world import World
world = World.open(Path(sys.argv[1]))
def add(name):
    world.insert(provider="aws", scope="r", region="r", token="t", resource_id=name, inputs={}, outputs={})
add("kept")
with world.transaction():
    for number in range(100):
        add(f"half-{number}")
    print("in the middle", flush=True)
    time.sleep(60)
"""


def test_a_process_killed_in_the_middle_of_a_write_leaves_the_world_whole(home: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", KILLED, str(home)], stdout=subprocess.PIPE) as child:
        assert child.stdout
        child.stdout.readline()
        child.send_signal(signal.SIGKILL)
    with World.open(home) as world:
        assert [row.id for row in world.resources()] == ["kept"]
        assert world.query("PRAGMA integrity_check") == [("ok",)]
        add(world, "goes on")
