"""A fault as people write it, on the command line or in a scenario: checked, and put into the words of the world."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from emporion.localcloud.fault_kinds import COMMON, FIELDS, KINDS
from emporion.localcloud.places import check_region, check_zone, plugin_of
from emporion.market.errors import UserError, did_you_mean
from emporion.market.units import shown

__all__ = ["fault_kind", "read_fault"]

_AS_THEY_ARE = ("region", "zone", "operation", "instance_type", "market", "times", "skip")
_DETAIL = {"delay": "delay_s", "code": "code", "text": "text", "node": "node"}


def fault_kind(text: str) -> str:
    """Return a kind of fault by its name.

    Raises: UserError E-FAULT: when there is none of that name.
    """
    name = text.strip().lower().replace("_", "-")
    if name in KINDS:
        return name
    near = did_you_mean(name, list(KINDS))
    raise UserError(
        "E-FAULT",
        f"no fault is called {shown(text)}; there are: {', '.join(KINDS)}",
        None,
        f"did you mean {near}?" if near else "emporion local fault add --help",
    )


def read_fault(kind: str, said: Mapping[str, Any]) -> dict[str, Any]:
    """Return what `add_fault` takes for a kind and for what is said about it (by `FIELDS`, read already).

    Raises: UserError E-FAULT: when something is missing or does not belong to the kind; E-PROVIDER, E-REGION, E-ZONE:
    when the local cloud has no such place.
    """
    given = {name: value for name, value in said.items() if value is not None}
    _check_fields(kind, given)
    provider, region = given.get("provider", "*"), given.get("region", "*")
    fault: dict[str, Any] = {"kind": kind, "provider": plugin_of(provider)}
    check_region(provider, region)
    check_zone(provider, region, given.get("zone", "*"))
    fault.update({name: given[name] for name in _AS_THEY_ARE if name in given})
    if "type" in given:
        fault["token"] = given["type"]
    fault["after_s"] = given.get("after", 0)
    fault["for_s"] = given.get("for")
    fault["detail"] = {_DETAIL[name]: given[name] for name in _DETAIL if name in given}
    return fault


def _check_fields(kind: str, given: Mapping[str, Any]) -> None:
    row = KINDS[kind]
    takes = (*row.needs, *COMMON, *row.takes)
    missing = [name for name in row.needs if name not in given or given[name] == "*"]
    if missing:
        examples = {key.name: key.example for key in FIELDS}
        raise UserError(
            "E-FAULT",
            f"{kind} needs {' and '.join(missing)}",
            None,
            f"say {', '.join(f'{name}: {examples[name]}' for name in missing)}",
        )
    odd = [name for name in given if name not in takes]
    if odd:
        known = [key.name for key in FIELDS if key.name in takes]
        raise UserError(
            "E-FAULT",
            f"{kind} has no {' and no '.join(odd)}",
            None,
            f"what can be said about it: {', '.join(known)}",
        )
