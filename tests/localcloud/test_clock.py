from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from clock import Clock
from hypothesis import given
from hypothesis import strategies as st

from emporion.localcloud.clock import REAL, Mode, VirtualClock
from emporion.localcloud.time_control import clock_status, follow_real, move_to, read_moment, set_rate, step, wait
from emporion.localcloud.world import World
from emporion.market.errors import UserError


def test_a_new_world_goes_by_this_machines_clock(world: World, clock: Clock) -> None:
    assert (world.time_s(), world.virtual_clock().mode) == (clock.seconds, Mode.REAL)
    clock.sleep(5)
    assert world.now() == "2026-12-01T00:00:05.000Z"


def test_an_accelerated_clock_goes_at_its_rate_from_where_it_was(world: World, clock: Clock) -> None:
    clock.sleep(10)
    set_rate(world, 60)
    assert world.now() == "2026-12-01T00:00:10.000Z"
    clock.sleep(2)
    assert world.now() == "2026-12-01T00:02:10.000Z"
    set_rate(world, 1)
    clock.sleep(1)
    assert world.now() == "2026-12-01T00:02:11.000Z"
    assert clock_status(world) == {
        "schema": "emporion.clock/1",
        "now": "2026-12-01T00:02:11.000Z",
        "mode": "accelerated",
        "rate": 1.0,
        "ahead_s": 118.0,
    }


def test_a_stepped_clock_stands_still_until_it_is_stepped(world: World, clock: Clock) -> None:
    set_rate(world, 0)
    clock.sleep(3600)
    assert world.now() == "2026-12-01T00:00:00.000Z"
    step(world, 90)
    assert (world.now(), world.virtual_clock().mode) == ("2026-12-01T00:01:30.000Z", Mode.STEPPED)


def test_a_step_of_a_running_clock_moves_it_and_it_runs_on(world: World, clock: Clock) -> None:
    step(world, 600)
    clock.sleep(1)
    assert world.now() == "2026-12-01T00:10:01.000Z"


def test_what_one_process_sets_another_one_sees(home: Path, world: World) -> None:
    move_to(world, read_moment("2027-01-01T00:00:00Z"))
    set_rate(world, 0)
    code = "import sys; from pathlib import Path; from emporion.localcloud.world import World; "
    code += "print(World.open(Path(sys.argv[1])).now())"
    told = subprocess.run([sys.executable, "-c", code, str(home)], capture_output=True, text=True, check=True)
    assert told.stdout.strip() == "2027-01-01T00:00:00.000Z"


def test_time_only_goes_forward(world: World) -> None:
    with pytest.raises(UserError, match=r"2026-11-30T00:00:00.000Z is past: .* it only goes forward"):
        move_to(world, read_moment("2026-11-30"))
    with pytest.raises(UserError, match="is past"):
        step(world, -1)
    step(world, 60)
    with pytest.raises(UserError, match=r"60 s ahead of this machine's") as refused:
        follow_real(world)
    assert "clock rate 1" in (refused.value.fix or "")


def test_a_world_that_fell_behind_can_follow_this_machine_again(world: World, clock: Clock) -> None:
    set_rate(world, 0)
    clock.sleep(60)
    follow_real(world)
    assert (world.virtual_clock(), world.time_s()) == (REAL, clock.seconds)


def test_this_machines_clock_set_back_does_not_set_the_world_back(world: World, clock: Clock) -> None:
    set_rate(world, 2)
    clock.seconds -= 3600
    assert world.now() == "2026-12-01T00:00:00.000Z"


def test_reset_gives_the_world_this_machines_clock(world: World) -> None:
    step(world, 3600)
    world.reset()
    assert world.virtual_clock() == REAL


@pytest.mark.parametrize("rate", [-1.0, float("nan"), float("inf"), 2e6])
def test_a_rate_that_cannot_be_is_refused(world: World, rate: float) -> None:
    with pytest.raises(UserError, match="the world's time cannot go at"):
        set_rate(world, rate)


@pytest.mark.parametrize("moment", ["tomorrow", "", "12:00", "2026-13-01"])
def test_what_is_no_moment_is_refused(moment: str) -> None:
    with pytest.raises(UserError, match="is not a moment"):
        read_moment(moment)


def test_a_moment_after_the_year_3000_is_refused(world: World) -> None:
    with pytest.raises(UserError, match="the year 3000"):
        move_to(world, read_moment("3001-01-01"))


@pytest.mark.parametrize(
    ("rate", "slept_s"), [pytest.param(1, 30.0, id="real"), pytest.param(60, 0.5, id="a minute a second")]
)
def test_waiting_takes_the_worlds_time(world: World, clock: Clock, rate: float, slept_s: float) -> None:
    set_rate(world, rate)
    wait(world, 30, clock.sleep)
    assert clock.slept_s == slept_s
    assert world.now() == "2026-12-01T00:00:30.000Z"


def test_where_time_stands_still_waiting_moves_it_and_takes_none(world: World, clock: Clock) -> None:
    set_rate(world, 0)
    wait(world, 30, clock.sleep)
    assert (clock.slept_s, world.now()) == (0, "2026-12-01T00:00:30.000Z")


rates = st.floats(0, 1000)
reals = st.floats(0, 2e9)


@given(reals, reals, rates, rates, st.floats(0, 1e6))
def test_a_clock_never_jumps_when_its_rate_changes(
    start_s: float, world_s: float, before: float, after: float, later_s: float
) -> None:
    clock = VirtualClock(before, start_s, world_s)
    now_s = start_s + later_s
    changed = clock.moved(now_s, clock.at(now_s), after)
    assert changed.at(now_s) == clock.at(now_s)
    assert changed.at(now_s + 1) >= clock.at(now_s)
    assert VirtualClock.of(changed.text()) == changed
