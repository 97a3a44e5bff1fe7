"""What a node does at its first boot.

User data is at most 16,384 bytes, so it only says what the node is and fetches the rest from the cluster's bucket, each
file under the name of its own sha256, and checks it. No secret is in it: everybody on the node can read it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

import pulumi
import pulumi_aws as aws

from emporion.components.aws.context import Context
from emporion.components.aws.storage import Store

__all__ = ["MUNGE_UNSET", "USER_DATA_LIMIT", "NodeFacts", "bootstrap_key", "bootstrap_objects", "render"]

USER_DATA_LIMIT = 16_384
"""Bytes before base64 (docs.aws.amazon.com/AWSEC2/latest/UserGuide/user-data.html, read 2026-08)."""

MUNGE_UNSET = "unset"
"""The parameter's value until the controller has made the key: the key itself never passes through Pulumi."""

SCRIPT = "bootstrap.sh"


@dataclass(frozen=True, slots=True)
class NodeFacts:
    """Everything a node must be told."""

    role: str
    """`controller` or `node`."""
    stack: str
    pool: str
    region: str
    store: str
    log_group: str
    checkpoint_uri: str
    scheduler: str
    controller_ip: str = ""
    munge_parameter: str = ""
    gpus: int = 0
    efa_interfaces: int = 0
    nvme: bool = False
    lustre_dns: str = ""
    lustre_mount: str = ""


@cache
def _file(name: str) -> str:
    return files("emporion.components.aws").joinpath("templates", name).read_text(encoding="utf-8")


def bootstrap_key() -> str:
    """Return the key of the bootstrap script in the cluster's bucket: it changes with the content."""
    return f"bootstrap/{_sha256(_file(SCRIPT))}/{SCRIPT}"


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def render(facts: NodeFacts) -> str:
    """Return the user data of a node.

    Raises: ValueError: when it is longer than EC2 takes.
    """
    import jinja2  # noqa: PLC0415 - only a program that builds nodes pays for it

    environment = jinja2.Environment(
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,  # noqa: S701 - a shell script; every value is quoted by `_settings`
    )
    text = environment.from_string(_file("user_data.sh.j2")).render(
        settings=_settings(facts),
        client=_file("aws_client.py"),
        region=facts.region,
        bucket=facts.store,
        key=bootstrap_key(),
        sha256=_sha256(_file(SCRIPT)),
    )
    if len(text.encode()) > USER_DATA_LIMIT:
        raise ValueError(f"user data of {facts.pool} has {len(text.encode())} bytes, EC2 takes {USER_DATA_LIMIT}")
    return text


def _settings(facts: NodeFacts) -> Sequence[tuple[str, str]]:
    """Return the node's settings as shell variables, values quoted."""
    import shlex  # noqa: PLC0415 - with jinja2

    values: Mapping[str, object] = {
        "ROLE": facts.role,
        "STACK": facts.stack,
        "POOL": facts.pool,
        "REGION": facts.region,
        "STORE": facts.store,
        "LOG_GROUP": facts.log_group,
        "CHECKPOINT_URI": facts.checkpoint_uri,
        "SCHEDULER": facts.scheduler,
        "CONTROLLER_IP": facts.controller_ip,
        "MUNGE_PARAMETER": facts.munge_parameter,
        "MUNGE_UNSET": MUNGE_UNSET,
        "GPUS": facts.gpus,
        "EFA_INTERFACES": facts.efa_interfaces,
        "NVME": int(facts.nvme),
        "LUSTRE_DNS": facts.lustre_dns,
        "LUSTRE_MOUNT": facts.lustre_mount,
    }
    return [(f"EMPORION_{key}", shlex.quote(str(value))) for key, value in values.items()]


def bootstrap_objects(context: Context, store: Store) -> list[pulumi.Resource]:
    """Put the bootstrap script into the cluster's bucket."""
    return [
        aws.s3.BucketObjectv2(
            context.child("bootstrap"),
            bucket=store.bucket.id,
            key=bootstrap_key(),
            content=_file(SCRIPT),
            content_type="text/x-shellscript",
            # A locked bucket locks this file too, but it is no data: it goes with the cluster.
            force_destroy=bool(context.placement.storage.object_lock_days),
            tags={
                key: value
                for key, value in context.tags(aws.s3.BucketObjectv2, "bootstrap").items()
                if key.startswith("emporion-")  # an object takes ten tags; the intent may have more
            },
            opts=context.options(depends_on=list(store.ready)),
        )
    ]
