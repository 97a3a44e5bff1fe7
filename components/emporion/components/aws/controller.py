"""The small CPU node that runs the scheduler."""

from __future__ import annotations

from collections.abc import Sequence

import pulumi
import pulumi_aws as aws

from emporion.components.aws.bootstrap import NodeFacts, render
from emporion.components.aws.context import Context
from emporion.components.aws.fabric import Fabric
from emporion.components.aws.identity import Identity
from emporion.components.aws.network import Network
from emporion.market.pin import PinnedController

__all__ = ["POOL", "build"]

POOL = "controller"
"""Its value of the `emporion-pool` tag."""
ROOT_DISK_GB = 30


def build(
    context: Context,
    controller: PinnedController,
    *,
    network: Network,
    joined: Fabric,
    identity: Identity,
    facts: NodeFacts | pulumi.Output[NodeFacts],
    after: Sequence[pulumi.Resource],
) -> aws.ec2.Instance:
    """Make the controller at its fixed address in the first pool's subnet."""
    user_data = render(facts) if isinstance(facts, NodeFacts) else facts.apply(render)
    return aws.ec2.Instance(
        context.child(POOL),
        ami=controller.image.id,
        instance_type=controller.instance_type,
        subnet_id=next(iter(network.private.values())).id,
        private_ip=network.controller_ip,
        associate_public_ip_address=False,
        vpc_security_group_ids=[joined.group.id],
        iam_instance_profile=identity.profile.name,
        metadata_options=aws.ec2.InstanceMetadataOptionsArgs(
            http_endpoint="enabled", http_tokens="required", http_put_response_hop_limit=1
        ),
        root_block_device=aws.ec2.InstanceRootBlockDeviceArgs(
            volume_type="gp3",
            volume_size=ROOT_DISK_GB,
            encrypted=True,
            delete_on_termination=True,
            tags=context.names.shared_tags(context.child(POOL), POOL),
        ),
        user_data=user_data,
        user_data_replace_on_change=True,
        tags=context.tags(aws.ec2.Instance, POOL, POOL),
        # Its address is taken until the old one is gone.
        opts=context.named(depends_on=list(after)),
    )
