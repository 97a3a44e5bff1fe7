"""How a person reaches a machine: by Session Manager, which needs no open port and no key."""

from __future__ import annotations

__all__ = ["shell_command"]


def shell_command(region: str, node_id: str) -> tuple[str, ...]:
    """Return the command line that opens a shell on a machine; it needs the AWS CLI and its Session Manager plugin."""
    return ("aws", "ssm", "start-session", "--region", region, "--target", node_id)
