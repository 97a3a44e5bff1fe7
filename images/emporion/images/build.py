"""A build from beginning to end: the image, looked at; built twice where asked; its parts list; a signed statement."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from emporion.images.builders import Builder, Job, run_builder
from emporion.images.provenance import Built, looked_at, stated, verified
from emporion.images.statement import opened, sealed
from emporion.market.errors import ExitCode, UserError
from emporion.market.files import write_whole

__all__ = ["Outcome", "build_image", "epoch_of", "sbom_of", "statement_path", "verify_image"]

_EPOCH = re.compile(r"^ARG SOURCE_DATE_EPOCH=([0-9]{1,12})$", re.MULTILINE)
_USER = re.compile(r"[1-9][0-9]*(:[1-9][0-9]*)?")


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a build left behind."""

    built: Built
    statement: Path
    sbom: Path | None
    reproducible: bool | None
    """Whether a second build gave the same image; None: it was not asked for."""


def statement_path(archive: Path) -> Path:
    """Return where the statement of an image lies: beside it."""
    return archive.with_name(f"{archive.name}.intoto.json")


def epoch_of(dockerfile: str) -> int:
    """Return the time that a recipe gives every file. Raises: UserError E-CONTEXT: when it is no recipe of ours."""
    found = _EPOCH.search(dockerfile)
    if found is None:
        what = "the Dockerfile has no `ARG SOURCE_DATE_EPOCH`"
        raise UserError("E-CONTEXT", what, None, "name a folder that `emporion image render --out` wrote")
    return int(found[1])


def build_image(
    job: Job,
    builder: Builder,
    key: Ed25519PrivateKey,
    *,
    clock: Callable[[], datetime],
    report: Callable[[str], None],
    twice: bool = False,
) -> Outcome:
    """Build an image, look at it, list its parts where syft is there, and sign what it is.

    Raises: UserError E-BUILD, E-DISK, E-IMAGE-FILE: when it cannot be built, or is not what its recipe says.
    """
    context = {path.name: path.read_bytes() for path in sorted(job.context.iterdir()) if path.is_file()}
    began = clock()
    run_builder(builder, job, report)
    built = looked_at(job.archive)
    _tested(built, context["Dockerfile"].decode("utf-8", "replace"))
    reproducible = _again(job, builder, built, report) if twice else None
    sbom = sbom_of(job.archive, report)
    statement = stated(
        built,
        job.tag,
        context,
        builder=builder.name,
        began=began,
        ended=clock(),
        build_args=job.build_args,
        sbom=sbom,
    )
    path = statement_path(job.archive)
    write_whole(path, json.dumps(sealed(statement, key), indent=2) + "\n")
    return Outcome(built, path, sbom, reproducible)


def _tested(built: Built, dockerfile: str) -> None:
    """See to it that the image kept what its recipe says of user, health check and labels."""
    config = built.config.get("config", {})
    missing = []
    if "HEALTHCHECK" in dockerfile and not config.get("Healthcheck"):
        missing.append("its health check (an OCI image has no place for one: build in Docker's format)")
    if not _USER.fullmatch(str(config.get("User", ""))):
        missing.append("its user, by number")
    if not config.get("Labels"):
        missing.append("its labels")
    if missing:
        raise UserError(
            "E-BUILD", f"the image lost {' and '.join(missing)}", None, "take another builder", ExitCode.FAILED
        )


def _again(job: Job, builder: Builder, built: Built, report: Callable[[str], None]) -> bool:
    second = replace(
        job, archive=job.archive.with_name(f".again-{job.archive.name}"), tag=f"{job.tag}-again", cache=False
    )
    try:
        run_builder(builder, second, report)
        return _content(looked_at(second.archive)) == _content(built)
    finally:
        second.archive.unlink(missing_ok=True)


def _content(built: Built) -> tuple[object, object]:
    """Return what a container sees of an image; its id differs even so, as builders note their own containers in it."""
    return built.config.get("rootfs"), built.config.get("config")


def sbom_of(
    archive: Path, report: Callable[[str], None], found: Callable[[str], str | None] = shutil.which
) -> Path | None:
    """Write the list of an image's parts (CycloneDX) beside it, where syft is there; None where it is not, or fails."""
    program = found("syft")
    if program is None:
        report("syft is not on PATH: no list of the image's parts is written")
        return None
    done = subprocess.run(
        [program, f"docker-archive:{archive}", "-o", "cyclonedx-json"], capture_output=True, text=True, check=False
    )
    if done.returncode:
        report(f"syft ends with {done.returncode}: {done.stderr.strip().splitlines()[-1:]}")
        return None
    path = archive.with_name(f"{archive.name}.cdx.json")
    write_whole(path, done.stdout)
    return path


def verify_image(archive: Path, key: Ed25519PublicKey) -> tuple[Built, Mapping[str, object]]:
    """Return an image and what its signer states of it.

    Raises: UserError E-STATEMENT: when there is no statement, it is not the key's or about another image; E-IMAGE-FILE.
    """
    path = statement_path(archive)
    built = looked_at(archive)
    try:
        envelope = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        what = f"there is no statement about {archive.name}: {error}"
        raise UserError("E-STATEMENT", what, str(path), "do not use the image", ExitCode.INFEASIBLE) from None
    return built, verified(opened(envelope, key, str(path)), built, str(path))
