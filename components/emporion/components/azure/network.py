"""The network of one cluster: a virtual network, the nodes' private subnet, one way out or none, and the Bastion.

Azure works on one subnet of a network at a time and answers AnotherOperationInProgress to a second one, so subnets are
chained (cases/engine.md E14).
"""

from __future__ import annotations

import ipaddress
from collections.abc import Sequence
from dataclasses import dataclass

import pulumi
from pulumi_azure_native import network

from emporion.components.azure.access import BASTION
from emporion.components.azure.context import Context
from emporion.components.azure.plan import BASTION_CIDR, CONTROLLER_HOST, VNET_CIDR, lustre_cidr, nodes_cidr

__all__ = ["Network", "build"]

BASTION_SUBNET = "AzureBastionSubnet"
"""Azure takes no other name for it."""
SERVICES = ("Microsoft.KeyVault", "Microsoft.Storage")
"""Reached from the nodes' subnet without a way out and without a charge (service endpoints)."""


@dataclass(frozen=True, slots=True)
class Network:
    """The parts that others need."""

    vnet: network.VirtualNetwork
    nodes: network.Subnet
    group: network.NetworkSecurityGroup
    lustre: network.Subnet | None
    controller_ip: str | None
    """The controller's private address, known before it exists."""
    ready: Sequence[pulumi.Resource]
    """What must exist before a node can reach anything."""


def build(context: Context) -> Network:
    """Make the network."""
    placement = context.placement
    vnet = network.VirtualNetwork(
        context.child("vnet"),
        resource_group_name=context.group,
        virtual_network_name=context.physical(network.VirtualNetwork, "vnet", 64),
        location=context.region,
        address_space=network.AddressSpaceArgs(address_prefixes=[str(VNET_CIDR)]),
        tags=context.tags(network.VirtualNetwork, "vnet"),
        opts=context.options(),
    )
    group = _security_group(context)
    gateway = _way_out(context) if placement.nat else None
    cidr = nodes_cidr(placement)
    nodes = network.Subnet(
        context.child("nodes"),
        resource_group_name=context.group,
        virtual_network_name=vnet.name,
        subnet_name="nodes",
        address_prefix=cidr,
        network_security_group=network.NetworkSecurityGroupArgs(id=group.id),
        nat_gateway=network.SubResourceArgs(id=gateway.id) if gateway is not None else None,
        default_outbound_access=False,
        service_endpoints=[network.ServiceEndpointPropertiesFormatArgs(service=service) for service in SERVICES],
        opts=context.options(),
    )
    last = nodes
    lustre = None
    if placement.storage.file_system is not None:
        lustre = last = network.Subnet(
            context.child("lustre-subnet"),
            resource_group_name=context.group,
            virtual_network_name=vnet.name,
            subnet_name="lustre",
            address_prefix=lustre_cidr(placement.storage),
            network_security_group=network.NetworkSecurityGroupArgs(id=group.id),
            default_outbound_access=False,
            opts=context.options(depends_on=[last]),
        )
    _bastion(context, vnet, last)
    address = ipaddress.ip_network(cidr)[CONTROLLER_HOST]
    return Network(vnet, nodes, group, lustre, str(address) if placement.controller else None, [nodes])


def _security_group(context: Context) -> network.NetworkSecurityGroup:
    """Make the rules of the nodes' Ethernet. InfiniBand is not filtered by them.

    Nothing comes in from outside the network: people come through the Bastion, which lies in it.
    """
    return network.NetworkSecurityGroup(
        context.child("rules"),
        resource_group_name=context.group,
        network_security_group_name=context.physical(network.NetworkSecurityGroup, "rules", 80),
        location=context.region,
        security_rules=[
            network.SecurityRuleArgs(
                name=name,
                priority=priority,
                direction=direction,
                access=access,
                protocol="*",
                source_address_prefix=source,
                source_port_range="*",
                destination_address_prefix=destination,
                destination_port_range="*",
            )
            for name, priority, direction, access, source, destination in (
                ("cluster-in", 100, "Inbound", "Allow", "VirtualNetwork", "VirtualNetwork"),
                ("nobody-else-in", 4000, "Inbound", "Deny", "*", "*"),
                ("cluster-out", 100, "Outbound", "Allow", "VirtualNetwork", "VirtualNetwork"),
            )
        ],
        tags=context.tags(network.NetworkSecurityGroup, "rules"),
        opts=context.options(),
    )


def _address(context: Context, suffix: str) -> network.PublicIPAddress:
    return network.PublicIPAddress(
        context.child(suffix),
        resource_group_name=context.group,
        public_ip_address_name=context.physical(network.PublicIPAddress, suffix, 80),
        location=context.region,
        sku=network.PublicIPAddressSkuArgs(name="Standard", tier="Regional"),
        public_ip_allocation_method="Static",
        tags=context.tags(network.PublicIPAddress, suffix),
        opts=context.options(),
    )


def _way_out(context: Context) -> network.NatGateway:
    """Make the NAT gateway, through which the nodes reach the internet and nobody reaches them."""
    return network.NatGateway(
        context.child("nat"),
        resource_group_name=context.group,
        nat_gateway_name=context.physical(network.NatGateway, "nat", 80),
        location=context.region,
        sku=network.NatGatewaySkuArgs(name="Standard"),
        public_ip_addresses=[network.SubResourceArgs(id=_address(context, "nat-address").id)],
        tags=context.tags(network.NatGateway, "nat"),
        opts=context.options(),
    )


def _bastion(context: Context, vnet: network.VirtualNetwork, after: network.Subnet) -> None:
    """Make the Bastion host: the SKU below the smallest one has no door for a command line."""
    subnet = network.Subnet(
        context.child("bastion-subnet"),
        resource_group_name=context.group,
        virtual_network_name=vnet.name,
        subnet_name=BASTION_SUBNET,
        address_prefix=BASTION_CIDR,
        opts=context.options(depends_on=[after]),
    )
    network.BastionHost(
        context.child("bastion"),
        resource_group_name=context.group,
        bastion_host_name=BASTION,
        location=context.region,
        sku=network.SkuArgs(name="Standard"),
        enable_tunneling=True,
        ip_configurations=[
            network.BastionHostIPConfigurationArgs(
                name="bastion",
                subnet=network.SubResourceArgs(id=subnet.id),
                public_ip_address=network.SubResourceArgs(id=_address(context, "bastion-address").id),
            )
        ],
        tags=context.tags(network.BastionHost, "bastion"),
        opts=context.options(),
    )
