"""The shape of a cluster as plain data: addresses, rules, places. Pure, so that `validate.py` can look at it first."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from emporion.components.aws.instance_types import instance_types
from emporion.components.aws.nics import nics
from emporion.market.offer import Market
from emporion.market.pin import PinnedPlacement, PinnedPool, PinnedStorage

__all__ = [
    "CONTROLLER_HOST", "ENDPOINTS", "LUSTRE_EFA", "PREFIXES", "PUBLIC_CIDR", "RULES", "VPC_CIDR", "Location", "Rule",
    "addresses_needed", "launched_one_by_one", "lustre_deployment", "subnets", "wants_placement_group",
]  # fmt: skip

VPC_CIDR = ipaddress.IPv4Network("10.0.0.0/16")
PUBLIC_CIDR = "10.0.255.240/28"
"""Room for the NAT gateway; a /28 is the smallest subnet that AWS makes."""
RESERVED_ADDRESSES = 5
"""AWS keeps the first four addresses of a subnet and the last one."""
CONTROLLER_HOST = 10
"""The controller's place in its subnet: fixed, so that no node's user data has to wait for it or change with it."""
PREFIXES = (20, 18)
"""Sizes of a private subnet: the usual one, and one for more nodes. One that grew would replace every node in it."""

ENDPOINTS = ("ssm", "ssmmessages", "ec2messages", "logs", "ecr.api", "ecr.dkr")
"""What the nodes talk to without a NAT gateway; the bill has a line for each."""


def addresses_needed(placement: PinnedPlacement, zone: str | None) -> int:
    """Return how many addresses the subnet of a zone must have, those that AWS keeps included.

    A rolling replacement holds the old and the new nodes for a moment, so nodes count twice.
    """
    kinds = instance_types()
    here = [pool for pool in placement.pools if pool.zone == zone]
    nodes = sum(
        2 * pool.count * sum(nic.takes_address for nic in nics(kinds[pool.instance_type], rdma=pool.rdma))
        for pool in here
    )
    first = placement.pools[0].zone == zone
    shared = CONTROLLER_HOST + 1 if first and placement.controller else 0
    endpoints = 0 if placement.nat or not first else len(ENDPOINTS)
    # One interface per server of the file system (assumption: a server holds 1200 GiB at least).
    lustre = -(-(placement.storage.file_system_gib or 0) // 1200) + 1 if first and placement.storage.file_system else 0
    return RESERVED_ADDRESSES + nodes + shared + endpoints + lustre


def subnets(placement: PinnedPlacement) -> Mapping[str | None, str]:
    """Return the range of the private subnet in each zone of the placement, in the order of the pools.

    Raises: ValueError: when the VPC is too small (`validate.py` refuses that before).
    """
    zones = list(dict.fromkeys(pool.zone for pool in placement.pools))
    needed = max(addresses_needed(placement, zone) for zone in zones)
    for prefix in PREFIXES:
        ranges = list(VPC_CIDR.subnets(new_prefix=prefix))[:-1]  # the last one holds the public subnet
        if needed <= ranges[0].num_addresses and len(zones) <= len(ranges):
            return {zone: str(ranges[index]) for index, zone in enumerate(zones)}
    raise ValueError(f"{needed} addresses in each of {len(zones)} zones do not fit in {VPC_CIDR}")


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule of the nodes' security group, all protocols."""

    name: str
    direction: Literal["ingress", "egress"]
    peer: Literal["self", "internet"]


RULES = (
    Rule("self-in", "ingress", "self"),
    Rule("self-out", "egress", "self"),
    Rule("out", "egress", "internet"),
)
"""Nothing comes in from outside the group: people reach the nodes through Session Manager."""


@dataclass(frozen=True, slots=True)
class Location:
    """A bucket and the prefix in it, without slashes at the ends."""

    bucket: str
    prefix: str

    @property
    def uri(self) -> str:
        """The `s3://` form."""
        return f"s3://{self.bucket}/{self.prefix}" if self.prefix else f"s3://{self.bucket}"

    @classmethod
    def parse(cls, uri: str) -> Location:
        """Return the location of an `s3://bucket/prefix` address.

        Raises: ValueError: when it is not one.
        """
        scheme, separator, rest = uri.partition("://")
        bucket, _, prefix = rest.partition("/")
        if scheme != "s3" or not separator or not bucket:
            raise ValueError(f"{uri!r} is not an s3://bucket/prefix address")
        return cls(bucket, prefix.strip("/"))


def wants_placement_group(pool: PinnedPool) -> bool:
    """Return whether the pool's nodes get a cluster placement group of their own.

    Not for a single node, nor without RDMA; not for a capacity block, which has its place already and may fail although
    it has room; not for a reservation that the user made, which may be tied to a group of its own.
    """
    return pool.rdma and pool.count > 1 and not pool.capacity_block and pool.reservation is None


def launched_one_by_one(pool: PinnedPool, *, spot_auto_renew: bool) -> bool:
    """Return whether a pool is single instances rather than a group (docs/adr/0002): spot that nobody renews."""
    return pool.market is Market.SPOT and not spot_auto_renew


LUSTRE_EFA = False
"""Whether clients reach the file system through EFA, which would freeze its throughput."""


def lustre_deployment(storage: PinnedStorage) -> str:
    """Return the deployment type of the file system: persistent with a throughput of its own, else scratch."""
    return "SCRATCH_2" if storage.file_system_mbps_per_tib is None else "PERSISTENT_2"
