"""From a plan to a pinned stack: look up what must not move later, and write it to the stack's configuration."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from emporion.market.clouds import Cloud, CloudApi, FoundImage, open_api
from emporion.market.errors import UserError
from emporion.market.pin import PinnedPlacement
from emporion.market.plan import (
    Change,
    Diff,
    ImageKey,
    Plan,
    diff_plans,
    images_needed,
    images_used,
    market_diff,
    pin,
)
from emporion.operations.project import Project

__all__ = [
    "Comparison",
    "Pinned",
    "change_text",
    "choose_world",
    "compare",
    "pin_stack",
    "pinned_to",
    "preview_pin",
    "recommended_images",
]


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
    """Return the newest image for each purpose of the plan's recommended placement, asked of its clouds.

    Raises: UserError (exit 3): the plan's own when it is not feasible, E-DEPLOY when no placement of it can be stood
    up; E-CLOUD.
    """
    return _newest(images_needed(plan), clouds, world)


def _newest(keys: Iterable[ImageKey], clouds: Mapping[str, Cloud], world: str) -> dict[ImageKey, FoundImage]:
    apis: dict[tuple[str, str], CloudApi] = {}
    found = {}
    for key in keys:
        place = (key.provider, key.region)
        if place not in apis:
            apis[place] = open_api(clouds[key.provider], key.region, world)
        found[key] = apis[place].image(key.purpose, key.arch)
    return found


def preview_pin(project: Project, stack: str, plan: Plan, *, clouds: Mapping[str, Cloud], world: str) -> Pinned:
    """Return what pinning `plan` to `stack` would write and change, without writing anything.

    Equal placements of equal price are written again only to date them: when the catalogue is another one.
    """
    images = recommended_images(plan, clouds, world)
    placement = pin(plan, images)
    before = _before(project, stack)
    if before is None:
        return Pinned(placement, (), wrote=True)
    changes = tuple(change_text(change) for change in diff_plans(before, plan, images))
    kept = before.intent_hash == placement.intent_hash and before.catalogue_version == placement.catalogue_version
    return Pinned(placement, changes, wrote=bool(changes) or not kept)


def _before(project: Project, stack: str) -> PinnedPlacement | None:
    config = project.read(stack)
    return config.pinned(project.config_path(stack)) if config else None


def pinned_to(project: Project, stack: str) -> PinnedPlacement:
    """Return what is pinned to a stack.

    Raises: UserError E-STACK: when there is no such stack; E-UNPINNED: when nothing is pinned to it.
    """
    project.require(stack)
    pinned = _before(project, stack)
    if pinned is None:
        raise UserError(
            "E-UNPINNED",
            f"nothing is pinned to stack {stack!r}",
            str(project.config_path(stack)),
            f"emporion plan INTENT --pin {stack}",
        )
    return pinned


@dataclass(frozen=True, slots=True)
class Comparison:
    """What is pinned to a stack, and how today differs."""

    pinned: PinnedPlacement
    diff: Diff
    no_images: str | None
    """Why the images of today were not looked up; None: they were."""


def compare(project: Project, stack: str, plan: Plan, *, clouds: Mapping[str, Cloud], world: str) -> Comparison:
    """Return how a plan of today differs from what is pinned to `stack`; nothing is written.

    The images are those of the pinned regions. A cloud that cannot be asked for them hides no other difference.

    Raises: UserError as `pinned_to`.
    """
    pinned = pinned_to(project, stack)
    images: dict[ImageKey, FoundImage] = {}
    problem: str | None = None
    try:
        images = _images_today(pinned, plan, clouds, world)
    except UserError as error:
        problem = error.what
    return Comparison(pinned, market_diff(pinned, plan, images), problem)


def _images_today(
    pinned: PinnedPlacement, plan: Plan, clouds: Mapping[str, Cloud], world: str
) -> dict[ImageKey, FoundImage]:
    """Return the newest images for what is pinned; the user's own image is nobody's to look up."""
    own = plan.intent.image.id
    keys = {key for key, _, image in images_used(pinned) if image.id != own and key.provider in clouds}
    return _newest(sorted(keys), clouds, world)


def change_text(change: Change) -> str:
    """Return a change as one line."""
    gone = "no longer offered" if change.kind == "gone" else "none"
    return f"{change.kind} {change.what}: {change.pinned or 'none'} -> {change.now or gone}"


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
