"""The GPU nodes: one scale set per pool (docs/adr/0013).

With InfiniBand it is one placement group, because InfiniBand does not leave one; without it the nodes are kept in one
data centre by a proximity placement group.
"""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import dataclass

import pulumi
from pulumi_azure_native import compute, managedidentity

from emporion.components.azure import machine
from emporion.components.azure.bootstrap import NodeFacts, render
from emporion.components.azure.context import Context
from emporion.components.azure.network import Network
from emporion.components.azure.plan import max_price, single_placement_group, wants_proximity_group
from emporion.market.offer import Market
from emporion.market.pin import PinnedPool

__all__ = ["Pool", "build", "encoded"]

RESTORE_FOR = "PT2H"
"""For so long Azure tries to bring back an evicted spot machine, when spot is renewed."""
NEW_SET = (
    "sku.name", "plan", "virtualMachineProfile.storageProfile", "virtualMachineProfile.osProfile",
    "virtualMachineProfile.priority", "virtualMachineProfile.evictionPolicy",
    "virtualMachineProfile.capacityReservation", "proximityPlacementGroup", "singlePlacementGroup",
)  # fmt: skip
"""What Azure does not change on a set or on its running machines: such a change makes a new set."""


@dataclass(frozen=True, slots=True)
class Pool:
    """One pool as it was registered."""

    plan: PinnedPool
    scale_set: compute.VirtualMachineScaleSet
    proximity: compute.ProximityPlacementGroup | None


def build(
    context: Context,
    pool: PinnedPool,
    *,
    network: Network,
    identity: managedidentity.UserAssignedIdentity,
    facts: NodeFacts | pulumi.Output[NodeFacts],
    after: Sequence[pulumi.Resource],
) -> Pool:
    """Make one pool. `after`: what a node needs at its first boot."""
    proximity = _proximity(context, pool)
    spot = pool.market is Market.SPOT
    scale_set = compute.VirtualMachineScaleSet(
        context.child(pool.name),
        resource_group_name=context.group,
        vm_scale_set_name=context.physical(compute.VirtualMachineScaleSet, pool.name, 64),
        location=context.region,
        sku=compute.SkuArgs(name=pool.instance_type, tier="Standard", capacity=pool.count),
        plan=machine.purchase_plan(pool.image),
        orchestration_mode=compute.OrchestrationMode.UNIFORM,
        single_placement_group=single_placement_group(pool),
        # More machines than asked for, to drop the slowest, would be paid and leave holes in the numbering.
        overprovision=False,
        platform_fault_domain_count=1,
        upgrade_policy=compute.UpgradePolicyArgs(mode=compute.UpgradeMode.MANUAL),
        proximity_placement_group=compute.SubResourceArgs(id=proximity.id) if proximity is not None else None,
        spot_restore_policy=(
            compute.SpotRestorePolicyArgs(enabled=True, restore_timeout=RESTORE_FOR)
            if spot and context.placement.spot_auto_renew
            else None
        ),
        identity=compute.VirtualMachineScaleSetIdentityArgs(
            type=compute.ResourceIdentityType.SYSTEM_ASSIGNED_USER_ASSIGNED, user_assigned_identities=[identity.id]
        ),
        virtual_machine_profile=_profile(context, pool, network, facts, _reservation(context, pool)),
        tags=context.tags(compute.VirtualMachineScaleSet, pool.name, pool.name),
        opts=context.options(depends_on=list(after), replace_on_changes=list(NEW_SET)),
    )
    return Pool(pool, scale_set, proximity)


def _profile(
    context: Context,
    pool: PinnedPool,
    network: Network,
    facts: NodeFacts | pulumi.Output[NodeFacts],
    reservation: pulumi.Input[str] | None,
) -> compute.VirtualMachineScaleSetVMProfileArgs:
    spot = pool.market is Market.SPOT
    return compute.VirtualMachineScaleSetVMProfileArgs(
        priority=compute.VirtualMachinePriorityTypes.SPOT if spot else compute.VirtualMachinePriorityTypes.REGULAR,
        # A deallocated machine would keep its disk, which costs, and its place in the quota.
        eviction_policy=compute.VirtualMachineEvictionPolicyTypes.DELETE if spot else None,
        billing_profile=compute.BillingProfileArgs(max_price=max_price(pool)) if spot else None,
        capacity_reservation=(
            compute.CapacityReservationProfileArgs(capacity_reservation_group=compute.SubResourceArgs(id=reservation))
            if reservation is not None
            else None
        ),
        os_profile=compute.VirtualMachineScaleSetOSProfileArgs(
            computer_name_prefix=f"{pool.name}-",
            admin_username=machine.ADMIN,
            linux_configuration=machine.linux(),
            custom_data=encoded(facts),
        ),
        storage_profile=compute.VirtualMachineScaleSetStorageProfileArgs(
            image_reference=machine.image_reference(pool.image),
            os_disk=compute.VirtualMachineScaleSetOSDiskArgs(
                create_option=compute.DiskCreateOptionTypes.FROM_IMAGE,
                caching=compute.CachingTypes.READ_WRITE,
                disk_size_gb=context.placement.storage.root_disk_gb,
                managed_disk=compute.VirtualMachineScaleSetManagedDiskParametersArgs(
                    storage_account_type=machine.OS_DISK
                ),
            ),
        ),
        # InfiniBand interfaces are not declared: they come with the size and the placement group.
        network_profile=compute.VirtualMachineScaleSetNetworkProfileArgs(
            network_interface_configurations=[
                compute.VirtualMachineScaleSetNetworkConfigurationArgs(
                    name="primary",
                    primary=True,
                    enable_accelerated_networking=True,
                    ip_configurations=[
                        compute.VirtualMachineScaleSetIPConfigurationArgs(
                            name="primary", primary=True, subnet=compute.ApiEntityReferenceArgs(id=network.nodes.id)
                        )
                    ],
                )
            ]
        ),
        scheduled_events_profile=compute.ScheduledEventsProfileArgs(
            terminate_notification_profile=compute.TerminateNotificationProfileArgs(
                enable=True, not_before_timeout="PT5M"
            )
        ),
        extension_profile=compute.VirtualMachineScaleSetExtensionProfileArgs(
            extensions=[
                compute.VirtualMachineScaleSetExtensionArgs(
                    name=machine.LOGIN["name"],
                    publisher=machine.LOGIN["publisher"],
                    type=machine.LOGIN["type"],
                    type_handler_version=machine.LOGIN["version"],
                    auto_upgrade_minor_version=True,
                )
            ]
        ),
    )


def encoded(facts: NodeFacts | pulumi.Output[NodeFacts]) -> pulumi.Input[str]:
    """Return custom data as compute takes it; known at preview unless a fact is not."""
    if isinstance(facts, NodeFacts):
        return _encode(facts)
    return facts.apply(_encode)


def _encode(facts: NodeFacts) -> str:
    return base64.b64encode(render(facts).encode()).decode()


def _proximity(context: Context, pool: PinnedPool) -> compute.ProximityPlacementGroup | None:
    """Make the pool's proximity placement group, if it gets one, in a data centre that has the size."""
    if not wants_proximity_group(pool):
        return None
    suffix = f"{pool.name}-placement"
    return compute.ProximityPlacementGroup(
        context.child(suffix),
        resource_group_name=context.group,
        proximity_placement_group_name=context.physical(compute.ProximityPlacementGroup, suffix, 80),
        location=context.region,
        proximity_placement_group_type=compute.ProximityPlacementGroupType.STANDARD,
        intent=compute.ProximityPlacementGroupPropertiesIntentArgs(vm_sizes=[pool.instance_type]),
        tags=context.tags(compute.ProximityPlacementGroup, suffix, pool.name),
        opts=context.options(),
    )


def _reservation(context: Context, pool: PinnedPool) -> pulumi.Input[str] | None:
    """Return the capacity reservation group of a pool: the user's, or one that is made for a reserved pool."""
    if pool.reservation is not None:
        return pool.reservation if pool.reservation.startswith("/") else f"/{pool.reservation}"
    if pool.market is not Market.RESERVED:
        return None
    suffix = f"{pool.name}-reservations"
    group = compute.CapacityReservationGroup(
        context.child(suffix),
        resource_group_name=context.group,
        capacity_reservation_group_name=context.physical(compute.CapacityReservationGroup, suffix, 80),
        location=context.region,
        tags=context.tags(compute.CapacityReservationGroup, suffix, pool.name),
        opts=context.options(),
    )
    suffix = f"{pool.name}-reservation"
    made = compute.CapacityReservation(
        context.child(suffix),
        resource_group_name=context.group,
        capacity_reservation_group_name=group.name,
        capacity_reservation_name=context.physical(compute.CapacityReservation, suffix, 80),
        location=context.region,
        sku=compute.SkuArgs(name=pool.instance_type, capacity=pool.count),
        tags=context.tags(compute.CapacityReservation, suffix, pool.name),
        opts=context.options(),
    )
    return pulumi.Output.all(group.id, made.id).apply(lambda ids: str(ids[0]))
