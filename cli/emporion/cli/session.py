"""What the commands of a cluster's life share: the target, its world, the engine, the open cluster."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from emporion.cli import render
from emporion.market.clouds import installed_clouds
from emporion.market.errors import UserError, did_you_mean
from emporion.operations.clusters import Cluster, open_cluster
from emporion.operations.pinning import Pinned, choose_world, pin_stack, preview_pin
from emporion.operations.policies import read_config
from emporion.operations.project import Project, find_project
from emporion.operations.pulumi import Pulumi

if TYPE_CHECKING:
    from emporion.market.intent import Intent
    from emporion.market.plan import Plan

__all__ = ["Session", "open_project", "open_pulumi", "open_session", "project_if_any"]


@dataclass(frozen=True, slots=True)
class Session:
    """An open cluster and how its stack came to its placement."""

    cluster: Cluster
    pinned: Pinned | None
    """What a target that is an intent would pin; None for a stack."""

    def pin(self) -> None:
        """Write the placement of an intent target to its stack."""
        if self.pinned is not None and self.pinned.wrote:
            pin_stack(self.cluster.pulumi.project, self.cluster.stack, self.pinned, world=self.cluster.pulumi.world)


def open_project(folder: Path | None) -> Project:
    """Return the project in use: `--project`, else the nearest Pulumi.yaml."""
    return find_project(folder, explicit=True) if folder else find_project(Path.cwd())


def project_if_any(folder: Path | None) -> Project | None:
    """Return the project in use, None when there is none and none was named."""
    try:
        return open_project(folder)
    except UserError as error:
        if folder is not None or error.code != "E-PROJECT":
            raise
        return None


def open_session(
    target: str,
    *,
    project: Project,
    world: str | None,
    as_json: bool,
    now: Callable[[], datetime],
    policies: bool = False,
) -> Session:
    """Return the session for TARGET, a stack or an intent file; nothing is written yet but Emporion's own folders.

    Raises: UserError: when the target does not exist, cannot be planned, or contradicts its stack's world.
    """
    clouds = installed_clouds()
    rules = read_config(project) if policies else None
    intent_path = _intent_file(target, project)
    if intent_path is None:
        project.require(target)
        chosen = choose_world(project, target, world)
        return Session(
            open_cluster(open_pulumi(project, chosen, as_json=as_json), target, clouds, render.note, rules), None
        )
    from emporion.market.intent import intent_hash, load_intent

    intent = load_intent(intent_path)
    stack = intent.name
    project.check_stack_name(stack)
    chosen = choose_world(project, stack, world)
    pulumi = open_pulumi(project, chosen, as_json=as_json)
    config = project.read(stack)
    before = config.pinned(project.config_path(stack)) if config else None
    if before is not None and before.intent_hash == intent_hash(intent):
        render.note(
            f"{stack} is pinned since {before.planned_at}; emporion plan {target} --pin {stack} would re-plan it"
        )
        return Session(open_cluster(pulumi, stack, clouds, render.note, rules), None)
    pinned = preview_pin(project, stack, _plan(intent, now()), clouds=clouds, world=chosen)
    generation = config.generation if config else 0
    return Session(Cluster(pulumi, stack, pinned.placement, generation, clouds, render.note, rules), pinned)


def _plan(intent: Intent, now: datetime) -> Plan:
    from emporion.cli.planning import plan_or_fail

    return plan_or_fail(intent, now)


def _intent_file(target: str, project: Project) -> Path | None:
    """Return the intent file that TARGET names, None when it names a stack."""
    path = Path(target)
    if path.is_file() or path.suffix in {".yaml", ".yml"} or os.sep in target:
        return path  # the reader says what is wrong with it, that it does not exist included
    if project.read(target) is None and target not in project.stacks():
        intents = [
            file.stem
            for folder in ("intents", "stacks/intents")
            for file in (project.directory / folder).glob("*.yaml")
        ]
        near = did_you_mean(target, [*project.stacks(), *intents])
        raise UserError(
            "E-TARGET",
            f"{target!r} is neither a stack of this project nor an intent file",
            "TARGET",
            f"did you mean {near!r}?" if near else "name an intent file: emporion up intents/demo.yaml",
        )
    return None


def open_pulumi(project: Project, world: str, *, as_json: bool) -> Pulumi:
    """Return Pulumi in a world, its engine installed and, locally, its stand-in plugins in place."""
    from emporion.cli.worlds import world_environ

    engine, environ = world_environ(world, report=render.note)
    output = sys.stderr if as_json else sys.stdout
    return Pulumi(
        project, engine.pulumi, environ, world, output, colour=output.isatty() and not os.environ.get("NO_COLOR")
    )
