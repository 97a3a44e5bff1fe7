"""How a person reaches a machine: through the cluster's Bastion host, which needs no open port and no key of ours."""

from __future__ import annotations

__all__ = ["BASTION", "shell_command"]

BASTION = "bastion"
"""Its name in every cluster's resource group: who knows a machine's id can go through it."""
_GROUP = 4
"""Position of the resource group's name in an id (/subscriptions/S/resourceGroups/G/…)."""


def shell_command(region: str, node_id: str) -> tuple[str, ...]:
    """Return the command line that opens a shell on a machine; it needs the Azure CLI and a login to Entra ID."""
    del region  # the id says where the machine is
    parts = node_id.split("/")
    group = parts[_GROUP] if len(parts) > _GROUP else ""
    return (
        "az", "network", "bastion", "ssh", "--name", BASTION, "--resource-group", group,
        "--target-resource-id", node_id, "--auth-type", "AAD",
    )  # fmt: skip
