"""What AWS would refuse, or accept and then not do, found before anything is registered.

Each check is one of A1 to A15 of our notes on EFA clusters; what a placement cannot express is checked on the data that
this folder builds it from. The rest holds by construction: the order of what depends on what (A10, A13), a description
that never changes (A11), a template version that is a number (A12). How many machines the account may run (A14) and
what a reservation really holds only the cloud knows: it refuses the launch with a code that `errors.py` explains.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from emporion.components.aws.deployable import is_local_zone
from emporion.components.aws.instance_types import InstanceType, instance_types
from emporion.components.aws.nics import Nic, nics, problems
from emporion.components.aws.plan import (
    LUSTRE_EFA,
    PREFIXES,
    RULES,
    VPC_CIDR,
    Location,
    Rule,
    addresses_needed,
    lustre_deployment,
)
from emporion.market.errors import UserError, UserErrors, did_you_mean
from emporion.market.offer import Market
from emporion.market.pin import PinnedPlacement, PinnedPool

__all__ = [
    "check", "checkpoint_path", "efa_rules", "interfaces", "lustre", "lustre_efa", "one_reservation", "one_zone",
    "pool_type", "public_address", "reservation", "room", "tags",
]  # fmt: skip

WHERE = "emporion:placement"
_RESERVATION_ID = re.compile(r"cr-[0-9a-f]{8,17}")
_TAG_TEXT = re.compile(r"[\w\s+\-=.:/@]*")
_TAG_KEY, _TAG_VALUE, _OWN_TAGS_ROOM = 128, 256, 46
_PERSISTENT_2_MBPS = (125, 250, 500, 1000)


def check(placement: PinnedPlacement) -> None:
    """Raise every problem of a placement at once.

    Raises: UserError: E-TYPE, E-EFA, E-ZONE, E-RESERVATION, E-LUSTRE, E-ADDRESSES, E-BUCKET: see the checks.
    """
    found = list(_problems(placement))
    if found:
        raise UserErrors.of(found)


def _problems(placement: PinnedPlacement) -> Iterator[UserError]:
    known = instance_types()
    yield from efa_rules(RULES)
    unknown = False
    for pool in placement.pools:
        refused = list(pool_type(pool, known))
        unknown = unknown or bool(refused)
        yield from refused
        yield from reservation(pool)
        if not refused:
            layout = nics(known[pool.instance_type], rdma=pool.rdma)
            yield from interfaces(known[pool.instance_type], layout)
            yield from public_address(pool.name, layout, public=False)
    yield from one_zone(placement)
    yield from one_reservation(placement)
    yield from lustre(placement)
    yield from checkpoint_path(placement)
    yield from tags(placement)
    if not unknown:
        yield from room(placement)


def efa_rules(rules: Sequence[Rule]) -> Iterator[UserError]:
    """A1: the nodes' group lets all protocols from itself and to itself; an open egress does not replace the second."""
    for direction in ("ingress", "egress"):
        if not any(rule.direction == direction and rule.peer == "self" for rule in rules):
            yield UserError(
                "E-EFA", f"the security group has no {direction} rule for all protocols that names the group itself",
                "security group", "add the rule by the group's id: EFA traffic matches no address range",
            )  # fmt: skip


def public_address(pool: str, layout: Sequence[Nic], *, public: bool) -> Iterator[UserError]:
    """A2: EC2 gives no public address to a launch with several interfaces."""
    if public and len(layout) > 1:
        yield UserError(
            "E-EFA", f"pool {pool} asks for a public address with {len(layout)} network interfaces", WHERE,
            "leave the address out: nodes go out through the NAT gateway and are reached by emporion ssh",
        )  # fmt: skip


def interfaces(kind: InstanceType, layout: Sequence[Nic]) -> Iterator[UserError]:
    """A3: every interface is on a card and device that the type has, one EFA interface a card."""
    for problem in problems(kind, layout):
        yield UserError("E-EFA", f"{kind.name}: {problem}", "network interfaces", "mend the layout in aws/nics.py")


def pool_type(pool: PinnedPool, known: Mapping[str, InstanceType]) -> Iterator[UserError]:
    """A4: the type is known, has EFA where RDMA is asked, and the image runs on it."""
    kind = known.get(pool.instance_type)
    if kind is None:
        near = did_you_mean(pool.instance_type, set(known))
        hint = f"did you mean {near}?" if near else "pin another offer: emporion plan INTENT --pin STACK"
        yield UserError(
            "E-TYPE", f"pool {pool.name}: the network interfaces of {pool.instance_type} are not known to this version",
            WHERE, hint,
        )  # fmt: skip
        return
    if pool.rdma and not kind.efa_interfaces:
        with_efa = sorted(name for name, other in known.items() if other.efa_interfaces and other.gpus == kind.gpus)
        yield UserError(
            "E-EFA", f"pool {pool.name} asks for RDMA, and {pool.instance_type} has no EFA", WHERE,
            f"network.rdma: preferred, or a type with EFA such as {with_efa[0] if with_efa else 'p4d.24xlarge'}",
        )  # fmt: skip
    if pool.image.arch != kind.arch:
        yield UserError(
            "E-TYPE", f"image {pool.image.id} is for {pool.image.arch}, and {pool.instance_type} is {kind.arch}", WHERE,
            "pin again, or give an image of that architecture: image.id",
        )  # fmt: skip
    if pool.count < 1:
        yield UserError("E-TYPE", f"pool {pool.name} has {pool.count} nodes", WHERE, "pin again with a count above 0")


def one_zone(placement: PinnedPlacement) -> Iterator[UserError]:
    """A5: nodes that share a fabric are in one zone; a file system is in the zone of the first pool."""
    zones = sorted({pool.zone or "?" for pool in placement.pools if pool.rdma})
    if len(zones) > 1:
        yield UserError(
            "E-ZONE", f"the pools with RDMA are in {len(zones)} zones ({', '.join(zones)}), and EFA does not leave one",
            WHERE, "pin a placement at one site: network: low-latency",
        )  # fmt: skip
    first = placement.pools[0].zone
    if first is None or not is_local_zone(first):
        return
    if placement.storage.file_system:
        yield UserError(
            "E-ZONE", f"{first} is an AWS Local Zone, where FSx for Lustre is not offered", WHERE,
            "resources.storage_type: object, or a zone of the region itself",
        )  # fmt: skip
    if not placement.nat:
        yield UserError(
            "E-ZONE", f"{first} is an AWS Local Zone, where there are no interface endpoints", WHERE,
            "access.nat: true, or a zone of the region itself",
        )  # fmt: skip


def reservation(pool: PinnedPool) -> Iterator[UserError]:
    """A6: a capacity block names its id, is of a type that is sold so, and is never spot."""
    known = instance_types().get(pool.instance_type)
    if pool.capacity_block and not pool.reservation:
        yield UserError(
            "E-RESERVATION", f"pool {pool.name} runs in a capacity block, and its id is not given", WHERE,
            "access.reservation: cr-… (`aws ec2 describe-capacity-reservations` lists them)",
        )  # fmt: skip
    if pool.capacity_block and known and not known.capacity_block:
        sold = sorted(name for name, kind in instance_types().items() if kind.capacity_block)
        yield UserError(
            "E-RESERVATION", f"{pool.instance_type} is not sold in capacity blocks", WHERE, f"one of {', '.join(sold)}"
        )
    if pool.reservation and not _RESERVATION_ID.fullmatch(pool.reservation):
        yield UserError(
            "E-RESERVATION", f"{pool.reservation!r} is not the id of a capacity reservation", WHERE,
            "access.reservation: cr- and 17 hexadecimal digits",
        )  # fmt: skip
    if pool.reservation and pool.market is Market.SPOT:
        yield UserError(
            "E-RESERVATION", f"pool {pool.name} is spot and names a reservation, and only one of them can hold", WHERE,
            "lifecycle.market: on_demand, or no access.reservation",
        )  # fmt: skip


def one_reservation(placement: PinnedPlacement) -> Iterator[UserError]:
    """A7: a reservation holds one type in one zone, so pools that share it have both in common."""
    for used in sorted({pool.reservation for pool in placement.pools if pool.reservation}):
        kinds = sorted({f"{p.instance_type} in {p.zone or '?'}" for p in placement.pools if p.reservation == used})
        if len(kinds) > 1:
            yield UserError(
                "E-RESERVATION", f"reservation {used} is asked for {' and '.join(kinds)}, and it holds one of them",
                WHERE, "pin a placement of one type at one site, or leave access.reservation out",
            )  # fmt: skip


def lustre(placement: PinnedPlacement) -> Iterator[UserError]:
    """A8: size and throughput of the file system are ones that FSx makes (docs.aws.amazon.com/fsx, read 2026-08)."""
    storage = placement.storage
    if storage.file_system is None:
        return
    gib = storage.file_system_gib
    if gib is None or not (gib == 1200 or (gib > 0 and gib % 2400 == 0)):  # noqa: PLR2004 - the rule itself
        yield UserError(
            "E-LUSTRE", f"a Lustre file system of {'?' if gib is None else gib} GiB cannot be made", WHERE,
            "resources.storage: 1200gib, or a multiple of 2400gib",
        )  # fmt: skip
    speed = storage.file_system_mbps_per_tib
    if speed is not None and speed not in _PERSISTENT_2_MBPS:
        yield UserError(
            "E-LUSTRE", f"a Lustre file system of {speed} MB/s per TiB cannot be made", WHERE,
            f"one of {', '.join(map(str, _PERSISTENT_2_MBPS))}, or none for scratch storage",
        )  # fmt: skip
    yield from lustre_efa(lustre_deployment(storage), efa=LUSTRE_EFA, metadata_configuration=False)


def lustre_efa(deployment_type: str, *, efa: bool, metadata_configuration: bool) -> Iterator[UserError]:
    """A9: EFA to the file system needs PERSISTENT_2 with a metadata configuration; elsewhere it is dropped silently."""
    if efa and (deployment_type != "PERSISTENT_2" or not metadata_configuration):
        yield UserError(
            "E-LUSTRE", f"a {deployment_type} file system takes no EFA", WHERE,
            "PERSISTENT_2 with a metadata configuration, or EFA for the nodes alone",
        )  # fmt: skip


def room(placement: PinnedPlacement) -> Iterator[UserError]:
    """A15: the subnet of each zone has an address for every interface that takes one."""
    zones = list(dict.fromkeys(pool.zone for pool in placement.pools))
    needed = max(addresses_needed(placement, zone) for zone in zones)
    fits = [
        prefix
        for prefix in PREFIXES
        if needed <= 2 ** (32 - prefix) and len(zones) < 2 ** (prefix - VPC_CIDR.prefixlen)
    ]
    if not fits:
        yield UserError(
            "E-ADDRESSES", f"{needed} addresses in each of {len(zones)} zones do not fit in the cluster's {VPC_CIDR}",
            WHERE, "fewer nodes, or fewer zones",
        )  # fmt: skip


def checkpoint_path(placement: PinnedPlacement) -> Iterator[UserError]:
    """Accept only an S3 address as the user's own bucket."""
    path = placement.storage.checkpoint_path
    if path is None:
        return
    try:
        Location.parse(path)
    except ValueError as error:
        yield UserError("E-BUCKET", str(error), WHERE, "checkpoint_path: s3://bucket/prefix")


def tags(placement: PinnedPlacement) -> Iterator[UserError]:
    """Accept only tags that AWS takes beside our own four (docs.aws.amazon.com/tag-editor, read 2026-08)."""
    if len(placement.tags) > _OWN_TAGS_ROOM:
        yield UserError(
            "E-TAG", f"{len(placement.tags)} tags, and AWS takes {_OWN_TAGS_ROOM} beside ours", WHERE, "fewer tags"
        )
    for key, value in placement.tags:
        if not _TAG_TEXT.fullmatch(key) or not 0 < len(key) <= _TAG_KEY or key.lower().startswith("aws:"):
            yield UserError(
                "E-TAG", f"{key!r} cannot be the key of a tag", WHERE,
                f"1 to {_TAG_KEY} letters, digits, spaces and + - = . _ : / @, not beginning with aws:",
            )  # fmt: skip
        if not _TAG_TEXT.fullmatch(value) or len(value) > _TAG_VALUE:
            yield UserError(
                "E-TAG", f"the value of tag {key!r} has a character or a length that AWS does not take", WHERE,
                f"at most {_TAG_VALUE} letters, digits, spaces and + - = . _ : / @",
            )  # fmt: skip
