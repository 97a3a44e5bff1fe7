"""`python -m emporion.localcloud.plugin RULES VERSION [ENGINE]`: serve one provider plugin until the engine ends."""

from __future__ import annotations

import importlib.util
import os
import sys
from importlib import import_module
from pathlib import Path

from emporion.localcloud.plugin.calls import Caller, kill_process
from emporion.localcloud.plugin.provider import Provider
from emporion.localcloud.plugin.schema import Schemas
from emporion.localcloud.plugin.server import RefusingServicer, Servicer, start_server
from emporion.localcloud.plugin.watch import leave_with
from emporion.localcloud.processes import forget_plugin, home_from, note_plugin
from emporion.localcloud.world import World
from emporion.market.errors import UserError
from emporion.market.stand_in import StandIn


def main(arguments: list[str]) -> int:
    """Serve and return the exit code. Standard output carries the port and nothing else."""
    rules_at, version = arguments[0], arguments[1]
    engine = os.getppid()
    module, _, attribute = rules_at.partition(":")
    rules: StandIn = getattr(import_module(module), attribute)
    world, servicer = _servicer(rules, version, engine)
    server, port = start_server(servicer)
    leave_with(engine, lambda: os._exit(0))
    sys.stdout.write(f"{port}\n")
    sys.stdout.flush()
    try:
        if world:
            note_plugin(world, os.getpid(), rules.plugin, engine)
        server.wait_for_termination()
    finally:
        if world:
            forget_plugin(world, os.getpid())
    return 0


def _servicer(rules: StandIn, version: str, engine: int) -> tuple[World | None, Servicer | RefusingServicer]:
    try:
        world = World.open(home_from(os.environ))
    except UserError as error:
        return None, RefusingServicer(error, version)
    schemas = Schemas(_package(rules.sdk), version, _cache_folder(), _botocore)
    return world, Servicer(Provider(Caller(world, rules, kill_process(engine)), schemas), version)


def _package(name: str) -> Path:
    spec = importlib.util.find_spec(name)
    if spec is None or not spec.submodule_search_locations:
        message = f"{name} is not installed beside the stand-in"
        raise ModuleNotFoundError(message, name=name)
    return Path(spec.submodule_search_locations[0])


def _botocore() -> Path | None:
    spec = importlib.util.find_spec("botocore")
    return Path(spec.submodule_search_locations[0]) if spec and spec.submodule_search_locations else None


def _cache_folder() -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(base) / "emporion"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
