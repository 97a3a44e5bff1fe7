"""Stand-in rules of S3 and FSx. Shapes: facts/clusters.md section 5.1, with its sources."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from emporion.components.aws import stand_in_checks as checks
from emporion.components.aws.stand_in_references import group_reference, subnet_reference
from emporion.market.stand_in import InUse, Making, Reference, Refusal, TypeRule

__all__ = ["STORAGE"]

_LUSTRE = "aws:fsx/lustreFileSystem:LustreFileSystem"
_LINK = "aws:fsx/dataRepositoryAssociation:DataRepositoryAssociation"
_BUCKET, _OBJECT, _OLD_OBJECT = (
    "aws:s3/bucket:Bucket",
    "aws:s3/bucketObjectv2:BucketObjectv2",
    "aws:s3/bucketObject:BucketObject",
)

_IN_BUCKET = frozenset({"bucket"})


def _mount_name(making: Making) -> str:
    letters = "abcdefghijklmnopqrstuvwxyz0123456789"
    digits = int(making.hex(16, "mount"), 16)
    return (
        "fsx"
        if making.inputs.get("deploymentType") == "SCRATCH_1"
        else "".join(letters[(digits >> shift) % len(letters)] for shift in range(0, 40, 5))
    )


def _shrinks(old: Mapping[str, Any], new: Mapping[str, Any]) -> bool:
    before, after = old.get("storageCapacity"), new.get("storageCapacity")
    return isinstance(before, int) and isinstance(after, int) and after < before


def _etag(making: Making) -> str:
    content = making.inputs.get("content") or making.inputs.get("sourceHash") or making.inputs.get("etag") or ""
    import hashlib  # noqa: PLC0415 - start-up of the plugin

    return hashlib.md5(str(content).encode(), usedforsecurity=False).hexdigest()


def _vpc_of(making: Making) -> str | None:
    subnet = making.find("aws:ec2/subnet:Subnet", str(making.inputs.get("subnetIds")))
    return str(subnet.outputs["vpcId"]) if subnet else None


def _bucket_reference(path: str = "bucket") -> Reference:
    return Reference(path, (_BUCKET,), "NoSuchBucket", "The specified bucket does not exist")


def _setting(noun: str, api: str, **more: Any) -> TypeRule:  # noqa: ANN401 - fields of TypeRule
    return TypeRule(
        noun, api, "{bucket}", put=True, is_global=True, replace=_IN_BUCKET, references=(_bucket_reference(),), **more
    )


def _object(noun: str) -> TypeRule:
    return TypeRule(
        noun,
        "S3:Object",
        "{bucket}/{key}",
        put=True,
        is_global=True,
        replace=frozenset({"bucket", "key"}),
        outputs={
            "arn": "arn:aws:s3:::{bucket}/{key}",
            "etag": _etag,
            "versionId": "{hex32}",
            "serverSideEncryption": lambda _: "AES256",
            "storageClass": lambda _: "STANDARD",
        },
        on_update={"etag": _etag, "versionId": lambda making: making.hex(32, str(making.inputs))},
        on_update_unless=frozenset({"tags"}),
        defaults={"acl": "private", "forceDestroy": False} if "v2" in noun else {},
        references=(_bucket_reference(),),
    )


STORAGE: Mapping[str, TypeRule] = {
    _BUCKET: TypeRule(
        "S3 Bucket",
        "S3:Bucket",
        "{bucket}",
        named="bucket",
        name_limit=63,
        name_lower=True,
        prefix="bucketPrefix",
        is_global=True,
        outputs={
            "arn": "arn:aws:s3:::{bucket}",
            "bucketDomainName": "{bucket}.s3.amazonaws.com",
            "bucketRegionalDomainName": "{bucket}.s3.{region}.amazonaws.com",
            "bucketRegion": "{region}",
            "hostedZoneId": lambda making: f"Z{making.hex(13, 'zone').upper()}",
        },
        defaults={"forceDestroy": False},
        fills={"objectLockEnabled": False, "requestPayer": "BucketOwner"},
        replace=frozenset({"bucket", "bucketPrefix", "objectLockEnabled", "bucketNamespace"}),
        exists=Refusal(
            "BucketAlreadyOwnedByYou",
            "Your previous request to create the named bucket succeeded and you already own it.",
            409,
        ),
        validate=(checks.bucket_name,),
        in_use=tuple(
            InUse(
                token, "bucket", "BucketNotEmpty", "The bucket you tried to delete is not empty", unless="forceDestroy"
            )
            for token in (_OBJECT, _OLD_OBJECT)
        ),
        gone_with=tuple(
            (f"aws:s3/{name[0].lower()}{name[1:]}:{name}", "bucket")
            for name in (
                "BucketVersioning",
                "BucketServerSideEncryptionConfiguration",
                "BucketPublicAccessBlock",
                "BucketPolicy",
                "BucketObjectLockConfiguration",
                "BucketLifecycleConfiguration",
                "BucketOwnershipControls",
            )
        ),
    ),
    "aws:s3/bucketVersioning:BucketVersioning": _setting("S3 Bucket Versioning", "S3:BucketVersioning"),
    "aws:s3/bucketServerSideEncryptionConfiguration:BucketServerSideEncryptionConfiguration": _setting(
        "S3 Bucket Server-side Encryption Configuration", "S3:BucketEncryption"
    ),
    "aws:s3/bucketPublicAccessBlock:BucketPublicAccessBlock": _setting(
        "S3 Bucket Public Access Block",
        "S3:PublicAccessBlock",
        defaults={
            "blockPublicAcls": False,
            "blockPublicPolicy": False,
            "ignorePublicAcls": False,
            "restrictPublicBuckets": False,
        },
    ),
    "aws:s3/bucketPolicy:BucketPolicy": _setting(
        "S3 Bucket Policy", "S3:BucketPolicy", validate=(checks.policy_document("policy", "MalformedPolicy"),)
    ),
    "aws:s3/bucketObjectLockConfiguration:BucketObjectLockConfiguration": _setting(
        "S3 Bucket Object Lock Configuration", "S3:ObjectLockConfiguration", defaults={"objectLockEnabled": "Enabled"}
    ),
    "aws:s3/bucketLifecycleConfiguration:BucketLifecycleConfiguration": _setting(
        "S3 Bucket Lifecycle Configuration", "S3:BucketLifecycleConfiguration"
    ),
    "aws:s3/bucketOwnershipControls:BucketOwnershipControls": _setting(
        "S3 Bucket Ownership Controls", "S3:BucketOwnershipControls"
    ),
    _OBJECT: _object("S3 Object v2"),
    _OLD_OBJECT: _object("S3 Object"),
    _LUSTRE: TypeRule(
        "FSx for Lustre File System",
        "FSx:FileSystem",
        "fs-{hex17}",
        outputs={
            "arn": "arn:aws:fsx:{region}:{account}:file-system/{id}",
            "dnsName": "{id}.fsx.{region}.amazonaws.com",
            "mountName": _mount_name,
            "ownerId": "{account}",
            "vpcId": _vpc_of,
            "networkInterfaceIds": lambda making: [f"eni-{making.hex(17, str(n))}" for n in range(2)],
            "fileSystemTypeVersion": lambda _: "2.15",
        },
        defaults={"deploymentType": "SCRATCH_1", "storageType": "SSD", "skipFinalBackup": True},
        replace=frozenset(
            {
                "subnetIds",
                "securityGroupIds",
                "deploymentType",
                "storageType",
                "kmsKeyId",
                "backupId",
                "importPath",
                "exportPath",
                "importedFileChunkSize",
                "copyTagsToBackups",
                "driveCacheType",
                "efaEnabled",
                "perUnitStorageThroughput",
            }
        ),
        replace_if={"storageCapacity": _shrinks},
        references=(subnet_reference("subnetIds"), group_reference("securityGroupIds")),
        validate=(checks.lustre,),
        in_use=(
            InUse(
                _LINK,
                "fileSystemId",
                "BadRequest",
                "File system {id} has data repository associations. Delete them first.",
            ),
        ),
    ),
    _LINK: TypeRule(
        "FSx for Lustre Data Repository Association",
        "FSx:DataRepositoryAssociation",
        "dra-{hex17}",
        outputs={"arn": "arn:aws:fsx:{region}:{account}:association/{fileSystemId}/{id}", "associationId": "{id}"},
        defaults={"batchImportMetaDataOnCreate": False, "deleteDataInFilesystem": False},
        replace=frozenset({"fileSystemId", "dataRepositoryPath", "fileSystemPath", "batchImportMetaDataOnCreate"}),
        references=(
            Reference("fileSystemId", (_LUSTRE,), "FileSystemNotFound", "File system '{value}' does not exist."),
        ),
        validate=(checks.data_repository,),
    ),
}
