"""How what a killed create made is found: the types that finders share."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from emporion.components.aws.api.session import Clients
from emporion.market.clouds import Pending
from emporion.market.errors import ExitCode, UserError

__all__ = ["Finder", "only", "same_document", "tag_filter", "tags_of"]

Finder = Callable[[Clients, Pending], str | None]
"""Returns the id that the state holds for the type, or None when nothing was made."""


def only(ids: Iterable[str], pending: Pending, region: str) -> str | None:
    """Return the one id, None of none.

    Raises: UserError E-CLOUD: when there are several, which only someone outside Emporion can have made.
    """
    found = sorted(set(ids) - pending.known)
    if len(found) > 1:
        raise UserError(
            "E-CLOUD",
            f"{len(found)} things carry emporion-id {pending.emporion_id}: {', '.join(found)}",
            f"aws {region}  {pending.urn.rpartition('::')[2]}",
            "delete all but one of them, then run the command again",
            ExitCode.FAILED,
        )
    return found[0] if found else None


def tag_filter(pending: Pending) -> list[dict[str, Any]]:
    """Return EC2's filter for the pending resource's identity."""
    return [{"Name": "tag:emporion-id", "Values": [pending.emporion_id]}]


def tags_of(item: Mapping[str, Any]) -> dict[str, str]:
    """Return the tags of an item as a map."""
    return {tag["Key"]: tag["Value"] for tag in item.get("Tags") or []}


def same_document(left: str, right: object) -> bool:
    """Whether two JSON documents say the same; one that the state keeps encrypted (None) says nothing."""
    return isinstance(right, str) and bool(json.loads(left) == json.loads(right))
