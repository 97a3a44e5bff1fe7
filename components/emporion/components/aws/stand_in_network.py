"""Stand-in rules of EC2's network. Ids, ARNs and replacement: facts/clusters.md section 5.1, with its sources."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from zlib import crc32

from emporion.components.aws.stand_in_references import (
    ALLOCATION,
    ASSOCIATION,
    DEFAULT_GROUP,
    ENDPOINT,
    GATEWAY,
    GROUP,
    INSTANCE,
    INTERFACE,
    LUSTRE,
    NAT,
    ROUTE,
    SUBNET,
    TABLE,
    VPC,
    arn,
    group_reference,
    private_ip,
    subnet_reference,
    table_reference,
    violates,
    vpc_reference,
)  # fmt: skip
from emporion.components.aws.stand_in_zones import zones
from emporion.market.stand_in import InUse, Making, Reference, Refusal, TypeRule

__all__ = ["NETWORK"]

_VPC_TEXT = "The vpc '{id}' has dependencies and cannot be deleted."
_SUBNET_TEXT = "The subnet '{id}' has dependencies and cannot be deleted."


def _route_id(making: Making) -> str:
    """Return the id that the provider makes up (terraform-provider-aws, `routeCreateID`, 2026-11)."""
    destinations = ("destinationCidrBlock", "destinationIpv6CidrBlock", "destinationPrefixListId")
    destination = next((str(making.inputs[name]) for name in destinations if making.inputs.get(name)), "")
    return f"r-{making.inputs['routeTableId']}{crc32(destination.encode())}"


def _zone_name(making: Making) -> str | None:
    named = {
        zone_id: name
        for zone_id, name in zones(making.region).items()
        if zone_id == making.inputs.get("availabilityZoneId")
    }
    return next(iter(named.values()), None) or next(iter(sorted(zones(making.region).values())), None)


def _zone_id(making: Making) -> str | None:
    name = making.inputs.get("availabilityZone") or _zone_name(making)
    return next((zone_id for zone_id, zone in zones(making.region).items() if zone == name), None)


def _zone_exists(making: Making) -> Refusal | None:
    zone = making.inputs.get("availabilityZone")
    if zone and zone not in zones(making.region).values():
        names = ", ".join(sorted(zones(making.region).values()))
        return Refusal(
            "InvalidParameterValue",
            f"Value ({zone}) for parameter availabilityZone is invalid. Subnets can currently only be created in the "
            f"following availability zones: {names}.",
        )
    return None


def _inside(making: Making) -> Refusal | None:
    """Refuse a subnet outside of its VPC's range or one that overlaps another."""
    import ipaddress  # noqa: PLC0415 - start-up of the plugin

    vpc = making.find(VPC, str(making.inputs["vpcId"]))
    cidr = making.inputs.get("cidrBlock")
    if vpc is None or not cidr:
        return None
    network = ipaddress.IPv4Network(cidr)
    if not network.subnet_of(ipaddress.IPv4Network(vpc.outputs["cidrBlock"])):
        return Refusal("InvalidSubnet.Range", f"The CIDR '{cidr}' is invalid.")
    for other in making.all(SUBNET):
        if (
            other.id != making.id
            and other.inputs.get("vpcId") == vpc.id
            and network.overlaps(ipaddress.IPv4Network(other.outputs["cidrBlock"]))
        ):
            return Refusal("InvalidSubnet.Conflict", f"The CIDR '{cidr}' conflicts with another subnet")
    return None


def _allocated(making: Making) -> str | None:
    address = making.find(ALLOCATION, str(making.inputs.get("allocationId")))
    return str(address.outputs["publicIp"]) if address else None


def _vpc_of(making: Making) -> str | None:
    subnet = making.find(SUBNET, str(making.inputs.get("subnetId")))
    return str(subnet.outputs["vpcId"]) if subnet else None


def _public_ip(making: Making) -> str:
    number = int(making.hex(6, "public"), 16)
    return f"203.0.113.{number % 254 + 1}"  # TEST-NET-3 (RFC 5737): nobody's address


def _interfaces(making: Making) -> list[str]:
    if making.inputs.get("vpcEndpointType") != "Interface":
        return []
    return [f"eni-{making.hex(17, subnet)}" for subnet in making.inputs.get("subnetIds") or ()]


def _may_not_become(old: Mapping[str, Any], new: Mapping[str, Any]) -> bool:
    return (old.get("instanceTenancy"), new.get("instanceTenancy")) != ("dedicated", "default")


NETWORK: Mapping[str, TypeRule] = {
    VPC: TypeRule(
        "EC2 VPC",
        "EC2:Vpc",
        "vpc-{hex17}",
        outputs={
            "arn": arn("vpc"),
            "ownerId": "{account}",
            "mainRouteTableId": lambda making: f"rtb-{making.hex(17, 'main')}",
            "defaultRouteTableId": lambda making: f"rtb-{making.hex(17, 'main')}",
            "defaultSecurityGroupId": lambda making: f"sg-{making.hex(17, 'default')}",
            "defaultNetworkAclId": lambda making: f"acl-{making.hex(17, 'acl')}",
            "dhcpOptionsId": lambda making: f"dopt-{making.hex(17, 'dhcp')}",
        },
        defaults={"enableDnsSupport": True, "instanceTenancy": "default"},
        fills={"enableDnsHostnames": False, "enableNetworkAddressUsageMetrics": False},
        replace=frozenset({"cidrBlock"}),
        replace_if={"instanceTenancy": _may_not_become},
        in_use=(
            violates(SUBNET, "vpcId", _VPC_TEXT),
            violates(GATEWAY, "vpcId", _VPC_TEXT),
            violates(ENDPOINT, "vpcId", _VPC_TEXT),
            violates(GROUP, "vpcId", _VPC_TEXT),
            violates(TABLE, "vpcId", _VPC_TEXT),
        ),
        gone_with=((DEFAULT_GROUP, "vpcId"),),
    ),
    SUBNET: TypeRule(
        "EC2 Subnet",
        "EC2:Subnet",
        "subnet-{hex17}",
        outputs={
            "arn": arn("subnet"),
            "ownerId": "{account}",
            "availabilityZone": _zone_name,
            "availabilityZoneId": _zone_id,
            "privateDnsHostnameTypeOnLaunch": lambda _: "ip-name",
        },
        defaults={"assignIpv6AddressOnCreation": False, "enableDns64": False, "mapPublicIpOnLaunch": False},
        replace=frozenset({"vpcId", "availabilityZone", "availabilityZoneId", "cidrBlock"}),
        references=(vpc_reference(),),
        validate=(_zone_exists, _inside),
        in_use=tuple(
            violates(token, path, _SUBNET_TEXT)
            for token, path in (
                (INSTANCE, "subnetId"),
                (NAT, "subnetId"),
                (ENDPOINT, "subnetIds"),
                (LUSTRE, "subnetIds"),
                (INTERFACE, "subnetId"),
            )
        ),
        gone_with=((ASSOCIATION, "subnetId"),),
    ),
    GATEWAY: TypeRule(
        "EC2 Internet Gateway",
        "EC2:InternetGateway",
        "igw-{hex17}",
        outputs={"arn": arn("internet-gateway"), "ownerId": "{account}"},
        references=(vpc_reference(),),
    ),
    ALLOCATION: TypeRule(
        "EC2 EIP",
        "EC2:Address",
        "eipalloc-{hex17}",
        outputs={
            "arn": arn("elastic-ip"),
            "allocationId": "{id}",
            "publicIp": _public_ip,
            "publicDns": lambda making: f"ec2-{_public_ip(making).replace('.', '-')}.compute-1.amazonaws.com",
            "networkBorderGroup": "{region}",
            "publicIpv4Pool": lambda _: "amazon",
        },
        fills={"domain": "vpc"},
        replace=frozenset({"address", "domain", "networkBorderGroup", "publicIpv4Pool"}),
        in_use=(
            InUse(
                NAT, "allocationId", "InvalidIPAddress.InUse", "Address with allocation ID {id} is in use by {user}."
            ),
        ),
    ),
    NAT: TypeRule(
        "EC2 NAT Gateway",
        "EC2:NatGateway",
        "nat-{hex17}",
        outputs={
            "networkInterfaceId": lambda making: f"eni-{making.hex(17, 'eni')}",
            "privateIp": private_ip,
            "publicIp": _allocated,
            "vpcId": _vpc_of,
            "associationId": lambda making: f"eipassoc-{making.hex(17, 'as')}",
        },
        defaults={"connectivityType": "public"},
        replace=frozenset({"subnetId", "allocationId", "connectivityType", "privateIp"}),
        references=(
            subnet_reference(),
            Reference(
                "allocationId",
                (ALLOCATION,),
                "InvalidAllocationID.NotFound",
                "The allocation ID '{value}' does not exist",
            ),
        ),
    ),
    TABLE: TypeRule(
        "EC2 Route Table",
        "EC2:RouteTable",
        "rtb-{hex17}",
        outputs={"arn": arn("route-table"), "ownerId": "{account}"},
        replace=frozenset({"vpcId"}),
        references=(vpc_reference(),),
        in_use=(
            violates(ASSOCIATION, "routeTableId", "The routeTable '{id}' has dependencies and cannot be deleted."),
        ),
        gone_with=((ROUTE, "routeTableId"),),
    ),
    ROUTE: TypeRule(
        "EC2 Route",
        "EC2:Route",
        _route_id,
        outputs={"origin": lambda _: "CreateRoute", "state": lambda _: "active"},
        replace=frozenset(
            {"routeTableId", "destinationCidrBlock", "destinationIpv6CidrBlock", "destinationPrefixListId"}
        ),
        references=(
            table_reference(),
            Reference(
                "gatewayId",
                (GATEWAY, ENDPOINT),
                "InvalidInternetGatewayID.NotFound",
                "The internetGateway ID '{value}' does not exist",
            ),
            Reference(
                "natGatewayId", (NAT,), "InvalidNatGatewayID.NotFound", "The natGateway ID '{value}' does not exist"
            ),
        ),
        unique=("routeTableId", "destinationCidrBlock", "destinationIpv6CidrBlock", "destinationPrefixListId"),
        exists=Refusal("RouteAlreadyExists", "The route identified by {destinationCidrBlock} already exists."),
        import_id="{routeTableId}_{destinationCidrBlock}{destinationIpv6CidrBlock}{destinationPrefixListId}",
    ),
    ASSOCIATION: TypeRule(
        "EC2 Route Table Association",
        "EC2:RouteTable",
        "rtbassoc-{hex17}",
        replace=frozenset({"subnetId", "gatewayId"}),
        references=(table_reference(), subnet_reference()),
        unique=("subnetId", "gatewayId"),
        exists=Refusal(
            "Resource.AlreadyAssociated",
            "the specified association for route table {routeTableId} conflicts with an existing association",
        ),
        import_id="{subnetId}{gatewayId}/{routeTableId}",
    ),
    ENDPOINT: TypeRule(
        "EC2 VPC Endpoint",
        "EC2:VpcEndpoint",
        "vpce-{hex17}",
        outputs={
            "arn": arn("vpc-endpoint"),
            "ownerId": "{account}",
            "state": lambda _: "available",
            "prefixListId": lambda making: (
                None if making.inputs.get("vpcEndpointType") == "Interface" else f"pl-{making.hex(8, 'pl')}"
            ),
            "cidrBlocks": lambda making: (
                [] if making.inputs.get("vpcEndpointType") == "Interface" else ["198.51.100.0/24"]
            ),
            "networkInterfaceIds": _interfaces,
            "policy": lambda _: '{"Statement":[{"Action":"*","Effect":"Allow","Principal":"*","Resource":"*"}]}',
        },
        defaults={"vpcEndpointType": "Gateway"},
        replace=frozenset({"vpcId", "serviceName", "vpcEndpointType", "serviceRegion"}),
        references=(
            vpc_reference(),
            subnet_reference("subnetIds"),
            group_reference("securityGroupIds"),
            table_reference("routeTableIds"),
        ),
    ),
}
