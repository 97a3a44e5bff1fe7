"""Stand-in rules of EC2's network. Ids, ARNs and replacement: facts/clusters.md section 5.1, with its sources."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any
from zlib import crc32

from emporion.components.aws.stand_in_checks import address_kinds
from emporion.components.aws.stand_in_zones import zones
from emporion.market.stand_in import InUse, Making, Reference, Refusal, TypeRule

__all__ = ["NETWORK", "group_reference", "subnet_reference", "vpc_reference"]

ENI = "eni-{hex17}"
_VPC, _SUBNET, _TABLE = "aws:ec2/vpc:Vpc", "aws:ec2/subnet:Subnet", "aws:ec2/routeTable:RouteTable"
_GROUP = "aws:ec2/securityGroup:SecurityGroup"
_DEFAULT_GROUP = "aws:ec2/defaultSecurityGroup:DefaultSecurityGroup"
_ALLOCATION, _GATEWAY = "aws:ec2/eip:Eip", "aws:ec2/internetGateway:InternetGateway"
_NAT, _ENDPOINT, _INSTANCE = (
    "aws:ec2/natGateway:NatGateway",
    "aws:ec2/vpcEndpoint:VpcEndpoint",
    "aws:ec2/instance:Instance",
)
_LUSTRE, _INTERFACE = "aws:fsx/lustreFileSystem:LustreFileSystem", "aws:ec2/networkInterface:NetworkInterface"
_INGRESS = "aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule"
_EGRESS = "aws:vpc/securityGroupEgressRule:SecurityGroupEgressRule"
_ROUTE, _ASSOCIATION = "aws:ec2/route:Route", "aws:ec2/routeTableAssociation:RouteTableAssociation"


def vpc_reference(path: str = "vpcId") -> Reference:
    """Return the rule that a VPC exists."""
    return Reference(
        path, (_VPC, "aws:ec2/defaultVpc:DefaultVpc"), "InvalidVpcID.NotFound", "The vpc ID '{value}' does not exist"
    )


def subnet_reference(path: str = "subnetId") -> Reference:
    """Return the rule that a subnet exists."""
    return Reference(
        path,
        (_SUBNET, "aws:ec2/defaultSubnet:DefaultSubnet"),
        "InvalidSubnetID.NotFound",
        "The subnet ID '{value}' does not exist",
    )


def group_reference(path: str) -> Reference:
    """Return the rule that a security group exists; a VPC's default one does."""
    return Reference(
        path,
        (_GROUP, _DEFAULT_GROUP),
        "InvalidGroup.NotFound",
        "The security group '{value}' does not exist",
        also=((_VPC, "defaultSecurityGroupId"),),
    )


def _route_id(making: Making) -> str:
    """Return the id that the provider makes up (terraform-provider-aws, `routeCreateID`, 2026-11)."""
    destinations = ("destinationCidrBlock", "destinationIpv6CidrBlock", "destinationPrefixListId")
    destination = next((str(making.inputs[name]) for name in destinations if making.inputs.get(name)), "")
    return f"r-{making.inputs['routeTableId']}{crc32(destination.encode())}"


def _table_reference(path: str = "routeTableId") -> Reference:
    return Reference(
        path,
        (_TABLE, "aws:ec2/defaultRouteTable:DefaultRouteTable"),
        "InvalidRouteTableID.NotFound",
        "The routeTable ID '{value}' does not exist",
        also=((_VPC, "mainRouteTableId"),),
    )


def _arn(kind: str) -> str:
    return "arn:aws:ec2:{region}:{account}:" + kind + "/{id}"


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

    vpc = making.find(_VPC, str(making.inputs["vpcId"]))
    cidr = making.inputs.get("cidrBlock")
    if vpc is None or not cidr:
        return None
    network = ipaddress.IPv4Network(cidr)
    if not network.subnet_of(ipaddress.IPv4Network(vpc.outputs["cidrBlock"])):
        return Refusal("InvalidSubnet.Range", f"The CIDR '{cidr}' is invalid.")
    for other in making.all(_SUBNET):
        if (
            other.id != making.id
            and other.inputs.get("vpcId") == vpc.id
            and network.overlaps(ipaddress.IPv4Network(other.outputs["cidrBlock"]))
        ):
            return Refusal("InvalidSubnet.Conflict", f"The CIDR '{cidr}' conflicts with another subnet")
    return None


def _default_group_id(making: Making) -> str:
    vpc = making.find(_VPC, str(making.inputs.get("vpcId")))
    return str(vpc.outputs["defaultSecurityGroupId"]) if vpc else f"sg-{making.hex(17)}"


def _private_ip(making: Making) -> str | None:
    import ipaddress  # noqa: PLC0415 - start-up of the plugin

    subnet = making.find(_SUBNET, str(making.inputs.get("subnetId")))
    if subnet is None:
        return None
    hosts = ipaddress.ip_network(subnet.outputs["cidrBlock"])
    return str(hosts[4 + int(making.hex(4, "ip"), 16) % (hosts.num_addresses - 5)])


def _allocated(making: Making) -> str | None:
    address = making.find(_ALLOCATION, str(making.inputs.get("allocationId")))
    return str(address.outputs["publicIp"]) if address else None


def _vpc_of(making: Making) -> str | None:
    subnet = making.find(_SUBNET, str(making.inputs.get("subnetId")))
    return str(subnet.outputs["vpcId"]) if subnet else None


def _public_ip(making: Making) -> str:
    number = int(making.hex(6, "public"), 16)
    return f"203.0.113.{number % 254 + 1}"  # TEST-NET-3 (RFC 5737): nobody's address


def _interfaces(making: Making) -> list[str]:
    if making.inputs.get("vpcEndpointType") != "Interface":
        return []
    return [f"eni-{making.hex(17, subnet)}" for subnet in making.inputs.get("subnetIds") or ()]


def _violates(token: str, path: str, text: str, **more: str) -> InUse:
    return InUse(token, path, "DependencyViolation", text, **more)  # **more: names of its fields


_VPC_TEXT = "The vpc '{id}' has dependencies and cannot be deleted."
_SUBNET_TEXT = "The subnet '{id}' has dependencies and cannot be deleted."
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


def _another_kind(kind: str) -> Callable[[Mapping[str, Any], Mapping[str, Any]], bool]:
    """Return whether a rule's peer becomes, or was, of this kind: another value of the same kind is only an edit."""
    return lambda old, new: (old.get(kind) is None) != (new.get(kind) is None)


def _may_not_become(old: Mapping[str, Any], new: Mapping[str, Any]) -> bool:
    return (old.get("instanceTenancy"), new.get("instanceTenancy")) != ("dedicated", "default")


def _rule(noun: str, api: str) -> TypeRule:
    return TypeRule(
        noun,
        api,
        "sgr-{hex17}",
        outputs={"arn": _arn("security-group-rule"), "securityGroupRuleId": "{id}"},
        replace=frozenset({"securityGroupId"}),
        replace_if={kind: _another_kind(kind) for kind in _RULE_KEY[4:]},
        references=(group_reference("securityGroupId"), group_reference("referencedSecurityGroupId")),
        unique=_RULE_KEY,
        validate=(address_kinds,),
        exists=Refusal("InvalidPermission.Duplicate", "the specified rule already exists"),
    )


NETWORK: Mapping[str, TypeRule] = {
    _VPC: TypeRule(
        "EC2 VPC",
        "EC2:Vpc",
        "vpc-{hex17}",
        outputs={
            "arn": _arn("vpc"),
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
            _violates(_SUBNET, "vpcId", _VPC_TEXT),
            _violates(_GATEWAY, "vpcId", _VPC_TEXT),
            _violates(_ENDPOINT, "vpcId", _VPC_TEXT),
            _violates(_GROUP, "vpcId", _VPC_TEXT),
            _violates(_TABLE, "vpcId", _VPC_TEXT),
        ),
        gone_with=((_DEFAULT_GROUP, "vpcId"),),
    ),
    _DEFAULT_GROUP: TypeRule(
        "VPC Default Security Group",
        "EC2:SecurityGroup",
        _default_group_id,
        outputs={
            "arn": _arn("security-group"),
            "ownerId": "{account}",
            "name": lambda _: "default",
            "description": lambda _: "default VPC security group",
        },
        put=True,
        references=(vpc_reference(),),
        replace=frozenset({"vpcId"}),
    ),
    _SUBNET: TypeRule(
        "EC2 Subnet",
        "EC2:Subnet",
        "subnet-{hex17}",
        outputs={
            "arn": _arn("subnet"),
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
            _violates(token, path, _SUBNET_TEXT)
            for token, path in (
                (_INSTANCE, "subnetId"),
                (_NAT, "subnetId"),
                (_ENDPOINT, "subnetIds"),
                (_LUSTRE, "subnetIds"),
                (_INTERFACE, "subnetId"),
            )
        ),
        gone_with=((_ASSOCIATION, "subnetId"),),
    ),
    _GATEWAY: TypeRule(
        "EC2 Internet Gateway",
        "EC2:InternetGateway",
        "igw-{hex17}",
        outputs={"arn": _arn("internet-gateway"), "ownerId": "{account}"},
        references=(vpc_reference(),),
    ),
    _ALLOCATION: TypeRule(
        "EC2 EIP",
        "EC2:Address",
        "eipalloc-{hex17}",
        outputs={
            "arn": _arn("elastic-ip"),
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
                _NAT, "allocationId", "InvalidIPAddress.InUse", "Address with allocation ID {id} is in use by {user}."
            ),
        ),
    ),
    _NAT: TypeRule(
        "EC2 NAT Gateway",
        "EC2:NatGateway",
        "nat-{hex17}",
        outputs={
            "networkInterfaceId": lambda making: f"eni-{making.hex(17, 'eni')}",
            "privateIp": _private_ip,
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
                (_ALLOCATION,),
                "InvalidAllocationID.NotFound",
                "The allocation ID '{value}' does not exist",
            ),
        ),
    ),
    _TABLE: TypeRule(
        "EC2 Route Table",
        "EC2:RouteTable",
        "rtb-{hex17}",
        outputs={"arn": _arn("route-table"), "ownerId": "{account}"},
        replace=frozenset({"vpcId"}),
        references=(vpc_reference(),),
        in_use=(
            _violates(_ASSOCIATION, "routeTableId", "The routeTable '{id}' has dependencies and cannot be deleted."),
        ),
        gone_with=((_ROUTE, "routeTableId"),),
    ),
    _ROUTE: TypeRule(
        "EC2 Route",
        "EC2:Route",
        _route_id,
        outputs={"origin": lambda _: "CreateRoute", "state": lambda _: "active"},
        replace=frozenset(
            {"routeTableId", "destinationCidrBlock", "destinationIpv6CidrBlock", "destinationPrefixListId"}
        ),
        references=(
            _table_reference(),
            Reference(
                "gatewayId",
                (_GATEWAY, _ENDPOINT),
                "InvalidInternetGatewayID.NotFound",
                "The internetGateway ID '{value}' does not exist",
            ),
            Reference(
                "natGatewayId", (_NAT,), "InvalidNatGatewayID.NotFound", "The natGateway ID '{value}' does not exist"
            ),
        ),
        unique=("routeTableId", "destinationCidrBlock", "destinationIpv6CidrBlock", "destinationPrefixListId"),
        exists=Refusal("RouteAlreadyExists", "The route identified by {destinationCidrBlock} already exists."),
        import_id="{routeTableId}_{destinationCidrBlock}{destinationIpv6CidrBlock}{destinationPrefixListId}",
    ),
    _ASSOCIATION: TypeRule(
        "EC2 Route Table Association",
        "EC2:RouteTable",
        "rtbassoc-{hex17}",
        replace=frozenset({"subnetId", "gatewayId"}),
        references=(_table_reference(), subnet_reference()),
        unique=("subnetId", "gatewayId"),
        exists=Refusal(
            "Resource.AlreadyAssociated",
            "the specified association for route table {routeTableId} conflicts with an existing association",
        ),
        import_id="{subnetId}{gatewayId}/{routeTableId}",
    ),
    _ENDPOINT: TypeRule(
        "EC2 VPC Endpoint",
        "EC2:VpcEndpoint",
        "vpce-{hex17}",
        outputs={
            "arn": _arn("vpc-endpoint"),
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
            _table_reference("routeTableIds"),
        ),
    ),
    _GROUP: TypeRule(
        "EC2 Security Group",
        "EC2:SecurityGroup",
        "sg-{hex17}",
        named="name",
        prefix="namePrefix",
        outputs={"arn": _arn("security-group"), "ownerId": "{account}"},
        defaults={"description": "Managed by Pulumi", "revokeRulesOnDelete": False},
        replace=frozenset({"name", "namePrefix", "description", "vpcId"}),
        references=(vpc_reference(),),
        unique=("vpcId", "name"),
        exists=Refusal("InvalidGroup.Duplicate", "The security group '{name}' already exists for VPC '{vpcId}'"),
        in_use=tuple(
            _violates(token, path, _GROUP_TEXT)
            for token, path in (
                (_INSTANCE, "vpcSecurityGroupIds"),
                (_ENDPOINT, "securityGroupIds"),
                (_LUSTRE, "securityGroupIds"),
                (_INTERFACE, "securityGroups"),
            )
        )
        + tuple(
            _violates(token, "referencedSecurityGroupId", _GROUP_TEXT, but_own="securityGroupId")
            for token in (_INGRESS, _EGRESS)
        ),
        gone_with=((_INGRESS, "securityGroupId"), (_EGRESS, "securityGroupId")),
    ),
    _INGRESS: _rule("VPC Security Group Ingress Rule", "EC2:SecurityGroupIngress"),
    _EGRESS: _rule("VPC Security Group Egress Rule", "EC2:SecurityGroupEgress"),
    _INTERFACE: TypeRule(
        "EC2 Network Interface",
        "EC2:NetworkInterface",
        ENI,
        outputs={"arn": _arn("network-interface"), "ownerId": "{account}", "privateIp": _private_ip},
        replace=frozenset({"subnetId"}),
        references=(subnet_reference(), group_reference("securityGroups")),
    ),
}
