"""`emporion init`: a user's own project."""

from __future__ import annotations

import os
import re
import tempfile
from contextlib import suppress
from importlib.resources import files
from pathlib import Path

import click

from emporion.cli.options import json_option
from emporion.cli.render import json_out
from emporion.market.errors import UserError

__all__ = ["init"]

_TEMPLATES = {
    "Pulumi.yaml": "Pulumi.yaml.txt",
    "__main__.py": "__main__.py.txt",
    "intents/demo.yaml": "intents/demo.yaml",
    ".gitignore": "gitignore.txt",
}
_NAME_LIMIT = 50
"""A project's name stands in tags and in the names of resources; Pulumi itself allows 100 characters."""


@click.command(short_help="Make a project: program, settings and an example intent.")
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@json_option
def init(folder: Path, *, as_json: bool) -> None:
    """Make a project in DIR: Pulumi.yaml, a program of five lines, an example intent and a .gitignore.

    Existing files are never overwritten: when one is in the way, nothing is written.
    """
    name = project_name(folder)
    write_project(folder, {path: _text(source, name) for path, source in _TEMPLATES.items()})
    if as_json:
        json_out("emporion.init/1", {"directory": str(folder.resolve()), "name": name, "files": sorted(_TEMPLATES)})
        return
    click.echo(f"made project {name!r} in {folder}: {', '.join(_TEMPLATES)}")
    click.echo(f"next: cd {folder} && emporion plan intents/demo.yaml")


def project_name(folder: Path) -> str:
    """Return the name of a project in `folder`: the folder's own, in the characters that Pulumi allows."""
    plain = re.sub(r"[^A-Za-z0-9_.-]+", "-", folder.resolve().name).strip("-.")
    return plain[:_NAME_LIMIT] or "gpu-cluster"


def write_project(folder: Path, texts: dict[str, str]) -> None:
    """Write all files into `folder`, or none.

    Raises: UserError E-EXISTS: when a file or something that is not a folder is in the way.
    """
    if folder.exists() and not folder.is_dir():
        raise UserError("E-EXISTS", f"{folder} is a file", "init DIR", "name a folder, a new one or one of yours")
    taken = [name for name in texts if (folder / name).exists() or (folder / name).is_symlink()]
    if taken:
        raise _taken(folder, taken)
    made = _missing_folders(folder, texts)
    written: list[Path] = []
    try:
        for path in made:
            path.mkdir()
        with tempfile.TemporaryDirectory(dir=folder, prefix=".emporion-") as draft:
            for number, (name, text) in enumerate(texts.items()):
                whole = Path(draft) / str(number)
                whole.write_text(text, encoding="utf-8")
                whole.chmod(0o644)
                os.link(whole, folder / name)  # fails when someone else made the file meanwhile
                written.append(folder / name)
    except BaseException as error:
        for path in written:
            path.unlink(missing_ok=True)
        for path in reversed(made):
            with suppress(OSError):  # not there yet, or someone else's file lies in it
                path.rmdir()
        if isinstance(error, FileExistsError):
            raise _taken(folder, [Path(error.filename2 or error.filename or folder).name]) from error
        raise


def _taken(folder: Path, names: list[str]) -> UserError:
    return UserError(
        "E-EXISTS",
        f"{folder} already has {', '.join(names)}; nothing was written",
        "init DIR",
        "name another folder, or move these away",
    )


def _missing_folders(folder: Path, texts: dict[str, str]) -> list[Path]:
    """Return the folders that have to be made, outer ones first."""
    needed = {folder, *((folder / name).parent for name in texts)}
    missing = {parent for path in needed for parent in (path, *path.parents) if not parent.exists()}
    return sorted(missing, key=lambda path: len(path.parts))


def _text(source: str, name: str) -> str:
    text = files("emporion.cli").joinpath("template", source).read_text(encoding="utf-8")
    return text.replace("{name}", name)
