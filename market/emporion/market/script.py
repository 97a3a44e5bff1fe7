"""What a training script says of its own size, read from its arguments without running it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

__all__ = ["ScriptFacts", "read_script"]

_STEPS = {"steps", "max_steps", "num_steps", "total_steps", "train_steps", "num_train_steps", "max_iters"}
_DATASET = {"dataset_size", "dataset_gb", "dataset_size_gb", "data_size", "train_size"}
_MODEL = {"parameters", "params", "num_parameters", "model_parameters", "model_params", "model_size"}

_NUMBER = re.compile(r"\d+(?:\.\d+)?(?:[eE]\d+)?[kKmMbBtT]?")
_SIZE = re.compile(r"\d+(?:\.\d+)?\s*(?:[kKmMgGtT]?[iI]?[bB])?")
"""What is a size; the name of a model or data set is none."""


@dataclass(frozen=True, slots=True)
class ScriptFacts:
    """What was found; None: the script does not say it."""

    steps: str | None
    dataset: str | None
    model: str | None


def read_script(text: str, given: Mapping[str, str] | None = None) -> ScriptFacts:
    """Return what a Python script's arguments say: those `given` on its command line, else their defaults.

    Raises: SyntaxError: when it is no Python.
    """
    found = {**dict(_defaults(ast.parse(text))), **(given or {})}

    def first(names: set[str], pattern: re.Pattern[str]) -> str | None:
        said = (found[name] for name in sorted(names) if name in found)
        return next((text for text in said if pattern.fullmatch(text)), None)

    return ScriptFacts(first(_STEPS, _NUMBER), first(_DATASET, _SIZE), first(_MODEL, _NUMBER))


def _defaults(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """Yield name and default of every `add_argument` and `click.option` of a script."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call) or _called(node) not in {"add_argument", "option"}:
            continue
        default = next((one.value for one in node.keywords if one.arg == "default"), None)
        if isinstance(default, ast.Constant) and default.value is not None:
            for argument in node.args:
                if isinstance(argument, ast.Constant) and isinstance(argument.value, str):
                    yield argument.value.lstrip("-").replace("-", "_"), str(default.value)


def _called(node: ast.Call) -> str:
    return (
        node.func.attr
        if isinstance(node.func, ast.Attribute)
        else node.func.id
        if isinstance(node.func, ast.Name)
        else ""
    )
