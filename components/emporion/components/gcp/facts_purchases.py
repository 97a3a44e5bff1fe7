"""What of Google Cloud is paid for by the hour or month, as neutral facts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from decimal import Decimal

from emporion.components.gcp.facts_common import common
from emporion.components.gcp.facts_machines import GROUPS, INSTANCE, TEMPLATES, is_spot
from emporion.market.fact_source import Payer
from emporion.market.fact_values import either, first, of, quantity, times
from emporion.market.facts import MACHINE, Purchase
from emporion.market.resources import UNKNOWN, Others, Resource, Value, at, has_unknown

__all__ = ["PURCHASES"]


def _one(resource: Resource, part: str, item: str, variant: Value, count: Value, *, says: str = "") -> Purchase:
    return Purchase(**common(resource), part=part, item=item, variant=variant, quantity=count, says=says)


def _machines(resource: Resource, machine: Resource, count: Value) -> Iterator[Purchase]:
    """Yield machines with their disks and addresses.

    The GPUs of a machine type are in its price, named or not; only N1 machines have none, or attached ones.
    """
    kind = machine.get("machineType")
    name = of(kind, lambda text: str(text).rpartition("/")[2]) if kind is not None else UNKNOWN
    yield Purchase(
        **common(resource),
        item=MACHINE,
        variant=name,
        attached=_attached(machine) if name is not UNKNOWN and name.startswith("n1-") else None,
        quantity=count,
        spot=is_spot(machine),
        max_usd_per_hour=None,
    )
    boot = machine.get("bootDisk", "initializeParams")
    disks = [] if boot is None else [("disk", at(boot, "type"), at(boot, "size"))]
    disks += [("disk", at(one, "diskType"), at(one, "diskSizeGb")) for one in machine.each("disks")]
    for says, disk, size in disks:
        gib = times(count, quantity(size))
        yield _one(resource, "storage", "block_disk_gb_month", either(disk, "pd-standard"), gib, says=says)
    if any(at(one, "accessConfigs") for one in machine.each("networkInterfaces") if one is not UNKNOWN):
        variant = of(is_spot(machine), lambda spot: "in_use_spot_vm" if spot else "in_use_standard_vm")
        yield _one(resource, "network", "ipv4_hour", variant, count, says="public address")


def _attached(machine: Resource) -> Value:
    """Return the GPUs attached to a machine as `model:count`, empty for none; several models are unknown."""
    found = machine.each("guestAccelerators")
    if len(found) > 1:
        return UNKNOWN
    return (
        "".join(f"{at(one, 'type')}:{at(one, 'count')}" for one in found) if not has_unknown(list(found)) else UNKNOWN
    )


def _machine(resource: Resource, _others: Others) -> Iterator[Purchase]:
    yield from _machines(resource, resource, Decimal(1))


def _group(resource: Resource, others: Others) -> Iterator[Purchase]:
    template = next(iter(others.behind(resource, "versions", *TEMPLATES)), None)
    count = quantity(resource.get("targetSize"))
    if template is not None:
        yield from _machines(resource, template, count)
    else:
        yield Purchase(**common(resource), item=MACHINE, variant=UNKNOWN, quantity=count, spot=UNKNOWN)


def _disk(resource: Resource, _others: Others) -> Iterator[Purchase]:
    kind = either(resource.get("type"), "pd-standard")
    yield _one(resource, "storage", "block_disk_gb_month", kind, quantity(resource.get("size")))


def _nat(resource: Resource, _others: Others) -> Iterator[Purchase]:
    """Yield a NAT at its ceiling: it is charged by the machines behind it, up to that of 32."""
    yield _one(resource, "network", "nat_hour", "cloud_nat_gateway_32_vms_or_more", Decimal(1), says="up to")
    yield _one(resource, "network", "nat_gb", "cloud_nat", UNKNOWN, says="data")


def _address(resource: Resource, others: Others) -> Iterator[Purchase]:
    if resource.get("addressType") == "INTERNAL" or others.of(resource, INSTANCE, "networkInterfaces"):
        return  # an address of a machine is counted with the machine
    yield _one(resource, "network", "ipv4_hour", "static_unused", Decimal(1))


def _bucket(resource: Resource, _others: Others) -> Iterator[Purchase]:
    yield _one(resource, "storage", "object_gb_month", "hot", UNKNOWN, says="content")


def _files(resource: Resource, _others: Others) -> Iterator[Purchase]:
    tier = of(first(resource.get("tier"), "?"), lambda name: str(name).lower())
    size = at(resource.get("fileShares"), "capacityGb")
    yield _one(resource, "storage", "filestore_gb_month", tier, quantity(size))


PURCHASES: Mapping[str, Payer] = {
    INSTANCE: _machine,
    **dict.fromkeys(GROUPS, _group),
    "gcp:compute/disk:Disk": _disk,
    "gcp:compute/routerNat:RouterNat": _nat,
    "gcp:compute/address:Address": _address,
    "gcp:storage/bucket:Bucket": _bucket,
    "gcp:filestore/instance:Instance": _files,
}
