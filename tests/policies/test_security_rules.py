"""Each security rule over facts that pass, with one thing changed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from emporion.market.facts import (
    Address,
    Bucket,
    Disk,
    Fact,
    FileSystem,
    Grant,
    Ingress,
    Key,
    Node,
    SecurityGroup,
    UnknownFactError,
    Unreadable,
)
from emporion.policies import security
from emporion.policies.packs import PACKS
from emporion.policies.rule import Rule

CASES: list[tuple[Rule, type[Fact], dict[str, Any], list[str]]] = [
    (security.no_public_ssh, Ingress, {"ports": (22, 22), "sources": ("0.0.0.0/0",)},
     ["one takes SSH (port 22) from 0.0.0.0/0"]),
    (security.no_public_ssh, Ingress, {"ports": (0, 65535), "protocol": "all", "sources": ("::/0", "10.0.0.0/8")},
     ["one takes SSH (port 22) from ::/0", "one takes RDP (port 3389) from ::/0"]),
    (security.no_public_ssh, Ingress, {"ports": (3000, 4000), "sources": ("0.0.0.0/1", "128.0.0.0/1")},
     ["one takes RDP (port 3389) from 0.0.0.0/1", "one takes RDP (port 3389) from 128.0.0.0/1"]),
    (security.no_public_ssh, Ingress, {"ports": (22, 22), "protocol": "udp", "sources": ("0.0.0.0/0",)}, []),
    (security.no_public_ssh, Ingress, {"ports": (22, 22), "sources": ("VirtualNetwork", "203.0.113.0/24")}, []),
    (security.no_public_ingress, Ingress, {"sources": ("0.0.0.0/0",)}, ["one takes tcp on ports 443 from 0.0.0.0/0"]),
    (security.gpu_node_no_public_ip, Node, {"public_ip": True}, ["one has 8 GPUs and a public address"]),
    (security.gpu_node_no_public_ip, Node, {"public_ip": True, "gpus": 0}, []),
    (security.gpu_node_no_assigned_address, Address, {"gpu_node": "n0"},
     ["one is a public address of the GPU node n0"]),
    (security.gpu_node_no_assigned_address, Address, {"gpu_node": None}, []),
    (security.metadata_session_tokens, Node, {"session_tokens": False},
     ["one answers metadata requests without a session token (IMDSv1)"]),
    (security.metadata_session_tokens, Node, {"metadata_hops": 3},
     ["one lets metadata answers travel 3 hops, allowed: 2"]),
    (security.disk_encrypted, Disk, {"encrypted": False, "device": "/dev/sdb"}, ["one disk /dev/sdb is not encrypted"]),
    (security.file_system_encrypted, FileSystem, {"encrypted": False}, ["one is not encrypted at rest"]),
    (security.file_system_encrypted_in_transit, FileSystem, {"encrypted_in_transit": False},
     ["one is not encrypted in transit"]),
    (security.bucket_encrypted, Bucket, {"encrypted": False}, ["one is not encrypted at rest"]),
    (security.bucket_tls_only, Bucket, {"tls_only": False}, ["one takes requests without TLS"]),
    (security.bucket_not_public, Bucket, {"private": False}, ["one can be made public, or is"]),
    (security.no_wildcard_rights, Grant, {"wildcards": ("every action on everything",)},
     ["one grants every action on everything"]),
    (security.no_wildcard_rights, Grant, {"wildcards": ()}, []),
    (security.no_long_lived_keys, Key, {"of": "a user"}, ["one is a long-lived key of a user"]),
    (security.no_shared_keys, Bucket, {"shared_keys": True}, ["one can be opened with a key of the whole account"]),
    (security.no_secrets_in_user_data, Node, {"secrets": ("a password",)},
     ["the start script of one holds a password"]),
    (security.rdma_self_rules, SecurityGroup, {"all_out_to_itself": False},
     ["one has EFA interfaces, but sends not all traffic to itself"]),
    (security.rdma_self_rules, SecurityGroup, {"all_in_from_itself": False},
     ["one has EFA interfaces, but takes not all traffic from itself"]),
    (security.rdma_self_rules, SecurityGroup, {"all_in_from_itself": False, "fast": False}, []),
    (security.node_has_role, Node, {"role": False}, ["one has no role"]),
    (security.image_pinned, Node, {"image": "canonical:ubuntu:server:latest"},
     ["one starts from canonical:ubuntu:server:latest, which moves"]),
    (security.image_pinned, Node, {"image": "resolve:ssm:/aws/service/ami"},
     ["one starts from resolve:ssm:/aws/service/ami, which moves"]),
    (security.store_protected, Bucket, {"protected": False}, ["one can be deleted with everything in it"]),
    (security.store_expires, Bucket, {"expires": False}, ["one keeps everything for ever"]),
    (security.rdma_placed_together, Node, {"placed_together": False},
     ["one has RDMA interfaces and no placement group"]),
    (security.rdma_placed_together, Node, {"placed_together": False, "fast_network": False}, []),
    (security.no_broad_role, Node, {"broad_role": True},
     ["one runs under the cloud's default identity with all rights"]),
]  # fmt: skip


@pytest.mark.parametrize(
    ("rule", "kind", "change", "problems"), CASES, ids=[f"{one[0].name}-{number}" for number, one in enumerate(CASES)]
)
def test_one_change_breaks_or_keeps_a_rule(
    rule: Rule, kind: type[Fact], change: dict[str, Any], problems: list[str], good: Callable[..., Any]
) -> None:
    assert rule(good(kind, **change)) == problems


@pytest.mark.parametrize(
    "kind", [Node, Disk, FileSystem, Bucket, Ingress, SecurityGroup], ids=lambda kind: kind.__name__
)
def test_good_facts_pass_every_rule(kind: type[Fact], good: Callable[..., Any]) -> None:
    for rule in PACKS["security"]:
        if rule.subject is kind:
            assert rule(good(kind)) == [], rule.name


def test_secure_boot_is_asked_for_only_where_it_is_wanted(good: Callable[..., Any]) -> None:
    node = good(Node, secure_boot=False)
    assert security.secure_boot(node) == []
    assert security.secure_boot(node, wanted=True) == ["one boots without checking signatures"]


def test_a_resource_that_nobody_understands_is_never_judged_well(good: Callable[..., Any]) -> None:
    with pytest.raises(UnknownFactError, match="properties"):
        security.resource_understood(good(Unreadable))


def test_every_security_rule_has_a_case_that_breaks_it() -> None:
    of_their_own = {"secure-boot", "resource-understood"}
    assert {one[0].name for one in CASES if one[3]} | of_their_own == {rule.name for rule in PACKS["security"]}


def test_an_allowed_port_may_be_open_to_everywhere(good: Callable[..., Any]) -> None:
    ingress = good(Ingress, sources=("0.0.0.0/0",))
    assert security.no_public_ingress(ingress, allowed_ports=("443",)) == []
