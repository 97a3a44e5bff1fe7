"""Schemas of resource types, cached by SDK version: one small file per type, so that a preview parses no source."""

from __future__ import annotations

import gzip
import json
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from emporion.localcloud.plugin.sdk_source import SdkSource
from emporion.market.stand_in import EnumSource

__all__ = ["Schemas"]

FORMAT = 1  # raise it when the derived form changes: old caches are then left alone


class Schemas:
    """The types of one SDK version."""

    def __init__(self, sdk_root: Path, version: str, cache: Path, service_models: Callable[[], Path | None]) -> None:
        self.version = version
        self._folder = cache / "schemas" / f"{sdk_root.name}-{version}-{FORMAT}"
        self._source = SdkSource(sdk_root)
        self._service_models = service_models
        self._known: dict[str, dict[str, Any] | None] = {}

    def resource(self, token: str) -> dict[str, Any] | None:
        """Return the schema of a type token (see `SdkSource`), or None when the SDK has no such type."""
        if token not in self._known:
            self._known[token] = self._cached(token, lambda: self._source.resource(token))
        return self._known[token]

    def tokens(self) -> list[str]:
        """Return every type token of the SDK."""
        return list(self._source.tokens())

    def config_keys(self) -> list[str]:
        """Return the names of the provider's configuration keys."""
        keys: list[str] = self._cached("provider", self._source.provider)
        return keys

    def enum(self, source: EnumSource | tuple[str, ...]) -> list[str] | None:
        """Return the values allowed now, or None when the service model is not installed."""
        if isinstance(source, tuple):
            return list(source)
        models = self._service_models()
        if models is None:
            return None
        service = models / "data" / source.service
        folder = max((path for path in service.iterdir() if path.is_dir()), key=lambda path: path.name)
        stamp = (folder / "service-2.json.gz").stat().st_mtime_ns
        values: list[str] = self._cached(
            f"enum-{source.service}-{source.shape}-{stamp}",
            lambda: _shape_enum(folder / "service-2.json.gz", source.shape),
        )
        return values

    def _cached(self, name: str, derive: Callable[[], Any]) -> Any:  # noqa: ANN401 - JSON
        path = self._folder / (name.replace("/", "_").replace(":", "_") + ".json")
        kept = _read(path)
        if kept is not None:
            return kept
        derived = derive()
        if derived is not None:
            _write(path, json.dumps(derived, separators=(",", ":")))
        return derived


def _read(path: Path) -> Any:  # noqa: ANN401 - JSON
    """Return a cache file's content, None when it is not there or was cut short."""
    try:
        return json.loads(path.read_bytes())
    except (OSError, ValueError):
        return None


def _shape_enum(path: Path, shape: str) -> list[str]:
    model = json.loads(gzip.decompress(path.read_bytes()))
    return list(model["shapes"][shape]["enum"])


def _write(path: Path, text: str) -> None:
    """Write a cache file atomically; a cache that cannot be written costs time, nothing else."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=path.parent, suffix=".tmp")
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        Path(temporary).replace(path)
    except OSError:
        return
