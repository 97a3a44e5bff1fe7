"""Compliance: where things may stand, and the HIPAA profile, which is off until it is chosen.

A rule reports evidence, it certifies nothing. The numbers are sections of 45 CFR part 164.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from emporion.market.facts import (
    AuditLog,
    Bucket,
    Disk,
    Fact,
    FileSystem,
    FlowLog,
    LogGroup,
    Node,
    Purchase,
)
from emporion.policies.rule import Level, Severity, rule
from emporion.policies.stack import Stack

__all__ = [
    "approved_providers",
    "approved_regions",
    "hipaa_audit_log",
    "hipaa_bucket_own_key",
    "hipaa_bucket_versioned",
    "hipaa_disk_own_key",
    "hipaa_file_system_own_key",
    "hipaa_flow_logs",
    "hipaa_isolated",
    "hipaa_log_own_key",
    "hipaa_log_retention",
    "hipaa_no_public_address",
    "hipaa_regions_listed",
]

HIPAA = "hipaa"
KEPT_DAYS = 2190
"""Six years (164.316(b)(2)(i))."""


@rule(
    "approved-regions",
    severity=Severity.HIGH,
    level=Level.MANDATORY,
    fix="move it to a region of the list, or add its region to `regions`",
)
def approved_regions(purchase: Purchase, *, regions: Sequence[str] = ()) -> Iterator[str]:
    """What is paid for stands in an approved region, where regions are listed."""
    if regions and purchase.region is not None and purchase.region not in regions:
        yield f"{purchase.name} stands in {purchase.region}, allowed: {', '.join(regions)}"


@rule(
    "approved-providers",
    severity=Severity.HIGH,
    level=Level.MANDATORY,
    fix="take a provider of the list, or add it to `providers` once its agreement is signed (164.308(b))",
)
def approved_providers(purchase: Purchase, *, providers: Sequence[str] = ()) -> Iterator[str]:
    """What is paid for is a provider's with whom there is an agreement, where providers are listed."""
    if providers and purchase.provider not in providers:
        yield f"{purchase.name} is at {purchase.provider}, allowed: {', '.join(providers)}"


def _own_key(fact: Disk | FileSystem | Bucket | LogGroup | AuditLog) -> Iterator[str]:
    if not fact.own_key:
        yield f"{fact.name} is not encrypted with a key of your own"


@rule(
    "hipaa-disk-own-key", severity=Severity.HIGH, profile=HIPAA, fix="name a key of your own (164.312(a)(2)(iv))",
    like=("CKV_AWS_189", "CKV_AZURE_93"),
)  # fmt: skip
def hipaa_disk_own_key(disk: Disk) -> Iterator[str]:
    """Disks are encrypted with keys of the customer."""
    yield from _own_key(disk)


@rule(
    "hipaa-file-system-own-key", severity=Severity.HIGH, profile=HIPAA,
    fix="name a key of your own (164.312(a)(2)(iv))", like=("CKV_AWS_190",),
)  # fmt: skip
def hipaa_file_system_own_key(files: FileSystem) -> Iterator[str]:
    """File systems are encrypted with keys of the customer."""
    yield from _own_key(files)


@rule(
    "hipaa-bucket-own-key", severity=Severity.HIGH, profile=HIPAA, fix="name a key of your own (164.312(a)(2)(iv))",
    like=("CKV_AWS_145",),
)  # fmt: skip
def hipaa_bucket_own_key(bucket: Bucket) -> Iterator[str]:
    """Stores are encrypted with keys of the customer."""
    yield from _own_key(bucket)


@rule(
    "hipaa-log-own-key", severity=Severity.MEDIUM, profile=HIPAA, fix="name a key of your own (164.312(a)(2)(iv))",
    like=("CKV_AWS_158",),
)  # fmt: skip
def hipaa_log_own_key(group: LogGroup) -> Iterator[str]:
    """Logs are encrypted with keys of the customer."""
    yield from _own_key(group)


@rule("hipaa-bucket-versioned", severity=Severity.MEDIUM, profile=HIPAA, fix="turn versioning on (164.312(c))")
def hipaa_bucket_versioned(bucket: Bucket) -> Iterator[str]:
    """What is overwritten in a store can be brought back."""
    if not bucket.versioned:
        yield f"{bucket.name} keeps no earlier versions"


@rule(
    "hipaa-audit-log", severity=Severity.HIGH, profile=HIPAA,
    fix="record who did what, in every region, with proof against tampering (164.312(b))",
    like=("CKV_AWS_67", "CKV_AWS_36"),
)  # fmt: skip
def hipaa_audit_log(stack: Stack) -> Iterator[str]:
    """There is a complete audit log that shows when it was tampered with."""
    logs = stack.all(AuditLog)
    if not logs:
        yield "the stack has no audit log"
    for log in logs:
        if not log.complete:
            yield f"{log.name} does not cover every region or service"
        if not log.tamper_evident:
            yield f"{log.name} does not show when it was tampered with"


@rule("hipaa-flow-logs", severity=Severity.MEDIUM, profile=HIPAA, fix="record the network's traffic (164.312(b))")
def hipaa_flow_logs(stack: Stack) -> Iterator[str]:
    """The network's traffic is recorded."""
    if not stack.all(FlowLog):
        yield "the stack records no traffic of its network"


@rule(
    "hipaa-log-retention", severity=Severity.MEDIUM, profile=HIPAA, fix="keep logs for six years (164.316(b)(2)(i))",
    like=("CKV_AWS_338",),
)  # fmt: skip
def hipaa_log_retention(group: LogGroup, *, min_days: int = KEPT_DAYS) -> Iterator[str]:
    """Logs are kept for six years."""
    if group.kept_days is not None and group.kept_days < min_days:
        yield f"{group.name} keeps logs for {group.kept_days} days, at least: {min_days}"


@rule("hipaa-no-public-address", severity=Severity.HIGH, profile=HIPAA, fix="take it away (164.312(a)(1))")
def hipaa_no_public_address(node: Node) -> Iterator[str]:
    """No machine has a public address."""
    if node.public_ip:
        yield f"{node.name} has a public address"


@rule(
    "hipaa-isolated", severity=Severity.LOW, profile=HIPAA, fix="ask for dedicated tenancy, or exempt it with a reason"
)
def hipaa_isolated(node: Node, *, wanted: bool = False) -> Iterator[str]:
    """Machines share their host with no other customer, where that is wanted."""
    if wanted and not node.dedicated:
        yield f"{node.name} shares its host with other customers"


@rule(
    "hipaa-regions-listed", severity=Severity.MEDIUM, profile=HIPAA,
    fix="list the regions in which patient data may lie, here and for `approved-regions`",
)  # fmt: skip
def hipaa_regions_listed(stack: Stack, *, regions: Sequence[str] = ()) -> Iterator[str]:
    """Patient data lies in approved regions only, and these are written down."""
    stores: list[Fact] = [*stack.all(Bucket), *stack.all(FileSystem), *stack.all(Disk)]
    if stores and not regions:
        yield "no regions are approved for patient data"
        return
    for store in stores:
        if store.region is not None and store.region not in regions:
            yield f"{store.name} lies in {store.region}, approved: {', '.join(regions)}"
