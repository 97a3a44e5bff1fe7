"""What is stated of an image: which it is, what it was made of, by whom and when (SLSA provenance v1)."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from emporion.images.labels import Layer, config_of_archive, layers_of_archive
from emporion.market.errors import ExitCode, UserError

__all__ = ["Built", "file_digest", "looked_at", "stated", "verified"]

_STATEMENT = "https://in-toto.io/Statement/v1"
_PREDICATE = "https://slsa.dev/provenance/v1"
_BUILD_TYPE = "urn:emporion:image-build:1"
_BASE = re.compile(r"^ARG \w*BASE=(\S+)@sha256:([0-9a-f]{64})$", re.MULTILINE)
_PIECE = 1 << 20


@dataclass(frozen=True, slots=True)
class Built:
    """An image that lies on this disk."""

    archive: Path
    archive_sha256: str
    image_id: str
    """SHA-256 of its configuration: what Docker and buildah call its id."""
    config: Mapping[str, Any]
    layers: tuple[Layer, ...] = ()


def file_digest(path: Path) -> str:
    """Return the SHA-256 of a file, in hex."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while piece := file.read(_PIECE):
            digest.update(piece)
    return digest.hexdigest()


def looked_at(archive: Path) -> Built:
    """Return an image as it is on the disk. Raises: UserError E-IMAGE-FILE: when the archive holds none."""
    image_id, config = config_of_archive(archive)
    return Built(archive, file_digest(archive), image_id, config, layers_of_archive(archive))


def stated(
    built: Built,
    tag: str,
    context: Mapping[str, bytes],
    *,
    builder: str,
    began: datetime,
    ended: datetime,
    build_args: Mapping[str, str],
    sbom: Path | None,
) -> dict[str, Any]:
    """Return the in-toto statement of an image that was built from the files of a context."""
    bases = _BASE.findall(context["Dockerfile"].decode("utf-8", "replace"))
    byproducts = [{"name": sbom.name, "digest": {"sha256": file_digest(sbom)}}] if sbom is not None else []
    return {
        "_type": _STATEMENT,
        "subject": [
            {"name": tag, "digest": {"sha256": built.image_id}},
            {"name": built.archive.name, "digest": {"sha256": built.archive_sha256}},
        ],
        "predicateType": _PREDICATE,
        "predicate": {
            "buildDefinition": {
                "buildType": _BUILD_TYPE,
                "externalParameters": {"build_args": dict(sorted(build_args.items()))},
                "internalParameters": {"labels": dict(built.config.get("config", {}).get("Labels") or {})},
                "resolvedDependencies": [
                    *({"uri": f"docker:{name}", "digest": {"sha256": digest}} for name, digest in bases),
                    *(
                        {"uri": f"file:{name}", "digest": {"sha256": hashlib.sha256(raw).hexdigest()}}
                        for name, raw in sorted(context.items())
                    ),
                ],
            },
            "runDetails": {
                "builder": {"id": f"{_BUILD_TYPE}/{builder}"},
                "metadata": {"startedOn": f"{began:%Y-%m-%dT%H:%M:%SZ}", "finishedOn": f"{ended:%Y-%m-%dT%H:%M:%SZ}"},
                "byproducts": byproducts,
            },
        },
    }


def verified(statement: Mapping[str, Any], built: Built, where: str) -> dict[str, Any]:
    """Return the predicate of a statement about this very image.

    Raises: UserError E-STATEMENT: when it is about another one, or of another kind (exit code 3).
    """
    if (statement.get("_type"), statement.get("predicateType")) != (_STATEMENT, _PREDICATE):
        raise UserError("E-STATEMENT", "the statement is no SLSA provenance v1", where, exit_code=ExitCode.INFEASIBLE)
    subjects = statement.get("subject")
    named = {
        one["digest"].get("sha256")
        for one in (subjects if isinstance(subjects, list) else [])
        if isinstance(one, dict) and isinstance(one.get("digest"), dict)
    }
    if built.image_id not in named or built.archive_sha256 not in named:
        what = f"the statement is about another image than {built.archive.name} ({built.image_id[:16]})"
        raise UserError("E-STATEMENT", what, where, "do not use the image: build it again", ExitCode.INFEASIBLE)
    predicate = statement.get("predicate")
    return dict(predicate) if isinstance(predicate, dict) else {}
