"""Stand-in rules of IAM, KMS and SSM. Shapes: facts/clusters.md section 5.1, with its sources."""

from __future__ import annotations

from collections.abc import Mapping

from emporion.components.aws import stand_in_checks as checks
from emporion.market.stand_in import InUse, Making, Reference, Refusal, TypeRule

__all__ = ["IDENTITY"]

_ROLE, _ROLE_POLICY, _POLICY = "aws:iam/role:Role", "aws:iam/rolePolicy:RolePolicy", "aws:iam/policy:Policy"
_ATTACHMENT, _PROFILE = "aws:iam/rolePolicyAttachment:RolePolicyAttachment", "aws:iam/instanceProfile:InstanceProfile"
_PARAMETER, _KEY, _ALIAS = "aws:ssm/parameter:Parameter", "aws:kms/key:Key", "aws:kms/alias:Alias"

_CONFLICT = "DeleteConflict"


def _upper(making: Making, prefix: str) -> str:
    return prefix + making.hex(17, prefix).upper()


def _role_reference() -> Reference:
    return Reference("role", (_ROLE,), "NoSuchEntity", "The role with name {value} cannot be found.")


IDENTITY: Mapping[str, TypeRule] = {
    _ROLE: TypeRule(
        "IAM Role",
        "IAM:Role",
        "{name}",
        named="name",
        name_limit=64,
        prefix="namePrefix",
        is_global=True,
        outputs={
            "arn": "arn:aws:iam::{account}:role{path}{name}",
            "uniqueId": lambda making: _upper(making, "AROA"),
            "createDate": lambda _: "2026-01-01T00:00:00Z",
        },
        defaults={"forceDetachPolicies": False, "maxSessionDuration": 3600, "path": "/"},
        replace=frozenset({"name", "namePrefix", "path"}),
        validate=(checks.policy_document("assumeRolePolicy"), checks.name_length("name", 64)),
        exists=Refusal("EntityAlreadyExists", "Role with name {name} already exists.", 409),
        in_use=(
            InUse(_PROFILE, "role", _CONFLICT, "Cannot delete entity, must remove roles from instance profile first."),
            InUse(
                _ROLE_POLICY,
                "role",
                _CONFLICT,
                "Cannot delete entity, must delete policies first.",
                unless="forceDetachPolicies",
            ),
            InUse(
                _ATTACHMENT,
                "role",
                _CONFLICT,
                "Cannot delete entity, must detach all policies first.",
                unless="forceDetachPolicies",
            ),
        ),
    ),
    _ROLE_POLICY: TypeRule(
        "IAM Role Policy",
        "IAM:RolePolicy",
        "{role}:{name}",
        named="name",
        name_limit=128,
        prefix="namePrefix",
        is_global=True,
        put=True,
        replace=frozenset({"name", "namePrefix", "role"}),
        references=(_role_reference(),),
        validate=(checks.policy_document("policy"), checks.name_length("name", 128)),
    ),
    _POLICY: TypeRule(
        "IAM Policy",
        "IAM:Policy",
        "arn:aws:iam::{account}:policy{path}{name}",
        named="name",
        name_limit=128,
        prefix="namePrefix",
        is_global=True,
        outputs={"arn": "{id}", "policyId": lambda making: _upper(making, "ANPA"), "attachmentCount": lambda _: 0},
        defaults={"path": "/"},
        replace=frozenset({"name", "namePrefix", "path", "description"}),
        validate=(checks.policy_document("policy"),),
        exists=Refusal(
            "EntityAlreadyExists", "A policy called {name} already exists. Duplicate names are not allowed.", 409
        ),
        in_use=(InUse(_ATTACHMENT, "policyArn", _CONFLICT, "Cannot delete a policy attached to entities."),),
    ),
    _ATTACHMENT: TypeRule(
        "IAM Role Policy Attachment",
        "IAM:RolePolicy",
        "{role}/{policyArn}",
        is_global=True,
        put=True,
        replace=frozenset({"role", "policyArn"}),
        references=(_role_reference(),),
    ),
    _PROFILE: TypeRule(
        "IAM Instance Profile",
        "IAM:InstanceProfile",
        "{name}",
        named="name",
        name_limit=128,
        prefix="namePrefix",
        is_global=True,
        outputs={
            "arn": "arn:aws:iam::{account}:instance-profile{path}{name}",
            "uniqueId": lambda making: _upper(making, "AIPA"),
            "createDate": lambda _: "2026-01-01T00:00:00Z",
        },
        defaults={"path": "/"},
        replace=frozenset({"name", "namePrefix", "path"}),
        references=(_role_reference(),),
        exists=Refusal("EntityAlreadyExists", "Instance Profile {name} already exists.", 409),
        in_use=(),
        validate=(checks.name_length("name", 128),),
    ),
    _KEY: TypeRule(
        "KMS Key",
        "KMS:Key",
        "{uuid}",
        outputs={"arn": "arn:aws:kms:{region}:{account}:key/{id}", "keyId": "{id}"},
        defaults={
            "bypassPolicyLockoutSafetyCheck": False,
            "customerMasterKeySpec": "SYMMETRIC_DEFAULT",
            "enableKeyRotation": False,
            "isEnabled": True,
            "keyUsage": "ENCRYPT_DECRYPT",
        },
        fills={"rotationPeriodInDays": 365},
        replace=frozenset({"customerMasterKeySpec", "keyUsage", "multiRegion"}),
        validate=(checks.policy_document("policy", "MalformedPolicyDocumentException"),),
        gone_with=((_ALIAS, "targetKeyId"),),
    ),
    _ALIAS: TypeRule(
        "KMS Alias",
        "KMS:Alias",
        "{name}",
        named="name",
        prefix="namePrefix",
        replace=frozenset({"name", "namePrefix"}),
        outputs={
            "arn": "arn:aws:kms:{region}:{account}:{name}",
            "targetKeyArn": "arn:aws:kms:{region}:{account}:key/{targetKeyId}",
        },
        references=(Reference("targetKeyId", (_KEY,), "NotFoundException", "Key '{value}' does not exist"),),
        exists=Refusal("AlreadyExistsException", "An alias with the name {name} already exists"),
    ),
    _PARAMETER: TypeRule(
        "SSM Parameter",
        "SSM:Parameter",
        "{name}",
        named="name",
        outputs={
            "arn": lambda making: (
                f"arn:aws:ssm:{making.region}:{making.account}:parameter/" + str(making.inputs["name"]).lstrip("/")
            ),
            "version": lambda _: 1,
            "dataType": lambda _: "text",
            "tier": lambda _: "Standard",
            "keyId": lambda making: "alias/aws/ssm" if making.inputs.get("type") == "SecureString" else "",
        },
        on_update={"version": lambda making: int(making.old["version"]) + 1},
        on_update_unless=frozenset({"tags", "overwrite"}),
        replace=frozenset({"name"}),
        exists=Refusal(
            "ParameterAlreadyExists",
            "The parameter already exists. To overwrite this value, set the overwrite option in the request to true.",
        ),
    ),
}
