"""Where checkpoints and data live: the cluster's bucket, and a Lustre file system linked to it when asked."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

import pulumi
import pulumi_aws as aws

from emporion.components.aws.context import Context
from emporion.components.aws.fabric import Fabric
from emporion.components.aws.network import Network
from emporion.components.aws.plan import Location, lustre_deployment

__all__ = ["CHECKPOINTS", "Lustre", "Store", "build_lustre", "build_store", "checkpoint_location"]

CHECKPOINTS = "checkpoints"
"""Prefix of checkpoints in the cluster's own bucket."""
NONCURRENT_DAYS = 30
ABANDONED_UPLOAD_DAYS = 7

# Denied without TLS: everything that carries data, names or settings of the bucket. Spelled out, because a document of
# ours never holds an action with a wildcard; public access is blocked besides.
_OVER_TLS_ONLY = (
    "s3:AbortMultipartUpload", "s3:DeleteObject", "s3:DeleteObjectTagging", "s3:DeleteObjectVersion",
    "s3:GetBucketLocation", "s3:GetBucketObjectLockConfiguration", "s3:GetBucketPolicy", "s3:GetBucketVersioning",
    "s3:GetLifecycleConfiguration", "s3:GetObject", "s3:GetObjectAttributes", "s3:GetObjectLegalHold",
    "s3:GetObjectRetention", "s3:GetObjectTagging", "s3:GetObjectVersion", "s3:ListBucket",
    "s3:ListBucketMultipartUploads", "s3:ListBucketVersions", "s3:ListMultipartUploadParts", "s3:PutBucketPolicy",
    "s3:PutBucketVersioning", "s3:PutLifecycleConfiguration", "s3:PutObject", "s3:PutObjectLegalHold",
    "s3:PutObjectRetention", "s3:PutObjectTagging", "s3:RestoreObject",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Store:
    """The cluster's bucket."""

    bucket: aws.s3.Bucket
    name: str
    """Its name, known before it exists."""
    ready: Sequence[pulumi.Resource]
    """What must be set before anything is written to it."""


def checkpoint_location(context: Context, store: str) -> Location:
    """Return where checkpoints go: the user's own bucket, or the cluster's (`store`)."""
    path = context.placement.storage.checkpoint_path
    return Location.parse(path) if path else Location(store, CHECKPOINTS)


def build_store(context: Context) -> Store:
    """Make the cluster's bucket. It holds the bootstrap files even when checkpoints go to a bucket of the user's.

    A bucket is not replaced unless its data may be deleted: the new one has the same name, so the cloud refuses it, and
    the old one is not touched.
    """
    lock_days = context.placement.storage.object_lock_days
    name = context.physical(aws.s3.Bucket, "store", 63)
    bucket = aws.s3.Bucket(
        context.child("store"),
        bucket=name,
        force_destroy=context.delete_data,
        object_lock_enabled=bool(lock_days),
        tags=context.tags(aws.s3.Bucket, "store"),
        opts=context.options(delete_before_replace=context.delete_data),
    )
    block = aws.s3.BucketPublicAccessBlock(
        context.child("store-private"),
        bucket=bucket.id,
        block_public_acls=True,
        block_public_policy=True,
        ignore_public_acls=True,
        restrict_public_buckets=True,
        opts=context.options(),
    )
    versioning = aws.s3.BucketVersioning(
        context.child("store-versions"),
        bucket=bucket.id,
        versioning_configuration=aws.s3.BucketVersioningVersioningConfigurationArgs(status="Enabled"),
        opts=context.options(),
    )
    encryption = aws.s3.BucketServerSideEncryptionConfiguration(
        context.child("store-encryption"),
        bucket=bucket.id,
        rules=[
            aws.s3.BucketServerSideEncryptionConfigurationRuleArgs(
                apply_server_side_encryption_by_default=(
                    aws.s3.BucketServerSideEncryptionConfigurationRuleApplyServerSideEncryptionByDefaultArgs(
                        sse_algorithm="AES256"
                    )
                )
            )
        ],
        opts=context.options(),
    )
    policy = aws.s3.BucketPolicy(
        context.child("store-tls"),
        bucket=bucket.id,
        policy=_tls_only(context, name),
        # S3 answers OperationAborted when both are set at the same time.
        opts=context.options(depends_on=[block]),
    )
    aws.s3.BucketLifecycleConfiguration(
        context.child("store-lifecycle"),
        bucket=bucket.id,
        rules=[
            aws.s3.BucketLifecycleConfigurationRuleArgs(
                id="old-versions",
                status="Enabled",
                filter=aws.s3.BucketLifecycleConfigurationRuleFilterArgs(prefix=""),
                noncurrent_version_expiration=(
                    aws.s3.BucketLifecycleConfigurationRuleNoncurrentVersionExpirationArgs(
                        noncurrent_days=max(NONCURRENT_DAYS, lock_days or 0)
                    )
                ),
                abort_incomplete_multipart_upload=(
                    aws.s3.BucketLifecycleConfigurationRuleAbortIncompleteMultipartUploadArgs(
                        days_after_initiation=ABANDONED_UPLOAD_DAYS
                    )
                ),
            )
        ],
        opts=context.options(depends_on=[versioning]),
    )
    ready: list[pulumi.Resource] = [block, versioning, encryption, policy]
    if lock_days:
        ready.append(
            aws.s3.BucketObjectLockConfiguration(
                context.child("store-lock"),
                bucket=bucket.id,
                rule=aws.s3.BucketObjectLockConfigurationRuleArgs(
                    default_retention=aws.s3.BucketObjectLockConfigurationRuleDefaultRetentionArgs(
                        mode="GOVERNANCE", days=lock_days
                    )
                ),
                opts=context.options(depends_on=[versioning]),
            )
        )
    return Store(bucket, name, ready)


def _tls_only(context: Context, bucket: str) -> str:
    arn = f"arn:{context.partition}:s3:::{bucket}"
    return json.dumps(
        {
            "Version": "2012-10-17",
            "Statement": [
                {
                    "Sid": "TlsOnly",
                    "Effect": "Deny",
                    "Principal": "*",
                    "Action": list(_OVER_TLS_ONLY),
                    "Resource": [arn, f"{arn}/*"],
                    "Condition": {"Bool": {"aws:SecureTransport": "false"}},
                }
            ],
        }
    )


@dataclass(frozen=True, slots=True)
class Lustre:
    """The file system."""

    file_system: aws.fsx.LustreFileSystem
    ready: Sequence[pulumi.Resource]


def build_lustre(context: Context, network: Network, fabric: Fabric, store: Store) -> Lustre | None:
    """Make the file system, if the placement has one, in the first pool's zone.

    The whole of it is linked to the checkpoint location and exports what is written by itself: it is a cache of the
    bucket, and what is lost with it is at most what was not exported yet.
    """
    storage = context.placement.storage
    if storage.file_system is None:
        return None
    file_system = aws.fsx.LustreFileSystem(
        context.child("lustre"),
        subnet_ids=next(iter(network.private.values())).id,
        security_group_ids=[fabric.group.id],
        deployment_type=lustre_deployment(storage),
        storage_type="SSD",
        storage_capacity=storage.file_system_gib,
        per_unit_storage_throughput=storage.file_system_mbps_per_tib,
        data_compression_type="LZ4",
        file_system_type_version="2.15",
        tags=context.tags(aws.fsx.LustreFileSystem, "lustre"),
        # Without the group's rules its servers cannot reach each other on port 988, and the create fails.
        opts=context.options(depends_on=list(fabric.rules)),
    )
    events = ["NEW", "CHANGED", "DELETED"]
    link = aws.fsx.DataRepositoryAssociation(
        context.child("lustre-link"),
        file_system_id=file_system.id,
        data_repository_path=checkpoint_location(context, store.name).uri,
        file_system_path="/",
        batch_import_meta_data_on_create=True,
        delete_data_in_filesystem=False,
        s3=aws.fsx.DataRepositoryAssociationS3Args(
            auto_import_policy=aws.fsx.DataRepositoryAssociationS3AutoImportPolicyArgs(events=events),
            auto_export_policy=aws.fsx.DataRepositoryAssociationS3AutoExportPolicyArgs(events=events),
        ),
        tags=context.tags(aws.fsx.DataRepositoryAssociation, "lustre-link"),
        opts=context.options(depends_on=[store.bucket, *store.ready]),
    )
    return Lustre(file_system, [file_system, link])
