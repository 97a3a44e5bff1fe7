"""What a node does at its first boot.

Azure takes 65,535 bytes of custom data, so all of it is in there: what the node is, the calls it makes, and the script.
No secret is: everybody with root on the node, and Azure's support, can read it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

__all__ = ["CUSTOM_DATA_LIMIT", "NodeFacts", "render"]

CUSTOM_DATA_LIMIT = 65_535
"""Bytes before base64 (learn.microsoft.com, osProfile.customData, read 2026-11)."""


@dataclass(frozen=True, slots=True)
class NodeFacts:
    """Everything a node must be told."""

    role: str
    """`controller` or `node`."""
    stack: str
    pool: str
    region: str
    identity: str
    """Resource id of the identity whose token the node asks for: it has two, and the other one may do nothing."""
    checkpoint_uri: str
    scheduler: str
    controller_ip: str = ""
    vault: str = ""
    secret: str = ""
    gpus: int = 0
    infiniband: bool = False
    nvme: bool = False
    lustre_address: str = ""


@cache
def _file(name: str) -> str:
    return files("emporion.components.azure").joinpath("templates", name).read_text(encoding="utf-8")


def render(facts: NodeFacts) -> str:
    """Return the custom data of a node.

    Raises: ValueError: when it is longer than Azure takes.
    """
    import jinja2  # noqa: PLC0415 - only a program that builds nodes pays for it

    environment = jinja2.Environment(
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,  # noqa: S701 - a shell script; every value is quoted by `_settings`
    )
    text = environment.from_string(_file("custom_data.sh.j2")).render(
        settings=_settings(facts),
        client=_file("azure_client.py"),
        events=_file("scheduled_events.py"),
        script=_file("bootstrap.sh"),
    )
    if len(text.encode()) > CUSTOM_DATA_LIMIT:
        raise ValueError(f"custom data of {facts.pool} has {len(text.encode())} bytes, Azure takes {CUSTOM_DATA_LIMIT}")
    return text


def _settings(facts: NodeFacts) -> Sequence[tuple[str, str]]:
    """Return the node's settings as shell variables, values quoted."""
    import shlex  # noqa: PLC0415 - with jinja2

    values: Mapping[str, object] = {
        "ROLE": facts.role,
        "STACK": facts.stack,
        "POOL": facts.pool,
        "REGION": facts.region,
        "IDENTITY": facts.identity,
        "CHECKPOINT_URI": facts.checkpoint_uri,
        "SCHEDULER": facts.scheduler,
        "CONTROLLER_IP": facts.controller_ip,
        "VAULT": facts.vault,
        "SECRET": facts.secret,
        "GPUS": facts.gpus,
        "INFINIBAND": int(facts.infiniband),
        "NVME": int(facts.nvme),
        "LUSTRE_ADDRESS": facts.lustre_address,
    }
    return [(f"EMPORION_{key}", shlex.quote(str(value))) for key, value in values.items()]
