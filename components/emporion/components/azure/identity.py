"""Who the nodes are: an identity for the GPU nodes and one for the controller, each with what its bootstrap uses.

Roles are given on the resource itself, never on a group or subscription, by the id of a built-in role.
"""

from __future__ import annotations

import pulumi
from pulumi_azure_native import authorization, managedidentity

from emporion.components.azure.context import Context
from emporion.components.azure.plan import assignment_name, role_definition

__all__ = ["build", "grant"]


def build(context: Context, kind: str) -> managedidentity.UserAssignedIdentity:
    """Make the identity `kind` (`node` or `controller`)."""
    suffix = f"{kind}-identity"
    return managedidentity.UserAssignedIdentity(
        context.child(suffix),
        resource_group_name=context.group,
        resource_name_=context.physical(managedidentity.UserAssignedIdentity, suffix, 128),
        location=context.region,
        tags=context.tags(managedidentity.UserAssignedIdentity, suffix),
        opts=context.options(),
    )


def grant(
    context: Context,
    suffix: str,
    identity: managedidentity.UserAssignedIdentity,
    role: str,
    scope: pulumi.Input[str],
) -> authorization.RoleAssignment:
    """Give an identity a role of `plan.ROLES` on one resource.

    The principal's type is said: without it Azure looks the principal up, and a new one is not known everywhere yet.
    """
    return authorization.RoleAssignment(
        context.child(suffix),
        role_assignment_name=assignment_name(context.id(authorization.RoleAssignment, suffix)),
        principal_id=identity.principal_id,
        principal_type=authorization.PrincipalType.SERVICE_PRINCIPAL,
        role_definition_id=role_definition(context.subscription, role),
        scope=scope,
        opts=context.options(),
    )
