"""The Azure part of a cluster. No `from __future__ import annotations`: Pulumi's analyzer reads the annotations."""

from dataclasses import replace
from typing import TYPE_CHECKING, Any, NotRequired, TypedDict

import pulumi
import pulumi_azure_native as azure_native
from pulumi_azure_native import authorization, keyvault, managedidentity, resources

from emporion.components.azure import controller, identity, network, nodes, storage, vault
from emporion.components.azure.bootstrap import NodeFacts
from emporion.components.azure.context import Context
from emporion.components.azure.sizes import sizes
from emporion.components.azure.validate import check
from emporion.components.names import Names, logical_name, parent_types
from emporion.components.pinned import read_placement
from emporion.components.world import check_account
from emporion.market.pin import PinnedPlacement, PinnedPool

if TYPE_CHECKING:
    from emporion.components.azure.file_system import Lustre

__all__ = ["AzureCluster", "AzureClusterArgs"]

LOCAL_SUBSCRIPTION = "00000000-0000-0000-0000-000000000000"
"""The subscription of the local cloud; Azure gives none of this id."""


class AzureClusterArgs(TypedDict):
    """What an Azure cluster is built from."""

    placement: dict[str, Any]
    """The pinned placement, schema `emporion.placement/1`."""
    generation: NotRequired[int]
    """Part of every `emporion-id`; raised only by `emporion recover`."""
    delete_data: NotRequired[bool]
    """Taken for the sake of the other clouds: Azure deletes a storage account together with its data."""
    above: NotRequired[list[str]]
    """Type tokens of the components above, outermost first; default the parent alone."""


class AzureCluster(pulumi.ComponentResource):
    """A cluster of GPU nodes in one region of Azure, reachable only through its Bastion.

    Creates the resource group, the network, storage, identities, vault, controller and scale sets of the placement.
    Raises: `UserError`: when Azure would refuse the placement, before anything is registered.
    """

    node_count: pulumi.Output[int]
    """GPU nodes in all pools."""
    cluster_address: pulumi.Output[str]
    """Private address of the controller; empty without a scheduler."""
    controller_id: pulumi.Output[str]
    """Resource id of the controller; empty without a scheduler."""
    node_ids: pulumi.Output[list[str]]
    """Empty: every node is one of a scale set; `emporion status` lists them."""
    node_addresses: pulumi.Output[list[str]]
    """Empty, likewise; secret."""
    node_groups: pulumi.Output[list[str]]
    """Names of the scale sets."""
    bucket: pulumi.Output[str]
    """Name of the cluster's storage account."""
    checkpoint_uri: pulumi.Output[str]
    """Where checkpoints go."""
    file_system: pulumi.Output[str]
    """Id of the Lustre file system; empty without one."""
    node_role: pulumi.Output[str]
    """Id of the nodes' identity."""
    network_id: pulumi.Output[str]
    """Id of the virtual network."""
    security_group: pulumi.Output[str]
    """Id of the nodes' network security group."""
    placement_groups: pulumi.Output[list[str]]
    """Names of the proximity placement groups; with InfiniBand the scale set itself is one."""
    fabric: pulumi.Output[str]
    """`infiniband`, or `ethernet` when no pool has RDMA."""
    event_queue: pulumi.Output[str]
    """Empty: warnings arrive on the nodes themselves (Scheduled Events)."""

    def __init__(self, name: str, args: AzureClusterArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        """Build the cluster."""
        token = "emporion:index:AzureCluster"  # noqa: S105 - a type token
        placement = read_placement(args["placement"])
        check(placement)
        super().__init__(token, logical_name(name), {}, opts)
        client = authorization.get_client_config(opts=pulumi.InvokeOptions(parent=self))
        context = Context(
            name=name,
            names=Names(
                pulumi.get_project(),
                pulumi.get_stack(),
                args.get("generation") or 0,
                (*(args.get("above") or parent_types(opts)), token),
                placement.tags,
            ),
            parent=self,
            placement=placement,
            subscription=client.subscription_id,
            tenant=client.tenant_id,
        )
        self._build(replace(context, group=_group(context).name))
        self.register_outputs({key: getattr(self, key) for key in AzureCluster.__annotations__})

    @staticmethod
    def provider(placement: PinnedPlacement, world: str) -> pulumi.ProviderResource:
        """Return the provider of the placement's region, after a look at the subscription behind it.

        Raises: UserError E-WORLD: when a local stack reaches a real subscription, or a real one the local cloud.
        """
        provider: pulumi.ProviderResource = azure_native.Provider(
            # A provider per region: moving to another one replaces everything, and the engine says so.
            f"{placement.provider}-{placement.region}",
            location=placement.region,
            # A second lock beside the look below: no real subscription has this id.
            subscription_id=LOCAL_SUBSCRIPTION if world == "local" else None,
        )
        asked = pulumi.InvokeOptions(provider=provider)
        check_account(authorization.get_client_config(opts=asked).subscription_id, LOCAL_SUBSCRIPTION, world)
        return provider

    def _build(self, context: Context) -> None:
        """Make everything, in the order in which it is needed."""
        placement = context.placement
        net = network.build(context)
        store = storage.build_store(context)
        lustre = _file_system(context, net)
        node = identity.build(context, "node")
        ready: list[pulumi.Resource] = [*net.ready, *store.ready, *([lustre.resource] if lustre is not None else [])]
        node_ready = [*ready, identity.grant(context, "node-blobs", node, "blobs", store.container.id)]
        head, safe = None, None
        if placement.controller is not None:
            own = identity.build(context, "controller")
            safe = vault.build(context, own, net)
            scope = vault.secret_scope(safe)
            node_ready.append(identity.grant(context, "node-munge", node, "read_secrets", scope))
            head = controller.build(
                context,
                placement.controller,
                network=net,
                identity=own,
                facts=_facts(context, store, net, own, safe, lustre=None),
                after=[
                    *ready,
                    identity.grant(context, "controller-blobs", own, "blobs", store.container.id),
                    identity.grant(context, "controller-munge", own, "write_secrets", scope),
                ],
            )
        pools = [
            nodes.build(
                context,
                pool,
                network=net,
                identity=node,
                facts=_facts(context, store, net, node, safe, lustre=lustre, pool=pool),
                after=node_ready,
            )
            for pool in placement.pools
        ]
        outputs: dict[str, pulumi.Input[Any]] = {
            "node_count": sum(pool.count for pool in placement.pools),
            "cluster_address": net.controller_ip or "",
            "controller_id": head.id if head is not None else "",
            "node_ids": [],
            "node_addresses": pulumi.Output.secret([]),
            "node_groups": pulumi.Output.all(*(pool.scale_set.name for pool in pools)),
            "bucket": store.account.name,
            "checkpoint_uri": store.uri,
            "file_system": lustre.resource.id if lustre is not None else "",
            "node_role": node.id,
            "network_id": net.vnet.id,
            "security_group": net.group.id,
            "placement_groups": pulumi.Output.all(
                *(pool.proximity.name for pool in pools if pool.proximity is not None)
            ),
            "fabric": "infiniband" if any(pool.rdma for pool in placement.pools) else "ethernet",
            "event_queue": "",
        }
        for key, value in outputs.items():
            setattr(self, key, pulumi.Output.from_input(value))


def _group(context: Context) -> resources.ResourceGroup:
    """Make the resource group: its name carries the identity, what lies in it is the cluster's alone."""
    return resources.ResourceGroup(
        context.child("group"),
        resource_group_name=context.physical(resources.ResourceGroup, "group", 90),
        location=context.region,
        tags=context.tags(resources.ResourceGroup, "group"),
        opts=context.options(),
    )


def _file_system(context: Context, net: network.Network) -> "Lustre | None":
    """Make the file system, if the placement has one."""
    if context.placement.storage.file_system is None:
        return None
    from emporion.components.azure import file_system  # noqa: PLC0415 - its part of the SDK costs every other program

    return file_system.build(context, net)


def _facts(
    context: Context,
    store: storage.Store,
    net: network.Network,
    who: managedidentity.UserAssignedIdentity,
    safe: keyvault.Vault | None,
    *,
    lustre: "Lustre | None",
    pool: PinnedPool | None = None,
) -> pulumi.Output[NodeFacts]:
    """Return what a node is told: a GPU node of `pool`, or the controller."""
    size = sizes().get(pool.instance_type) if pool else None
    known = NodeFacts(
        role="node" if pool else "controller",
        stack=f"{context.names.project}/{context.names.stack}",
        pool=pool.name if pool else controller.POOL,
        region=context.region,
        identity="",
        checkpoint_uri=store.uri,
        scheduler=context.placement.scheduler,
        controller_ip=net.controller_ip or "",
        secret=vault.SECRET if safe is not None else "",
        gpus=pool.gpus_per_node if pool else 0,
        infiniband=pool is not None and pool.rdma,
        nvme=size is not None and size.nvme_gb > 0,
    )
    found = pulumi.Output.all(
        who.id,
        safe.name if safe is not None else "",
        lustre.address if lustre is not None else "",
    )
    return found.apply(lambda each: replace(known, identity=each[0], vault=each[1], lustre_address=each[2]))
