"""Buckets, volumes and file systems of AWS as neutral facts."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping

from emporion.components.aws.facts_common import common
from emporion.market.fact_source import Reader
from emporion.market.fact_values import of, truth
from emporion.market.facts import Bucket, Disk, Fact, FileSystem
from emporion.market.resources import UNKNOWN, Others, Resource, Value, at

__all__ = ["STORAGE"]

BUCKETS = ("aws:s3/bucket:Bucket", "aws:s3/bucketV2:BucketV2")
"""The second is the older SDK's name."""
SWITCHES = ("blockPublicAcls", "blockPublicPolicy", "ignorePublicAcls", "restrictPublicBuckets")


def _settings(bucket: Resource, others: Others, kind: str) -> list[Resource]:
    """Return what sets something for a bucket, under the present or the older SDK's name."""
    older = f"aws:s3/{kind}V2:{kind[:1].upper()}{kind[1:]}V2"
    newer = f"aws:s3/{kind}:{kind[:1].upper()}{kind[1:]}"
    return [*others.of(bucket, newer, "bucket", "bucket"), *others.of(bucket, older, "bucket", "bucket")]


def _bucket(resource: Resource, others: Others | None) -> Iterator[Fact]:
    if others is None:  # nearly everything about a bucket is a resource of its own
        return
    keys = [
        at(rule, "applyServerSideEncryptionByDefault")
        for one in _settings(resource, others, "bucketServerSideEncryptionConfiguration")
        for rule in one.each("rules")
    ]
    inline = resource.get("serverSideEncryptionConfiguration", "rule", "applyServerSideEncryptionByDefault")
    keys += [] if inline is None else [inline]
    yield Bucket(
        **common(resource),
        private=_all_of(
            [one.get(switch) for switch in SWITCHES] for one in _settings(resource, others, "bucketPublicAccessBlock")
        ),
        encrypted=_any_of(of(key, bool) for key in keys),
        own_key=_any_of(
            UNKNOWN
            if key is UNKNOWN
            else str(at(key, "sseAlgorithm")).startswith("aws:kms") and at(key, "kmsMasterKeyId") is not None
            for key in keys
        ),
        tls_only=_any_of(_refuses_plain(one) for one in _settings(resource, others, "bucketPolicy")),
        locked=_any_of(
            [
                of(resource.get("objectLockEnabled"), bool),
                bool(_settings(resource, others, "bucketObjectLockConfiguration")),
            ]
        ),
        versioned=_any_of(
            of(one.get("versioningConfiguration", "status"), lambda status: status == "Enabled")
            for one in _settings(resource, others, "bucketVersioning")
        ),
        expires=bool(_settings(resource, others, "bucketLifecycleConfiguration"))
        or bool(resource.each("lifecycleRules")),
        protected=True if resource.protect else of(resource.get("forceDestroy"), lambda force: not truth(force)),
        shared_keys=False,  # S3 knows only identities
    )


def _all_of(rows: Iterable[Iterable[Value]]) -> Value:
    """Return whether one of the rows is all true."""
    return _any_of(
        False if any(value in (None, False, "false") for value in row if value is not UNKNOWN)
        else UNKNOWN if UNKNOWN in row else True
        for row in map(list, rows)
    )  # fmt: skip


def _any_of(values: Iterable[Value]) -> Value:
    found = list(values)
    if any(value is True for value in found):
        return True
    return UNKNOWN if any(value is UNKNOWN for value in found) else False


def _refuses_plain(policy: Resource) -> Value:
    """Return whether a bucket's policy denies every request without TLS."""
    text = policy.get("policy")
    if text is UNKNOWN:
        return UNKNOWN
    try:
        document = json.loads(text) if isinstance(text, str) else text
    except ValueError:
        return False
    statements = at(document, "Statement")
    for one in statements if isinstance(statements, list) else [statements]:
        secure = at(one, "Condition", "Bool", "aws:SecureTransport")
        if at(one, "Effect") == "Deny" and str(secure).lower() in {"false", "['false']"}:
            return True
    return False


def _volume(resource: Resource, _others: Others | None) -> Iterator[Fact]:
    yield Disk(
        **common(resource),
        encrypted=of(truth(resource.get("encrypted")), bool),
        own_key=resource.get("kmsKeyId") is not None,
    )


def _lustre(resource: Resource, _others: Others | None) -> Iterator[Fact]:
    """FSx encrypts every Lustre file system at rest.

    In transit it does so between its servers and those machines whose network cards can: PERSISTENT_* and SCRATCH_2
    (docs.aws.amazon.com/fsx/latest/LustreGuide, encryption-in-transit).
    """
    deployment = resource.get("deploymentType")
    yield FileSystem(
        **common(resource),
        encrypted=True,
        own_key=resource.get("kmsKeyId") is not None,
        encrypted_in_transit=of(deployment, lambda kind: kind not in (None, "SCRATCH_1")),
    )


def _efs(resource: Resource, others: Others | None) -> Iterator[Fact]:
    policies = (
        [] if others is None else others.of(resource, "aws:efs/fileSystemPolicy:FileSystemPolicy", "fileSystemId")
    )
    yield FileSystem(
        **common(resource),
        encrypted=of(truth(resource.get("encrypted")), bool),
        own_key=resource.get("kmsKeyId") is not None,
        encrypted_in_transit=UNKNOWN if others is None else _any_of(_refuses_plain(one) for one in policies),
    )


STORAGE: Mapping[str, Reader] = {
    **dict.fromkeys(BUCKETS, _bucket),
    "aws:ebs/volume:Volume": _volume,
    "aws:fsx/lustreFileSystem:LustreFileSystem": _lustre,
    "aws:efs/fileSystem:FileSystem": _efs,
}
