"""The network of one cluster: a VPC, a private subnet in each zone that has nodes, and one way out or none."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pulumi
import pulumi_aws as aws

from emporion.components.aws.context import Context
from emporion.components.aws.plan import CONTROLLER_HOST, ENDPOINTS, PUBLIC_CIDR, VPC_CIDR, subnets

__all__ = ["Network", "build"]


@dataclass(frozen=True, slots=True)
class Network:
    """The parts that others need."""

    vpc: aws.ec2.Vpc
    private: Mapping[str | None, aws.ec2.Subnet]
    """Zone id -> its subnet."""
    controller_ip: str | None
    """The controller's private address, known before it exists."""
    ready: Sequence[pulumi.Resource]
    """What must exist before a node can reach anything."""


def build(context: Context) -> Network:
    """Make the network."""
    placement = context.placement
    vpc = aws.ec2.Vpc(
        context.child("vpc"),
        cidr_block=str(VPC_CIDR),
        enable_dns_hostnames=True,
        enable_dns_support=True,
        tags=context.tags(aws.ec2.Vpc, "vpc"),
        opts=context.options(),
    )
    # The group that AWS makes with a VPC lets its members talk to each other and out; without rules it lets nothing.
    aws.ec2.DefaultSecurityGroup(
        context.child("default-group"),
        vpc_id=vpc.id,
        tags=context.tags(aws.ec2.DefaultSecurityGroup, "default-group"),
        opts=context.options(),
    )
    table = aws.ec2.RouteTable(
        context.child("private-routes"),
        vpc_id=vpc.id,
        tags=context.tags(aws.ec2.RouteTable, "private-routes"),
        opts=context.options(),
    )
    ranges = subnets(placement)
    private: dict[str | None, aws.ec2.Subnet] = {}
    ready: list[pulumi.Resource] = []
    for zone, cidr in ranges.items():
        suffix = f"private-{zone or 'zone'}"
        private[zone] = aws.ec2.Subnet(
            context.child(suffix),
            vpc_id=vpc.id,
            cidr_block=cidr,
            availability_zone=context.zone_name(zone),
            map_public_ip_on_launch=False,
            tags=context.tags(aws.ec2.Subnet, suffix),
            opts=context.options(),
        )
        ready.append(_associate(context, suffix, table, private[zone]))
    ready.append(
        aws.ec2.VpcEndpoint(
            context.child("s3"),
            vpc_id=vpc.id,
            service_name=f"com.amazonaws.{context.region}.s3",
            vpc_endpoint_type="Gateway",
            route_table_ids=[table.id],
            tags=context.tags(aws.ec2.VpcEndpoint, "s3"),
            opts=context.options(),
        )
    )
    first = next(iter(ranges))
    if placement.nat:
        ready.append(_way_out(context, vpc, table, first))
    else:
        ready.extend(_endpoints(context, vpc, private[first], list(ranges.values())))
    address = ipaddress.ip_network(ranges[first])[CONTROLLER_HOST]
    return Network(vpc, private, str(address) if placement.controller else None, ready)


def _associate(context: Context, suffix: str, table: aws.ec2.RouteTable, subnet: aws.ec2.Subnet) -> pulumi.Resource:
    made: pulumi.Resource = aws.ec2.RouteTableAssociation(
        context.child(f"{suffix}-routes"), route_table_id=table.id, subnet_id=subnet.id, opts=context.options()
    )
    return made


def _way_out(
    context: Context, vpc: aws.ec2.Vpc, private_table: aws.ec2.RouteTable, zone: str | None
) -> pulumi.Resource:
    """Make the public subnet with the NAT gateway and return the private subnets' route to it."""
    gateway = aws.ec2.InternetGateway(
        context.child("internet"),
        vpc_id=vpc.id,
        tags=context.tags(aws.ec2.InternetGateway, "internet"),
        opts=context.options(),
    )
    subnet = aws.ec2.Subnet(
        context.child("public"),
        vpc_id=vpc.id,
        cidr_block=PUBLIC_CIDR,
        # A Local Zone has no NAT gateway; its subnets go through one in the region.
        availability_zone=context.regular_zone(zone),
        map_public_ip_on_launch=False,
        tags=context.tags(aws.ec2.Subnet, "public"),
        opts=context.options(),
    )
    table = aws.ec2.RouteTable(
        context.child("public-routes"),
        vpc_id=vpc.id,
        tags=context.tags(aws.ec2.RouteTable, "public-routes"),
        opts=context.options(),
    )
    _associate(context, "public", table, subnet)
    public_route = aws.ec2.Route(
        context.child("public-out"),
        route_table_id=table.id,
        destination_cidr_block="0.0.0.0/0",
        gateway_id=gateway.id,
        opts=context.options(),
    )
    address = aws.ec2.Eip(
        context.child("nat-address"),
        domain="vpc",
        tags=context.tags(aws.ec2.Eip, "nat-address"),
        opts=context.options(depends_on=[gateway]),
    )
    nat = aws.ec2.NatGateway(
        context.child("nat"),
        allocation_id=address.id,
        subnet_id=subnet.id,
        tags=context.tags(aws.ec2.NatGateway, "nat"),
        opts=context.options(depends_on=[gateway, public_route]),
    )
    out: pulumi.Resource = aws.ec2.Route(
        context.child("private-out"),
        route_table_id=private_table.id,
        destination_cidr_block="0.0.0.0/0",
        nat_gateway_id=nat.id,
        opts=context.options(),
    )
    return out


def _endpoints(
    context: Context, vpc: aws.ec2.Vpc, subnet: aws.ec2.Subnet, ranges: Sequence[str]
) -> list[pulumi.Resource]:
    """Make the interface endpoints that stand in for a way out, reachable from the private subnets alone."""
    group = aws.ec2.SecurityGroup(
        context.child("endpoints"),
        name=context.physical(aws.ec2.SecurityGroup, "endpoints", 255),
        description="Emporion: HTTPS from the cluster's subnets to AWS services",
        vpc_id=vpc.id,
        tags=context.tags(aws.ec2.SecurityGroup, "endpoints"),
        opts=context.named(),
    )
    made: list[pulumi.Resource] = [
        aws.vpc.SecurityGroupIngressRule(
            context.child(f"endpoints-in-{index}"),
            security_group_id=group.id,
            ip_protocol="tcp",
            from_port=443,
            to_port=443,
            cidr_ipv4=cidr,
            tags=context.tags(aws.vpc.SecurityGroupIngressRule, f"endpoints-in-{index}"),
            opts=context.options(),
        )
        for index, cidr in enumerate(ranges)
    ]
    for service in ENDPOINTS:
        suffix = f"endpoint-{service.replace('.', '-')}"
        made.append(
            aws.ec2.VpcEndpoint(
                context.child(suffix),
                vpc_id=vpc.id,
                service_name=f"com.amazonaws.{context.region}.{service}",
                vpc_endpoint_type="Interface",
                subnet_ids=[subnet.id],
                security_group_ids=[group.id],
                private_dns_enabled=True,
                tags=context.tags(aws.ec2.VpcEndpoint, suffix),
                opts=context.options(),
            )
        )
    return made
