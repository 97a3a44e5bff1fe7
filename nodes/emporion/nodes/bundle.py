"""The health check as one file: its parts one after the other, and the table, so that an image needs no Emporion."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

from emporion.nodes.table import identity_json

__all__ = ["PARTS", "health_check"]

PARTS = ("seen", "models", "judge", "nvml", "smi", "cuda", "torch_load", "node_probe", "main")
"""In the order in which they need each other."""
_FOLDER = Path(__file__).with_name("check")
_HEAD = '''\
#!/usr/bin/env python3
"""Emporion's health check of a node's GPUs: python healthcheck.py [--gpu NAME] [--json] [--strict].

Written by `emporion image healthcheck` from emporion.nodes.check; change it there. It needs Python 3.10, the standard
library and nvidia-ml-py or nvidia-smi, takes torch where there is one, and asks no network.
"""
'''
_TAIL = '''

MODELS = load_models("""
{table}
""")

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], MODELS))
'''


@cache
def health_check() -> str:
    """Return the program's text; equal sources give equal bytes."""
    imports: dict[str, set[str]] = {}
    bodies = []
    for part in PARTS:
        source = (_FOLDER / f"{part}.py").read_text(encoding="utf-8")
        bodies.append(_body(source, imports))
    plain = [f"import {name}" for name in sorted(imports.pop("", ()))]
    named = [f"from {module} import {', '.join(sorted(names))}" for module, names in sorted(imports.items())]
    head = "\n".join(["from __future__ import annotations", "", *plain, *named])
    return f"{_HEAD}\n{head}\n\n\n" + "\n\n\n".join(bodies) + _TAIL.format(table=identity_json())


def _body(source: str, imports: dict[str, set[str]]) -> str:
    """Return what a part defines; what it imports from the standard library goes into `imports`, by module."""
    lines = source.split("\n")
    tree = ast.parse(source)
    for node in reversed(tree.body):
        if not _is_frame(node):
            continue
        if isinstance(node, ast.Import | ast.ImportFrom) and not _is_own(node):
            module = (node.module or "") if isinstance(node, ast.ImportFrom) else ""
            imports.setdefault(module, set()).update(alias.name for alias in node.names)
        del lines[node.lineno - 1 : node.end_lineno]
    return "\n".join(lines).strip()


def _is_own(node: ast.Import | ast.ImportFrom) -> bool:
    return isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] in {"emporion", "__future__"}


def _is_frame(node: ast.stmt) -> bool:
    """Return whether a statement is a part's docstring, an import, or its list of public names."""
    if isinstance(node, ast.Assign):
        return any(isinstance(target, ast.Name) and target.id == "__all__" for target in node.targets)
    docstring = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    return (docstring and node.lineno == 1) or isinstance(node, ast.Import | ast.ImportFrom)
