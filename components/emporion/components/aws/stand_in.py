"""AWS's stand-in provider plugin: every rule that the local cloud needs of this cloud, in one record.

::

    stand_in_network.py    VPC and its parts           stand_in_launch.py    how machines start
    stand_in_groups.py     security groups             stand_in_references.py  what they share
    stand_in_machines.py   machines and groups         stand_in_invokes.py   functions and images
    stand_in_storage.py    S3, FSx                     stand_in_checks.py    what AWS refuses
    stand_in_identity.py   IAM, KMS, SSM               stand_in_zones.py     zones of the reserved account
    stand_in_events.py     EventBridge, SQS, logs
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from emporion.components.aws.stand_in_events import EVENTS
from emporion.components.aws.stand_in_groups import GROUPS
from emporion.components.aws.stand_in_identity import IDENTITY
from emporion.components.aws.stand_in_invokes import IMAGE_TEMPLATES, INVOKES, image_id
from emporion.components.aws.stand_in_launch import group, instance, machine_outputs, reservation, tag_inputs, vcpus
from emporion.components.aws.stand_in_machines import INSTANCE, MACHINES
from emporion.components.aws.stand_in_network import NETWORK
from emporion.components.aws.stand_in_storage import STORAGE
from emporion.components.aws.stand_in_zones import REGIONS, zones
from emporion.market.errors import did_you_mean
from emporion.market.stand_in import Refusal, StandIn, TypeRule
from emporion.market.wire import UNKNOWN_TEXT

__all__ = ["STAND_IN"]

ACCOUNT = "000000000000"
"""No AWS account has it: programs and stand-ins tell the local world by it."""
MAX_ATTEMPTS = 25
"""The provider's own default (`maxRetries`)."""
_OPERATIONS = {"creating": "Create", "reading": "Describe", "updating": "Modify", "deleting": "Delete"}
_RUN = {
    "creating": "RunInstances",
    "reading": "DescribeInstances",
    "updating": "ModifyInstanceAttribute",
    "deleting": "TerminateInstances",
}


def _generic(token: str) -> TypeRule:
    """Return the rule for a type without one: an id and an ARN by AWS's pattern, no more claims than that."""
    _, module, name = token.split(":")
    service = module.partition("/")[0]
    kind = "".join(f"-{letter.lower()}" if letter.isupper() else letter for letter in name).lstrip("-")
    return TypeRule(
        name,
        f"{service}:{name}",
        "{hex20}",
        named="name",
        prefix="namePrefix",
        replace=frozenset({"name", "namePrefix"}),
        outputs={"arn": f"arn:aws:{service}:{{region}}:{{account}}:{kind}/{{id}}"},
    )


def _message(rule: TypeRule, verb: str, name: str, refusal: Refusal, request_id: str) -> str:
    """Return an error as the bridged provider words it."""
    service, _, noun = rule.api.partition(":")
    operation = _RUN[verb] if rule.kind == "machine" else f"{_OPERATIONS[verb]}{noun}"
    if not refusal.status:
        return (
            f"{verb} {rule.noun} ({name}): operation error {service}: {operation}, exceeded maximum number of "
            f"attempts, {MAX_ATTEMPTS}, https response error StatusCode: 0, RequestID: , request send "
            f"failed, {refusal.text}"
        )
    return (
        f"{verb} {rule.noun} ({name}): operation error {service}: {operation}, https response error StatusCode: "
        f"{refusal.status}, RequestID: {request_id}, api error {refusal.code}: {refusal.text}"
    )


def _shortfall(name: str, refusal: Refusal) -> str:
    """Return how the provider reports a group whose machines do not come."""
    return (
        f"waiting for Auto Scaling Group ({name}) capacity satisfied: scaling activity: Failed: Could not launch "
        f"instances. {refusal.code} - {refusal.text} Launching EC2 instance failed."
    )


def _config_problems(config: Mapping[str, Any]) -> Sequence[tuple[str, str]]:
    region, allowed = config.get("region"), config.get("allowedAccountIds")
    problems: list[tuple[str, str]] = []
    if not region:
        problems.append(("region", "missing region: set it on the provider or in AWS_REGION"))
    elif isinstance(region, str) and region not in REGIONS and region != UNKNOWN_TEXT:
        near = did_you_mean(region, REGIONS)
        problems.append(("region", f"invalid AWS Region: {region}" + (f"; did you mean {near!r}?" if near else "")))
    if allowed and allowed != UNKNOWN_TEXT and ACCOUNT not in str(allowed):
        problems.append(("allowedAccountIds", f"AWS account ID not allowed: {ACCOUNT}"))
    return problems


def _default_tags(config: Mapping[str, Any]) -> Mapping[str, str]:
    given = config.get("defaultTags") or {}
    if isinstance(given, str):
        import json  # noqa: PLC0415 - most providers have none

        given = json.loads(given)
    tags: Mapping[str, str] = given.get("tags") or {}
    return tags


STAND_IN = StandIn(
    plugin="aws",
    sdk="pulumi_aws",
    distribution="pulumi-aws",
    account=ACCOUNT,
    types={**NETWORK, **GROUPS, **MACHINES, **STORAGE, **IDENTITY, **EVENTS},
    machine=INSTANCE,
    generic=_generic,
    instance=instance,
    group=group,
    reservation=reservation,
    machine_outputs=machine_outputs,
    refusals={
        "capacity": Refusal(
            "InsufficientInstanceCapacity",
            "We currently do not have sufficient {instance_type} capacity in the Availability Zone you requested "
            "({zone}). Our system will be working on provisioning additional capacity.",
            500,
        ),
        "reservation": Refusal(
            "ReservationCapacityExceeded",
            "The requested reservation {reservation_id} does not have sufficient compatible and available capacity for "
            "this request.",
        ),
        "no_reservation": Refusal(
            "InvalidCapacityReservationId.NotFound",
            "The capacity reservation ID '{reservation_id}' does not exist",
        ),
        "quota": Refusal(
            "VcpuLimitExceeded",
            "You have requested more vCPU capacity than your current vCPU limit of {limit} allows for the instance "
            "bucket that the specified instance type belongs to.",
        ),
        "quota_spot": Refusal("MaxSpotInstanceCountExceeded", "Max spot instance count exceeded"),
        "addresses": Refusal(
            "InsufficientFreeAddressesInSubnet",
            "The specified subnet does not have enough free addresses to satisfy the request.",
        ),
        "throttled": Refusal("RequestLimitExceeded", "Request limit exceeded.", 503),
        "server_error": Refusal("InternalError", "An internal error has occurred", 500),
        "unavailable": Refusal(
            "ServiceUnavailable", "The request has failed due to a temporary failure of the server.", 503
        ),
        "timeout": Refusal(
            "RequestTimeout", 'Post "https://{service}.{region}.amazonaws.com/": dial tcp: i/o timeout', 0
        ),
        "lost_answer": Refusal(
            "RequestTimeout",
            'Post "https://{service}.{region}.amazonaws.com/": net/http: timeout awaiting response headers',
            0,
        ),
        "not_found": Refusal("NotFound", "{noun} {id} does not exist", 404),
    },
    message=_message,
    shortfall=_shortfall,
    zones=zones,
    regions=REGIONS,
    images=IMAGE_TEMPLATES,
    image_id=image_id,
    invokes=INVOKES,
    vcpus=vcpus,
    tag_inputs=tag_inputs,
    config_keys=_config_problems,
    default_tags=_default_tags,
    max_attempts=MAX_ATTEMPTS,
    storage=("aws:s3/",),
    control_planes={"aws:iam/": "us-east-1"},  # AWS fault isolation boundaries, appendix B (read 2026-12)
)
