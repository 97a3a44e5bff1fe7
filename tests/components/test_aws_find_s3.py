"""Finding a bucket's settings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from aws_answers import ID, found
from grounds import MotoGround, pending
from moto import mock_aws

from emporion.components.aws.api.session import Clients

POLICY = '{"Version": "2012-10-17", "Statement": []}'


@pytest.fixture(autouse=True)
def account(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "testing")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")


@pytest.fixture(scope="module")
def clients() -> Clients:
    return Clients("us-east-1", attempts=1)


@pytest.fixture
def moto() -> Iterator[MotoGround]:
    with mock_aws():
        yield MotoGround()


@pytest.mark.parametrize(
    ("token", "inputs", "operation", "answer", "expected"),
    [
        pytest.param(
            "aws:s3/bucketPublicAccessBlock:BucketPublicAccessBlock",
            {
                "blockPublicAcls": True,
                "blockPublicPolicy": True,
                "ignorePublicAcls": True,
                "restrictPublicBuckets": True,
            },
            "get_public_access_block",
            {
                "PublicAccessBlockConfiguration": {
                    "BlockPublicAcls": True,
                    "BlockPublicPolicy": True,
                    "IgnorePublicAcls": True,
                    "RestrictPublicBuckets": False,
                }
            },
            None,
            id="one block missing",
        ),
        pytest.param(
            "aws:s3/bucketPublicAccessBlock:BucketPublicAccessBlock",
            {
                "blockPublicAcls": True,
                "blockPublicPolicy": True,
                "ignorePublicAcls": True,
                "restrictPublicBuckets": True,
            },
            "get_public_access_block",
            {
                "PublicAccessBlockConfiguration": {
                    "BlockPublicAcls": True,
                    "BlockPublicPolicy": True,
                    "IgnorePublicAcls": True,
                    "RestrictPublicBuckets": True,
                }
            },
            "bucket-1",
            id="all blocks",
        ),
        pytest.param(
            "aws:s3/bucketServerSideEncryptionConfiguration:BucketServerSideEncryptionConfiguration",
            {"rules": [{"applyServerSideEncryptionByDefault": {"sseAlgorithm": "AES256"}}]},
            "get_bucket_encryption",
            {
                "ServerSideEncryptionConfiguration": {
                    "Rules": [
                        {"ApplyServerSideEncryptionByDefault": {"SSEAlgorithm": "AES256"}, "BucketKeyEnabled": False},
                    ]
                }
            },
            "bucket-1",
            id="encryption as asked",
        ),
        pytest.param(
            "aws:s3/bucketServerSideEncryptionConfiguration:BucketServerSideEncryptionConfiguration",
            {"rules": [{"applyServerSideEncryptionByDefault": {"sseAlgorithm": "aws:kms"}}]},
            "get_bucket_encryption",
            {
                "ServerSideEncryptionConfiguration": {
                    "Rules": [{"ApplyServerSideEncryptionByDefault": {"SSEAlgorithm": "AES256"}}]
                }
            },
            None,
            id="another encryption",
        ),
        pytest.param(
            "aws:s3/bucketObjectLockConfiguration:BucketObjectLockConfiguration",
            {"rule": {"defaultRetention": {"mode": "GOVERNANCE", "days": 7.0}}},
            "get_object_lock_configuration",
            {
                "ObjectLockConfiguration": {
                    "ObjectLockEnabled": "Enabled",
                    "Rule": {"DefaultRetention": {"Mode": "GOVERNANCE", "Days": 7}},
                }
            },
            "bucket-1",
            id="lock as asked",
        ),
        pytest.param(
            "aws:s3/bucketObjectLockConfiguration:BucketObjectLockConfiguration",
            {"rule": {"defaultRetention": {"mode": "GOVERNANCE", "days": 7.0}}},
            "get_object_lock_configuration",
            {"ObjectLockConfiguration": {"ObjectLockEnabled": "Enabled"}},
            None,
            id="lock without a rule",
        ),
        pytest.param(
            "aws:s3/bucketLifecycleConfiguration:BucketLifecycleConfiguration",
            {"rules": [{"id": "old-versions", "status": "Enabled"}]},
            "get_bucket_lifecycle_configuration",
            {"Rules": [{"ID": "old-versions", "Status": "Enabled", "Filter": {"Prefix": ""}}]},
            "bucket-1",
            id="lifecycle as asked",
        ),
        pytest.param(
            "aws:s3/bucketOwnershipControls:BucketOwnershipControls",
            {"rule": {"objectOwnership": "BucketOwnerEnforced"}},
            "get_bucket_ownership_controls",
            {"OwnershipControls": {"Rules": [{"ObjectOwnership": "BucketOwnerEnforced"}]}},
            "bucket-1",
            id="ownership as asked",
        ),
        pytest.param(
            "aws:s3/bucketPolicy:BucketPolicy",
            {"policy": '{"Statement": [], "Version": "2012-10-17"}'},
            "get_bucket_policy",
            {"Policy": POLICY},
            "bucket-1",
            id="policy in another order of keys",
        ),
        pytest.param(
            "aws:s3/bucketPolicy:BucketPolicy",
            {"policy": '{"Statement": [{"Effect": "Deny"}]}'},
            "get_bucket_policy",
            {"Policy": POLICY},
            None,
            id="another policy",
        ),
    ],
)
def test_a_buckets_setting_is_found_when_it_is_as_asked(
    clients: Clients,
    token: str,
    inputs: Mapping[str, Any],
    operation: str,
    answer: Mapping[str, Any],
    expected: str | None,
) -> None:
    asked = {"Bucket": "bucket-1"}
    assert found(clients, token, {"bucket": "bucket-1", **inputs}, ("s3", operation, asked, answer)) == expected


@pytest.mark.parametrize(
    "token",
    [
        "aws:s3/bucketLifecycleConfiguration:BucketLifecycleConfiguration",
        "aws:s3/bucketObjectLockConfiguration:BucketObjectLockConfiguration",
        "aws:s3/bucketPolicy:BucketPolicy",
        "aws:s3/bucketPublicAccessBlock:BucketPublicAccessBlock",
        "aws:s3/bucketServerSideEncryptionConfiguration:BucketServerSideEncryptionConfiguration",
    ],
)
def test_a_setting_that_the_bucket_does_not_have_is_not_found(moto: MotoGround, token: str) -> None:
    moto.make("aws:s3/bucket:Bucket", ID, {"bucket": "bucket-1"})
    assert moto.api.find(pending(token, ID, {"bucket": "bucket-1"})) is None
    assert moto.api.find(pending(token, ID, {"bucket": "no-such-bucket"})) is None
