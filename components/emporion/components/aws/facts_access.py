"""Rights, keys, budgets and records of AWS as neutral facts."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

from emporion.components.aws.facts_common import common
from emporion.market.fact_source import Reader
from emporion.market.fact_values import of, whole
from emporion.market.facts import AuditLog, Budget, Fact, Grant, Key, LogGroup
from emporion.market.resources import UNKNOWN, Others, Resource, Value, at

__all__ = ["ACCESS"]

ADMIN_POLICIES = ("AdministratorAccess", "PowerUserAccess", "IAMFullAccess")
"""Managed policies that hold rights without bounds (docs.aws.amazon.com/aws-managed-policy)."""


def _list(value: Value) -> list[Value]:
    return value if isinstance(value, list) else [] if value is None else [value]


def _wildcards(document: Value) -> Value:
    """Return what a policy document grants without bounds."""
    if document is UNKNOWN:
        return UNKNOWN
    try:
        read = json.loads(document) if isinstance(document, str) else document
    except ValueError:
        return UNKNOWN
    found: list[str] = []
    for statement in _list(at(read, "Statement")):
        if statement is UNKNOWN:
            return UNKNOWN
        if at(statement, "Effect") == "Allow":
            found += _statement(statement)
    return tuple(dict.fromkeys(found))


def _statement(statement: Mapping[str, Value]) -> Iterator[str]:
    everything = "*" in _list(statement.get("Resource"))
    if "NotAction" in statement:
        yield "all actions but some (NotAction)"
    for action in _list(statement.get("Action")):
        if action in {"*", "*:*"}:
            yield "every action" + (" on everything" if everything else "")
        elif isinstance(action, str) and action.endswith(":*") and everything:
            yield f"{action} on everything"


def _policy(resource: Resource, _others: Others | None) -> Iterator[Fact]:
    yield Grant(**common(resource), wildcards=_wildcards(resource.get("policy")))


def _role(resource: Resource, _others: Others | None) -> Iterator[Fact]:
    found: list[str] = []
    for one in resource.each("inlinePolicies"):
        wildcards = _wildcards(at(one, "policy"))
        if wildcards is UNKNOWN:
            yield Grant(**common(resource), wildcards=UNKNOWN)
        else:
            found += wildcards
    for arn in resource.each("managedPolicyArns"):
        if isinstance(arn, str) and arn.rpartition("/")[2] in ADMIN_POLICIES:
            found.append(f"everything that {arn.rpartition('/')[2]} allows")
    yield Grant(**common(resource), wildcards=tuple(found))


def _attachment(resource: Resource, _others: Others | None) -> Iterator[Fact]:
    arn = resource.get("policyArn")
    wildcards = of(
        arn,
        lambda text: (f"everything that {name} allows",) if (name := text.rpartition("/")[2]) in ADMIN_POLICIES else (),
    )
    # A policy of the same program is judged by itself; the ARN alone tells nothing that it does not.
    yield Grant(**common(resource), wildcards=() if wildcards is UNKNOWN and resource.references else wildcards)


def _access_key(resource: Resource, _others: Others | None) -> Iterator[Fact]:
    yield Key(**common(resource), of="a user of the account")


def _budget(resource: Resource, _others: Others | None) -> Iterator[Fact]:
    yield Budget(**common(resource), notifies=of(resource.get("notifications"), bool))


def _trail(resource: Resource, _others: Others | None) -> Iterator[Fact]:
    yield AuditLog(
        **common(resource),
        complete=of(resource.get("isMultiRegionTrail"), bool),
        tamper_evident=of(resource.get("enableLogFileValidation"), bool),
        own_key=resource.get("kmsKeyId") is not None,
    )


def _log_group(resource: Resource, _others: Others | None) -> Iterator[Fact]:
    days = whole(resource.get("retentionInDays"))
    yield LogGroup(
        **common(resource),
        kept_days=days or None if days is not UNKNOWN else UNKNOWN,
        own_key=resource.get("kmsKeyId") is not None,
    )


ACCESS: Mapping[str, Reader] = {
    "aws:iam/policy:Policy": _policy,
    "aws:iam/rolePolicy:RolePolicy": _policy,
    "aws:iam/userPolicy:UserPolicy": _policy,
    "aws:iam/groupPolicy:GroupPolicy": _policy,
    "aws:iam/role:Role": _role,
    "aws:iam/rolePolicyAttachment:RolePolicyAttachment": _attachment,
    "aws:iam/accessKey:AccessKey": _access_key,
    "aws:budgets/budget:Budget": _budget,
    "aws:cloudtrail/trail:Trail": _trail,
    "aws:cloudwatch/logGroup:LogGroup": _log_group,
}
