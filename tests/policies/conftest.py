"""Facts that every rule is content with, to change one thing at a time."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from typing import Any, TypeVar

import pytest

from emporion.market.facts import Bucket, Disk, Fact, FileSystem, Ingress, Node, SecurityGroup, Spot

F = TypeVar("F", bound=Fact)

GOOD: dict[type[Fact], dict[str, Any]] = {
    Node: {
        "instance_type": "p4d.24xlarge", "gpus": 8, "gpu": "a100-40gb", "public_ip": False, "session_tokens": True,
        "metadata_hops": 2, "secrets": (), "fast_network": True, "placed_together": True, "role": True,
        "broad_role": False, "image": "ami-1", "secure_boot": True, "dedicated": True, "ends": True,
    },
    Disk: {"encrypted": True, "own_key": True},
    FileSystem: {"encrypted": True, "own_key": True, "encrypted_in_transit": True},
    Bucket: {
        "private": True, "encrypted": True, "own_key": True, "tls_only": True, "locked": False, "versioned": True,
        "expires": True, "protected": True, "shared_keys": False,
    },
    Ingress: {"protocol": "tcp", "ports": (443, 443), "sources": ("10.0.0.0/8",)},
    SecurityGroup: {"fast": True, "all_in_from_itself": True, "all_out_to_itself": True},
    Spot: {
        "renews": None, "falls_back": None, "max_usd_per_hour": None, "interruption": "terminate",
        "instance_type": "p4d.24xlarge", "count": 1, "checkpoint": "s3://bucket/{run}/{step}",
    },
}  # fmt: skip
"""Kind -> what passes every rule."""


@pytest.fixture
def today() -> date:
    return date(2026, 12, 1)


@pytest.fixture
def good() -> Callable[..., Any]:
    """Return a maker of facts: `good(Node, public_ip=True)` is a good node but for that."""

    def make(kind: type[F], **changes: Any) -> F:
        return kind(
            **{"name": "one", "urn": "urn:pulumi:dev::p::t::one", "provider": "aws", "region": "us-east-1", "tags": {}}
            | GOOD.get(kind, {})
            | changes
        )

    return make
