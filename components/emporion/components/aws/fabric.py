"""What joins the nodes: their security group, and where they are placed.

EFA traffic is let through only by rules that name the group itself, one in and one out; an open egress to 0.0.0.0/0
does not replace the second (docs.aws.amazon.com/AWSEC2/latest/UserGuide/efa-start.html, read 2026-08).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pulumi
import pulumi_aws as aws

from emporion.components.aws.context import Context
from emporion.components.aws.network import Network
from emporion.components.aws.plan import RULES, Rule, wants_placement_group
from emporion.components.names import ignored_paths
from emporion.market.offer import Market
from emporion.market.pin import PinnedPool

__all__ = ["Fabric", "build", "own_reservation", "placement_group"]


@dataclass(frozen=True, slots=True)
class Fabric:
    """The parts that others need."""

    group: aws.ec2.SecurityGroup
    rules: Sequence[pulumi.Resource]
    """They must exist before a file system or a node is made."""


def build(context: Context, network: Network) -> Fabric:
    """Make the security group of all nodes."""
    group = aws.ec2.SecurityGroup(
        context.child("nodes"),
        name=context.physical(aws.ec2.SecurityGroup, "nodes", 255),
        # Never changes: another description replaces the group, which hangs while a node's interface holds the old one
        # (terraform-provider-aws issue 27476, 2022-10).
        description="Emporion: nodes of one cluster",
        vpc_id=network.vpc.id,
        tags=context.tags(aws.ec2.SecurityGroup, "nodes"),
        opts=context.named(ignore_changes=ignored_paths(aws.ec2.SecurityGroup, "description")),
    )
    return Fabric(group, [_rule(context, group, rule) for rule in RULES])


def _rule(context: Context, group: aws.ec2.SecurityGroup, rule: Rule) -> pulumi.Resource:
    suffix = f"nodes-{rule.name}"
    kind = aws.vpc.SecurityGroupIngressRule if rule.direction == "ingress" else aws.vpc.SecurityGroupEgressRule
    made: pulumi.Resource = kind(
        context.child(suffix),
        security_group_id=group.id,
        ip_protocol="-1",
        referenced_security_group_id=group.id if rule.peer == "self" else None,
        cidr_ipv4="0.0.0.0/0" if rule.peer == "internet" else None,
        tags=context.tags(kind, suffix),
        opts=context.options(),
    )
    return made


def placement_group(context: Context, pool: PinnedPool) -> aws.ec2.PlacementGroup | None:
    """Make the pool's cluster placement group, if it gets one."""
    if not wants_placement_group(pool):
        return None
    suffix = f"{pool.name}-placement"
    return aws.ec2.PlacementGroup(
        context.child(suffix),
        name=context.physical(aws.ec2.PlacementGroup, suffix, 255),
        strategy="cluster",
        tags=context.tags(aws.ec2.PlacementGroup, suffix),
        opts=context.named(),
    )


def own_reservation(
    context: Context, pool: PinnedPool, zone_name: str, group: aws.ec2.PlacementGroup | None
) -> aws.ec2.CapacityReservation | None:
    """Make a targeted On-Demand Capacity Reservation for a reserved pool that names none.

    It has the pool's zone, type and platform by construction, and lies in the pool's placement group.
    """
    if pool.market is not Market.RESERVED or pool.reservation:
        return None
    suffix = f"{pool.name}-reservation"
    return aws.ec2.CapacityReservation(
        context.child(suffix),
        availability_zone=zone_name,
        instance_count=pool.count,
        instance_platform="Linux/UNIX",
        instance_type=pool.instance_type,
        instance_match_criteria="targeted",
        end_date_type="unlimited",
        placement_group_arn=group.arn if group else None,
        tags=context.tags(aws.ec2.CapacityReservation, suffix, pool.name),
        opts=context.options(),
    )
