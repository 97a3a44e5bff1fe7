"""Programs that build images, each as the command lines that it takes; a missing one is told with how to get it."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from emporion.market.errors import ExitCode, UserError

__all__ = ["BUILDERS", "Builder", "Job", "choose_builder", "run_builder"]

_TAIL_LINES = 12
_SAID_CHARACTERS = 200


@dataclass(frozen=True, slots=True)
class Job:
    """One build."""

    context: Path
    """The folder with Dockerfile and what it copies."""
    archive: Path
    """Where the image goes, as a Docker archive: an OCI one has no place for the health check."""
    tag: str
    epoch: int
    """The time that every file in the image gets, in seconds since 1970."""
    build_args: Mapping[str, str]
    platform: str | None = None
    cache: bool = True


@dataclass(frozen=True, slots=True)
class Builder:
    """One builder."""

    name: str
    program: str
    install: str
    commands: Callable[[Job], Sequence[Sequence[str]]]


def _buildah(job: Job) -> Sequence[Sequence[str]]:
    cache = ["--layers"] if job.cache else ["--layers", "--no-cache"]
    platform = ["--platform", job.platform] if job.platform else []
    arguments = [word for name, value in job.build_args.items() for word in ("--build-arg", f"{name}={value}")]
    build = ["buildah", "bud", "--format", "docker", "--timestamp", str(job.epoch), *cache, *platform, *arguments]
    return (
        [*build, "--tag", job.tag, str(job.context)],
        ["buildah", "push", job.tag, f"docker-archive:{job.archive}:{job.tag}"],
    )


def _buildkit(job: Job) -> Sequence[Sequence[str]]:
    folder, output = str(job.context), f"type=docker,name={job.tag},dest={job.archive},rewrite-timestamp=true"
    options = [word for name, value in job.build_args.items() for word in ("--opt", f"build-arg:{name}={value}")]
    platform = ["--opt", f"platform={job.platform}"] if job.platform else []
    cache = [] if job.cache else ["--no-cache"]
    local = ["--local", f"context={folder}", "--local", f"dockerfile={folder}"]
    command = ["buildctl", "build", "--frontend", "dockerfile.v0", *local, *options, *platform, *cache]
    return ([*command, "--output", output],)


def _docker(job: Job) -> Sequence[Sequence[str]]:
    arguments = [word for name, value in job.build_args.items() for word in ("--build-arg", f"{name}={value}")]
    platform = ["--platform", job.platform] if job.platform else []
    cache = [] if job.cache else ["--no-cache"]
    output = f"type=docker,dest={job.archive},rewrite-timestamp=true"
    command = ["docker", "buildx", "build", "--provenance=false", *arguments, *platform, *cache, "--tag", job.tag]
    return ([*command, "--output", output, str(job.context)],)


BUILDERS: Mapping[str, Builder] = {
    "docker": Builder("docker", "docker", "install Docker with its buildx plugin, and start its daemon", _docker),
    "buildkit": Builder("buildkit", "buildctl", "install BuildKit, and start buildkitd", _buildkit),
    "buildah": Builder("buildah", "buildah", "apt-get install buildah (or dnf); it needs no daemon", _buildah),
}
"""By name, the one that most people have first."""
_STILL = "`emporion image render`, `check` and `healthcheck` need no builder"


def choose_builder(wanted: str | None, found: Callable[[str], object]) -> Builder:
    """Return the wanted builder, or the first that is found (`shutil.which`).

    Raises: UserError E-BUILDER: when it is not installed, or none is.
    """
    if wanted is not None:
        builder = BUILDERS[wanted]
        if not found(builder.program):
            what = f"the builder {wanted} is not installed: there is no {builder.program} on PATH"
            raise UserError("E-BUILDER", what, "--builder", f"{builder.install}; {_STILL}", ExitCode.FAILED)
        return builder
    for builder in BUILDERS.values():
        if found(builder.program):
            return builder
    ways = "; or ".join(f"{one.name}: {one.install}" for one in BUILDERS.values())
    raise UserError("E-BUILDER", "no builder of images is on PATH", None, f"{ways}; {_STILL}", ExitCode.FAILED)


def run_builder(builder: Builder, job: Job, report: Callable[[str], None]) -> None:
    """Build an image, telling each line of the builder; the archive is there afterwards.

    Raises: UserError E-BUILD: when the builder fails; E-DISK: when the disk was full.
    """
    job.archive.unlink(missing_ok=True)
    whole = False
    try:
        for command in builder.commands(job):
            _run(builder, command, report)
        whole = job.archive.is_file()
    finally:
        if not whole:
            job.archive.unlink(missing_ok=True)
    if not whole:
        what = f"{builder.name} ended well and wrote no image"
        raise UserError("E-BUILD", what, None, "look at its output", ExitCode.FAILED)


def _run(builder: Builder, command: Sequence[str], report: Callable[[str], None]) -> None:
    tail: list[str] = []
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace"
    ) as run:
        for line in run.stdout or ():
            report(line.rstrip())
            tail = [*tail[1 - _TAIL_LINES :], line.rstrip()]
    if run.returncode:
        raise _failed(builder, tail, run.returncode)


def _failed(builder: Builder, tail: list[str], code: int) -> UserError:
    said = next((line for line in reversed(tail) if line.strip()), "no words")[:_SAID_CHARACTERS]
    if any("no space left on device" in line.lower() for line in tail):
        fix = "make room, or let the builder keep its storage on another disk"
        return UserError("E-DISK", f"the disk was full while {builder.name} built", None, fix, ExitCode.FAILED)
    what = f"{builder.name} ends with {code}: {said}"
    return UserError("E-BUILD", what, None, "the lines above say which step; mend it and build again", ExitCode.FAILED)
