"""Finding EC2's things: by tag, and what has no tag in its parent."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from zlib import crc32

from emporion.components.aws.api.find import Finder, only, tag_filter
from emporion.components.aws.api.session import Clients, pages, unless_absent
from emporion.market.clouds import Pending

__all__ = ["FINDERS"]


@dataclass(frozen=True, slots=True)
class _Tagged:
    """How one EC2 type is listed by tag."""

    operation: str
    items: str
    id: str
    state: str = "State"
    gone: frozenset[str] = field(default_factory=frozenset)
    """States of things that are there no more."""
    filters: str = "Filters"
    """What the operation calls its filter argument."""

    def __call__(self, clients: Clients, pending: Pending) -> str | None:
        """Return the id of the one thing with the tag that is still there."""
        found = pages(clients.ec2, self.operation, self.items, **{self.filters: tag_filter(pending)})
        return only(
            (item[self.id] for item in found if _state(item, self.state) not in self.gone), pending, clients.region
        )


def _state(item: Mapping[str, Any], key: str) -> str:
    """Return a state in lower case: EC2 spells it in both ways, and for machines as a structure."""
    state = item.get(key) or ""
    return str(state["Name"] if isinstance(state, dict) else state).lower()


_DELETED = frozenset({"deleting", "deleted"})
_FAILED = _DELETED | {"failed"}


def _instance(clients: Clients, pending: Pending) -> str | None:
    reservations = pages(clients.ec2, "describe_instances", "Reservations", Filters=tag_filter(pending))
    machines = (machine for reservation in reservations for machine in reservation["Instances"])
    alive = (m["InstanceId"] for m in machines if _state(m, "State") not in {"shutting-down", "terminated"})
    return only(alive, pending, clients.region)


def _table(clients: Clients, table_id: str) -> Mapping[str, Any] | None:
    answer = unless_absent(
        {"InvalidRouteTableID.NotFound"}, lambda: clients.ec2.describe_route_tables(RouteTableIds=[table_id])
    )
    return answer["RouteTables"][0] if answer and answer["RouteTables"] else None


_DESTINATIONS = {
    "destinationCidrBlock": "DestinationCidrBlock",
    "destinationIpv6CidrBlock": "DestinationIpv6CidrBlock",
    "destinationPrefixListId": "DestinationPrefixListId",
}


def _route(clients: Clients, pending: Pending) -> str | None:
    """Return `r-TABLE` and the CRC-32 of the destination: the id that the provider makes up for a route."""
    table = _table(clients, pending.inputs["routeTableId"])
    for ours, theirs in _DESTINATIONS.items():
        wanted = pending.inputs.get(ours)
        if table and wanted and any(route.get(theirs) == wanted for route in table["Routes"]):
            return f"r-{table['RouteTableId']}{crc32(wanted.encode())}"
    return None


def _association(clients: Clients, pending: Pending) -> str | None:
    table = _table(clients, pending.inputs["routeTableId"])
    for ours, theirs in {"subnetId": "SubnetId", "gatewayId": "GatewayId"}.items():
        wanted = pending.inputs.get(ours)
        for link in table["Associations"] if table and wanted else ():
            if link.get(theirs) == wanted:
                found: str = link["RouteTableAssociationId"]
                return found
    return None


_RULE_TAGGED = _Tagged("describe_security_group_rules", "SecurityGroupRules", "SecurityGroupRuleId")
_PEERS = {"cidrIpv4": "CidrIpv4", "cidrIpv6": "CidrIpv6", "prefixListId": "PrefixListId"}
_ANY_PORT = -1


def _rule(*, egress: bool) -> Finder:
    def find(clients: Clients, pending: Pending) -> str | None:
        """Return the rule with the tag, else the group's rule that says the same: a group has no two of them."""
        tagged = _RULE_TAGGED(clients, pending)
        if tagged:
            return tagged
        group = [{"Name": "group-id", "Values": [pending.inputs["securityGroupId"]]}]
        rules = pages(clients.ec2, "describe_security_group_rules", "SecurityGroupRules", Filters=group)
        same = (rule for rule in rules if rule["IsEgress"] is egress and _says(rule, pending.inputs))
        return only((rule["SecurityGroupRuleId"] for rule in same), pending, clients.region)

    return find


def _says(rule: Mapping[str, Any], inputs: Mapping[str, Any]) -> bool:
    if rule.get("IpProtocol") != str(inputs["ipProtocol"]):
        return False
    ports = (inputs.get("fromPort"), inputs.get("toPort"))
    wanted = tuple(_ANY_PORT if port is None else int(port) for port in ports)
    if (rule.get("FromPort", _ANY_PORT), rule.get("ToPort", _ANY_PORT)) != wanted:
        return False
    group = inputs.get("referencedSecurityGroupId")
    if group:
        return bool(rule.get("ReferencedGroupInfo", {}).get("GroupId") == group)
    return any(inputs.get(ours) and rule.get(theirs) == inputs[ours] for ours, theirs in _PEERS.items())


FINDERS: Mapping[str, Finder] = {
    "aws:ec2/capacityReservation:CapacityReservation": _Tagged(
        "describe_capacity_reservations",
        "CapacityReservations",
        "CapacityReservationId",
        gone=frozenset({"cancelled", "expired", "failed", "payment-failed", "unavailable"}),
    ),
    "aws:ec2/defaultSecurityGroup:DefaultSecurityGroup": _Tagged(
        "describe_security_groups", "SecurityGroups", "GroupId"
    ),
    "aws:ec2/eip:Eip": _Tagged("describe_addresses", "Addresses", "AllocationId"),
    "aws:ec2/instance:Instance": _instance,
    "aws:ec2/internetGateway:InternetGateway": _Tagged(
        "describe_internet_gateways", "InternetGateways", "InternetGatewayId"
    ),
    "aws:ec2/launchTemplate:LaunchTemplate": _Tagged(
        "describe_launch_templates", "LaunchTemplates", "LaunchTemplateId"
    ),
    "aws:ec2/natGateway:NatGateway": _Tagged(
        "describe_nat_gateways", "NatGateways", "NatGatewayId", gone=_FAILED, filters="Filter"
    ),
    "aws:ec2/placementGroup:PlacementGroup": _Tagged(
        "describe_placement_groups", "PlacementGroups", "GroupName", gone=_DELETED
    ),
    "aws:ec2/route:Route": _route,
    "aws:ec2/routeTable:RouteTable": _Tagged("describe_route_tables", "RouteTables", "RouteTableId"),
    "aws:ec2/routeTableAssociation:RouteTableAssociation": _association,
    "aws:ec2/securityGroup:SecurityGroup": _Tagged("describe_security_groups", "SecurityGroups", "GroupId"),
    "aws:ec2/subnet:Subnet": _Tagged("describe_subnets", "Subnets", "SubnetId"),
    "aws:ec2/vpc:Vpc": _Tagged("describe_vpcs", "Vpcs", "VpcId"),
    "aws:ec2/vpcEndpoint:VpcEndpoint": _Tagged(
        "describe_vpc_endpoints", "VpcEndpoints", "VpcEndpointId", gone=_FAILED | {"rejected", "expired"}
    ),
    "aws:vpc/securityGroupEgressRule:SecurityGroupEgressRule": _rule(egress=True),
    "aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule": _rule(egress=False),
}
"""Type token -> how to find it."""
