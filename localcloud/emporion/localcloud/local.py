"""The local cloud as a whole: start, stop, status, reset, and which plugin processes serve it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from emporion.localcloud.install import install_stand_ins
from emporion.localcloud.processes import end_plugins, live_plugins
from emporion.localcloud.world import World, world_path
from emporion.market.errors import UserError

__all__ = ["STATUS_SCHEMA", "reset_world", "start_world", "status", "stop_world"]

STATUS_SCHEMA = "emporion.world/1"


def start_world(home: Path, pulumi_home: Path, python: Path) -> dict[str, Any]:
    """Make the world where it is missing, install the stand-in plugins and let them answer; return the status."""
    with World.open(home) as world:
        install_stand_ins(pulumi_home, python)
        world.set_meta("running", "1")
    return status(home)


def stop_world(home: Path) -> dict[str, Any]:
    """Let the stand-ins refuse from now on and end their processes; the world itself stays. Return the status."""
    if world_path(home).exists():
        with World.open(home) as world:
            world.set_meta("running", "0")
            end_plugins(world)
    return status(home)


def reset_world(home: Path) -> dict[str, Any]:
    """Forget everything in the world, a damaged file included, and leave it as running as it was; return the status."""
    path = world_path(home)
    if path.exists():
        try:
            with World.open(home) as world:
                world.reset()
        except UserError as error:
            if error.code != "E-WORLD":
                raise
            for suffix in ("", "-wal", "-shm"):
                path.with_name(path.name + suffix).unlink(missing_ok=True)
            World.open(home).close()
    return status(home)


def status(home: Path) -> dict[str, Any]:
    """Return what the world holds (`emporion.world/1`), also when the local cloud is stopped or was never started."""
    path = world_path(home)
    if not path.exists():
        return _status(path, running=False, resources={}, plugins=[])
    with World.open(home) as world:
        return _status(path, running=world.running, resources=world.counts(), plugins=live_plugins(world))


def _status(path: Path, *, running: bool, resources: Mapping[str, int], plugins: list[int]) -> dict[str, Any]:
    return {
        "schema": STATUS_SCHEMA,
        "world": str(path),
        "running": running,
        "resources": dict(resources),
        "total": sum(resources.values()),
        "plugins": plugins,
    }
