"""A Pulumi project on disk and the configuration of its stacks."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from emporion.market.errors import UserError, did_you_mean
from emporion.market.pin import PinnedPlacement

__all__ = ["Project", "StackConfig", "find_project"]

STACK_NAME = re.compile(r"[A-Za-z0-9_.-]{1,100}")
WORLDS = ("local", "real")


@dataclass(frozen=True, slots=True)
class StackConfig:
    """The part of `Pulumi.<stack>.yaml` that is Emporion's."""

    placement: Any
    """JSON form of the pinned placement; None: nothing pinned."""
    world: str | None
    generation: int

    def pinned(self, path: Path) -> PinnedPlacement | None:
        """Return the pinned placement, None when there is none. Raises: UserError E-PIN: when it cannot be read."""
        return None if self.placement is None else PinnedPlacement.from_json(self.placement, where=str(path))


@dataclass(frozen=True, slots=True)
class Project:
    """The nearest Pulumi.yaml."""

    directory: Path
    name: str
    config_dir: Path

    def config_path(self, stack: str) -> Path:
        """Return where the configuration of `stack` lies."""
        return self.config_dir / f"Pulumi.{stack}.yaml"

    def stacks(self) -> list[str]:
        """Return the stacks that have a configuration here, sorted."""
        return sorted(path.name[len("Pulumi.") : -len(".yaml")] for path in self.config_dir.glob("Pulumi.?*.yaml"))

    def read(self, stack: str) -> StackConfig | None:
        """Return the configuration of `stack`, None when it has none.

        Raises: UserError E-CONFIG: when the file is not what Pulumi writes.
        """
        document = self._document(stack)
        if document is None:
            return None
        config = document.get("config") or {}
        world = config.get("emporion:world")
        if world is not None and world not in WORLDS:
            raise UserError(
                "E-CONFIG",
                f"emporion:world is {world!r}, allowed: {', '.join(WORLDS)}",
                str(self.config_path(stack)),
                f"pulumi config set emporion:world local -s {stack}",
            )
        generation = str(config.get("emporion:generation", "0"))
        if not generation.isdecimal():
            raise UserError(
                "E-CONFIG",
                f"emporion:generation is {generation!r}, it is a whole number",
                str(self.config_path(stack)),
                "emporion recover raises it; set it back to the number it had",
            )
        return StackConfig(config.get("emporion:placement"), world, int(generation))

    def write(self, stack: str, values: Mapping[str, Any]) -> None:
        """Set configuration keys of `stack`, all or none; other keys stay as they are."""
        document = self._document(stack) or {}
        document["config"] = {**(document.get("config") or {}), **values}
        path = self.config_path(stack)
        path.parent.mkdir(parents=True, exist_ok=True)
        self._replace(path, yaml.safe_dump(document, sort_keys=False, allow_unicode=True, width=160))

    def _replace(self, path: Path, text: str) -> None:
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=".Pulumi.", suffix=".tmp")
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                file.write(text)
            Path(temporary).replace(path)
        except OSError as error:
            Path(temporary).unlink(missing_ok=True)
            raise UserError(
                "E-WRITE",
                f"{path.name} cannot be written: {error.strerror}",
                str(path),
                "free space or mend permissions",
            ) from error

    @contextmanager
    def on_trial(self, stack: str) -> Iterator[None]:
        """Put the configuration of `stack` back as it was when the block raises."""
        path = self.config_path(stack)
        before = path.read_bytes() if path.is_file() else None
        try:
            yield
        except BaseException:
            if before is None:
                path.unlink(missing_ok=True)
            elif path.read_bytes() != before:
                self._replace(path, before.decode())
            raise

    def _document(self, stack: str) -> dict[str, Any] | None:
        path = self.config_path(stack)
        try:
            document = yaml.safe_load(path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return None
        except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
            raise UserError(
                "E-CONFIG",
                f"{path.name} cannot be read: {str(error).splitlines()[0]}",
                str(path),
                "restore it from version control, or remove it and pin again",
            ) from error
        if document is None:
            return {}
        if not isinstance(document, dict) or not isinstance(document.get("config") or {}, dict):
            raise UserError(
                "E-CONFIG", f"{path.name} is not a stack configuration", str(path), "restore it, or pin again"
            )
        return document

    def check_stack_name(self, stack: str) -> None:
        """Raise UserError E-STACK when `stack` cannot be the name of a stack."""
        if not STACK_NAME.fullmatch(stack):
            raise UserError(
                "E-STACK",
                f"{stack!r} cannot be a stack's name: 1 to 100 letters, digits, '-', '_' and '.'",
                "STACK",
                "choose another name",
            )

    def require(self, stack: str) -> StackConfig:
        """Return the configuration of an existing stack. Raises: UserError E-STACK: when there is none of that name."""
        self.check_stack_name(stack)
        config = self.read(stack)
        if config is None:
            near = did_you_mean(stack, self.stacks())
            known = ", ".join(self.stacks()) or "none yet"
            raise UserError(
                "E-STACK",
                f"there is no stack {stack!r} in {self.directory.name or self.name}; stacks: {known}",
                str(self.directory / "Pulumi.yaml"),
                f"did you mean {near!r}?" if near else "emporion up INTENT.yaml makes one",
            )
        return config


def find_project(start: Path, *, explicit: bool = False) -> Project:
    """Return the project of the nearest Pulumi.yaml at or above `start`; only `start` itself when `explicit`.

    Raises: UserError E-PROJECT: when there is none, or it cannot be read.
    """
    start = start.resolve()
    for folder in (start,) if explicit else (start, *start.parents):
        path = folder / "Pulumi.yaml"
        if path.is_file():
            return _read_project(path)
    if explicit and not start.exists():
        raise UserError("E-PROJECT", f"{start} does not exist", "--project", "emporion init DIR makes a project")
    raise UserError(
        "E-PROJECT",
        f"there is no Pulumi.yaml in {start}" + ("" if explicit else " or above it"),
        "--project",
        "emporion init DIR makes a project, --project DIR names one",
    )


def _read_project(path: Path) -> Project:
    try:
        document = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise UserError(
            "E-PROJECT", f"Pulumi.yaml cannot be read: {str(error).splitlines()[0]}", str(path), "mend or restore it"
        ) from error
    if not isinstance(document, dict) or not isinstance(document.get("name"), str):
        raise UserError("E-PROJECT", "Pulumi.yaml has no name", str(path), "add `name: my-project`")
    config_dir = path.parent / str(document.get("stackConfigDir") or "")
    return Project(path.parent, document["name"], config_dir)
