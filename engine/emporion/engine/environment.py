"""The environment in which plain `pulumi` works on Emporion's stacks."""

from __future__ import annotations

import os
import secrets
import shlex
import sys
from collections.abc import Mapping
from pathlib import Path
from tempfile import NamedTemporaryFile

from emporion.engine.errors import disk_errors
from emporion.engine.find import Engine, base_dir

__all__ = ["exports", "home_dir", "pulumi_env"]

_SET = (
    "PATH",
    "PULUMI_HOME",
    "PULUMI_BACKEND_URL",
    "PULUMI_CONFIG_PASSPHRASE_FILE",
    "PULUMI_SKIP_UPDATE_CHECK",
    "PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION",
    "PULUMI_ERROR_OUTPUT_STRING",
    "EMPORION_HOME",
    "EMPORION_WORLD",
    "AWS_REGION",
)
_UNSET = ("PULUMI_CONFIG_PASSPHRASE",)
"""Would win over the passphrase file and lock our stacks."""

_LOCAL_REGION = "us-east-1"
_PRIVATE = 0o700


def home_dir(environ: Mapping[str, str]) -> Path:
    """Return the folder of Emporion's state: EMPORION_HOME, else `${XDG_STATE_HOME:-~/.local/state}/emporion`."""
    chosen = environ.get("EMPORION_HOME", "")
    if chosen:
        return Path(chosen).expanduser().absolute()
    return base_dir(environ, "XDG_STATE_HOME", ".local/state")


def pulumi_env(engine: Engine, home: Path, world: str, environ: Mapping[str, str]) -> dict[str, str]:
    """Return a whole environment, `environ` with what Pulumi needs, in which the engine works on the stacks of a world.

    `world` is `local` or `real`. Makes the folders (0700) and the passphrase file (0600, random, kept when it exists)
    below `home`. Raises: `EngineError` E-ENGINE-DISK: when they cannot be written.
    """
    state, pulumi_home = home / "state", home / "pulumi" / world
    with disk_errors(home):
        for folder in (home, state, pulumi_home.parent, pulumi_home):
            folder.mkdir(mode=_PRIVATE, parents=True, exist_ok=True)
        passphrase = _passphrase_file(home)
    env = {name: value for name, value in environ.items() if name not in _UNSET}
    env |= {
        "PATH": _path(engine, environ),
        "PULUMI_HOME": str(pulumi_home),
        "PULUMI_BACKEND_URL": f"file://{state}",
        "PULUMI_CONFIG_PASSPHRASE_FILE": str(passphrase),
        "PULUMI_SKIP_UPDATE_CHECK": "true",
        "PULUMI_ERROR_OUTPUT_STRING": "true",
        "EMPORION_HOME": str(home),
        "EMPORION_WORLD": world,
    }
    if world == "local":
        # The stand-ins are the only plugins there; looking for others costs 2.5 s per SDK and run.
        env["PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION"] = "true"
        if not env.get("AWS_REGION"):
            env["AWS_REGION"] = env.get("AWS_DEFAULT_REGION") or _LOCAL_REGION
    return env


def exports(env: Mapping[str, str]) -> str:
    """Return POSIX shell lines that set what `pulumi_env` set in `env`, for `eval`; ends with a line feed."""
    lines = [f"unset {name}" for name in _UNSET]
    lines += [f"export {name}={shlex.quote(env[name])}" for name in _SET if name in env]
    return "\n".join(lines) + "\n"


def _path(engine: Engine, environ: Mapping[str, str]) -> str:
    first = [str(engine.bin_dir), str(Path(sys.executable).parent)]
    rest = [entry for entry in environ.get("PATH", os.defpath).split(os.pathsep) if entry not in first]
    return os.pathsep.join([*dict.fromkeys(first), *rest])


def _passphrase_file(home: Path) -> Path:
    path = home / "passphrase"
    if path.exists():
        return path
    with NamedTemporaryFile("w", dir=home, prefix=".passphrase-", encoding="ascii") as draft:  # 0600 by tempfile
        draft.write(secrets.token_urlsafe(32))
        draft.flush()
        os.fsync(draft.fileno())
        try:
            os.link(draft.name, path)  # whole or not at all, and the first of two processes wins
        except FileExistsError:
            return path
    return path
