"""Azure's machines, scale sets and interfaces as neutral facts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from emporion.components.azure.facts_common import common
from emporion.components.azure.sizes import sizes
from emporion.market.fact_source import Reader
from emporion.market.fact_values import amount, either, of, secrets_in_script, text, whole
from emporion.market.facts import Address, Disk, Fact, Node, Spot
from emporion.market.resources import UNKNOWN, Others, Resource, Value, at

__all__ = ["MACHINES", "SET", "UP_TO_ON_DEMAND", "VM", "gpus"]

VM = "azure-native:compute:VirtualMachine"
SET = "azure-native:compute:VirtualMachineScaleSet"
INTERFACE = "azure-native:network:NetworkInterface"
ADDRESS = "azure-native:network:PublicIPAddress"
CHECKPOINT_TAG = "emporion:checkpoint"
TTL_TAG = "emporion:ttl"
UP_TO_ON_DEMAND = -1
"""As a maximum price: no eviction for the price, up to the on-demand one."""


def gpus(size: Value) -> Value:
    """Return the GPUs of one machine of a size; Azure's families with GPUs begin with N."""
    if not isinstance(size, str):
        return UNKNOWN
    row = sizes().get(size)
    if row is not None:
        return row.gpus
    return UNKNOWN if size.startswith("Standard_N") else 0


def _machine(resource: Resource, others: Others | None) -> Iterator[Fact]:
    size = resource.get("hardwareProfile", "vmSize")
    yield _node(resource, resource.inputs, size, _vm_public(resource, others), resource.get("identity"))
    yield from _disks(resource, resource.inputs)
    if resource.get("priority") in {"Spot", "Low", UNKNOWN}:
        yield _spot(resource, resource.inputs, size, renews=None, falls_back=None, count=1)


def _set(resource: Resource, _others: Others | None) -> Iterator[Fact]:
    size = resource.get("sku", "name")
    profile = resource.get("virtualMachineProfile")
    yield _node(resource, profile, size, _set_public(profile), resource.get("identity"))
    yield from _disks(resource, profile)
    mix = resource.get("priorityMixPolicy")
    if at(profile, "priority") in {"Spot", "Low", UNKNOWN} or mix is not None:
        restored = resource.get("spotRestorePolicy", "enabled")
        yield _spot(
            resource,
            profile,
            size,
            renews=of(restored, lambda on: "a spot restore policy" if on else None),
            falls_back=of(mix, _mixes),
            count=either(whole(resource.get("sku", "capacity")), UNKNOWN),
        )


def _mixes(mix: Value) -> str | None:
    if mix is None:
        return None
    return f"a mix with {at(mix, 'regularPriorityPercentageAboveBase') or 0} % regular priority"


def _spot(
    resource: Resource,
    profile: Value,
    size: Value,
    *,
    renews: str | None,
    falls_back: str | None,
    count: Value,
) -> Spot:
    price = amount(at(profile, "billingProfile", "maxPrice"))
    tags = common(resource)["tags"]
    return Spot(
        **common(resource),
        renews=renews,
        falls_back=falls_back,
        max_usd_per_hour=None if price == UP_TO_ON_DEMAND else price,
        interruption=at(profile, "evictionPolicy"),
        instance_type=size,
        count=count,
        checkpoint=UNKNOWN if tags is UNKNOWN else tags.get(CHECKPOINT_TAG),
    )


def _node(resource: Resource, profile: Value, size: Value, public: Value, identity: Value) -> Node:
    image = at(profile, "storageProfile", "imageReference")
    version = at(image, "version")
    named = at(image, "id") if at(image, "id") is not None else ":".join(
        str(at(image, part)) for part in ("publisher", "offer", "sku", "version")
    )  # fmt: skip
    tags = common(resource)["tags"]
    security = at(profile, "securityProfile")
    return Node(
        **common(resource),
        instance_type=size,
        gpus=gpus(size),
        public_ip=public,
        # Azure answers metadata only to a request with a header that no forwarded request has.
        session_tokens=True,
        metadata_hops=1,
        secrets=secrets_in_script(
            at(profile, "osProfile", "customData"), at(profile, "userData"), resource.get("userData")
        ),
        fast_network=False,  # InfiniBand comes with the size and knows no rules of traffic
        placed_together=resource.get("proximityPlacementGroup") is not None
        or resource.get("singlePlacementGroup") is True,
        role=of(at(identity, "type"), lambda kind: kind not in (None, "None")),
        broad_role=False,  # a managed identity has no rights until it is given some
        image=UNKNOWN if version is UNKNOWN else text(named),
        secure_boot=of(at(security, "uefiSettings", "secureBootEnabled"), bool),
        dedicated=resource.get("host") is not None or resource.get("hostGroup") is not None,
        ends=tags if tags is UNKNOWN else TTL_TAG in tags,
    )


def _vm_public(resource: Resource, others: Others | None) -> Value:
    """Return whether one of a machine's interfaces has a public address."""
    if others is None:
        return UNKNOWN
    interfaces = others.behind(resource, "networkProfile", INTERFACE)
    if not interfaces:
        inline = at(resource.inputs, "networkProfile", "networkInterfaceConfigurations")
        return UNKNOWN if inline is None or inline is UNKNOWN else _any_public(inline, "publicIPAddressConfiguration")
    return any(_is_public(one) for one in interfaces)


def _is_public(interface: Resource) -> bool:
    return any(at(one, "publicIPAddress") is not None for one in interface.each("ipConfigurations"))


def _set_public(profile: Value) -> Value:
    configurations = at(profile, "networkProfile", "networkInterfaceConfigurations")
    if configurations is UNKNOWN:
        return UNKNOWN
    return _any_public(configurations or [], "publicIPAddressConfiguration")


def _any_public(configurations: list[Value], name: str) -> Value:
    found = [
        at(ip, name) is not None if ip is not UNKNOWN else UNKNOWN
        for one in configurations
        for ip in at(one, "ipConfigurations") or []
    ]
    return True if True in found else UNKNOWN if UNKNOWN in found else False


def _disks(resource: Resource, profile: Value) -> Iterator[Disk]:
    """Yield the managed disks, which are always encrypted at rest (learn.microsoft.com, disk-encryption)."""
    storage = at(profile, "storageProfile")
    disks = [("os", at(storage, "osDisk"))]
    data = at(storage, "dataDisks")
    disks += [(f"data {at(one, 'lun')}", one) for one in (data if isinstance(data, list) else [])]
    for device, disk in disks:
        if disk is not None:
            key = at(disk, "managedDisk", "diskEncryptionSet")
            yield Disk(
                **common(resource),
                device=device,
                encrypted=True,
                own_key=UNKNOWN if disk is UNKNOWN else key is not None,
            )


def _address(resource: Resource, _others: Others | None) -> Iterator[Fact]:
    yield Address(**common(resource), gpu_node=None)  # an interface holds it, which the machine's own facts tell


MACHINES: Mapping[str, Reader] = {
    VM: _machine,
    SET: _set,
    ADDRESS: _address,
}
