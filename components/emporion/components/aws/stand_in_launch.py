"""How EC2 and Auto Scaling start machines: templates merged with what is asked, and what a launch is refused for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from emporion.components.aws.instance_types import instance_types
from emporion.market.stand_in import GroupLaunch, Launch, Making, Refusal

__all__ = ["group", "instance", "machine_outputs", "reservation", "tag_inputs", "vcpus"]

_TEMPLATE = "aws:ec2/launchTemplate:LaunchTemplate"
_SUBNET = "aws:ec2/subnet:Subnet"
_PROFILE = "aws:iam/instanceProfile:InstanceProfile"
_PLACEMENT = "aws:ec2/placementGroup:PlacementGroup"
_GROUP = "aws:ec2/securityGroup:SecurityGroup"
_RESERVATIONS = (
    "aws:ec2/capacityReservation:CapacityReservation",
    "aws:ec2/capacityBlockReservation:CapacityBlockReservation",
)
Inputs = Mapping[str, Any]


def tag_inputs(inputs: Inputs) -> Mapping[str, str]:
    """Return a resource's tags: a map, or an Auto Scaling group's list."""
    tags = inputs.get("tags") or {}
    if isinstance(tags, list):
        return {tag["key"]: tag["value"] for tag in tags}
    return {key: value for key, value in tags.items() if isinstance(value, str)} if isinstance(tags, Mapping) else {}


def vcpus(instance_type: str) -> int | None:
    """Return the vCPUs of a type, None for one that is not in the table."""
    known = instance_types().get(instance_type)
    return known.vcpus if known else None


def reservation(making: Making) -> tuple[str, str, int]:
    """Return zone name, instance type and machines of a capacity reservation."""
    inputs = making.inputs
    return str(inputs.get("availabilityZone")), str(inputs.get("instanceType")), int(inputs.get("instanceCount") or 0)


def instance(making: Making) -> Launch | Refusal:
    """Return the launch of one `aws.ec2.Instance`."""
    template = _template(making, making.inputs.get("launchTemplate"))
    if isinstance(template, Refusal):
        return template
    merged = _merged(template, making.inputs)
    return _launch(making, merged, merged.get("subnetId"), {**merged["tags"], **tag_inputs(making.inputs)})


def group(making: Making) -> GroupLaunch | Refusal:
    """Return what an `aws.autoscaling.Group` wants."""
    inputs = making.inputs
    asked = inputs.get("launchTemplate")
    policy = inputs.get("mixedInstancesPolicy") or {}
    if policy:
        asked = (policy.get("launchTemplate") or {}).get("launchTemplateSpecification") or {}
        asked = {
            "id": asked.get("launchTemplateId"),
            "name": asked.get("launchTemplateName"),
            "version": asked.get("version"),
        }
    template = _template(making, asked)
    if isinstance(template, Refusal):
        return template
    merged = _merged(template, {"placementGroup": inputs.get("placementGroup")})
    tags = {
        **merged["tags"],
        **{tag["key"]: tag["value"] for tag in inputs.get("tags") or () if tag.get("propagateAtLaunch")},
    }
    launches: list[Launch] = []
    for subnet in inputs.get("vpcZoneIdentifiers") or ():
        launch = _launch(making, merged, subnet, tags)
        if isinstance(launch, Refusal):
            return launch
        member = {
            "launchTemplate": {"id": merged["templateId"], "version": merged["version"]},
            "subnetId": subnet,
            "instanceType": launch.instance_type,
            "ami": launch.image_id,
            "tags": tags,
            "vpcSecurityGroupIds": merged["groups"],
            "iamInstanceProfile": merged.get("profile"),
            "placementGroup": launch.placement_group,
        }
        launches.append(replace(launch, inputs={key: value for key, value in member.items() if value is not None}))
    if not launches:
        return Refusal("ValidationError", "At least one Availability Zone or VPC Subnet is required.")
    desired = inputs.get("desiredCapacity")
    return GroupLaunch(
        int(inputs["minSize"] if desired is None else desired),
        tuple(launches),
        wait=inputs.get("waitForCapacityTimeout") != "0" and not inputs.get("ignoreFailedScalingActivities"),
        renew=bool(inputs.get("instanceRefresh")),
    )


def _template(making: Making, asked: Inputs | None) -> Inputs | Refusal:
    """Return the launch template's data with `templateId` and `version`; empty without a template."""
    if not asked:
        return {}
    row = (
        making.find(_TEMPLATE, asked["id"]) if asked.get("id") else making.find_by(_TEMPLATE, "name", asked.get("name"))
    )
    if row is None:
        name = asked.get("id") or asked.get("name")
        return Refusal(
            "InvalidLaunchTemplateId.NotFound",
            f"The specified launch template, with template ID {name}, does not exist.",
        )
    version = str(asked.get("version") or "$Default")
    number = {"$Latest": row.outputs["latestVersion"], "$Default": row.outputs["defaultVersion"]}.get(version, version)
    data = row.versions.get(str(number))
    if data is None:
        return Refusal(
            "InvalidLaunchTemplateId.VersionNotFound",
            f"Could not find the specified version {version} for the launch template with ID {row.id}.",
        )
    return {**data, "templateId": row.id, "version": version}


def _merged(template: Inputs, asked: Inputs) -> dict[str, Any]:
    """Return a template's data with what the caller asks on top, in one spelling."""
    nics = list(template.get("networkInterfaces") or ())
    placement = template.get("placement") or {}
    profile = template.get("iamInstanceProfile") or {}
    tags: dict[str, str] = {}
    for specification in template.get("tagSpecifications") or ():
        if specification.get("resourceType") == "instance":
            tags.update(specification.get("tags") or {})
    groups = sorted({group for nic in nics for group in nic.get("securityGroups") or ()})
    return {
        "templateId": template.get("templateId"),
        "version": template.get("version"),
        "nics": nics,
        "tags": tags,
        "imageId": asked.get("ami") or template.get("imageId"),
        "instanceType": asked.get("instanceType") or template.get("instanceType"),
        "subnetId": asked.get("subnetId") or next((nic["subnetId"] for nic in nics if nic.get("subnetId")), None),
        "groups": asked.get("vpcSecurityGroupIds") or groups or template.get("vpcSecurityGroupIds") or [],
        "profile": asked.get("iamInstanceProfile") or profile.get("name") or profile.get("arn"),
        "placementGroup": asked.get("placementGroup") or placement.get("groupName"),
        "market": asked.get("instanceMarketOptions") or template.get("instanceMarketOptions") or {},
        "reservation": asked.get("capacityReservationSpecification")
        or template.get("capacityReservationSpecification"),
        "privateIp": asked.get("privateIp"),
    }


def _launch(making: Making, merged: Inputs, subnet_id: str | None, tags: Mapping[str, str]) -> Launch | Refusal:
    if not merged["instanceType"]:
        return Refusal("MissingParameter", "The request must contain the parameter InstanceType")
    if not merged["imageId"]:
        return Refusal("MissingParameter", "The request must contain the parameter ImageId")
    subnet = making.find(_SUBNET, subnet_id) if subnet_id else None
    if subnet is None:
        if subnet_id:
            return Refusal("InvalidSubnetID.NotFound", f"The subnet ID '{subnet_id}' does not exist")
        return Refusal("VPCIdNotSpecified", "No default VPC for this user")
    refusal = _absent(making, merged) or _bad_interfaces(merged)
    if refusal:
        return refusal
    market = {"spot": "spot", "capacity-block": "capacity_block"}.get(
        str(merged["market"].get("marketType")), "on_demand"
    )
    target = (merged["reservation"] or {}).get("capacityReservationTarget") or {}
    reserved = target.get("capacityReservationId")
    launch = Launch(
        instance_type=merged["instanceType"],
        image_id=merged["imageId"],
        market=market,
        zone=str(subnet.outputs.get("availabilityZone")),
        subnet_id=subnet.id,
        subnet_cidr=str(subnet.outputs["cidrBlock"]),
        addresses=sum(nic.get("interfaceType") != "efa-only" for nic in merged["nics"]) or 1,
        tags=tags,
        fixed_addresses=(merged["privateIp"],) if merged.get("privateIp") else (),
        reservation_id=reserved,
        placement_group=merged["placementGroup"],
    )
    return _mismatch(making, launch) or launch


def _absent(making: Making, merged: Inputs) -> Refusal | None:
    """Return what a launch names that does not exist."""
    for group_id in merged["groups"]:
        if not making.find(_GROUP, group_id) and not making.find_by(
            "aws:ec2/vpc:Vpc", "defaultSecurityGroupId", group_id
        ):
            return Refusal("InvalidGroup.NotFound", f"The security group '{group_id}' does not exist")
    profile = merged["profile"]
    if profile and not making.find(_PROFILE, profile) and not making.find_by(_PROFILE, "arn", profile):
        return Refusal(
            "InvalidParameterValue",
            f"Value ({profile}) for parameter iamInstanceProfile.name is invalid. Invalid IAM Instance Profile name",
        )
    placement = merged["placementGroup"]
    if placement and not making.find(_PLACEMENT, placement):
        return Refusal("InvalidPlacementGroup.Unknown", f"The Placement Group '{placement}' is unknown.")
    return None


def _bad_interfaces(merged: Inputs) -> Refusal | None:
    """Return why EC2 refuses the interfaces (facts: EFA user guide; the texts for cards are ours)."""
    nics: Sequence[Inputs] = merged["nics"]
    if len(nics) > 1 and any(nic.get("associatePublicIpAddress") is not None for nic in nics):
        return Refusal(
            "InvalidParameterCombination",
            "The associatePublicIPAddress parameter cannot be specified when launching with multiple network "
            "interfaces.",
        )
    places = [(int(nic.get("networkCardIndex") or 0), int(nic.get("deviceIndex") or 0)) for nic in nics]
    if len(set(places)) < len(places):
        return Refusal("InvalidParameterValue", "Each network interface requires a unique device index.")
    known = instance_types().get(merged["instanceType"])
    efa = [place for place, nic in zip(places, nics, strict=True) if str(nic.get("interfaceType")).startswith("efa")]
    if known and any(card >= known.network_cards for card, _ in places):
        return Refusal(
            "InvalidParameterValue",
            f"Network card index is out of range: {merged['instanceType']} has {known.network_cards} network cards.",
        )
    if known and len(efa) > known.efa_interfaces:
        return Refusal(
            "InvalidParameterCombination",
            f"{len(efa)} EFA interfaces are more than the {known.efa_interfaces} of {merged['instanceType']}.",
        )
    if any(place == (0, 0) and nic.get("interfaceType") == "efa-only" for place, nic in zip(places, nics, strict=True)):
        return Refusal("InvalidParameterCombination", "An EFA-only interface cannot be the primary network interface.")
    return None


def _mismatch(making: Making, launch: Launch) -> Refusal | None:
    """Return why a reservation does not fit the launch; one that does not exist is noticed when the machine starts."""
    if launch.reservation_id is None:
        return None
    rows = [row for token in _RESERVATIONS for row in making.all(token) if row.id == launch.reservation_id]
    for row in rows:
        for mine, its, name in (
            (launch.instance_type, row.outputs.get("instanceType"), "instance type"),
            (launch.zone, row.outputs.get("availabilityZone"), "Availability Zone"),
        ):
            if its and mine != its:
                return Refusal(
                    "InvalidParameterCombination",
                    f"The {name} of the launch ({mine}) is not that of the Capacity Reservation {row.id} ({its}).",
                )
    return None


def machine_outputs(making: Making, launch: Launch, addresses: Sequence[str], launched_at: str) -> Mapping[str, Any]:
    """Return what EC2 says of a machine that runs; `launched_at` is kept by the world."""
    del launched_at
    template = _template(making, making.inputs.get("launchTemplate"))
    merged = _merged({} if isinstance(template, Refusal) else template, making.inputs)
    address = addresses[0]
    domain = "ec2.internal" if making.region == "us-east-1" else f"{making.region}.compute.internal"
    outputs: dict[str, Any] = {
        "arn": f"arn:aws:ec2:{making.region}:{making.account}:instance/{making.id}",
        "ami": launch.image_id,
        "availabilityZone": launch.zone,
        "instanceState": "running",
        "instanceType": launch.instance_type,
        "privateIp": address,
        "privateDns": f"ip-{address.replace('.', '-')}.{domain}",
        "subnetId": launch.subnet_id,
        "vpcSecurityGroupIds": merged["groups"],
        "primaryNetworkInterfaceId": f"eni-{making.hex(17, 'eni')}",
        "instanceLifecycle": "spot" if launch.market == "spot" else "",
        "tenancy": "default",
        "publicIp": "",
        "publicDns": "",
    }
    if launch.placement_group:
        outputs["placementGroup"] = launch.placement_group
    if merged["profile"]:
        outputs["iamInstanceProfile"] = str(merged["profile"]).rpartition("/")[2]
    return outputs
