"""What a world models beyond its resources: delays, interruptions, prices. A new world models none of it."""

from __future__ import annotations

from emporion.localcloud.model_kinds import MODELS
from emporion.localcloud.world import World
from emporion.market.errors import UserError, did_you_mean
from emporion.market.units import shown

__all__ = ["model", "model_since_s", "note_model", "set_model"]


def model(world: World, name: str) -> str:
    """Return which value a model has."""
    return world.meta(name)


def set_model(world: World, name: str, value: str) -> None:
    """Set a model to one of its values, from now on in the world's time.

    Raises: UserError E-MODEL: when it has no such value.
    """
    if name not in MODELS:
        near = did_you_mean(name, list(MODELS))
        raise UserError(
            "E-MODEL",
            f"a world models no {shown(name)}; it models: {', '.join(MODELS)}",
            None,
            f"did you mean {near}?" if near else f"one of {', '.join(MODELS)}",
        )
    if value not in MODELS[name].values:
        raise UserError("E-MODEL", f"{name} cannot be {shown(value)}", None, f"one of {', '.join(MODELS[name].values)}")
    note_model(world, name, value)


def note_model(world: World, name: str, value: str) -> None:
    """Note a value of a model without looking whether people may choose it (recorded prices need a record)."""
    with world.transaction():
        world.set_meta(name, value)
        world.set_meta(f"{name}_since", repr(world.time_s()))


def model_since_s(world: World, name: str) -> float:
    """Return since when a model has its value, seconds since 1970."""
    return float(world.meta(f"{name}_since"))
