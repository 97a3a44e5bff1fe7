"""Finding roles, policies and profiles by their names."""

from __future__ import annotations

from collections.abc import Mapping

from emporion.components.aws.api.find import Finder
from emporion.components.aws.api.session import Clients, pages, unless_absent
from emporion.market.clouds import Pending

__all__ = ["FINDERS"]

_ABSENT = frozenset({"NoSuchEntity"})


def _role(clients: Clients, pending: Pending) -> str | None:
    name: str = pending.inputs["name"]
    return name if unless_absent(_ABSENT, lambda: clients.iam.get_role(RoleName=name)) else None


def _role_policy(clients: Clients, pending: Pending) -> str | None:
    """Return `ROLE:NAME`."""
    role, name = pending.inputs["role"], pending.inputs["name"]
    found = unless_absent(_ABSENT, lambda: clients.iam.get_role_policy(RoleName=role, PolicyName=name))
    return f"{role}:{name}" if found else None


def _policy(clients: Clients, pending: Pending) -> str | None:
    """Return the policy's ARN, which follows from its path and name."""
    account: str = clients.sts.get_caller_identity()["Account"]
    path = pending.inputs.get("path") or "/"
    arn = f"arn:{clients.partition}:iam::{account}:policy{path}{pending.inputs['name']}"
    return arn if unless_absent(_ABSENT, lambda: clients.iam.get_policy(PolicyArn=arn)) else None


def _attachment(clients: Clients, pending: Pending) -> str | None:
    """Return `ROLE/ARN`."""
    role, arn = pending.inputs["role"], pending.inputs["policyArn"]
    attached = unless_absent(
        _ABSENT, lambda: list(pages(clients.iam, "list_attached_role_policies", "AttachedPolicies", RoleName=role))
    )
    return f"{role}/{arn}" if any(policy["PolicyArn"] == arn for policy in attached or ()) else None


def _profile(clients: Clients, pending: Pending) -> str | None:
    name: str = pending.inputs["name"]
    found = unless_absent(_ABSENT, lambda: clients.iam.get_instance_profile(InstanceProfileName=name))
    return name if found else None


FINDERS: Mapping[str, Finder] = {
    "aws:iam/instanceProfile:InstanceProfile": _profile,
    "aws:iam/policy:Policy": _policy,
    "aws:iam/role:Role": _role,
    "aws:iam/rolePolicy:RolePolicy": _role_policy,
    "aws:iam/rolePolicyAttachment:RolePolicyAttachment": _attachment,
}
"""Type token -> how to find it."""
