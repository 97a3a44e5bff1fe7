"""Who the nodes are: a role for the GPU nodes and one for the controller, each with exactly what its bootstrap uses."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pulumi
import pulumi_aws as aws

from emporion.components.aws.context import Context
from emporion.components.aws.plan import Location

__all__ = ["ECR_PREFIX", "Identity", "Scope", "build", "ready", "statements"]

ECR_PREFIX = "emporion/"
"""Container images that nodes may pull lie in repositories whose name begins with this."""

Statement = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Scope:
    """What a role may touch."""

    store: str
    """The cluster's bucket."""
    checkpoints: Location
    data: tuple[Location, ...]
    """Read only."""
    log_group: str
    munge_parameter: str | None
    """None without a scheduler."""
    writes_munge: bool = False
    """The controller makes the key."""


@dataclass(frozen=True, slots=True)
class Identity:
    """A role as instances take it."""

    role: aws.iam.Role
    profile: aws.iam.InstanceProfile
    policy: aws.iam.RolePolicy


def statements(context: Context, scope: Scope) -> list[Statement]:
    """Return the statements of a role's policy. Only three actions have no narrower resource than `*`."""
    s3 = f"arn:{context.partition}:s3:::"
    checkpoints = f"{s3}{scope.checkpoints.bucket}"
    kept = f"{checkpoints}/{scope.checkpoints.prefix}/*" if scope.checkpoints.prefix else f"{checkpoints}/*"
    found: list[Statement] = [
        _allow("Bootstrap", ["s3:GetObject"], [f"{s3}{scope.store}/bootstrap/*"]),
        _allow(
            "CheckpointBucket",
            ["s3:GetBucketLocation", "s3:ListBucket", "s3:ListBucketMultipartUploads"],
            [checkpoints],
        ),
        _allow(
            "Checkpoints",
            [
                "s3:AbortMultipartUpload",
                "s3:DeleteObject",  # rotation of old checkpoints
                "s3:GetObject",
                "s3:ListMultipartUploadParts",
                "s3:PutObject",
            ],
            [kept],
        ),
        _allow(
            "SessionManager",
            [
                "ssmmessages:CreateControlChannel",
                "ssmmessages:CreateDataChannel",
                "ssmmessages:OpenControlChannel",
                "ssmmessages:OpenDataChannel",
            ],
            ["*"],
        ),
        _allow("SessionManagerAgent", ["ssm:UpdateInstanceInformation"], [context.arn("ec2", "instance/*")]),
        _allow(
            "Logs",
            ["logs:CreateLogStream", "logs:PutLogEvents"],
            [context.arn("logs", f"log-group:{scope.log_group}:*")],
        ),
        _allow("RegistryLogin", ["ecr:GetAuthorizationToken"], ["*"]),
        _allow(
            "Images",
            ["ecr:BatchCheckLayerAvailability", "ecr:BatchGetImage", "ecr:GetDownloadUrlForLayer"],
            [context.arn("ecr", f"repository/{ECR_PREFIX}*")],
        ),
    ]
    for index, location in enumerate(scope.data):
        bucket = f"{s3}{location.bucket}"
        below = f"{bucket}/{location.prefix}/*" if location.prefix else f"{bucket}/*"
        found += [
            _allow(f"DataBucket{index}", ["s3:GetBucketLocation", "s3:ListBucket"], [bucket]),
            _allow(f"Data{index}", ["s3:GetObject"], [below]),
        ]
    if scope.munge_parameter:
        actions = ["ssm:GetParameter", *(["ssm:PutParameter"] if scope.writes_munge else [])]
        found.append(_allow("MungeKey", actions, [context.arn("ssm", f"parameter{scope.munge_parameter}")]))
    return found


def _allow(sid: str, actions: Sequence[str], resources: Sequence[str]) -> Statement:
    return {"Sid": sid, "Effect": "Allow", "Action": list(actions), "Resource": list(resources)}


def build(context: Context, kind: str, scope: Scope) -> Identity:
    """Make the role `kind` (`node` or `controller`) with its policy and instance profile."""
    trust = {
        "Version": "2012-10-17",
        "Statement": [{"Effect": "Allow", "Principal": {"Service": "ec2.amazonaws.com"}, "Action": ["sts:AssumeRole"]}],
    }
    role = aws.iam.Role(
        context.child(f"{kind}-role"),
        name=context.physical(aws.iam.Role, f"{kind}-role", 64),
        description=f"Emporion: {kind} of {context.names.project}/{context.names.stack}",
        assume_role_policy=json.dumps(trust),
        tags=context.tags(aws.iam.Role, f"{kind}-role"),
        opts=context.named(),
    )
    policy = aws.iam.RolePolicy(
        context.child(f"{kind}-policy"),
        name=context.physical(aws.iam.RolePolicy, f"{kind}-policy", 128),
        role=role.name,
        policy=json.dumps({"Version": "2012-10-17", "Statement": statements(context, scope)}),
        opts=context.named(),
    )
    profile = aws.iam.InstanceProfile(
        context.child(f"{kind}-profile"),
        name=context.physical(aws.iam.InstanceProfile, f"{kind}-profile", 128),
        role=role.name,
        tags=context.tags(aws.iam.InstanceProfile, f"{kind}-profile"),
        opts=context.named(),
    )
    return Identity(role, profile, policy)


def ready(identity: Identity) -> list[pulumi.Resource]:
    """Return what must exist before an instance can use the role."""
    return [identity.profile, identity.policy]
