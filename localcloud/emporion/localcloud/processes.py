"""Which plugin processes serve the world, and where an Emporion home is."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from emporion.localcloud.world import World

__all__ = ["end_plugins", "forget_plugin", "home_from", "live_plugins", "note_plugin"]


def home_from(environ: Mapping[str, str]) -> Path:
    """Return Emporion's home folder as the environment names it."""
    given = environ.get("EMPORION_HOME")
    if given:
        return Path(given).expanduser().absolute()
    state = environ.get("XDG_STATE_HOME")
    base = Path(state) if state and Path(state).is_absolute() else Path.home() / ".local" / "state"
    return base / "emporion"


def live_plugins(world: World) -> list[int]:
    """Return the process ids of the plugins that run now, sorted."""
    return sorted(pid for pid, born in world.query("SELECT pid, born FROM plugins") if _lives(pid, born))


def note_plugin(world: World, pid: int, provider: str, engine: int) -> None:
    """Note that a process serves a provider plugin, and forget those that were killed."""
    with world.transaction() as connection:
        for old, born in connection.execute("SELECT pid, born FROM plugins").fetchall():
            if not _lives(old, born):
                connection.execute("DELETE FROM plugins WHERE pid = ?", (old,))
        connection.execute("INSERT OR REPLACE INTO plugins VALUES (?, ?, ?, ?)", (pid, _born(pid), provider, engine))


def forget_plugin(world: World, pid: int) -> None:
    """Note that a process is gone."""
    with world.transaction() as connection:
        connection.execute("DELETE FROM plugins WHERE pid = ?", (pid,))


def end_plugins(world: World, wait_s: float = 2.0, sleep: Callable[[float], None] = time.sleep) -> None:
    """Ask the plugin processes to end, and end those that do not."""
    rows: list[tuple[int, str]] = [(pid, born) for pid, born in world.query("SELECT pid, born FROM plugins")]
    for step, number in enumerate((signal.SIGTERM, signal.SIGKILL)):
        alive = [pid for pid, born in rows if _lives(pid, born)]
        for pid in alive:
            _signal(pid, number)
        for _ in range(int(wait_s / 0.05) if alive and step == 0 else 0):
            if not any(_lives(pid, born) for pid, born in rows):
                break
            sleep(0.05)
    for pid, _ in rows:
        forget_plugin(world, pid)


def _signal(pid: int, number: signal.Signals) -> None:
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return


def _lives(pid: int, born: str) -> bool:
    return born != "" and _born(pid) == born


def _born(pid: int) -> str:
    """Return when a process began, to tell it from a later one of the same number; empty when it is gone."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8")
    except OSError:
        return _alive_without_proc(pid)
    state, *fields = text.rpartition(")")[2].split()
    return "" if state == "Z" else fields[18]


def _alive_without_proc(pid: int) -> str:
    """Where there is no /proc (macOS), a live process has no better birth mark than its number."""
    if Path("/proc/self").exists():
        return ""
    try:
        os.kill(pid, 0)
    except OSError:
        return ""
    return str(pid)
