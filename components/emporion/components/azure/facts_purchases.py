"""What of Azure is paid for by the hour or month, as neutral facts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from decimal import Decimal

from emporion.components.azure.facts_common import common
from emporion.components.azure.facts_machines import SET, UP_TO_ON_DEMAND, VM
from emporion.market.fact_source import Payer
from emporion.market.fact_values import amount, either, of, quantity, times
from emporion.market.facts import MACHINE, Purchase
from emporion.market.resources import UNKNOWN, Others, Resource, Value, at

__all__ = ["PURCHASES"]

DISKS = {
    "StandardSSD_LRS": "standard_ssd",
    "Standard_LRS": "standard_hdd",
    "UltraSSD_LRS": "ultra",
}
"""Kind of disk -> variant of the price book. Premium disks are sold by size (`PREMIUM`)."""
PREMIUM = {32: "premium_ssd_p4", 128: "premium_ssd_p10", 1024: "premium_ssd_p30"}
"""Size in GiB of the tiers that the price book knows."""
SPOT = {"Spot", "Low"}


def _one(resource: Resource, part: str, item: str, variant: Value, count: Value, *, says: str = "") -> Purchase:
    return Purchase(**common(resource), part=part, item=item, variant=variant, quantity=count, says=says)


def _compute(resource: Resource, size: Value, count: Value, profile: Value, *, spot: Value) -> Purchase:
    price = amount(at(profile, "billingProfile", "maxPrice"))
    return Purchase(
        **common(resource),
        item=MACHINE,
        variant=UNKNOWN if size is None else size,
        quantity=count,
        spot=spot,
        max_usd_per_hour=None if price == UP_TO_ON_DEMAND else price,
    )


def _disks(resource: Resource, profile: Value, count: Value) -> Iterator[Purchase]:
    storage = at(profile, "storageProfile")
    data = at(storage, "dataDisks")
    for says, disk in [
        ("disk", at(storage, "osDisk")),
        *((f"disk {at(one, 'lun')}", one) for one in (data if isinstance(data, list) else [])),
    ]:
        kind = either(at(disk, "managedDisk", "storageAccountType"), "Standard_LRS")
        yield _disk(resource, kind, at(disk, "diskSizeGB"), count, says)


def _disk(resource: Resource, kind: Value, gib: Value, count: Value, says: str) -> Purchase:
    size = quantity(gib)
    variant = of(
        kind, lambda name: PREMIUM.get(gib, f"{name} {gib} GiB") if name == "Premium_LRS" else DISKS.get(name, name)
    )
    return _one(resource, "storage", "block_disk_gb_month", variant, times(count, size), says=says)


def _machine(resource: Resource, _others: Others) -> Iterator[Purchase]:
    spot = of(resource.get("priority"), lambda priority: priority in SPOT)
    size = resource.get("hardwareProfile", "vmSize")
    if resource.get("capacityReservation") in (None, UNKNOWN):  # a reservation is paid for whether it is used or not
        yield _compute(resource, size, Decimal(1), resource.inputs, spot=spot)
    yield from _disks(resource, resource.inputs, Decimal(1))


def _set(resource: Resource, _others: Others) -> Iterator[Purchase]:
    profile, size = resource.get("virtualMachineProfile"), resource.get("sku", "name")
    count = quantity(resource.get("sku", "capacity"))
    mix = resource.get("priorityMixPolicy")
    spot = of(at(profile, "priority"), lambda priority: priority in SPOT)
    if at(profile, "capacityReservation") in (None, UNKNOWN):
        if mix is None or count is UNKNOWN:
            yield _compute(resource, size, count, profile, spot=spot if mix is None else UNKNOWN)
        else:
            base = min(count, Decimal(str(at(mix, "baseRegularPriorityCount") or 0)))
            percent = Decimal(str(at(mix, "regularPriorityPercentageAboveBase") or 0))
            regular = base - ((base - count) * percent // 100)
            if regular:
                yield _compute(resource, size, regular, profile, spot=False)
            if count > regular:
                yield _compute(resource, size, count - regular, profile, spot=True)
    yield from _disks(resource, profile, count)


def _reservation(resource: Resource, _others: Others) -> Iterator[Purchase]:
    yield _compute(resource, resource.get("sku", "name"), quantity(resource.get("sku", "capacity")), {}, spot=False)


def _volume(resource: Resource, _others: Others) -> Iterator[Purchase]:
    yield _disk(
        resource, either(resource.get("sku", "name"), "Standard_LRS"), resource.get("diskSizeGB"), Decimal(1), ""
    )


def _nat(resource: Resource, _others: Others) -> Iterator[Purchase]:
    yield _one(resource, "network", "nat_hour", "standard", Decimal(1))
    yield _one(resource, "network", "nat_gb", "standard", UNKNOWN, says="data")


def _address(resource: Resource, _others: Others) -> Iterator[Purchase]:
    tier = either(resource.get("sku", "tier"), "Regional")
    variant = of(tier, lambda name: "standard_static_global" if name == "Global" else "standard_static_regional")
    yield _one(resource, "network", "ipv4_hour", variant, Decimal(1))


def _bastion(resource: Resource, _others: Others) -> Iterator[Purchase]:
    sku = of(either(resource.get("sku", "name"), "Basic"), lambda name: str(name).lower())
    yield _one(resource, "network", "bastion_hour", sku, Decimal(1))


def _endpoint(resource: Resource, _others: Others) -> Iterator[Purchase]:
    yield _one(resource, "network", "vpc_endpoint_hour", "private_endpoint", Decimal(1))


def _account(resource: Resource, _others: Others) -> Iterator[Purchase]:
    yield _one(resource, "storage", "object_gb_month", "hot", UNKNOWN, says="content")


def _lustre(resource: Resource, _others: Others) -> Iterator[Purchase]:
    tib = quantity(resource.get("storageCapacityTiB"))
    gb = tib if tib is UNKNOWN else tib * (1 << 40) / 10**9
    yield _one(resource, "storage", "lustre_gb_month", "azure_managed_lustre", gb)


PURCHASES: Mapping[str, Payer] = {
    VM: _machine,
    SET: _set,
    "azure-native:compute:CapacityReservation": _reservation,
    "azure-native:compute:Disk": _volume,
    "azure-native:network:NatGateway": _nat,
    "azure-native:network:PublicIPAddress": _address,
    "azure-native:network:BastionHost": _bastion,
    "azure-native:network:PrivateEndpoint": _endpoint,
    "azure-native:storage:StorageAccount": _account,
    "azure-native:storagecache:AmlFilesystem": _lustre,
}
