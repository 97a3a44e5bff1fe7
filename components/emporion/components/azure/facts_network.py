"""Rules of traffic, rights and records of Azure as neutral facts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from emporion.components.azure.facts_common import common
from emporion.market.fact_source import Reader
from emporion.market.fact_values import of, whole
from emporion.market.facts import AuditLog, Budget, Fact, FlowLog, Grant, Ingress, LogGroup
from emporion.market.resources import UNKNOWN, Others, Resource, Value, at

__all__ = ["NETWORK"]

EVERYWHERE = dict.fromkeys(("*", "internet", "any", "0.0.0.0"), "0.0.0.0/0")  # noqa: S104 - a rule's text, no socket
"""How a rule says everybody (learn.microsoft.com, network security groups, service tags)."""
OWNER_ROLES = {
    "8e3af657-a8ff-443c-a75c-2fe8c4bcb635": "Owner",
    "b24988ac-6180-42a0-ab88-20f7382dd24c": "Contributor",
    "18d7d88d-d35e-4fb5-a5c3-7773c20a72d9": "User Access Administrator",
}
"""Built-in roles without bounds (learn.microsoft.com, Azure built-in roles)."""
SUBSCRIPTION_STEPS = 3
"""A scope of so many steps is a whole subscription: `/subscriptions/<id>`."""


def _openings(resource: Resource, rule: Value) -> Iterator[Ingress]:
    if rule is UNKNOWN:
        yield Ingress(**common(resource))
        return
    if at(rule, "direction") not in {"Inbound", UNKNOWN} or at(rule, "access") not in {"Allow", UNKNOWN}:
        return
    protocol = of(at(rule, "protocol"), lambda text: "all" if text == "*" else str(text).lower())
    listed = [*_listed(rule, "sourceAddressPrefix"), *_listed(rule, "sourceAddressPrefixes")]
    known = tuple(EVERYWHERE.get(one.lower(), one) for one in listed if isinstance(one, str))
    for ports in [*_listed(rule, "destinationPortRange"), *_listed(rule, "destinationPortRanges")]:
        span = of(ports, _span)
        if known:
            yield Ingress(**common(resource), protocol=protocol, ports=span, sources=known)
        if UNKNOWN in listed:
            yield Ingress(**common(resource), protocol=protocol, ports=span, sources=UNKNOWN)


def _span(text: object) -> tuple[int, int]:
    first, _, last = str(text).partition("-")
    return (0, 65535) if first == "*" else (int(first), int(last or first))


def _listed(rule: Value, name: str) -> list[Value]:
    found = at(rule, name)
    return found if isinstance(found, list) else [] if found in (None, "") else [found]


def _group(resource: Resource, _others: Others | None) -> Iterator[Fact]:
    for rule in resource.each("securityRules"):
        yield from _openings(resource, rule)


def _rule(resource: Resource, _others: Others | None) -> Iterator[Fact]:
    yield from _openings(resource, resource.inputs)


def _role(resource: Resource, _others: Others | None) -> Iterator[Fact]:
    found: list[str] = []
    for one in resource.each("permissions"):
        for action in _listed(one, "actions") if one is not UNKNOWN else [UNKNOWN]:
            if action is UNKNOWN:
                yield Grant(**common(resource), wildcards=UNKNOWN)
            elif action == "*":
                found.append("every action")
            elif action.endswith("/*") and action.count("/") == 1:
                found.append(f"{action}, all of a service")
    yield Grant(**common(resource), wildcards=tuple(found))


def _assignment(resource: Resource, _others: Others | None) -> Iterator[Fact]:
    role, scope = resource.get("roleDefinitionId"), resource.get("scope")
    name: str | None = of(role, lambda text: OWNER_ROLES.get(str(text).rpartition("/")[2]))
    if name is UNKNOWN and resource.references.get("roleDefinitionId"):
        name = None  # a role of the same program is judged by itself
    if name is None or name is UNKNOWN:
        yield Grant(**common(resource), wildcards=() if name is None else UNKNOWN)
        return
    wide = (f"{name} on a whole subscription",)
    yield Grant(
        **common(resource),
        wildcards=of(scope, lambda text: wide if str(text).rstrip("/").count("/") < SUBSCRIPTION_STEPS else ()),
    )


def _budget(resource: Resource, _others: Others | None) -> Iterator[Fact]:
    yield Budget(**common(resource), notifies=of(resource.get("notifications"), bool))


def _diagnostics(resource: Resource, _others: Others | None) -> Iterator[Fact]:
    logs = resource.each("logs")
    complete = any(at(one, "categoryGroup") == "allLogs" for one in logs)
    yield AuditLog(
        **common(resource),
        complete=UNKNOWN if UNKNOWN in logs and not complete else complete,
        tamper_evident=UNKNOWN,  # the store decides it
        own_key=UNKNOWN,
    )


def _flow_log(resource: Resource, _others: Others | None) -> Iterator[Fact]:
    if resource.get("enabled") in (None, True):
        yield FlowLog(**common(resource))


def _workspace(resource: Resource, _others: Others | None) -> Iterator[Fact]:
    yield LogGroup(**common(resource), kept_days=whole(resource.get("retentionInDays")), own_key=UNKNOWN)


NETWORK: Mapping[str, Reader] = {
    "azure-native:network:NetworkSecurityGroup": _group,
    "azure-native:network:SecurityRule": _rule,
    "azure-native:network:FlowLog": _flow_log,
    "azure-native:authorization:RoleDefinition": _role,
    "azure-native:authorization:RoleAssignment": _assignment,
    "azure-native:consumption:Budget": _budget,
    "azure-native:monitor:DiagnosticSetting": _diagnostics,
    "azure-native:insights:DiagnosticSetting": _diagnostics,
    "azure-native:operationalinsights:Workspace": _workspace,
}
