"""Put the stand-in plugins where the engine looks for plugins."""

from __future__ import annotations

import os
import tempfile
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from emporion.localcloud.places import rules_of
from emporion.market.clouds import installed_clouds

__all__ = ["install_stand_ins"]

SCRIPT = """\
#!/bin/sh
# Emporion's stand-in for the {plugin} provider plugin: resources live in the local world, not in a cloud.
exec '{python}' -P -m emporion.localcloud.plugin '{rules}' '{version}' "$@"
"""


def install_stand_ins(pulumi_home: Path, python: Path) -> list[Path]:
    """Write the plugin of every installed cloud SDK that has a stand-in into a PULUMI_HOME; return the executables.

    `python` is the interpreter of the environment that holds Emporion and the SDKs. Doing it again changes nothing.
    """
    written: list[Path] = []
    for cloud in installed_clouds().values():
        rules = rules_of(cloud)
        try:
            release = version(rules.distribution)
        except PackageNotFoundError:
            continue  # its extra is not installed
        folder = pulumi_home / "plugins" / f"resource-{rules.plugin}-v{release}"
        path = folder / f"pulumi-resource-{rules.plugin}"
        text = SCRIPT.format(
            plugin=rules.plugin,
            python=str(python).replace("'", "'\\''"),
            rules=cloud.stand_in,
            version=release,
        )
        if not path.is_file() or path.read_text(encoding="utf-8") != text:
            folder.mkdir(parents=True, exist_ok=True)
            _write_executable(path, text)
        written.append(path)
    return written


def _write_executable(path: Path, text: str) -> None:
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=".", suffix=".tmp")
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write(text)
    Path(temporary).chmod(0o755)
    Path(temporary).replace(path)
