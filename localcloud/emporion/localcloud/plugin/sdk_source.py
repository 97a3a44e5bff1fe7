"""Resource schemas read out of a generated Pulumi SDK's source text, without importing it.

Only the class blocks that one resource needs are cut out of a file and parsed, so a resource costs milliseconds. A type
is JSON: "str", "int", "float", "bool", "any", "asset", {"list": T}, {"map": T}, {"obj": NAME}, {"enum": NAME},
{"union": [T…]}; NAME is a key of the schema's `objects` or `enums`.
"""

from __future__ import annotations

import ast
import json
import re
from functools import lru_cache
from pathlib import Path
from typing import Any

__all__ = ["SdkSource"]

BLOCK = re.compile(r"^(?:@pulumi\.\w+(?:\([^\n]*\))?\n)*class (\w+)\b", re.MULTILINE)
HUMP = re.compile(r"(?<=[a-z0-9])([A-Z])|(?<=[A-Z])([A-Z])(?=[a-z])")
SCALARS = {
    "Any": "any",
    "str": "str",
    "int": "int",
    "float": "float",
    "bool": "bool",
    "_builtins.str": "str",
    "_builtins.int": "int",
    "_builtins.float": "float",
    "_builtins.bool": "bool",
    "pulumi.Asset": "asset",
    "pulumi.Archive": "asset",
}
WRAPPERS = frozenset({"Input", "Output", "Optional", "Awaitable"})
Type = Any


class SdkSource:
    """The source of one SDK."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._text: dict[Path, str] = {}
        self._blocks: dict[Path, dict[str, tuple[int, int]]] = {}

    @lru_cache(maxsize=1)  # noqa: B019 - one source lives as long as its process
    def tokens(self) -> dict[str, tuple[str, str]]:
        """Return resource type token -> (module, class)."""
        text = self._read(self.root / "__init__.py")
        start = text.index('"""', text.index("_utilities.register(")) + 3
        modules = json.loads(text[start : text.index('"""', start)])
        return {token: (module["fqn"], name) for module in modules for token, name in module["classes"].items()}

    def resource(self, token: str) -> dict[str, Any] | None:
        """Return a resource's schema: inputs {name: [type, required]}, outputs {name: always}, objects, enums."""
        if token not in self.tokens():
            return None
        module, name = self.tokens()[token]
        folder = self.root.joinpath(*module.split(".")[1:])
        path = self._file_of(folder, name)
        arguments = self._class(path, name + "Args") or self._class(path, name + "InitArgs")
        resource = self._class(path, name)
        found: dict[str, Any] = {"objects": {}, "enums": {}}
        found["inputs"] = self._properties(arguments, folder, found) if arguments else {}
        found["outputs"] = _outputs(resource) if resource else {}
        found["consts"] = _consts(resource) if resource else []
        return found

    def provider(self) -> list[str]:
        """Return the names of the provider's own configuration keys."""
        arguments = self._class(self.root / "provider.py", "ProviderArgs")
        return sorted(self._properties(arguments, self.root, {"objects": {}, "enums": {}})) if arguments else []

    def _read(self, path: Path) -> str:
        if path not in self._text:
            self._text[path] = path.read_text(encoding="utf-8") if path.is_file() else ""
        return self._text[path]

    def _blocks_of(self, path: Path) -> dict[str, tuple[int, int]]:
        if path not in self._blocks:
            text = self._read(path)
            starts = list(BLOCK.finditer(text))
            ends = [match.start() for match in starts[1:]] + [len(text)][: len(starts)]
            self._blocks[path] = {match[1]: (match.start(), end) for match, end in zip(starts, ends, strict=True)}
        return self._blocks[path]

    def _class(self, path: Path, name: str) -> ast.ClassDef | None:
        span = self._blocks_of(path).get(name)
        if span is None:
            return None
        tree = ast.parse(self._read(path)[span[0] : span[1]])
        return next((node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == name), None)

    def _file_of(self, folder: Path, name: str) -> Path:
        path = folder / (HUMP.sub(lambda match: "_" + match[0], name).lower() + ".py")
        if name in self._blocks_of(path):
            return path
        others = (other for other in sorted(folder.glob("*.py")) if not other.name.startswith(("_", "outputs")))
        return next(other for other in others if f"\nclass {name}(" in self._read(other))

    def _properties(self, node: ast.ClassDef, folder: Path, found: dict[str, Any]) -> dict[str, list[Any]]:
        names: dict[str, str] = {}
        properties: dict[str, list[Any]] = {}
        for part in node.body:
            if not isinstance(part, ast.FunctionDef):
                continue
            if part.name != "__init__":
                names.update((part.name, name) for name in _getter_names(part))
                continue
            for argument, default in zip(part.args.kwonlyargs, part.args.kw_defaults, strict=True):
                kind = self._type(argument.annotation, folder, found) if argument.annotation else "any"
                properties[argument.arg] = [kind, default is None]
        return {names.get(name, name): kind for name, kind in properties.items()}

    def _type(self, node: ast.expr, folder: Path, found: dict[str, Any]) -> Type:
        if isinstance(node, ast.Constant):
            if node.value is None:
                return "none"
            return self._reference(node.value, folder, found) if isinstance(node.value, str) else "any"
        if isinstance(node, (ast.Name, ast.Attribute)):
            text = ast.unparse(node)
            return SCALARS.get(text) or self._reference(text, folder, found)
        if isinstance(node, ast.Subscript):
            return self._subscript(node, folder, found)
        return "any"

    def _subscript(self, node: ast.Subscript, folder: Path, found: dict[str, Any]) -> Type:
        head = ast.unparse(node.value).rsplit(".", 1)[-1]
        arguments = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        if head in WRAPPERS:
            return self._type(arguments[0], folder, found)
        if head in ("Sequence", "List", "list"):
            return {"list": self._type(arguments[0], folder, found)}
        if head in ("Mapping", "Dict", "dict"):
            return {"map": self._type(arguments[1], folder, found)}
        if head != "Union":
            return "any"
        union: list[Type] = []
        for argument in arguments:
            if isinstance(argument, ast.Constant) and str(argument.value).endswith("ArgsDict"):
                continue  # the TypedDict twin of an Args class
            kind = self._type(argument, folder, found)
            if kind != "none" and kind not in union:
                union.append(kind)
        return union[0] if len(union) == 1 else {"union": union}

    def _reference(self, text: str, folder: Path, found: dict[str, Any]) -> Type:
        *prefix, name = text.split(".")
        prefix = [part for part in prefix if part not in ("_inputs", "_enums", "outputs")]
        if prefix in (["_root_inputs"], ["_root_enums"]):
            folder = self.root
        elif prefix and prefix[0].startswith("_"):
            folder = self.root.joinpath(prefix[0].lstrip("_"), *prefix[1:])
        key = f"{folder.relative_to(self.root).as_posix()}:{name}"
        enum = self._class(folder / "_enums.py", name)
        if enum is not None:
            found["enums"][key] = _enum_values(enum)
            return {"enum": key}
        if name not in self._blocks_of(folder / "_inputs.py"):
            return "any"
        if key not in found["objects"]:
            found["objects"][key] = {}  # before its parts: some types contain themselves
            node = self._class(folder / "_inputs.py", name)
            found["objects"][key] = self._properties(node, folder, found) if node else {}
        return {"obj": key}


def _getter_names(function: ast.FunctionDef) -> list[str]:
    """Return the wire name that `@pulumi.getter` gives a property, if it is one."""
    for decorator in function.decorator_list:
        call = decorator.func if isinstance(decorator, ast.Call) else decorator
        if ast.unparse(call) != "pulumi.getter":
            continue
        if isinstance(decorator, ast.Call):
            return [
                keyword.value.value
                for keyword in decorator.keywords
                if isinstance(keyword.value, ast.Constant) and isinstance(keyword.value.value, str)
            ]
        return [function.name]
    return []


def _outputs(resource: ast.ClassDef) -> dict[str, list[Any]]:
    """Return output name -> [always present, kind]: an Optional one may be absent, any other the cloud computes."""
    outputs: dict[str, list[Any]] = {}
    for part in resource.body:
        if isinstance(part, ast.FunctionDef) and part.returns is not None:
            for name in _getter_names(part):
                text = ast.unparse(part.returns).removeprefix("pulumi.Output[")
                outputs[name] = [not text.startswith("Optional["), _kind(text)]
    return outputs


def _kind(text: str) -> str:
    inner = text.removeprefix("Optional[")
    for start, kind in (
        ("Sequence", "list"),
        ("Mapping", "map"),
        ("_builtins.str", "str"),
        ("_builtins.int", "int"),
        ("_builtins.bool", "bool"),
        ("_builtins.float", "float"),
    ):
        if inner.startswith(start):
            return kind
    return "obj"


def _consts(resource: ast.ClassDef) -> list[str]:
    """Return the properties that the SDK sets by itself and that are no arguments."""
    names: list[str] = []
    for part in resource.body:
        if isinstance(part, ast.FunctionDef) and part.name == "_internal_init":
            for node in ast.walk(part):
                if (
                    isinstance(node, ast.Assign)
                    and isinstance(node.value, ast.Constant)
                    and node.value.value is not None
                    and isinstance(node.targets[0], ast.Subscript)
                    and isinstance(node.targets[0].slice, ast.Constant)
                ):
                    head, *tail = str(node.targets[0].slice.value).split("_")
                    names.append(head + "".join(word[:1].upper() + word[1:] for word in tail))
    return names


def _enum_values(node: ast.ClassDef) -> list[Any]:
    return [
        part.value.value for part in node.body if isinstance(part, ast.Assign) and isinstance(part.value, ast.Constant)
    ]
