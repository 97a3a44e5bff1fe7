"""Where a cluster's checkpoints and data live, under Pulumi's mocks: its bucket, the user's own, the file system."""

from __future__ import annotations

import base64
import json

from placements import DATA, LUSTRE, OWN_BUCKET, SCRATCH, build, statements, with_storage


def test_the_bucket_is_private_versioned_encrypted_and_over_tls_only() -> None:
    built = build()
    bucket = built.one("Bucket")
    assert bucket["forceDestroy"] is False
    assert len(bucket["bucket"]) <= 63
    block = built.one("BucketPublicAccessBlock")
    assert all(
        block[key] is True
        for key in ("blockPublicAcls", "blockPublicPolicy", "ignorePublicAcls", "restrictPublicBuckets")
    )
    assert built.one("BucketVersioning")["versioningConfiguration"] == {"status": "Enabled"}
    (rule,) = built.one("BucketServerSideEncryptionConfiguration")["rules"]
    assert rule["applyServerSideEncryptionByDefault"]["sseAlgorithm"] == "AES256"
    (statement,) = json.loads(built.one("BucketPolicy")["policy"])["Statement"]
    assert (statement["Effect"], statement["Principal"]) == ("Deny", "*")
    assert statement["Condition"] == {"Bool": {"aws:SecureTransport": "false"}}
    assert {"s3:GetObject", "s3:PutObject", "s3:ListBucket", "s3:DeleteObject"} <= set(statement["Action"])
    assert not built.of("BucketObjectLockConfiguration")


def test_a_locked_bucket_keeps_old_versions_as_long_as_the_lock() -> None:
    built = build(with_storage(object_lock_days=90))
    assert built.one("Bucket")["objectLockEnabled"] is True
    retention = built.one("BucketObjectLockConfiguration")["rule"]["defaultRetention"]
    assert retention == {"mode": "GOVERNANCE", "days": 90}
    (rule,) = built.one("BucketLifecycleConfiguration")["rules"]
    assert rule["noncurrentVersionExpiration"] == {"noncurrentDays": 90}
    assert built.one("BucketObjectv2")["forceDestroy"] is True


def test_data_goes_with_the_bucket_only_when_that_was_said() -> None:
    assert build(delete_data="true").one("Bucket")["forceDestroy"] is True
    assert build(delete_data="false").one("Bucket")["forceDestroy"] is False


def test_the_users_own_bucket_is_only_ever_named_in_permissions() -> None:
    built = build(OWN_BUCKET)
    assert built.one("Bucket")["bucket"] != "my-models"
    assert built.exports["checkpoint_uri"] == "s3://my-models/llama/run-1"
    kept = [item for item in statements(built, ("RolePolicy",)) if item.get("Sid") == "Checkpoints"]
    assert {tuple(item["Resource"]) for item in kept} == {("arn:aws:s3:::my-models/llama/run-1/*",)}
    listed = [item for item in statements(built, ("RolePolicy",)) if item.get("Sid") == "CheckpointBucket"]
    assert {tuple(item["Resource"]) for item in listed} == {("arn:aws:s3:::my-models",)}


def test_data_is_read_and_not_written() -> None:
    found = {
        item["Sid"]: item for item in statements(build(DATA), ("RolePolicy",)) if item.get("Sid", "").startswith("Data")
    }
    assert found["Data0"]["Resource"] == ["arn:aws:s3:::sets/c4/*"]
    assert found["Data1"]["Resource"] == ["arn:aws:s3:::all/*"]
    assert {action for item in found.values() for action in item["Action"]} == {
        "s3:GetObject", "s3:ListBucket", "s3:GetBucketLocation",
    }  # fmt: skip


def test_a_persistent_file_system_is_linked_to_the_checkpoints() -> None:
    built = build(LUSTRE)
    made = built.one("LustreFileSystem")
    assert made["deploymentType"] == "PERSISTENT_2"
    assert (made["storageCapacity"], made["perUnitStorageThroughput"]) == (2400, 250)
    assert made["subnetIds"] == "cluster-private-use1-az2-id"
    assert made["securityGroupIds"] == ["cluster-nodes-id"]
    assert "efaEnabled" not in made
    link = built.one("DataRepositoryAssociation")
    assert link["fileSystemId"] == "cluster-lustre-id"
    assert link["dataRepositoryPath"] == f"s3://{built.one('Bucket')['bucket']}/checkpoints"
    assert link["s3"]["autoExportPolicy"]["events"] == ["NEW", "CHANGED", "DELETED"]
    assert not {"importPath", "exportPath"} & set(made)
    text = base64.b64decode(built.one("LaunchTemplate")["userData"]).decode()
    assert "EMPORION_LUSTRE_DNS=fs-1.fsx.amazonaws.com" in text
    assert built.exports["file_system"] == "cluster-lustre-id"


def test_a_scratch_file_system_names_no_throughput() -> None:
    made = build(SCRATCH).one("LustreFileSystem")
    assert made["deploymentType"] == "SCRATCH_2"
    assert "perUnitStorageThroughput" not in made


def test_the_file_system_comes_after_the_rules_and_the_nodes_after_it() -> None:
    order = [item.name for item in build(LUSTRE).resources]
    assert order.index("cluster-nodes-self-in") < order.index("cluster-lustre")
    assert order.index("cluster-nodes-self-out") < order.index("cluster-lustre")
    assert order.index("cluster-lustre-link") < order.index("cluster-gpu-0-0")
    assert order.index("cluster-node-policy") < order.index("cluster-gpu-0-0")
    assert order.index("cluster-private-out") < order.index("cluster-controller")
    assert order.index("cluster-bootstrap") < order.index("cluster-controller")
