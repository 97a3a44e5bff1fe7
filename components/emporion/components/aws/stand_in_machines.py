"""Stand-in rules of EC2's machines and Auto Scaling. Shapes: facts/clusters.md section 5.1, with its sources."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from emporion.components.aws import stand_in_checks as checks
from emporion.components.aws.stand_in_references import group_reference, subnet_reference
from emporion.market.stand_in import EnumSource, InUse, Making, Reference, Refusal, TypeRule

__all__ = ["INSTANCE", "MACHINES"]

INSTANCE = "aws:ec2/instance:Instance"
_TEMPLATE, _PLACEMENT = "aws:ec2/launchTemplate:LaunchTemplate", "aws:ec2/placementGroup:PlacementGroup"
_RESERVATION = "aws:ec2/capacityReservation:CapacityReservation"
_BLOCK = "aws:ec2/capacityBlockReservation:CapacityBlockReservation"
_ASG, _HOOK = "aws:autoscaling/group:Group", "aws:autoscaling/lifecycleHook:LifecycleHook"

_TYPES = EnumSource("ec2", "InstanceType")
_MARKET_TYPES = EnumSource("ec2", "MarketType")
_INTERFACE_TYPES = ("interface", "efa", "efa-only")
_VOLUMES = EnumSource("ec2", "VolumeType")


def _version(making: Making) -> int:
    return int(making.old["latestVersion"]) + 1


def _default_version(making: Making) -> int:
    return _version(making) if making.inputs.get("updateDefaultVersion") else int(making.old["defaultVersion"])


def _new_for_user_data(_old: Mapping[str, Any], new: Mapping[str, Any]) -> bool:
    return bool(new.get("userDataReplaceOnChange"))


def _template_reference(path: str) -> Reference:
    return Reference(
        path,
        (_TEMPLATE,),
        "InvalidLaunchTemplateId.NotFound",
        "The specified launch template, with template ID {value}, does not exist.",
    )


MACHINES: Mapping[str, TypeRule] = {
    INSTANCE: TypeRule(
        "EC2 Instance",
        "EC2:Instances",
        "i-{hex17}",
        kind="machine",
        replace=frozenset(
            {
                "ami",
                "availabilityZone",
                "subnetId",
                "privateIp",
                "associatePublicIpAddress",
                "keyName",
                "tenancy",
                "hostId",
                "placementPartitionNumber",
                "placementGroup",
                "cpuOptions",
                "enclaveOptions",
                "ephemeralBlockDevices",
                "instanceMarketOptions",
                "hibernation",
                "launchTemplate.id",
                "launchTemplate.name",
                "networkInterfaces",
                "rootBlockDevice.encrypted",
                "rootBlockDevice.kmsKeyId",
                "userDataBase64.never",
            }
            - {"userDataBase64.never"}
        ),
        # A stopped instance takes new user data, unless the program asks for a new one.
        replace_if={"userData": _new_for_user_data, "userDataBase64": _new_for_user_data},
        enums={
            "instanceType": _TYPES,
            "instanceMarketOptions.marketType": _MARKET_TYPES,
            "rootBlockDevice.volumeType": _VOLUMES,
            "ebsBlockDevices.volumeType": _VOLUMES,
        },
        defaults={"sourceDestCheck": True, "getPasswordData": False, "userDataReplaceOnChange": False},
        references=(
            subnet_reference(),
            _template_reference("launchTemplate.id"),
            group_reference("vpcSecurityGroupIds"),
        ),
        validate=(checks.user_data("userData", encoded=False), checks.user_data("userDataBase64", encoded=True)),
    ),
    _TEMPLATE: TypeRule(
        "EC2 Launch Template",
        "EC2:LaunchTemplate",
        "lt-{hex17}",
        named="name",
        name_limit=128,
        prefix="namePrefix",
        outputs={
            "arn": "arn:aws:ec2:{region}:{account}:launch-template/{id}",
            "latestVersion": lambda _: 1,
            "defaultVersion": lambda _: 1,
        },
        on_update={"latestVersion": _version, "defaultVersion": _default_version},
        on_update_unless=frozenset(
            {"name", "description", "defaultVersion", "tags", "tagsAll", "updateDefaultVersion"}
        ),
        keeps_versions=True,
        replace=frozenset({"name", "namePrefix"}),
        unique=("name",),
        exists=Refusal("InvalidLaunchTemplateName.AlreadyExistsException", "Launch template name already in use."),
        enums={
            "instanceType": _TYPES,
            "networkInterfaces.interfaceType": _INTERFACE_TYPES,
            "instanceMarketOptions.marketType": _MARKET_TYPES,
            "blockDeviceMappings.ebs.volumeType": _VOLUMES,
            "metadataOptions.httpTokens": EnumSource("ec2", "LaunchTemplateHttpTokensState"),
            "metadataOptions.httpEndpoint": EnumSource("ec2", "LaunchTemplateInstanceMetadataEndpointState"),
            "tagSpecifications.resourceType": EnumSource("ec2", "ResourceType"),
            "placement.tenancy": EnumSource("ec2", "Tenancy"),
        },
        references=(
            group_reference("networkInterfaces.securityGroups"),
            group_reference("vpcSecurityGroupIds"),
            subnet_reference("networkInterfaces.subnetId"),
        ),
        validate=(checks.user_data("userData", encoded=True),),
    ),
    _PLACEMENT: TypeRule(
        "EC2 Placement Group",
        "EC2:PlacementGroup",
        "{name}",
        named="name",
        outputs={"arn": "arn:aws:ec2:{region}:{account}:placement-group/{id}", "placementGroupId": "pg-{hex17}"},
        replace=frozenset({"name", "strategy", "partitionCount", "spreadLevel"}),
        enums={"strategy": EnumSource("ec2", "PlacementStrategy"), "spreadLevel": EnumSource("ec2", "SpreadLevel")},
        exists=Refusal("InvalidPlacementGroup.Duplicate", "The Placement Group '{name}' already exists."),
        in_use=(
            InUse(
                INSTANCE,
                "placementGroup",
                "InvalidPlacementGroup.InUse",
                "The placement group '{id}' is in use and may not be deleted.",
            ),
            InUse(
                _RESERVATION,
                "placementGroupArn",
                "InvalidPlacementGroup.InUse",
                "The placement group '{id}' is in use and may not be deleted.",
                key="arn",
            ),
        ),
    ),
    _RESERVATION: TypeRule(
        "EC2 Capacity Reservation",
        "EC2:CapacityReservation",
        "cr-{hex17}",
        kind="reservation",
        outputs={"arn": "arn:aws:ec2:{region}:{account}:capacity-reservation/{id}", "ownerId": "{account}"},
        defaults={"endDateType": "unlimited", "instanceMatchCriteria": "open", "tenancy": "default"},
        replace=frozenset(
            {
                "availabilityZone",
                "instanceType",
                "instancePlatform",
                "tenancy",
                "ebsOptimized",
                "ephemeralStorage",
                "instanceMatchCriteria",
                "outpostArn",
                "placementGroupArn",
            }
        ),
        enums={"instanceType": _TYPES, "instancePlatform": EnumSource("ec2", "CapacityReservationInstancePlatform")},
        references=(
            Reference(
                "placementGroupArn",
                (_PLACEMENT,),
                "InvalidPlacementGroup.Unknown",
                "The Placement Group '{value}' is unknown.",
                key="arn",
            ),
        ),
    ),
    _BLOCK: TypeRule(
        "EC2 Capacity Block Reservation",
        "EC2:CapacityBlock",
        "cr-{hex17}",
        kind="reservation",
        outputs={"arn": "arn:aws:ec2:{region}:{account}:capacity-reservation/{id}"},
    ),
    _ASG: TypeRule(
        "Auto Scaling Group",
        "Auto Scaling:AutoScalingGroup",
        "{name}",
        kind="group",
        named="name",
        prefix="namePrefix",
        outputs={
            "arn": "arn:aws:autoscaling:{region}:{account}:autoScalingGroup:{uuid}:autoScalingGroupName/{name}",
            "desiredCapacity": lambda making: making.inputs.get("minSize"),
            "healthCheckType": lambda _: "EC2",
            "defaultCooldown": lambda _: 300,
            "serviceLinkedRoleArn": "arn:aws:iam::{account}:role/aws-service-role/autoscaling.amazonaws.com/"
            "AWSServiceRoleForAutoScaling",
        },
        defaults={
            "forceDelete": False,
            "forceDeleteWarmPool": False,
            "healthCheckGracePeriod": 300,
            "ignoreFailedScalingActivities": False,
            "metricsGranularity": "1Minute",
            "protectFromScaleIn": False,
            "waitForCapacityTimeout": "10m",
        },
        replace=frozenset({"name", "namePrefix"}),
        exists=Refusal(
            "AlreadyExists",
            "AutoScalingGroup by this name already exists - A group with the name {name} already exists",
        ),
        references=(
            subnet_reference("vpcZoneIdentifiers"),
            _template_reference("launchTemplate.id"),
            Reference("placementGroup", (_PLACEMENT,), "ValidationError", "The placement group {value} does not exist"),
        ),
        gone_with=((_HOOK, "autoscalingGroupName"),),
    ),
    _HOOK: TypeRule(
        "Auto Scaling Lifecycle Hook",
        "Auto Scaling:LifecycleHook",
        "{name}",
        named="name",
        put=True,
        replace=frozenset({"name", "autoscalingGroupName"}),
        unique=(),
        references=(
            Reference("autoscalingGroupName", (_ASG,), "ValidationError", "AutoScalingGroup name not found - {value}"),
        ),
        import_id="{autoscalingGroupName}/{name}",
    ),
}
