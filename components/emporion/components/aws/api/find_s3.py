"""Finding buckets by their name, and a bucket's settings: they are there when they are as asked."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from emporion.components.aws.api.find import Finder, same_document
from emporion.components.aws.api.session import Clients, unless_absent
from emporion.market.clouds import Pending

__all__ = ["FINDERS"]

_NO_BUCKET = frozenset({"404", "NoSuchBucket"})
_NOT_SET = _NO_BUCKET | {
    "NoSuchBucketPolicy",
    "NoSuchLifecycleConfiguration",
    "NoSuchPublicAccessBlockConfiguration",
    "ObjectLockConfigurationNotFoundError",
    "OwnershipControlsNotFoundError",
    "ServerSideEncryptionConfigurationNotFoundError",
}

Inputs = Mapping[str, Any]


def _bucket(clients: Clients, pending: Pending) -> str | None:
    name: str = pending.inputs["bucket"]
    return name if unless_absent(_NO_BUCKET, lambda: clients.s3.head_bucket(Bucket=name)) else None


def _object(clients: Clients, pending: Pending) -> str | None:
    bucket, key = pending.inputs["bucket"], pending.inputs["key"]
    absent = _NO_BUCKET | {"NoSuchKey"}
    return f"{bucket}/{key}" if unless_absent(absent, lambda: clients.s3.head_object(Bucket=bucket, Key=key)) else None


def _setting(operation: str, as_asked: Callable[[Mapping[str, Any], Inputs], bool]) -> Finder:
    """Return a finder whose answer is the bucket's name when the setting says what the inputs ask."""

    def find(clients: Clients, pending: Pending) -> str | None:
        bucket: str = pending.inputs["bucket"]
        s3: Any = clients.s3
        answer = unless_absent(_NOT_SET, lambda: getattr(s3, operation)(Bucket=bucket))
        return bucket if answer is not None and as_asked(answer, pending.inputs) else None

    return find


def _versioning(answer: Mapping[str, Any], inputs: Inputs) -> bool:
    return bool(answer.get("Status") == inputs["versioningConfiguration"]["status"])


def _encryption(answer: Mapping[str, Any], inputs: Inputs) -> bool:
    def ours(rule: Inputs) -> tuple[Any, ...]:
        default = rule.get("applyServerSideEncryptionByDefault") or {}
        return default.get("sseAlgorithm"), default.get("kmsMasterKeyId"), bool(rule.get("bucketKeyEnabled"))

    def theirs(rule: Inputs) -> tuple[Any, ...]:
        default = rule.get("ApplyServerSideEncryptionByDefault") or {}
        return default.get("SSEAlgorithm"), default.get("KMSMasterKeyID"), bool(rule.get("BucketKeyEnabled"))

    rules = answer["ServerSideEncryptionConfiguration"]["Rules"]
    return [theirs(rule) for rule in rules] == [ours(rule) for rule in inputs["rules"]]


_BLOCKS = {
    "blockPublicAcls": "BlockPublicAcls",
    "blockPublicPolicy": "BlockPublicPolicy",
    "ignorePublicAcls": "IgnorePublicAcls",
    "restrictPublicBuckets": "RestrictPublicBuckets",
}


def _public_access(answer: Mapping[str, Any], inputs: Inputs) -> bool:
    block = answer["PublicAccessBlockConfiguration"]
    return all(bool(block.get(theirs)) is bool(inputs.get(ours)) for ours, theirs in _BLOCKS.items())


def _object_lock(answer: Mapping[str, Any], inputs: Inputs) -> bool:
    theirs = answer["ObjectLockConfiguration"].get("Rule", {}).get("DefaultRetention", {})
    ours = (inputs.get("rule") or {}).get("defaultRetention") or {}
    return all(theirs.get(key.capitalize()) == ours.get(key) for key in ("mode", "days", "years"))


def _lifecycle(answer: Mapping[str, Any], inputs: Inputs) -> bool:
    theirs = sorted((rule.get("ID", ""), rule["Status"]) for rule in answer["Rules"])
    return theirs == sorted((rule.get("id", ""), rule["status"]) for rule in inputs["rules"])


def _ownership(answer: Mapping[str, Any], inputs: Inputs) -> bool:
    theirs = [rule["ObjectOwnership"] for rule in answer["OwnershipControls"]["Rules"]]
    return theirs == [inputs["rule"]["objectOwnership"]]


def _policy(answer: Mapping[str, Any], inputs: Inputs) -> bool:
    return same_document(answer["Policy"], inputs["policy"])


FINDERS: Mapping[str, Finder] = {
    "aws:s3/bucket:Bucket": _bucket,
    "aws:s3/bucketLifecycleConfiguration:BucketLifecycleConfiguration": _setting(
        "get_bucket_lifecycle_configuration", _lifecycle
    ),
    "aws:s3/bucketObjectLockConfiguration:BucketObjectLockConfiguration": _setting(
        "get_object_lock_configuration", _object_lock
    ),
    "aws:s3/bucketObjectv2:BucketObjectv2": _object,
    "aws:s3/bucketOwnershipControls:BucketOwnershipControls": _setting("get_bucket_ownership_controls", _ownership),
    "aws:s3/bucketPolicy:BucketPolicy": _setting("get_bucket_policy", _policy),
    "aws:s3/bucketPublicAccessBlock:BucketPublicAccessBlock": _setting("get_public_access_block", _public_access),
    "aws:s3/bucketServerSideEncryptionConfiguration:BucketServerSideEncryptionConfiguration": _setting(
        "get_bucket_encryption", _encryption
    ),
    "aws:s3/bucketVersioning:BucketVersioning": _setting("get_bucket_versioning", _versioning),
}
"""Type token -> how to find it."""
