"""Stand-in rules of resource groups and networks. Shapes: facts/clusters.md section 5.3, with its sources."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping

from emporion.components.azure.stand_in_references import (
    BASTION,
    GROUP,
    LUSTRE,
    NAT,
    NIC,
    PUBLIC_IP,
    RULES,
    SET,
    SUBNET,
    VM,
    VNET,
    by_id,
    by_name,
    exists,
    in_group,
    in_use,
)
from emporion.market.stand_in import Making, Refusal, TypeRule

__all__ = ["NETWORK", "SET_SUBNET"]

SET_SUBNET = "virtualMachineProfile.networkProfile.networkInterfaceConfigurations.ipConfigurations.subnet.id"
_BASTION_SUBNET, _BASTION_PREFIX = "AzureBastionSubnet", 26
_IN_SUBNET = "InUseSubnetCannotBeDeleted"
_FIRST_PRIORITY, _LAST_PRIORITY = 100, 4096


def _public_ip(making: Making) -> str:
    """Return an address of the range that documents use."""
    return f"203.0.113.{int(making.hex(4, 'ip'), 16) % 254 + 1}"


def _subnet_range(making: Making) -> Refusal | None:
    """Refuse a range outside the network or over another subnet's, and a Bastion subnet that is too small."""
    text = making.inputs.get("addressPrefix")
    vnet = making.find_by(VNET, "name", making.inputs.get("virtualNetworkName"))
    if not isinstance(text, str) or vnet is None:
        return None
    try:
        cidr = ipaddress.IPv4Network(text)
    except ValueError:
        return Refusal("InvalidAddressPrefixFormat", f"Address prefix {text} is not formatted correctly.")
    spaces = (vnet.outputs.get("addressSpace") or {}).get("addressPrefixes") or []
    if not any(cidr.subnet_of(ipaddress.IPv4Network(space)) for space in spaces):
        return Refusal("NetcfgInvalidSubnet", f"Subnet {text} is not within the address space of virtual network.")
    for other in making.all(SUBNET):
        same = other.inputs.get("virtualNetworkName") == making.inputs.get("virtualNetworkName")
        if same and other.id != making.id and cidr.overlaps(ipaddress.IPv4Network(other.inputs["addressPrefix"])):
            own = other.inputs.get("subnetName") == making.inputs.get("subnetName")
            if not own:
                return Refusal("NetcfgSubnetRangesOverlap", f"Subnet range {text} overlaps with that of {other.id}.")
    if making.inputs.get("subnetName") == _BASTION_SUBNET and cidr.prefixlen > _BASTION_PREFIX:
        return Refusal("BastionSubnetTooSmall", f"The Bastion subnet must be /{_BASTION_PREFIX} or larger.")
    return None


def _bastion_subnet(making: Making) -> Refusal | None:
    """Refuse a Bastion anywhere but in the subnet of its name."""
    for configuration in making.inputs.get("ipConfigurations") or ():
        subnet = str((configuration.get("subnet") or {}).get("id") or "")
        if subnet and not subnet.endswith(f"/{_BASTION_SUBNET}"):
            return Refusal("BastionHostSubnetNameInvalid", f"The subnet of a Bastion must be named {_BASTION_SUBNET}.")
    return None


def _priorities(making: Making) -> Refusal | None:
    """Refuse two rules of one direction with the same priority, and a priority that does not exist."""
    seen: set[tuple[str, int]] = set()
    for rule in making.inputs.get("securityRules") or ():
        key = (str(rule.get("direction")), int(rule.get("priority") or 0))
        if not _FIRST_PRIORITY <= key[1] <= _LAST_PRIORITY:
            return Refusal("SecurityRuleInvalidPriority", f"Security rule {rule.get('name')} has invalid priority.")
        if key in seen:
            return Refusal("SecurityRuleConflict", f"Security rule {rule.get('name')} conflicts with another one.")
        seen.add(key)
    return None


NETWORK: Mapping[str, TypeRule] = {
    GROUP: TypeRule(
        "Microsoft.Resources/resourceGroups",
        "Microsoft.Resources:resourceGroups",
        "/subscriptions/{account}/resourceGroups/{resourceGroupName}",
        outputs={
            "name": "{resourceGroupName}",
            "type": "Microsoft.Resources/resourceGroups",
            "properties": lambda _: {"provisioningState": "Succeeded"},
        },
        named="resourceGroupName",
        name_limit=90,
        replace=frozenset({"resourceGroupName", "location"}),
        exists=exists(),
    ),
    VNET: in_group(
        "Microsoft.Network/virtualNetworks",
        "virtualNetworkName",
        name_limit=64,
        outputs={"resourceGuid": "{uuid}", "etag": "{uuid}"},
        in_use=(in_use(SUBNET, "virtualNetworkName", "InUseVirtualNetworkCannotBeDeleted", key="name"),),
    ),
    SUBNET: in_group(
        "Microsoft.Network/virtualNetworks/subnets",
        "subnetName",
        below="Microsoft.Network/virtualNetworks/{virtualNetworkName}/subnets",
        name_limit=80,
        outputs={"etag": "{uuid}"},
        references=(
            by_name("virtualNetworkName", VNET, "ResourceNotFound"),
            by_id("networkSecurityGroup.id", RULES),
            by_id("natGateway.id", NAT),
        ),
        validate=(_subnet_range,),
        in_use=(
            in_use(NIC, "ipConfigurations.subnet.id", _IN_SUBNET),
            in_use(SET, SET_SUBNET, _IN_SUBNET),
            in_use(BASTION, "ipConfigurations.subnet.id", _IN_SUBNET),
            in_use(LUSTRE, "filesystemSubnet", _IN_SUBNET),
        ),
    ),
    RULES: in_group(
        "Microsoft.Network/networkSecurityGroups",
        "networkSecurityGroupName",
        name_limit=80,
        outputs={"resourceGuid": "{uuid}", "etag": "{uuid}"},
        validate=(_priorities,),
        in_use=(in_use(SUBNET, "networkSecurityGroup.id", "InUseNetworkSecurityGroupCannotBeDeleted"),),
    ),
    PUBLIC_IP: in_group(
        "Microsoft.Network/publicIPAddresses",
        "publicIpAddressName",
        name_limit=80,
        outputs={"ipAddress": _public_ip, "resourceGuid": "{uuid}", "etag": "{uuid}"},
        replace=("sku", "publicIPAddressVersion", "publicIPPrefix", "zones"),
        in_use=(
            in_use(NAT, "publicIpAddresses.id", "PublicIPAddressCannotBeDeleted"),
            in_use(BASTION, "ipConfigurations.publicIPAddress.id", "PublicIPAddressCannotBeDeleted"),
        ),
    ),
    NAT: in_group(
        "Microsoft.Network/natGateways",
        "natGatewayName",
        name_limit=80,
        outputs={"resourceGuid": "{uuid}", "etag": "{uuid}"},
        references=(by_id("publicIpAddresses.id", PUBLIC_IP),),
        in_use=(in_use(SUBNET, "natGateway.id", "InUseNatGatewayCannotBeDeleted"),),
    ),
    NIC: in_group(
        "Microsoft.Network/networkInterfaces",
        "networkInterfaceName",
        name_limit=80,
        outputs={
            "macAddress": lambda making: making.hex(12, "mac").upper(),
            "resourceGuid": "{uuid}",
            "etag": "{uuid}",
        },
        references=(by_id("ipConfigurations.subnet.id", SUBNET),),
        in_use=(in_use(VM, "networkProfile.networkInterfaces.id", "NicInUse"),),
    ),
    BASTION: in_group(
        "Microsoft.Network/bastionHosts",
        "bastionHostName",
        name_limit=80,
        outputs={"dnsName": "bst-{uuid}.bastion.azure.com", "etag": "{uuid}"},
        references=(
            by_id("ipConfigurations.subnet.id", SUBNET),
            by_id("ipConfigurations.publicIPAddress.id", PUBLIC_IP),
        ),
        validate=(_bastion_subnet,),
    ),
}
