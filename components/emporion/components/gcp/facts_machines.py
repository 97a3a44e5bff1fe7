"""Machines of Compute Engine, their templates and groups as neutral facts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache

from emporion.components.gcp.facts_common import common
from emporion.market.fact_source import Reader
from emporion.market.fact_values import first, of, secrets_in_script, text, truth, whole
from emporion.market.facts import Disk, Fact, Node, Spot
from emporion.market.resources import UNKNOWN, Others, Resource, Value, at
from emporion.market.tables import rows

__all__ = ["GROUPS", "INSTANCE", "MACHINES", "TEMPLATES", "is_spot"]

INSTANCE = "gcp:compute/instance:Instance"
TEMPLATES = (
    "gcp:compute/instanceTemplate:InstanceTemplate",
    "gcp:compute/regionInstanceTemplate:RegionInstanceTemplate",
)
GROUPS = (
    "gcp:compute/instanceGroupManager:InstanceGroupManager",
    "gcp:compute/regionInstanceGroupManager:RegionInstanceGroupManager",
)
GPU_FAMILIES = ("a2-", "a3-", "a4", "g2-", "g4-")
"""Machine types that have GPUs built in; others get them attached (cloud.google.com/compute/docs/gpus)."""
CHECKPOINT = "emporion-checkpoint"
"""A key of the machine's metadata: a label cannot hold a path."""
TTL = "emporion-ttl"
DEFAULT_ACCOUNT = "-compute@developer.gserviceaccount.com"
ALL_RIGHTS = ("cloud-platform", "https://www.googleapis.com/auth/cloud-platform")


@cache
def _built_in() -> Mapping[str, int]:
    """Return machine type -> its GPUs, of the types that the bundled offers name."""
    found = {row["instance_type"]: int(row["gpu_count"]) for row in rows("offers.csv") if row["provider"] == "gcp"}
    return {name: count for name, count in found.items() if name.startswith(GPU_FAMILIES)}


def gpus(resource: Resource) -> Value:
    """Return the GPUs of one machine: those built in, else those attached."""
    attached = resource.get("guestAccelerators")
    kind = resource.get("machineType")
    if attached is UNKNOWN or kind is UNKNOWN:
        return UNKNOWN
    name = str(kind or "").rpartition("/")[2]
    if name.startswith(GPU_FAMILIES):
        return _built_in().get(name, UNKNOWN)
    counts = [whole(at(one, "count")) for one in attached or []]
    return UNKNOWN if UNKNOWN in counts else sum(int(count or 0) for count in counts)


def is_spot(resource: Resource) -> Value:
    """Return whether a machine, or those made from a template, are interruptible."""
    model, preemptible = resource.get("scheduling", "provisioningModel"), resource.get("scheduling", "preemptible")
    if model == "SPOT" or truth(preemptible) is True:
        return True
    return UNKNOWN if UNKNOWN in (model, preemptible) else False


def _machine(resource: Resource, _others: Others | None) -> Iterator[Fact]:
    yield _node(resource)
    yield from _disks(resource)
    if is_spot(resource) is not False:
        yield _spot(resource, resource, renews=None, count=1)


def _template(resource: Resource, others: Others | None) -> Iterator[Fact]:
    yield _node(resource)
    yield from _disks(resource)
    if is_spot(resource) is not False:
        groups = [] if others is None else [one for kind in GROUPS for one in others.of(resource, kind, "versions")]
        sizes = [whole(one.get("targetSize")) for one in groups]
        count = UNKNOWN if others is None or UNKNOWN in sizes else sum(int(size or 0) for size in sizes)
        yield _spot(resource, resource, renews=None, count=count)


def _group(resource: Resource, others: Others | None) -> Iterator[Fact]:
    """Yield what a managed group does with spot: it makes an interrupted machine anew."""
    template = next(iter(others.behind(resource, "versions", *TEMPLATES)), None) if others is not None else None
    if template is not None and is_spot(template) is not False:
        how = "a managed instance group that replaces what was interrupted"
        yield _spot(resource, template, renews=how, count=first(whole(resource.get("targetSize")), 0))


def _spot(resource: Resource, machine: Resource, *, renews: str | None, count: Value) -> Spot:
    metadata = machine.get("metadata")
    return Spot(
        **common(resource),
        renews=renews,
        falls_back=None,  # the provisioning model never changes by itself
        max_usd_per_hour=None,  # Google Cloud knows no maximum price
        interruption=machine.get("scheduling", "instanceTerminationAction"),
        instance_type=text(machine.get("machineType")),
        count=count,
        checkpoint=UNKNOWN if metadata is UNKNOWN else text(at(metadata, CHECKPOINT)),
    )


def _node(resource: Resource) -> Node:
    metadata = resource.get("metadata")
    scripts = [resource.get("metadataStartupScript")]
    scripts += [UNKNOWN] if metadata is UNKNOWN else list((metadata or {}).values())
    labels = common(resource)["tags"]
    account, scopes = resource.get("serviceAccount", "email"), resource.get("serviceAccount", "scopes")
    limit = resource.get("scheduling", "maxRunDuration")
    return Node(
        **common(resource),
        instance_type=resource.get("machineType"),
        gpus=gpus(resource),
        public_ip=_public(resource),
        # The metadata server answers only to a request with a header that no forwarded request has.
        session_tokens=True,
        metadata_hops=1,
        secrets=secrets_in_script(*scripts),
        fast_network=False,  # its RDMA networks are networks of their own, without rules between members
        placed_together=resource.get("resourcePolicies") is not None,
        role=True if account is UNKNOWN and resource.references else of(account, bool),
        broad_role=_is_broad(account, scopes),
        image=text(
            first(resource.get("bootDisk", "initializeParams", "image"), resource.get("disks", 0, "sourceImage"))
        ),
        secure_boot=of(truth(resource.get("shieldedInstanceConfig", "enableSecureBoot")), bool),
        dedicated=resource.get("scheduling", "nodeAffinities") is not None,
        ends=True if limit is not None else labels if labels is UNKNOWN else TTL in labels,
    )


def _is_broad(account: Value, scopes: Value) -> Value:
    """Return whether a machine runs under the project's default account with every right that it has."""
    if scopes is None:
        return False  # without scopes it gets no account at all
    if UNKNOWN in (account, scopes):
        return UNKNOWN
    default = account is None or str(account).endswith(DEFAULT_ACCOUNT)
    return default and any(scope in ALL_RIGHTS for scope in scopes)


def _public(resource: Resource) -> Value:
    """Return whether an interface has an access configuration: even an empty one allocates an address."""
    found = [
        UNKNOWN if one is UNKNOWN or at(one, "accessConfigs") is UNKNOWN else bool(at(one, "accessConfigs"))
        for one in resource.each("networkInterfaces")
    ]
    return True if True in found else UNKNOWN if UNKNOWN in found else False


def _disks(resource: Resource) -> Iterator[Disk]:
    """Yield the disks, which are always encrypted at rest (cloud.google.com, default encryption)."""
    boot = resource.get("bootDisk")
    found = [] if boot is None else [("boot", boot, at(boot, "kmsKeySelfLink"))]
    for number, one in enumerate(resource.each("disks")):
        found.append((f"disk {number}", one, at(one, "diskEncryptionKey", "kmsKeySelfLink")))
    for device, disk, key in found:
        own = UNKNOWN if disk is UNKNOWN else key is not None
        yield Disk(**common(resource), device=device, encrypted=True, own_key=own)


MACHINES: Mapping[str, Reader] = {
    INSTANCE: _machine,
    **dict.fromkeys(TEMPLATES, _template),
    **dict.fromkeys(GROUPS, _group),
}
