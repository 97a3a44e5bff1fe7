"""What an image says that it holds: the labels of a recipe, of a rendered folder, or of a built image on this disk."""

from __future__ import annotations

import hashlib
import json
import re
import tarfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from emporion.market.errors import UserError

__all__ = [
    "ImageFacts",
    "Layer",
    "config_of_archive",
    "facts_of",
    "labels_of_archive",
    "labels_of_folder",
    "layers_of_archive",
]

_LABEL = re.compile(r'([a-z.-]+)="([^"]*)"')
_NO_IMAGE = (ValueError, KeyError, IndexError, TypeError, AttributeError)
"""What reading a document of another shape raises; UnicodeDecodeError is a ValueError."""
_STEP_CHARACTERS = 160
_SHELL = re.compile(r"^(?:\|\d+ .*?)?/bin/(?:ba)?sh (?:-o pipefail )?-c (?:#\(nop\) +)?")
"""What builders write before a step: the shell, and the build's arguments."""
_MOST_BYTES = 16 << 20
"""A manifest or a configuration is some kilobytes; what is larger is none."""


@dataclass(frozen=True, slots=True)
class ImageFacts:
    """The labels that recipes write; None: the image does not say."""

    gpu: str | None
    machine: str | None
    torch: str | None
    """`2.8.0+cu128`."""
    flash_attn: str | None
    archs: tuple[str, ...]
    """What it was made for, as `sm_90`."""
    compat_layer: bool


def facts_of(labels: Mapping[str, str], where: str) -> ImageFacts:
    """Return what labels say. Raises: UserError E-LABELS: when none of them is a recipe's."""
    if not any(name.startswith("emporion.") for name in labels):
        what = "the image says nothing of what it holds"
        raise UserError("E-LABELS", what, where, "build it with `emporion image build`, or name its recipe")
    return ImageFacts(
        labels.get("emporion.gpu"),
        labels.get("emporion.machine"),
        labels.get("emporion.torch"),
        labels.get("emporion.flash-attn"),
        tuple(labels.get("emporion.archs", "").split()),
        labels.get("emporion.driver") == "compat-layer",
    )


def labels_of_folder(folder: Path) -> dict[str, str]:
    """Return the labels of a rendered folder, or of an OCI layout.

    Raises: UserError E-IMAGE-FILE: when it is neither.
    """
    dockerfile, index = folder / "Dockerfile", folder / "index.json"
    try:
        if dockerfile.is_file():
            return dict(_LABEL.findall(dockerfile.read_text(encoding="utf-8")))
        if index.is_file():
            config = json.loads(_config_of_layout(lambda name: (folder / name).read_bytes()))
            return dict(config.get("config", {}).get("Labels") or {})
    except (OSError, *_NO_IMAGE) as error:
        raise _unreadable(folder, f"it is no image: {error!r}") from None
    raise _unreadable(folder, "there is neither a Dockerfile nor an index.json in it")


def labels_of_archive(path: Path) -> dict[str, str]:
    """Return the labels of an image in a Docker or OCI archive. Raises: UserError E-IMAGE-FILE: when it is none."""
    return dict(config_of_archive(path)[1].get("config", {}).get("Labels") or {})


def config_of_archive(path: Path) -> tuple[str, dict[str, Any]]:
    """Return the id of an image in a Docker or OCI archive, which is its configuration's SHA-256, and that.

    Raises: UserError E-IMAGE-FILE: when it is none.
    """
    raw, _ = _read_archive(path)
    config = json.loads(raw)
    return hashlib.sha256(raw).hexdigest(), config


@dataclass(frozen=True, slots=True)
class Layer:
    """One layer of an image."""

    size_bytes: int
    """As it lies in the archive."""
    made_by: str
    """The step that made it, its beginning; `?` where the image does not say."""


def layers_of_archive(path: Path) -> tuple[Layer, ...]:
    """Return the layers of an image in a Docker archive, lowest first; none of an OCI archive.

    Raises: UserError E-IMAGE-FILE: when it is no image.
    """
    raw, sizes = _read_archive(path)
    config = json.loads(raw)
    steps = [step for step in config.get("history") or () if isinstance(step, dict) and not step.get("empty_layer")]
    words = [_SHELL.sub("", " ".join(str(step.get("created_by", "?")).split())) for step in steps]
    said = [word[:_STEP_CHARACTERS] for word in words]
    return tuple(Layer(size, said[at] if at < len(said) else "?") for at, size in enumerate(sizes))


def _read_archive(path: Path) -> tuple[bytes, list[int]]:
    """Return an image's configuration, and the sizes of its layers where the archive is Docker's."""
    try:
        with tarfile.open(path) as archive:
            names = set(archive.getnames())

            def read(name: str) -> bytes:
                member = archive.extractfile(name)
                return member.read(_MOST_BYTES) if member is not None else b""

            if "manifest.json" in names:
                manifest = json.loads(read("manifest.json"))[0]
                raw = read(manifest["Config"])
                sizes = [archive.getmember(name).size for name in manifest.get("Layers") or ()]
            else:
                raw, sizes = _config_of_layout(read), []
            config = json.loads(raw)
            if not isinstance(config, dict) or not isinstance(config.get("config", {}), dict):
                raise _unreadable(path, "its configuration is none")
            return raw, sizes
    except (OSError, tarfile.TarError, *_NO_IMAGE) as error:
        raise _unreadable(path, f"it is no image: {error!r}") from None


def _config_of_layout(read: Callable[[str], bytes]) -> bytes:
    """Return the configuration of the first image of an OCI layout, whose files `read` returns."""
    document = json.loads(read("index.json"))
    while "manifests" in document:
        document = json.loads(_blob(read, document["manifests"][0]))
    return _blob(read, document["config"])


def _blob(read: Callable[[str], bytes], descriptor: Mapping[str, str]) -> bytes:
    algorithm, _, digest = descriptor["digest"].partition(":")
    if not re.fullmatch(r"[0-9a-f]{64}", digest):
        message = f"{descriptor['digest']} is no digest"
        raise ValueError(message)
    return read(f"blobs/{algorithm}/{digest}")


def _unreadable(path: Path, why: str) -> UserError:
    what = f"{path.name} cannot be read as an image: {why}"
    return UserError(
        "E-IMAGE-FILE", what, str(path), "name a recipe, a rendered folder, an OCI layout or an OCI archive"
    )
