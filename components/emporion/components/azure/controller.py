"""The small CPU machine that runs the scheduler."""

from __future__ import annotations

from collections.abc import Sequence

import pulumi
from pulumi_azure_native import compute, managedidentity
from pulumi_azure_native import network as az_network

from emporion.components.azure import machine
from emporion.components.azure.bootstrap import NodeFacts
from emporion.components.azure.context import Context
from emporion.components.azure.network import Network
from emporion.components.azure.nodes import encoded
from emporion.market.pin import PinnedController

__all__ = ["POOL", "build"]

POOL = "controller"
"""Its value of the `emporion-pool` tag, and its host name."""
ROOT_DISK_GB = 30
NEW_MACHINE = ("osProfile", "storageProfile.imageReference", "plan")
"""What Azure does not change on a machine."""


def build(
    context: Context,
    controller: PinnedController,
    *,
    network: Network,
    identity: managedidentity.UserAssignedIdentity,
    facts: NodeFacts | pulumi.Output[NodeFacts],
    after: Sequence[pulumi.Resource],
) -> compute.VirtualMachine:
    """Make the controller at its fixed address in the nodes' subnet."""
    interface = az_network.NetworkInterface(
        context.child("controller-nic"),
        resource_group_name=context.group,
        network_interface_name=context.physical(az_network.NetworkInterface, "controller-nic", 80),
        location=context.region,
        enable_accelerated_networking=True,
        ip_configurations=[
            az_network.NetworkInterfaceIPConfigurationArgs(
                name="primary",
                primary=True,
                private_ip_allocation_method="Static",
                private_ip_address=network.controller_ip,
                subnet=az_network.SubnetArgs(id=network.nodes.id),
            )
        ],
        tags=context.tags(az_network.NetworkInterface, "controller-nic"),
        opts=context.options(),
    )
    made = compute.VirtualMachine(
        context.child(POOL),
        resource_group_name=context.group,
        vm_name=context.physical(compute.VirtualMachine, POOL, 64),
        location=context.region,
        hardware_profile=compute.HardwareProfileArgs(vm_size=controller.instance_type),
        plan=machine.purchase_plan(controller.image),
        identity=compute.VirtualMachineIdentityArgs(
            type=compute.ResourceIdentityType.SYSTEM_ASSIGNED_USER_ASSIGNED, user_assigned_identities=[identity.id]
        ),
        os_profile=compute.OSProfileArgs(
            computer_name=POOL,
            admin_username=machine.ADMIN,
            linux_configuration=machine.linux(),
            custom_data=encoded(facts),
        ),
        storage_profile=compute.StorageProfileArgs(
            image_reference=machine.image_reference(controller.image),
            os_disk=compute.OSDiskArgs(
                name=context.physical(compute.VirtualMachine, POOL, 64),
                create_option=compute.DiskCreateOptionTypes.FROM_IMAGE,
                # A disk without its machine would go on costing.
                delete_option=compute.DiskDeleteOptionTypes.DELETE,
                disk_size_gb=ROOT_DISK_GB,
                managed_disk=compute.ManagedDiskParametersArgs(storage_account_type=machine.OS_DISK),
            ),
        ),
        network_profile=compute.NetworkProfileArgs(
            network_interfaces=[compute.NetworkInterfaceReferenceArgs(id=interface.id, primary=True)]
        ),
        tags=context.tags(compute.VirtualMachine, POOL, POOL),
        opts=context.options(depends_on=list(after), replace_on_changes=list(NEW_MACHINE)),
    )
    compute.VirtualMachineExtension(
        context.child("controller-login"),
        resource_group_name=context.group,
        vm_name=made.name,
        vm_extension_name=machine.LOGIN["name"],
        location=context.region,
        publisher=machine.LOGIN["publisher"],
        type=machine.LOGIN["type"],
        type_handler_version=machine.LOGIN["version"],
        auto_upgrade_minor_version=True,
        tags=context.tags(compute.VirtualMachineExtension, "controller-login"),
        opts=context.options(),
    )
    return made
