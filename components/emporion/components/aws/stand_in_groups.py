"""Stand-in rules of EC2's security groups, their rules, and network interfaces (facts/clusters.md section 5.1)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from emporion.components.aws.stand_in_checks import address_kinds
from emporion.components.aws.stand_in_references import (
    DEFAULT_GROUP,
    EGRESS,
    ENDPOINT,
    GROUP,
    INGRESS,
    INSTANCE,
    INTERFACE,
    LUSTRE,
    VPC,
    arn,
    group_reference,
    private_ip,
    subnet_reference,
    violates,
    vpc_reference,
)  # fmt: skip
from emporion.market.stand_in import Making, Refusal, TypeRule

__all__ = ["GROUPS"]

_GROUP_TEXT = "resource {id} has a dependent object"
_RULE_KEY = (
    "securityGroupId",
    "ipProtocol",
    "fromPort",
    "toPort",
    "cidrIpv4",
    "cidrIpv6",
    "prefixListId",
    "referencedSecurityGroupId",
)


def _default_group_id(making: Making) -> str:
    vpc = making.find(VPC, str(making.inputs.get("vpcId")))
    return str(vpc.outputs["defaultSecurityGroupId"]) if vpc else f"sg-{making.hex(17)}"


def _another_kind(kind: str) -> Callable[[Mapping[str, Any], Mapping[str, Any]], bool]:
    """Return whether a rule's peer becomes, or was, of this kind: another value of the same kind is only an edit."""
    return lambda old, new: (old.get(kind) is None) != (new.get(kind) is None)


def _rule(noun: str, api: str) -> TypeRule:
    return TypeRule(
        noun,
        api,
        "sgr-{hex17}",
        outputs={"arn": arn("security-group-rule"), "securityGroupRuleId": "{id}"},
        replace=frozenset({"securityGroupId"}),
        replace_if={kind: _another_kind(kind) for kind in _RULE_KEY[4:]},
        references=(group_reference("securityGroupId"), group_reference("referencedSecurityGroupId")),
        unique=_RULE_KEY,
        validate=(address_kinds,),
        exists=Refusal("InvalidPermission.Duplicate", "the specified rule already exists"),
    )


GROUPS: Mapping[str, TypeRule] = {
    DEFAULT_GROUP: TypeRule(
        "VPC Default Security Group",
        "EC2:SecurityGroup",
        _default_group_id,
        outputs={
            "arn": arn("security-group"),
            "ownerId": "{account}",
            "name": lambda _: "default",
            "description": lambda _: "default VPC security group",
        },
        put=True,
        references=(vpc_reference(),),
        replace=frozenset({"vpcId"}),
    ),
    GROUP: TypeRule(
        "EC2 Security Group",
        "EC2:SecurityGroup",
        "sg-{hex17}",
        named="name",
        prefix="namePrefix",
        outputs={"arn": arn("security-group"), "ownerId": "{account}"},
        defaults={"description": "Managed by Pulumi", "revokeRulesOnDelete": False},
        replace=frozenset({"name", "namePrefix", "description", "vpcId"}),
        references=(vpc_reference(),),
        unique=("vpcId", "name"),
        exists=Refusal("InvalidGroup.Duplicate", "The security group '{name}' already exists for VPC '{vpcId}'"),
        in_use=tuple(
            violates(token, path, _GROUP_TEXT)
            for token, path in (
                (INSTANCE, "vpcSecurityGroupIds"),
                (ENDPOINT, "securityGroupIds"),
                (LUSTRE, "securityGroupIds"),
                (INTERFACE, "securityGroups"),
            )
        )
        + tuple(
            violates(token, "referencedSecurityGroupId", _GROUP_TEXT, but_own="securityGroupId")
            for token in (INGRESS, EGRESS)
        ),
        gone_with=((INGRESS, "securityGroupId"), (EGRESS, "securityGroupId")),
    ),
    INGRESS: _rule("VPC Security Group Ingress Rule", "EC2:SecurityGroupIngress"),
    EGRESS: _rule("VPC Security Group Egress Rule", "EC2:SecurityGroupEgress"),
    INTERFACE: TypeRule(
        "EC2 Network Interface",
        "EC2:NetworkInterface",
        "eni-{hex17}",
        outputs={"arn": arn("network-interface"), "ownerId": "{account}", "privateIp": private_ip},
        replace=frozenset({"subnetId"}),
        references=(subnet_reference(), group_reference("securityGroups")),
    ),
}
