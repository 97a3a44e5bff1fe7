"""Firewalls, buckets, disks, rights and records of Google Cloud as neutral facts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from emporion.components.gcp.facts_common import common
from emporion.components.gcp.facts_machines import INSTANCE, gpus
from emporion.market.fact_source import Reader
from emporion.market.fact_values import of, truth
from emporion.market.facts import (
    Address,
    AuditLog,
    Bucket,
    Budget,
    Disk,
    Fact,
    FileSystem,
    FlowLog,
    Grant,
    Ingress,
    Key,
)
from emporion.market.resources import UNKNOWN, Others, Resource, Value, at, has_unknown

__all__ = ["SERVICES"]

EVERYBODY = ("allUsers", "allAuthenticatedUsers")
WIDE_ROLES = ("roles/owner", "roles/editor")
ALL_PORTS = (0, 65535)
EVERYWHERE = "0.0.0.0/0"
BUCKET_RIGHTS = (
    ("gcp:storage/bucketIAMMember:BucketIAMMember", "member"),
    ("gcp:storage/bucketIAMBinding:BucketIAMBinding", "members"),
)
AUDITED = {"ADMIN_READ", "DATA_READ", "DATA_WRITE"}


def _firewall(resource: Resource, _others: Others | None) -> Iterator[Fact]:
    if resource.get("direction") == "EGRESS" or truth(resource.get("disabled")) is True:
        return
    listed = list(resource.each("sourceRanges"))
    if not listed and not resource.each("sourceTags") and not resource.each("sourceServiceAccounts"):
        listed = [EVERYWHERE]  # without any source a rule takes traffic from everywhere
    known = tuple(str(one) for one in listed if one is not UNKNOWN)
    for rule in resource.each("allows"):
        protocol = of(at(rule, "protocol"), lambda name: str(name).lower())
        spans = at(rule, "ports")
        for ports in [UNKNOWN] if spans is UNKNOWN else spans or [None]:
            span = ALL_PORTS if ports is None else of(ports, _span)
            if known:
                yield Ingress(**common(resource), protocol=protocol, ports=span, sources=known)
            if UNKNOWN in listed:
                yield Ingress(**common(resource), protocol=protocol, ports=span, sources=UNKNOWN)


def _span(text: Value) -> tuple[int, int]:
    first, _, last = str(text).partition("-")
    return int(first), int(last or first)


def _bucket(resource: Resource, others: Others | None) -> Iterator[Fact]:
    prevention = resource.get("publicAccessPrevention")
    yield Bucket(
        **common(resource),
        private=False if _is_given_to_all(resource, others) else of(prevention, lambda said: said == "enforced"),
        encrypted=True,
        own_key=resource.get("encryption", "defaultKmsKeyName") is not None,
        tls_only=True,
        locked=of(resource.get("retentionPolicy", "isLocked"), lambda locked: bool(truth(locked))),
        versioned=of(resource.get("versioning", "enabled"), lambda on: bool(truth(on))),
        expires=bool(resource.each("lifecycleRules")),
        protected=True if resource.protect else of(resource.get("forceDestroy"), lambda force: not truth(force)),
        shared_keys=False,
    )


def _is_given_to_all(bucket: Resource, others: Others | None) -> bool:
    return others is not None and any(
        member in EVERYBODY
        for kind, name in BUCKET_RIGHTS
        for one in others.of(bucket, kind, "bucket", "name")
        for member in one.each(name)
    )


def _disk(resource: Resource, _others: Others | None) -> Iterator[Fact]:
    key = resource.get("diskEncryptionKey", "kmsKeySelfLink")
    yield Disk(**common(resource), encrypted=True, own_key=key is not None)


def _files(resource: Resource, _others: Others | None) -> Iterator[Fact]:
    yield FileSystem(
        **common(resource),
        encrypted=True,
        own_key=resource.get("kmsKeyName") is not None,
        encrypted_in_transit=UNKNOWN,  # NFS carries no encryption of its own, the network between machines does
    )


def _key(of_what: str) -> Callable[[Resource, Others | None], Iterator[Fact]]:
    def read(resource: Resource, _others: Others | None) -> Iterator[Fact]:
        yield Key(**common(resource), of=of_what)

    return read


def _member(resource: Resource, _others: Others | None) -> Iterator[Fact]:
    role = resource.get("role")
    yield Grant(
        **common(resource),
        wildcards=of(role, lambda name: (f"{name} on the whole project",) if name in WIDE_ROLES else ()),
    )


def _role(resource: Resource, _others: Others | None) -> Iterator[Fact]:
    """Yield a role of one's own; Google Cloud takes no wildcard in its permissions."""
    yield Grant(**common(resource), wildcards=())


def _budget(resource: Resource, _others: Others | None) -> Iterator[Fact]:
    yield Budget(**common(resource), notifies=of(resource.get("thresholdRules"), bool))


def _audit(resource: Resource, _others: Others | None) -> Iterator[Fact]:
    configs = list(resource.each("auditLogConfigs"))
    told = all(not has_unknown(one) for one in (resource.get("service"), configs))
    kinds = {at(one, "logType") for one in configs}
    exempted = told and any(at(one, "exemptedMembers") for one in configs)
    complete = resource.get("service") == "allServices" and kinds >= AUDITED and not exempted
    yield AuditLog(
        **common(resource),
        complete=complete if told else UNKNOWN,
        tamper_evident=True,  # its audit logs cannot be changed or deleted by anybody
        own_key=UNKNOWN,
    )


def _subnetwork(resource: Resource, _others: Others | None) -> Iterator[Fact]:
    if resource.get("logConfig") is not None:
        yield FlowLog(**common(resource))


def _address(resource: Resource, others: Others | None) -> Iterator[Fact]:
    if others is None or resource.get("addressType") == "INTERNAL":
        return
    machines = [(one.name, gpus(one)) for one in others.of(resource, INSTANCE, "networkInterfaces")]
    held = next((name for name, count in machines if count not in (0, UNKNOWN)), None)
    unsure = held is None and any(count is UNKNOWN for _, count in machines)
    yield Address(**common(resource), gpu_node=UNKNOWN if unsure else held)


SERVICES: Mapping[str, Reader] = {
    "gcp:compute/firewall:Firewall": _firewall,
    "gcp:compute/disk:Disk": _disk,
    "gcp:compute/subnetwork:Subnetwork": _subnetwork,
    "gcp:compute/address:Address": _address,
    "gcp:storage/bucket:Bucket": _bucket,
    "gcp:storage/hmacKey:HmacKey": _key("the buckets of a project"),
    "gcp:serviceaccount/key:Key": _key("a service account"),
    "gcp:filestore/instance:Instance": _files,
    "gcp:projects/iAMMember:IAMMember": _member,
    "gcp:projects/iAMBinding:IAMBinding": _member,
    "gcp:projects/iAMCustomRole:IAMCustomRole": _role,
    "gcp:projects/iAMAuditConfig:IAMAuditConfig": _audit,
    "gcp:billing/budget:Budget": _budget,
}
