"""What stand-in rules of several rooms of EC2 share: type tokens, and the rules that what is named exists."""

from __future__ import annotations

from emporion.market.stand_in import InUse, Making, Reference

__all__ = [
    "ALLOCATION", "ASSOCIATION", "DEFAULT_GROUP", "EGRESS", "ENDPOINT", "GATEWAY", "GROUP", "INGRESS", "INSTANCE",
    "INTERFACE", "LUSTRE", "NAT", "ROUTE", "SUBNET", "TABLE", "VPC", "arn", "group_reference", "private_ip",
    "subnet_reference", "table_reference", "violates", "vpc_reference",
]  # fmt: skip

VPC, SUBNET, TABLE = "aws:ec2/vpc:Vpc", "aws:ec2/subnet:Subnet", "aws:ec2/routeTable:RouteTable"
GROUP, INTERFACE = "aws:ec2/securityGroup:SecurityGroup", "aws:ec2/networkInterface:NetworkInterface"
DEFAULT_GROUP = "aws:ec2/defaultSecurityGroup:DefaultSecurityGroup"
INGRESS = "aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule"
EGRESS = "aws:vpc/securityGroupEgressRule:SecurityGroupEgressRule"
ALLOCATION, GATEWAY = "aws:ec2/eip:Eip", "aws:ec2/internetGateway:InternetGateway"
NAT, ENDPOINT = "aws:ec2/natGateway:NatGateway", "aws:ec2/vpcEndpoint:VpcEndpoint"
ROUTE, ASSOCIATION = "aws:ec2/route:Route", "aws:ec2/routeTableAssociation:RouteTableAssociation"
INSTANCE, LUSTRE = "aws:ec2/instance:Instance", "aws:fsx/lustreFileSystem:LustreFileSystem"


def vpc_reference(path: str = "vpcId") -> Reference:
    """Return the rule that a VPC exists."""
    return Reference(
        path, (VPC, "aws:ec2/defaultVpc:DefaultVpc"), "InvalidVpcID.NotFound", "The vpc ID '{value}' does not exist"
    )


def subnet_reference(path: str = "subnetId") -> Reference:
    """Return the rule that a subnet exists."""
    return Reference(
        path,
        (SUBNET, "aws:ec2/defaultSubnet:DefaultSubnet"),
        "InvalidSubnetID.NotFound",
        "The subnet ID '{value}' does not exist",
    )


def group_reference(path: str) -> Reference:
    """Return the rule that a security group exists; a VPC's default one does."""
    return Reference(
        path,
        (GROUP, DEFAULT_GROUP),
        "InvalidGroup.NotFound",
        "The security group '{value}' does not exist",
        also=((VPC, "defaultSecurityGroupId"),),
    )


def table_reference(path: str = "routeTableId") -> Reference:
    """Return the rule that a route table exists; a VPC's main one does."""
    return Reference(
        path,
        (TABLE, "aws:ec2/defaultRouteTable:DefaultRouteTable"),
        "InvalidRouteTableID.NotFound",
        "The routeTable ID '{value}' does not exist",
        also=((VPC, "mainRouteTableId"),),
    )


def arn(kind: str) -> str:
    """Return the pattern of an ARN of EC2."""
    return "arn:aws:ec2:{region}:{account}:" + kind + "/{id}"


def private_ip(making: Making) -> str | None:
    """Return an address in the subnet of what is made."""
    import ipaddress  # noqa: PLC0415 - start-up of the plugin

    subnet = making.find(SUBNET, str(making.inputs.get("subnetId")))
    if subnet is None:
        return None
    hosts = ipaddress.ip_network(subnet.outputs["cidrBlock"])
    return str(hosts[4 + int(making.hex(4, "ip"), 16) % (hosts.num_addresses - 5)])


def violates(token: str, path: str, text: str, **more: str) -> InUse:
    """Return the rule that what a type refers to by `path` cannot be deleted."""
    return InUse(token, path, "DependencyViolation", text, **more)  # **more: names of its fields
