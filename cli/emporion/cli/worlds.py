"""The environment of a world: an engine, its state, and, locally, the stand-in plugins in place."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from emporion.market.errors import ExitCode, UserError

if TYPE_CHECKING:
    from emporion.engine import Engine

__all__ = ["world_environ"]


def world_environ(world: str, *, report: Callable[[str], None] | None = None) -> tuple[Engine, dict[str, str]]:
    """Return the engine and the whole environment in which `pulumi` works on the stacks of a world.

    `report` takes progress lines while an engine is installed; without it a missing engine is an error.
    Raises: UserError E-ENGINE-…: when there is no engine and none can be had.
    """
    from emporion import engine as room

    try:
        home = room.home_dir(os.environ)
        engine = room.locate(os.environ)
        if engine is None:
            engine = room.install(os.environ, report) if report else room.require(os.environ)
        environ = room.pulumi_env(engine, home, world, os.environ)
    except room.EngineError as error:
        raise UserError(error.code, error.what, error.where, error.fix, ExitCode.FAILED) from error
    if world == "local":
        from emporion.localcloud import install_stand_ins

        install_stand_ins(Path(environ["PULUMI_HOME"]), Path(sys.executable))
    os.environ["EMPORION_HOME"] = str(home)  # the local world is looked for there
    return engine, environ
