"""What AWS refuses beyond types: documents, names, sizes and combinations (facts: the API's own constraints)."""

from __future__ import annotations

import base64
import binascii
import json
import re

from emporion.market.stand_in import Making, Refusal, Validate

__all__ = ["address_kinds", "bucket_name", "data_repository", "lustre", "name_length", "policy_document", "user_data"]

USER_DATA_BYTES = 16_384
_BUCKET = re.compile(r"(?!xn--|sthree-)[a-z0-9](?:[a-z0-9-]|\.(?!\.)){1,61}[a-z0-9]")
_GIB_STEP = 2400
_THROUGHPUT = {"PERSISTENT_1": {"SSD": {50, 100, 200}, "HDD": {12, 40}}, "PERSISTENT_2": {"SSD": {125, 250, 500, 1000}}}


def policy_document(path: str, code: str = "MalformedPolicyDocument") -> Validate:
    """Return a check that an input is a policy: JSON with statements that say what they allow or deny."""

    def check(making: Making) -> Refusal | None:
        text = making.inputs.get(path)
        if text is None:
            return None
        try:
            document = json.loads(text) if isinstance(text, str) else text
        except ValueError:
            return Refusal(code, "Syntax errors in policy.")
        statements = document.get("Statement") if isinstance(document, dict) else None
        statements = [statements] if isinstance(statements, dict) else statements
        if not statements or not isinstance(statements, list):
            return Refusal(code, "Missing required field Statement")
        for statement in statements:
            if statement.get("Effect") not in ("Allow", "Deny"):
                return Refusal(code, f"Invalid effect: {statement.get('Effect')}")
            if not (statement.get("Action") or statement.get("NotAction")):
                return Refusal(code, "Policy statement must contain actions.")
        return None

    return check


def name_length(path: str, limit: int, code: str = "ValidationError") -> Validate:
    """Return a check that a name is not longer than the cloud takes."""

    def check(making: Making) -> Refusal | None:
        name = making.inputs.get(path)
        if isinstance(name, str) and len(name) > limit:
            return Refusal(
                code, f"Value at '{path}' failed to satisfy constraint: length less than or equal to {limit}"
            )
        return None

    return check


def bucket_name(making: Making) -> Refusal | None:
    """Refuse a name that S3 does not take."""
    name = making.inputs.get("bucket")
    if isinstance(name, str) and not _BUCKET.fullmatch(name):
        return Refusal("InvalidBucketName", "The specified bucket is not valid.")
    return None


def user_data(path: str, *, encoded: bool) -> Validate:
    """Return a check of the size of user data, in bytes before encoding."""

    def check(making: Making) -> Refusal | None:
        text = making.inputs.get(path)
        if not isinstance(text, str):
            return None
        try:
            size = len(base64.b64decode(text, validate=True)) if encoded else len(text.encode())
        except binascii.Error:
            return Refusal("InvalidUserData.Malformed", "Invalid BASE64 encoding of user data.")
        if size > USER_DATA_BYTES:
            return Refusal("InvalidParameterValue", "User data is limited to 16384 bytes")
        return None

    return check


def address_kinds(making: Making) -> Refusal | None:
    """Refuse a security group rule without exactly one kind of peer, or with ports for all protocols."""
    peers = [
        name
        for name in ("cidrIpv4", "cidrIpv6", "prefixListId", "referencedSecurityGroupId")
        if making.inputs.get(name)
    ]
    if len(peers) != 1:
        return Refusal(
            "InvalidParameterCombination",
            "Exactly one of cidr_ipv4, cidr_ipv6, prefix_list_id, referenced_security_group_id must be set, "
            f"but {len(peers)} are",
        )
    if making.inputs.get("ipProtocol") == "-1" and making.inputs.get("fromPort") not in (None, -1):
        return Refusal("InvalidParameterValue", "You may not specify ports with all protocols (-1)")
    return None


def lustre(making: Making) -> Refusal | None:
    """Refuse sizes and throughputs that a deployment type does not have (aws-parallelcluster's rules, 2026)."""
    inputs = making.inputs
    deployment, storage = inputs.get("deploymentType", "SCRATCH_1"), inputs.get("storageType", "SSD")
    capacity, throughput = inputs.get("storageCapacity"), inputs.get("perUnitStorageThroughput")
    if capacity is not None and not _is_size(deployment, storage, throughput, int(capacity)):
        return Refusal("BadRequest", f"Storage capacity {capacity} GiB is not valid for {deployment} {storage}")
    if deployment.startswith("SCRATCH"):
        if throughput is not None:
            return Refusal("BadRequest", f"PerUnitStorageThroughput is not supported for {deployment}")
    elif throughput not in _THROUGHPUT[deployment].get(storage, set()):
        return Refusal("BadRequest", f"PerUnitStorageThroughput {throughput} is not valid for {deployment} {storage}")
    if inputs.get("efaEnabled") and (deployment != "PERSISTENT_2" or not inputs.get("metadataConfiguration")):
        return Refusal(
            "BadRequest", "EFA is supported only for PERSISTENT_2 file systems with a metadata configuration"
        )
    return None


def _is_size(deployment: str, storage: str, throughput: object, gib: int) -> bool:
    if storage == "HDD":
        return gib % (6000 if throughput == 12 else 1800) == 0  # noqa: PLR2004 - MB/s per TiB
    if deployment == "SCRATCH_1":
        return gib in (1200, _GIB_STEP) or gib % 3600 == 0
    return gib == _GIB_STEP // 2 or (gib > 0 and gib % _GIB_STEP == 0)


def data_repository(making: Making) -> Refusal | None:
    """Refuse paths that FSx does not take."""
    if not str(making.inputs.get("dataRepositoryPath", "")).startswith("s3://"):
        return Refusal("BadRequest", "DataRepositoryPath must begin with s3://")
    if not str(making.inputs.get("fileSystemPath", "/")).startswith("/"):
        return Refusal("BadRequest", "FileSystemPath must begin with /")
    return None
