"""Which IAM actions each command uses on a real account: no more, and none with a wildcard.

A type's actions are those of its provider's create, read, update and delete (read in pulumi-aws 7.51.1's upstream,
hashicorp/terraform-provider-aws, 2026-11); the rest are the calls of `api/`. SECURITY.md is checked against this table.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import chain

__all__ = ["COMMANDS", "FINDS", "LOOKS", "PRICES", "RIGHTS", "Rights", "actions"]


@dataclass(frozen=True, slots=True)
class Rights:
    """The actions of one resource type's life."""

    read: tuple[str, ...]
    change: tuple[str, ...]
    """Create and update."""
    remove: tuple[str, ...]


def _actions(service: str, names: str) -> tuple[str, ...]:
    return tuple(f"{service}:{name}" for name in names.split())


def _ec2(read: str, change: str, remove: str) -> Rights:
    return Rights(_actions("ec2", read), _actions("ec2", f"{change} CreateTags DeleteTags"), _actions("ec2", remove))


def _s3(read: str, change: str, remove: str = "") -> Rights:
    return Rights(_actions("s3", f"ListBucket {read}"), _actions("s3", change), _actions("s3", remove))


_RULES = "DescribeSecurityGroupRules"

RIGHTS: Mapping[str, Rights] = {
    "aws:autoscaling/group:Group": Rights(
        _actions(
            "autoscaling",
            "DescribeAutoScalingGroups DescribeInstanceRefreshes DescribeScalingActivities DescribeWarmPool",
        ),
        (
            *_actions(
                "autoscaling",
                "CancelInstanceRefresh CreateAutoScalingGroup CreateOrUpdateTags DeleteTags ResumeProcesses"
                " StartInstanceRefresh SuspendProcesses UpdateAutoScalingGroup",
            ),
            # The group starts its machines in the caller's name when it uses a launch template.
            *_actions("ec2", "CreateTags DescribeLaunchTemplateVersions RunInstances"),
            *_actions("iam", "CreateServiceLinkedRole PassRole"),
        ),
        _actions("autoscaling", "DeleteAutoScalingGroup UpdateAutoScalingGroup"),
    ),
    "aws:autoscaling/lifecycleHook:LifecycleHook": Rights(
        _actions("autoscaling", "DescribeLifecycleHooks"),
        _actions("autoscaling", "PutLifecycleHook"),
        _actions("autoscaling", "DeleteLifecycleHook"),
    ),
    "aws:cloudwatch/eventRule:EventRule": Rights(
        _actions("events", "DescribeRule ListTagsForResource"),
        _actions("events", "PutRule TagResource UntagResource"),
        _actions("events", "DeleteRule"),
    ),
    "aws:cloudwatch/eventTarget:EventTarget": Rights(
        _actions("events", "ListTargetsByRule"), _actions("events", "PutTargets"), _actions("events", "RemoveTargets")
    ),
    "aws:cloudwatch/logGroup:LogGroup": Rights(
        _actions("logs", "DescribeLogGroups ListTagsForResource"),
        _actions("logs", "CreateLogGroup PutRetentionPolicy TagResource UntagResource"),
        _actions("logs", "DeleteLogGroup"),
    ),
    "aws:ec2/capacityReservation:CapacityReservation": _ec2(
        "DescribeCapacityReservations",
        "CreateCapacityReservation ModifyCapacityReservation",
        "CancelCapacityReservation",
    ),
    "aws:ec2/defaultSecurityGroup:DefaultSecurityGroup": _ec2(
        f"DescribeSecurityGroups {_RULES}", "RevokeSecurityGroupEgress RevokeSecurityGroupIngress", ""
    ),
    "aws:ec2/eip:Eip": _ec2(
        "DescribeAddresses DescribeAddressesAttribute", "AllocateAddress", "DisassociateAddress ReleaseAddress"
    ),
    "aws:ec2/instance:Instance": Rights(
        _actions(
            "ec2",
            "DescribeInstanceAttribute DescribeInstanceCreditSpecifications DescribeInstanceTypes DescribeInstances"
            " DescribeLaunchTemplateVersions DescribeLaunchTemplates DescribeTags DescribeVolumes",
        ),
        (
            *_actions(
                "ec2",
                "CreateTags DeleteTags ModifyInstanceAttribute ModifyInstanceMetadataOptions ModifyVolume RunInstances"
                " StartInstances StopInstances",
            ),
            *_actions("iam", "CreateServiceLinkedRole PassRole"),
        ),
        _actions("ec2", "TerminateInstances"),
    ),
    "aws:ec2/internetGateway:InternetGateway": _ec2(
        "DescribeInternetGateways",
        "AttachInternetGateway CreateInternetGateway",
        "DeleteInternetGateway DetachInternetGateway",
    ),
    "aws:ec2/launchTemplate:LaunchTemplate": _ec2(
        "DescribeLaunchTemplateVersions DescribeLaunchTemplates",
        "CreateLaunchTemplate CreateLaunchTemplateVersion ModifyLaunchTemplate",
        "DeleteLaunchTemplate",
    ),
    "aws:ec2/natGateway:NatGateway": _ec2("DescribeNatGateways", "CreateNatGateway", "DeleteNatGateway"),
    "aws:ec2/placementGroup:PlacementGroup": _ec2(
        "DescribePlacementGroups", "CreatePlacementGroup", "DeletePlacementGroup"
    ),
    "aws:ec2/route:Route": Rights(
        _actions("ec2", "DescribeRouteTables"),
        _actions("ec2", "CreateRoute ReplaceRoute"),
        _actions("ec2", "DeleteRoute"),
    ),
    "aws:ec2/routeTable:RouteTable": _ec2("DescribeRouteTables", "CreateRouteTable", "DeleteRouteTable"),
    "aws:ec2/routeTableAssociation:RouteTableAssociation": Rights(
        _actions("ec2", "DescribeRouteTables"),
        _actions("ec2", "AssociateRouteTable ReplaceRouteTableAssociation"),
        _actions("ec2", "DisassociateRouteTable"),
    ),
    "aws:ec2/securityGroup:SecurityGroup": _ec2(
        f"DescribeNetworkInterfaces DescribeSecurityGroups {_RULES}",
        "CreateSecurityGroup RevokeSecurityGroupEgress",  # a new group allows all egress; the provider takes that away
        "DeleteSecurityGroup",
    ),
    "aws:ec2/subnet:Subnet": _ec2(
        "DescribeNetworkInterfaces DescribeSubnets", "CreateSubnet ModifySubnetAttribute", "DeleteSubnet"
    ),
    "aws:ec2/vpc:Vpc": _ec2(
        "DescribeNetworkAcls DescribeRouteTables DescribeSecurityGroups DescribeVpcAttribute DescribeVpcs",
        "CreateVpc ModifyVpcAttribute",
        "DeleteVpc",
    ),
    "aws:ec2/vpcEndpoint:VpcEndpoint": _ec2(
        "DescribeNetworkInterfaces DescribePrefixLists DescribeVpcEndpoints",
        "CreateVpcEndpoint ModifyVpcEndpoint",
        "DeleteVpcEndpoints",
    ),
    "aws:fsx/dataRepositoryAssociation:DataRepositoryAssociation": Rights(
        _actions("fsx", "DescribeDataRepositoryAssociations ListTagsForResource"),
        (
            *_actions(
                "fsx", "CreateDataRepositoryAssociation TagResource UntagResource UpdateDataRepositoryAssociation"
            ),
            *_actions("iam", "AttachRolePolicy CreateServiceLinkedRole PutRolePolicy"),
            *_actions("s3", "GetBucketAcl GetBucketLocation GetObject ListBucket PutBucketNotification PutObject"),
        ),
        _actions("fsx", "DeleteDataRepositoryAssociation"),
    ),
    "aws:fsx/lustreFileSystem:LustreFileSystem": Rights(
        _actions("fsx", "DescribeFileSystems ListTagsForResource"),
        (
            *_actions("fsx", "CreateFileSystem TagResource UntagResource UpdateFileSystem"),
            *_actions("iam", "CreateServiceLinkedRole"),
        ),
        _actions("fsx", "DeleteFileSystem"),
    ),
    "aws:iam/instanceProfile:InstanceProfile": Rights(
        _actions("iam", "GetInstanceProfile"),
        _actions(
            "iam", "AddRoleToInstanceProfile CreateInstanceProfile PassRole TagInstanceProfile UntagInstanceProfile"
        ),
        _actions("iam", "DeleteInstanceProfile RemoveRoleFromInstanceProfile"),
    ),
    "aws:iam/role:Role": Rights(
        _actions("iam", "GetRole ListAttachedRolePolicies ListRolePolicies"),
        _actions("iam", "CreateRole TagRole UntagRole UpdateAssumeRolePolicy UpdateRole UpdateRoleDescription"),
        _actions("iam", "DeleteRole ListInstanceProfilesForRole"),
    ),
    "aws:iam/rolePolicy:RolePolicy": Rights(
        _actions("iam", "GetRolePolicy"), _actions("iam", "PutRolePolicy"), _actions("iam", "DeleteRolePolicy")
    ),
    "aws:s3/bucket:Bucket": _s3(
        "GetAccelerateConfiguration GetBucketAcl GetBucketCORS GetBucketLocation GetBucketLogging"
        " GetBucketObjectLockConfiguration GetBucketPolicy GetBucketRequestPayment GetBucketTagging GetBucketVersioning"
        " GetBucketWebsite GetEncryptionConfiguration GetLifecycleConfiguration GetReplicationConfiguration",
        "CreateBucket PutBucketObjectLockConfiguration PutBucketTagging PutBucketVersioning",
        "DeleteBucket DeleteObject DeleteObjectVersion ListBucketVersions",
    ),
    "aws:s3/bucketLifecycleConfiguration:BucketLifecycleConfiguration": _s3(
        "GetLifecycleConfiguration", "PutLifecycleConfiguration", "PutLifecycleConfiguration"
    ),
    "aws:s3/bucketObjectLockConfiguration:BucketObjectLockConfiguration": _s3(
        "GetBucketObjectLockConfiguration", "PutBucketObjectLockConfiguration", "PutBucketObjectLockConfiguration"
    ),
    "aws:s3/bucketObjectv2:BucketObjectv2": _s3(
        "GetObject GetObjectTagging",
        "PutObject PutObjectTagging",
        "DeleteObject DeleteObjectVersion ListBucketVersions",
    ),
    "aws:s3/bucketPolicy:BucketPolicy": _s3("GetBucketPolicy", "PutBucketPolicy", "DeleteBucketPolicy"),
    "aws:s3/bucketPublicAccessBlock:BucketPublicAccessBlock": _s3(
        "GetBucketPublicAccessBlock", "PutBucketPublicAccessBlock", "PutBucketPublicAccessBlock"
    ),
    "aws:s3/bucketServerSideEncryptionConfiguration:BucketServerSideEncryptionConfiguration": _s3(
        "GetEncryptionConfiguration", "PutEncryptionConfiguration", "PutEncryptionConfiguration"
    ),
    "aws:s3/bucketVersioning:BucketVersioning": _s3(
        "GetBucketVersioning", "PutBucketVersioning", "PutBucketVersioning"
    ),
    "aws:sqs/queue:Queue": Rights(
        _actions("sqs", "GetQueueAttributes GetQueueUrl ListQueueTags"),
        _actions("sqs", "CreateQueue SetQueueAttributes TagQueue UntagQueue"),
        _actions("sqs", "DeleteQueue"),
    ),
    "aws:sqs/queuePolicy:QueuePolicy": Rights(
        _actions("sqs", "GetQueueAttributes"),
        _actions("sqs", "SetQueueAttributes"),
        _actions("sqs", "SetQueueAttributes"),
    ),
    "aws:ssm/parameter:Parameter": Rights(
        _actions("ssm", "DescribeParameters GetParameter ListTagsForResource"),
        _actions("ssm", "AddTagsToResource PutParameter RemoveTagsFromResource"),
        _actions("ssm", "DeleteParameter"),
    ),
    "aws:vpc/securityGroupEgressRule:SecurityGroupEgressRule": _ec2(
        _RULES, "AuthorizeSecurityGroupEgress ModifySecurityGroupRules", "RevokeSecurityGroupEgress"
    ),
    "aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule": _ec2(
        _RULES, "AuthorizeSecurityGroupIngress ModifySecurityGroupRules", "RevokeSecurityGroupIngress"
    ),
}
"""Type token -> the actions of its life, for every type that a cluster is made of."""

LOOKS: Mapping[str, tuple[str, ...]] = {
    "account": ("sts:GetCallerIdentity",),
    "image": ("ec2:DescribeImages",),
    "nodes": ("ec2:DescribeAvailabilityZones", "ec2:DescribeInstances"),
    "notices": ("ec2:DescribeInstanceStatus", "ec2:DescribeSpotInstanceRequests"),
    "quota": ("ec2:DescribeInstanceTypes", "servicequotas:GetServiceQuota"),
    "terminate": ("ec2:TerminateInstances",),
    "zones": ("ec2:DescribeAvailabilityZones",),
}
"""Method of the API -> the actions it uses."""

PRICES = (
    *_actions(
        "ec2",
        "DescribeAvailabilityZones DescribeInstanceTypeOfferings DescribeInstanceTypes DescribeRegions"
        " DescribeSpotPriceHistory",
    ),
    "pricing:GetProducts",
)
"""What `live_offers.py` asks, and nothing else does: a role that refreshes prices needs no more."""

FINDS: Mapping[str, tuple[str, ...]] = {
    "ec2": _actions(
        "ec2",
        "DescribeAddresses DescribeCapacityReservations DescribeInstances DescribeInternetGateways"
        " DescribeLaunchTemplates DescribeNatGateways DescribePlacementGroups DescribeRouteTables"
        " DescribeSecurityGroupRules DescribeSecurityGroups DescribeSubnets DescribeVpcEndpoints DescribeVpcs",
    ),
    "iam": (
        *_actions("iam", "GetInstanceProfile GetPolicy GetRole GetRolePolicy ListAttachedRolePolicies"),
        "sts:GetCallerIdentity",
    ),
    "s3": _actions(
        "s3",
        "GetBucketObjectLockConfiguration GetBucketOwnershipControls GetBucketPolicy GetBucketPublicAccessBlock"
        " GetBucketVersioning GetEncryptionConfiguration GetLifecycleConfiguration GetObject ListBucket",
    ),
    "services": (
        *_actions("autoscaling", "DescribeAutoScalingGroups DescribeLifecycleHooks"),
        *_actions("events", "DescribeRule ListTargetsByRule"),
        *_actions("fsx", "DescribeDataRepositoryAssociations DescribeFileSystems"),
        *_actions("kms", "DescribeKey ListAliases"),
        *_actions("logs", "DescribeLogGroups"),
        *_actions("sqs", "GetQueueAttributes GetQueueUrl"),
        *_actions("ssm", "DescribeParameters"),
        "tag:GetResources",
    ),
}
"""Group of finders (`api/find_*.py`) -> the actions they use; only after a killed update."""


def _of(*groups: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(sorted(set(chain.from_iterable(groups))))


_READ = _of(*(rights.read for rights in RIGHTS.values()))
_PIN = _of(LOOKS["image"], LOOKS["zones"], LOOKS["quota"])
_PROGRAM = _of(LOOKS["account"], LOOKS["zones"])
_FIND = _of(*FINDS.values())
_CHANGE = _of(*(rights.change for rights in RIGHTS.values()))
_REMOVE = _of(*(rights.remove for rights in RIGHTS.values()))

COMMANDS: Mapping[str, tuple[str, ...]] = {
    "offers refresh": _of(PRICES),
    "plan": _PIN,
    "preview": _of(_PIN, _PROGRAM),
    "up": _of(_PIN, _PROGRAM, _FIND, _READ, _CHANGE, _REMOVE, LOOKS["nodes"]),
    "refresh": _of(_PROGRAM, _FIND, _READ),
    "recover": _of(_PROGRAM, _FIND, _READ),
    "status": _of(LOOKS["nodes"], LOOKS["notices"]),
    "ssh": _of(LOOKS["nodes"], ("ssm:StartSession", "ssm:TerminateSession")),
    "down": _of(_PROGRAM, _FIND, _READ, _REMOVE, LOOKS["nodes"]),
}
"""Command -> the actions it uses on a real account, sorted. `plan` uses them only to pin to a real stack."""


def actions(command: str) -> tuple[str, ...]:
    """Return the sorted actions of a command; none of a command that asks no cloud."""
    return COMMANDS.get(command, ())
