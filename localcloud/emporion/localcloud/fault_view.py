"""The faults of a world as people and programs see them."""

from __future__ import annotations

from typing import Any

from emporion.localcloud.faults import ANY, Fault, faults
from emporion.localcloud.places import provider_of
from emporion.localcloud.world import World, iso_time

__all__ = ["fault_documents"]

_SCOPES = ("region", "zone", "operation", "instance_type", "market")


def fault_documents(world: World) -> list[dict[str, Any]]:
    """Return every fault, oldest first, and whether it is `active`, `coming` or `over`."""
    now_s = world.time_s()
    return [_document(fault, now_s) for fault in faults(world)]


def _document(fault: Fault, now_s: float) -> dict[str, Any]:
    state = "coming" if now_s < fault.starts_s else "active"
    if fault.ends_s is not None and fault.ends_s <= now_s:
        state = "over"
    told: dict[str, Any] = {"number": fault.seq, "kind": fault.kind, "state": state}
    if fault.provider != ANY:
        told["provider"] = provider_of(fault.provider)
    told.update({name: getattr(fault, name) for name in _SCOPES if getattr(fault, name) != ANY})
    if fault.token != ANY:
        told["type"] = fault.token
    if fault.times > 0:
        told["times"] = fault.times
    if fault.skip:
        told["skip"] = fault.skip
    told["starts"] = iso_time(fault.starts_s) if fault.starts_s else None
    told["ends"] = None if fault.ends_s is None else iso_time(fault.ends_s)
    return {**told, **{name: value for name, value in fault.detail.items() if value is not None}}
