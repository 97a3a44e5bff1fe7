"""The GPU nodes: a launch template per pool, and from it single instances or a group (docs/adr/0002)."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import dataclass

import pulumi
import pulumi_aws as aws

from emporion.components.aws import fabric
from emporion.components.aws.bootstrap import NodeFacts, render
from emporion.components.aws.context import Context
from emporion.components.aws.identity import Identity
from emporion.components.aws.instance_types import instance_types
from emporion.components.aws.network import Network
from emporion.components.aws.nics import nics
from emporion.components.aws.plan import launched_one_by_one
from emporion.market.offer import Market
from emporion.market.pin import PinnedPool

__all__ = ["Pool", "build"]

ROOT_DEVICE = "/dev/sda1"
"""Of Ubuntu's images and those made from them."""
METADATA_HOPS = 2
"""Containers on the node, one hop further away, ask for the role's credentials too."""


@dataclass(frozen=True, slots=True)
class Pool:
    """One pool as it was registered. Either it has `instances` or a `group`."""

    plan: PinnedPool
    template: aws.ec2.LaunchTemplate
    placement_group: aws.ec2.PlacementGroup | None
    instances: Sequence[aws.ec2.Instance]
    group: aws.autoscaling.Group | None


def build(
    context: Context,
    pool: PinnedPool,
    *,
    network: Network,
    joined: fabric.Fabric,
    identity: Identity,
    facts: NodeFacts | pulumi.Output[NodeFacts],
    after: Sequence[pulumi.Resource],
) -> Pool:
    """Make one pool. `after`: what a node needs at its first boot."""
    placement_group = fabric.placement_group(context, pool)
    zone = context.zone_name(pool.zone)
    reservation = fabric.own_reservation(context, pool, zone, placement_group)
    subnet = network.private[pool.zone]
    template = _template(
        context,
        pool,
        joined=joined,
        identity=identity,
        user_data=_encoded(facts),
        placement_group=placement_group,
        reservation=pool.reservation or (reservation.id if reservation else None),
        subnet=subnet if launched_one_by_one(pool, spot_auto_renew=context.placement.spot_auto_renew) else None,
    )
    if launched_one_by_one(pool, spot_auto_renew=context.placement.spot_auto_renew):
        return Pool(pool, template, placement_group, _instances(context, pool, template, after), None)
    return Pool(pool, template, placement_group, (), _group(context, pool, template, subnet, after))


def _encoded(facts: NodeFacts | pulumi.Output[NodeFacts]) -> pulumi.Input[str]:
    """Return user data as a launch template takes it; known at preview unless a fact is not."""
    if isinstance(facts, NodeFacts):
        return _encode(facts)
    return facts.apply(_encode)


def _encode(facts: NodeFacts) -> str:
    return base64.b64encode(render(facts).encode()).decode()


def _interfaces(
    pool: PinnedPool, group: aws.ec2.SecurityGroup, subnet: aws.ec2.Subnet | None
) -> list[aws.ec2.LaunchTemplateNetworkInterfaceArgs]:
    """Return the template's interfaces. A group gives the subnet itself and refuses one here."""
    layout = nics(instance_types()[pool.instance_type], rdma=pool.rdma)
    return [
        aws.ec2.LaunchTemplateNetworkInterfaceArgs(
            network_card_index=nic.card,
            device_index=nic.device,
            interface_type=nic.interface_type,
            security_groups=[group.id],
            subnet_id=subnet.id if subnet else None,
            # With several interfaces EC2 refuses the word itself, whatever it says; the subnet gives no public address.
            associate_public_ip_address="false" if len(layout) == 1 else None,
            delete_on_termination="true",
            description="Emporion",
        )
        for nic in layout
    ]


def _template(
    context: Context,
    pool: PinnedPool,
    *,
    joined: fabric.Fabric,
    identity: Identity,
    user_data: pulumi.Input[str],
    placement_group: aws.ec2.PlacementGroup | None,
    reservation: pulumi.Input[str] | None,
    subnet: aws.ec2.Subnet | None,
) -> aws.ec2.LaunchTemplate:
    suffix = f"{pool.name}-template"
    made_by_it = context.names.shared_tags(context.child(pool.name), pool.name)
    return aws.ec2.LaunchTemplate(
        context.child(suffix),
        name=context.physical(aws.ec2.LaunchTemplate, suffix, 128),
        update_default_version=True,
        image_id=pool.image.id,
        instance_type=pool.instance_type,
        iam_instance_profile=aws.ec2.LaunchTemplateIamInstanceProfileArgs(arn=identity.profile.arn),
        metadata_options=aws.ec2.LaunchTemplateMetadataOptionsArgs(
            http_endpoint="enabled", http_tokens="required", http_put_response_hop_limit=METADATA_HOPS
        ),
        block_device_mappings=[
            aws.ec2.LaunchTemplateBlockDeviceMappingArgs(
                device_name=ROOT_DEVICE,
                ebs=aws.ec2.LaunchTemplateBlockDeviceMappingEbsArgs(
                    volume_type="gp3",
                    volume_size=context.placement.storage.root_disk_gb,
                    encrypted="true",
                    delete_on_termination="true",
                ),
            )
        ],
        network_interfaces=_interfaces(pool, joined.group, subnet),
        placement=(
            aws.ec2.LaunchTemplatePlacementArgs(group_name=placement_group.name)
            if placement_group is not None
            else None
        ),
        instance_market_options=_market(pool),
        capacity_reservation_specification=(
            aws.ec2.LaunchTemplateCapacityReservationSpecificationArgs(
                capacity_reservation_target=(
                    aws.ec2.LaunchTemplateCapacityReservationSpecificationCapacityReservationTargetArgs(
                        capacity_reservation_id=reservation
                    )
                )
            )
            if reservation is not None
            else None
        ),
        # The instance's own tags come from the instance or the group: those of both would be taken for drift.
        tag_specifications=[
            aws.ec2.LaunchTemplateTagSpecificationArgs(resource_type=kind, tags=made_by_it)
            for kind in ("network-interface", "volume")
        ],
        user_data=user_data,
        tags=context.tags(aws.ec2.LaunchTemplate, suffix, pool.name),
        opts=context.named(),
    )


def _market(pool: PinnedPool) -> aws.ec2.LaunchTemplateInstanceMarketOptionsArgs | None:
    """Return the market of a pool; None is on demand, reserved or not."""
    if pool.capacity_block:
        return aws.ec2.LaunchTemplateInstanceMarketOptionsArgs(market_type="capacity-block")
    if pool.market is not Market.SPOT:
        return None
    price = pool.spot_max_price_usd_per_hour
    return aws.ec2.LaunchTemplateInstanceMarketOptionsArgs(
        market_type="spot",
        spot_options=aws.ec2.LaunchTemplateInstanceMarketOptionsSpotOptionsArgs(
            spot_instance_type="one-time",
            instance_interruption_behavior="terminate",
            # Without a ceiling of its own EC2 takes the on-demand price.
            max_price=format(price, "f") if price is not None else None,
        ),
    )


def _version(template: aws.ec2.LaunchTemplate) -> pulumi.Output[str]:
    """Return the number of the template's newest version: with `$Latest` nothing would notice a new one."""
    return pulumi.Output.format("{0}", template.latest_version.apply(int))


def _instances(
    context: Context, pool: PinnedPool, template: aws.ec2.LaunchTemplate, after: Sequence[pulumi.Resource]
) -> list[aws.ec2.Instance]:
    """Make the pool's nodes one by one. One that the cloud takes away stays away until the next `up`."""
    return [
        aws.ec2.Instance(
            context.child(f"{pool.name}-{index}"),
            launch_template=aws.ec2.InstanceLaunchTemplateArgs(id=template.id, version=_version(template)),
            tags=context.tags(aws.ec2.Instance, f"{pool.name}-{index}", pool.name),
            # A new image or type reaches a running node only by a new node, and capacity for both at once is rare.
            opts=context.options(
                depends_on=list(after), delete_before_replace=True, replace_on_changes=["launchTemplate.version"]
            ),
        )
        for index in range(pool.count)
    ]


def _group(
    context: Context,
    pool: PinnedPool,
    template: aws.ec2.LaunchTemplate,
    subnet: aws.ec2.Subnet,
    after: Sequence[pulumi.Resource],
) -> aws.autoscaling.Group:
    """Make the pool as a group of fixed size that replaces a lost node."""
    suffix = f"{pool.name}-group"
    tags = context.tags(aws.autoscaling.Group, suffix, pool.name)
    may_be_short = pool.market is Market.SPOT or pool.capacity_block
    return aws.autoscaling.Group(
        context.child(suffix),
        name=context.physical(aws.autoscaling.Group, suffix, 255),
        min_size=pool.count,
        max_size=pool.count,
        desired_capacity=pool.count,
        vpc_zone_identifiers=[subnet.id],
        launch_template=aws.autoscaling.GroupLaunchTemplateArgs(id=template.id, version=_version(template)),
        health_check_type="EC2",
        # Rebalancing would run old and new nodes side by side, which a tightly coupled job cannot use.
        capacity_rebalance=False,
        suspended_processes=["AZRebalance"],
        instance_refresh=aws.autoscaling.GroupInstanceRefreshArgs(
            strategy="Rolling",
            preferences=aws.autoscaling.GroupInstanceRefreshPreferencesArgs(min_healthy_percentage=0),
        ),
        # Spot capacity may come late, and a capacity block only at its start: waiting would fail the update.
        wait_for_capacity_timeout="0" if may_be_short else "20m",
        tags=[
            aws.autoscaling.GroupTagArgs(key=key, value=value, propagate_at_launch=True)
            for key, value in sorted(tags.items())
        ],
        opts=context.named(depends_on=list(after)),
    )
