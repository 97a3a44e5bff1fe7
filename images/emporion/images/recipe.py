"""A recipe: what an image is for and what it holds, read from a YAML file and from flags."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

import yaml

from emporion.images.tables import rows
from emporion.market.errors import UserError, UserErrors, did_you_mean
from emporion.market.gpu_names import without_count
from emporion.market.units import shown

__all__ = ["KEYS", "Recipe", "clouds", "load_recipe", "recipe_of"]

_BASE = re.compile(r"[a-z0-9./_:-]+@sha256:[0-9a-f]{64}")
_PIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*(\[[A-Za-z0-9,._-]+\])?==[A-Za-z0-9.+!_-]+")
_APT = re.compile(r"[a-z0-9][a-z0-9+.-]+")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_SECRET = re.compile(r"(^|_)(secret|passwo?r?d|token|(api|access|private)_?key|credentials?)(_|$)", re.IGNORECASE)
_TORCH_FAMILY = frozenset({"torch", "triton", "flash-attn"})
"""What the framework layer chooses: another version beside it breaks the binary interface."""


@dataclass(frozen=True, slots=True)
class Recipe:
    """What an image is for; texts as people write them, None is left to the solver."""

    gpu: str
    cloud: str
    framework: str = "pytorch"
    """`pytorch`, or `none` for an image without one."""
    pytorch: str | None = None
    cuda: str | None = None
    python: str | None = None
    ops: tuple[str, ...] = ()
    driver: str | None = None
    arch: str | None = None
    compat_layer: bool = False
    compile_kernels: bool = False
    deterministic: bool = False
    base: str | None = None
    """`IMAGE@sha256:…`, in the place of the one that the tables hold."""
    packages: tuple[str, ...] = ()
    """Debian packages."""
    pip: tuple[str, ...] = ()
    """Exact pins."""
    env: Mapping[str, str] = field(default_factory=dict)


KEYS: Mapping[str, str] = {
    "gpu": "The GPU that the image is for: a model, a family or a name that people write.",
    "cloud": "Whose fabric gets a layer.",
    "framework": "`pytorch`, or `none` for an image without one.",
    "pytorch": 'The release of torch, in quotes: `"2.8"`. The newest that works by default.',
    "cuda": "The CUDA that torch is built with; never a newer one than said.",
    "python": "The Python, among those that bases bring.",
    "ops": "Kernels that must be there: `[flash-attn, rope]`.",
    "driver": "The driver on the nodes, where it is known.",
    "arch": "`x86_64` or `aarch64`; told by most GPUs.",
    "compat_layer": "Whether the CUDA compat layer may be taken.",
    "compile_kernels": "Whether kernels without a published wheel may be compiled.",
    "deterministic": "Whether settings go in that let equal runs give equal bits.",
    "base": "A base image in the place of ours: `IMAGE@sha256:DIGEST`.",
    "packages": "Debian packages.",
    "pip": "Python packages, each pinned: `[numpy==2.3.5]`.",
    "env": "Variables by name, in quotes; neither secrets nor what only the node can know.",
}
"""What a recipe may say."""


def clouds() -> tuple[str, ...]:
    """Return every cloud whose fabric has a layer."""
    return tuple(row["cloud"] for row in rows("fabrics.csv"))


def load_recipe(path: Path) -> dict[str, Any]:
    """Return what a recipe file says, by key.

    Raises: UserError E-RECIPE, E-KEY: when it cannot be read, is no mapping or has an unknown key.
    """
    where = str(path)
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, ValueError) as error:  # ValueError: no text, or no name that the system takes
        raise UserError("E-RECIPE", f"{path.name} cannot be read: {error}", where, "name a recipe file") from None
    try:
        read = yaml.safe_load(text)
    except yaml.YAMLError as error:
        line = getattr(getattr(error, "problem_mark", None), "line", None)
        spot = where if line is None else f"{where}:{line + 1}"
        raise UserError("E-RECIPE", f"{path.name} is not YAML", spot, "check its indents and quotes") from None
    if not isinstance(read, dict):
        raise UserError("E-RECIPE", f"{path.name} holds no keys", where, "begin with `gpu: h100`")
    known = list(KEYS)
    errors = [_unknown(str(key), known, where) for key in read if key not in known]
    if errors:
        raise UserErrors.of(errors)
    return read


def _unknown(key: str, known: list[str], where: str) -> UserError:
    near = did_you_mean(key, known)
    fix = f"did you mean {near}" if near else f"keys are {', '.join(known)}"
    return UserError("E-KEY", f"a recipe has no key {shown(key)}", where, fix)


def recipe_of(said: Mapping[str, Any], where: str | None = None) -> Recipe:
    """Return a recipe from what was said, keys of a file and flags alike.

    Raises: UserErrors: everything that is wrong with it.
    """
    errors: list[UserError] = []
    values: dict[str, Any] = {}
    for one in fields(Recipe):
        if one.name not in said or said[one.name] is None:
            continue
        try:
            values[one.name] = _READ.get(one.name, _text)(one.name, said[one.name], where)
        except UserError as error:
            errors.append(error)
    errors += [
        UserError("E-RECIPE", f"the recipe says no {name}", where, f"add {name}, or --{name}")
        for name in ("gpu", "cloud")
        if said.get(name) is None
    ]
    if errors:
        raise UserErrors.of(errors)
    values["gpu"] = " ".join(without_count(values["gpu"]).split())
    recipe = Recipe(**values)
    errors += _checked(recipe, where)
    if errors:
        raise UserErrors.of(errors)
    return recipe


def _text(name: str, value: object, where: str | None) -> str:
    """Return a text; a number that YAML made of a version is refused, for 2.10 is not 2.1."""
    if isinstance(value, str):
        return value.strip()
    raise UserError("E-RECIPE", f"{name} is {shown(str(value))} without quotes", where, f'write {name}: "{value}"')


def _flag(name: str, value: object, where: str | None) -> bool:
    if isinstance(value, bool):
        return value
    raise UserError("E-RECIPE", f"{name} is {shown(str(value))}", where, "write true or false")


def _list(name: str, value: object, where: str | None) -> tuple[str, ...]:
    words = value.split(",") if isinstance(value, str) else value
    if isinstance(words, list | tuple) and all(isinstance(word, str) for word in words):
        return tuple(dict.fromkeys(word.strip() for word in words if word.strip()))
    raise UserError("E-RECIPE", f"{name} is not a list of texts", where, f"write {name}: [one, other]")


def _env(name: str, value: object, where: str | None) -> dict[str, str]:
    if isinstance(value, Mapping) and all(isinstance(one, str) for pair in value.items() for one in pair):
        return {str(key): str(text) for key, text in sorted(value.items())}
    raise UserError("E-RECIPE", f"{name} is not texts by name", where, 'write env: {NAME: "value"}')


_READ = {
    **dict.fromkeys(("compat_layer", "compile_kernels", "deterministic"), _flag),
    **dict.fromkeys(("ops", "packages", "pip"), _list),
    "env": _env,
}


def _checked(recipe: Recipe, where: str | None) -> list[UserError]:
    errors = []
    if recipe.cloud not in clouds():
        errors.append(UserError("E-CLOUD", f"no fabric is known for {shown(recipe.cloud)}", where, _any(clouds())))
    if recipe.framework not in {"pytorch", "none"}:
        errors.append(UserError("E-RECIPE", f"framework is {shown(recipe.framework)}", where, "pytorch or none"))
    if recipe.base is not None and not _BASE.fullmatch(recipe.base):
        what = f"the base {shown(recipe.base)} is not pinned by its digest"
        errors.append(UserError("E-BASE", what, where, "write IMAGE:TAG@sha256:DIGEST"))
    errors += [
        UserError("E-RECIPE", f"{shown(package)} is not a package's name", where, "as `git`")
        for package in recipe.packages
        if not _APT.fullmatch(package)
    ]
    errors += [error for pin in recipe.pip for error in _pin(pin, where)]
    errors += [error for name, value in recipe.env.items() for error in _variable(name, value, where)]
    return errors


def _any(names: tuple[str, ...]) -> str:
    return f"one of {', '.join(names)}"


def _pin(pin: str, where: str | None) -> list[UserError]:
    if not _PIN.fullmatch(pin):
        return [UserError("E-PIN", f"{shown(pin)} is not pinned to a version", where, "write it as numpy==2.3.5")]
    if re.split(r"[\[=]", pin)[0].lower().replace("_", "-") in _TORCH_FAMILY:
        return [UserError("E-PIN", f"{shown(pin)} would replace what the recipe chose", where, "say pytorch: or ops:")]
    return []


def _variable(name: str, value: str, where: str | None) -> list[UserError]:
    never = {row["name"]: row["why"] for row in rows("never_baked.csv")}
    if not _NAME.fullmatch(name) or not value.isprintable():
        return [UserError("E-ENV", f"{shown(name)} is not a variable of one line", where, 'as OMP_NUM_THREADS: "8"')]
    if name in never:
        return [UserError("E-ENV", f"{name} must not be in an image: {never[name]}", where, "leave it out")]
    if _SECRET.search(name):
        what = f"{name} looks like a secret, and an image keeps none"
        return [UserError("E-SECRET", what, where, "hand it to the container when it starts")]
    return []
