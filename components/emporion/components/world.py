"""The guard between the local cloud and real accounts."""

from __future__ import annotations

from emporion.market.errors import UserError

__all__ = ["WORLDS", "check_account", "check_world"]

WORLDS = ("local", "real")


def check_world(world: str) -> str:
    """Return `world` when it is one.

    Raises: UserError E-WORLD: when it is neither `local` nor `real`.
    """
    if world not in WORLDS:
        raise UserError(
            "E-WORLD", f"world {world!r} is neither local nor real", "emporion:world", "make the stack anew with up"
        )
    return world


def check_account(account: str, local_account: str, world: str) -> None:
    """Make sure that a stack of one world does not reach the account of the other.

    Raises: UserError E-WORLD: when it does.
    """
    if world == "local" and account != local_account:
        raise UserError(
            "E-WORLD",
            f"this stack belongs to the local cloud, and the credentials lead to the real account {account}",
            "emporion:world",
            "run it in `./run shell` or with emporion, which put the stand-in plugins first; nothing was made",
        )
    if world == "real" and account == local_account:
        raise UserError(
            "E-WORLD",
            f"this stack belongs to a real account, and the answer came from the local cloud ({account})",
            "emporion:world",
            "run it with emporion, which chooses the real plugins for it; nothing was made",
        )
