"""From a plan to a pinned stack: look up what must not move later, and write it to the stack's configuration."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from emporion.market.clouds import Cloud, FoundImage, open_api
from emporion.market.errors import UserError
from emporion.market.pin import PinnedPlacement
from emporion.market.placement.pinning import ImageKey, images_needed
from emporion.market.plan import Change, Plan, diff_plans, pin
from emporion.operations.project import Project

__all__ = ["Pinned", "choose_world", "pin_stack", "preview_pin", "recommended_images"]


@dataclass(frozen=True, slots=True)
class Pinned:
    """What pinning wrote."""

    placement: PinnedPlacement
    changes: tuple[str, ...]
    """How it differs from the placement that was pinned before; empty for a first pin or an equal one."""
    wrote: bool
    """False: an equal placement was pinned already and stays as it is."""


def choose_world(project: Project, stack: str, asked: str | None) -> str:
    """Return the world of a stack: the one it was made with, else `asked`, else `local`.

    Raises: UserError E-WORLD: when `asked` contradicts the stack's own.
    """
    config = project.read(stack)
    own = config.world if config else None
    if own and asked and own != asked:
        raise UserError(
            "E-WORLD",
            f"stack {stack!r} belongs to the {own} world, --{asked} asks for the {asked} one",
            f"--{asked}",
            f"leave the flag out, or use another stack for the {asked} world",
        )
    return own or asked or "local"


def recommended_images(plan: Plan, clouds: Mapping[str, Cloud], world: str) -> dict[ImageKey, FoundImage]:
    """Return the newest image for each (purpose, arch) of the plan's recommended placement, asked of its cloud.

    Raises: UserError (exit 3): the plan's own when it is not feasible, E-DEPLOY when no placement of it can be stood
    up; E-CLOUD.
    """
    needed = images_needed(plan)
    if plan.recommended is None:  # `images_needed` has raised: for the type checker
        return {}
    offer = plan.recommended.pools[0].offer
    api = open_api(clouds[offer.provider], offer.region, world)
    return {key: api.image(*key) for key in needed}


def preview_pin(project: Project, stack: str, plan: Plan, *, clouds: Mapping[str, Cloud], world: str) -> Pinned:
    """Return what pinning `plan` to `stack` would write and change, without writing anything."""
    images = recommended_images(plan, clouds, world)
    placement = pin(plan, images)
    config = project.read(stack)
    before = config.pinned(project.config_path(stack)) if config else None
    if before is None:
        return Pinned(placement, (), wrote=True)
    changes = tuple(_said(change) for change in diff_plans(before, plan, images))
    return Pinned(placement, changes, wrote=bool(changes) or before.intent_hash != placement.intent_hash)


def _said(change: Change) -> str:
    return f"{change.kind} {change.what}: {change.pinned or 'none'} -> {change.now or 'no longer offered'}"


def pin_stack(project: Project, stack: str, pinned: Pinned, *, world: str) -> None:
    """Write a placement and the world to the stack's configuration (default providers off: case E9)."""
    config = project.read(stack)
    project.write(
        stack,
        {
            "emporion:world": world,
            "emporion:generation": str(config.generation if config else 0),
            "pulumi:disable-default-providers": ["*"],
            "emporion:placement": pinned.placement.to_json(),
        },
    )
