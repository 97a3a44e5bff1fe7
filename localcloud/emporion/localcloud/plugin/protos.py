"""Pulumi's protobuf stubs without the rest of its SDK, whose import costs twice as much CPU."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from pathlib import Path
from types import ModuleType

__all__ = ["load"]


def load(name: str) -> ModuleType:
    """Return the stub module `pulumi.runtime.proto.<name>`; `pulumi/__init__.py` does not run unless it already did."""
    if "pulumi" not in sys.modules:
        spec = importlib.util.find_spec("pulumi")
        if spec is None or not spec.submodule_search_locations:
            message = "the Pulumi SDK is not installed beside the stand-in"
            raise ModuleNotFoundError(message, name="pulumi")
        root = Path(spec.submodule_search_locations[0])
        for package, folder in (("pulumi", root), ("pulumi.runtime", root / "runtime")):
            module = ModuleType(package)
            module.__path__ = [str(folder)]
            sys.modules[package] = module
    return importlib.import_module(f"pulumi.runtime.proto.{name}")
