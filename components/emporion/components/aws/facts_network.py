"""Security groups, addresses and flow logs of AWS as neutral facts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from emporion.components.aws.facts_common import common
from emporion.components.aws.facts_machines import INSTANCE, INTERFACE, TEMPLATE, gpus, is_fast
from emporion.market.fact_source import Reader
from emporion.market.fact_values import either, of
from emporion.market.facts import Address, Fact, FlowLog, Ingress, SecurityGroup
from emporion.market.resources import UNKNOWN, Others, Resource, Value, at

__all__ = ["NETWORK"]

GROUP = "aws:ec2/securityGroup:SecurityGroup"
RULE = "aws:ec2/securityGroupRule:SecurityGroupRule"
IN_RULE = "aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule"
OUT_RULE = "aws:vpc/securityGroupEgressRule:SecurityGroupEgressRule"
ASSOCIATION = "aws:ec2/eipAssociation:EipAssociation"
PROTOCOLS = {"-1": "all", "6": "tcp", "17": "udp", "1": "icmp"}
"""Numbers that EC2 takes for names (EC2 API, IpPermission)."""
ALL_PORTS = (0, 65535)


def _protocol(value: Value) -> Value:
    return of(value, lambda found: PROTOCOLS.get(str(found), str(found)))


def _ports(first: Value, last: Value, protocol: Value) -> Value:
    if protocol == "all":
        return ALL_PORTS
    if first is UNKNOWN or last is UNKNOWN:
        return UNKNOWN
    if first in (None, -1):
        return ALL_PORTS
    return int(first), int(either(last, first))


def _opening(resource: Resource, rule: Value, *sources: Value) -> Iterator[Ingress]:
    """Yield an opening with its known sources, and one for those that are not known."""
    protocol = _protocol(either(at(rule, "protocol"), at(rule, "ipProtocol")))
    ports = _ports(at(rule, "fromPort"), at(rule, "toPort"), protocol)
    known = tuple(str(one) for one in sources if one is not None and one is not UNKNOWN)
    if known:
        yield Ingress(**common(resource), protocol=protocol, ports=ports, sources=known)
    if UNKNOWN in sources:
        yield Ingress(**common(resource), protocol=protocol, ports=ports, sources=UNKNOWN)


def _listed(rule: Value, name: str) -> list[Value]:
    found = at(rule, name)
    return [UNKNOWN] if found is UNKNOWN else list(found or ())


def _group(resource: Resource, others: Others | None) -> Iterator[Fact]:
    for rule in resource.each("ingress"):
        yield from _opening(resource, rule, *_listed(rule, "cidrBlocks"), *_listed(rule, "ipv6CidrBlocks"))
    if others is not None:
        yield SecurityGroup(
            **common(resource),
            fast=_fast(resource, others),
            all_in_from_itself=_to_itself(resource, others, "ingress"),
            all_out_to_itself=_to_itself(resource, others, "egress"),
        )


def _fast(group: Resource, others: Others) -> Value:
    """Return whether an EFA interface lies in the group."""
    interfaces: list[Value] = [one.inputs for one in others.of(group, INTERFACE, "securityGroups")]
    for kind in (TEMPLATE, INSTANCE):
        for machine in others.of(group, kind, "networkInterfaces"):
            interfaces += machine.each("networkInterfaces")
    fast = [is_fast(at(one, "interfaceType")) for one in interfaces]
    return True if True in fast else UNKNOWN if UNKNOWN in fast else False


def _to_itself(group: Resource, others: Others, direction: str) -> bool:
    inline = any(
        _protocol(at(rule, "protocol")) == "all" and at(rule, "self") is True for rule in group.each(direction)
    )
    apart = any(
        _protocol(rule.get("protocol")) == "all"
        and rule.get("type") == direction
        and (rule.get("self") is True or group in others.behind(rule, "sourceSecurityGroupId", GROUP))
        for rule in others.of(group, RULE, "securityGroupId")
    )
    single = any(
        _protocol(rule.get("ipProtocol")) == "all" and group in others.behind(rule, "referencedSecurityGroupId", GROUP)
        for rule in others.of(group, IN_RULE if direction == "ingress" else OUT_RULE, "securityGroupId")
    )
    return inline or apart or single


def _rule(resource: Resource, _others: Others | None) -> Iterator[Fact]:
    if resource.get("type") in ("ingress", UNKNOWN):
        rule = resource.inputs
        yield from _opening(resource, rule, *_listed(rule, "cidrBlocks"), *_listed(rule, "ipv6CidrBlocks"))


def _in_rule(resource: Resource, _others: Others | None) -> Iterator[Fact]:
    yield from _opening(resource, resource.inputs, resource.get("cidrIpv4"), resource.get("cidrIpv6"))


def _address(resource: Resource, others: Others | None) -> Iterator[Fact]:
    if others is None:
        return
    holders = others.behind(resource, "instance", INSTANCE)
    for link in others.of(resource, ASSOCIATION, "allocationId"):
        holders += others.behind(link, "instanceId", INSTANCE)
    machine = next((one for one in holders if gpus(one.get("instanceType")) is not UNKNOWN), None)
    unsure = bool(holders) and machine is None
    held = next((one.name for one in holders if gpus(one.get("instanceType")) not in (UNKNOWN, 0)), None)
    yield Address(**common(resource), gpu_node=UNKNOWN if unsure else held)


def _flow_log(resource: Resource, _others: Others | None) -> Iterator[Fact]:
    yield FlowLog(**common(resource))


NETWORK: Mapping[str, Reader] = {
    GROUP: _group,
    RULE: _rule,
    IN_RULE: _in_rule,
    "aws:ec2/eip:Eip": _address,
    "aws:ec2/flowLog:FlowLog": _flow_log,
}
