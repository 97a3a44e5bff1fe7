"""The local cloud: a world in one SQLite file under stand-in provider plugins, which the real engine talks to."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from emporion.localcloud.install import install_stand_ins
    from emporion.localcloud.local import reset_world, start_world, status, stop_world
    from emporion.localcloud.world import World, world_path

__all__ = ["World", "install_stand_ins", "reset_world", "start_world", "status", "stop_world", "world_path"]

_HOMES = {"World": "world", "world_path": "world", "install_stand_ins": "install"}


def __getattr__(name: str) -> object:
    """Return a public name, its module imported at first use: a plugin process starts within every preview."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module  # noqa: PLC0415 - start-up

    found: object = getattr(import_module(f"{__name__}.{_HOMES.get(name, 'local')}"), name)
    return found
