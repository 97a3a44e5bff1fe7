"""What Azure would refuse, or accept and then not do, found before anything is registered.

Each check is one of Z1 to Z10 of our notes on clusters with InfiniBand. The rest holds by construction: names of role
assignments are GUIDs that follow from the resource (Z6), their principals say that they are service principals (Z7), a
set with InfiniBand gets no proximity group and no zone beside its placement group (Z8), and an immutability policy is
never locked (Z10). What a failed allocation leaves behind is in the state and goes with the next update (Z9).
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterator, Mapping
from decimal import Decimal

from emporion.components.azure.images import ImageReference
from emporion.components.azure.plan import (
    INFINIBAND_RANGE,
    LUSTRE_SKUS,
    PREFIXES,
    VNET_CIDR,
    addresses_needed,
    lustre_prefix,
    lustre_tib,
    single_placement_group,
)
from emporion.components.azure.sizes import SET_LIMIT, Size, sizes
from emporion.market.errors import UserError, UserErrors, did_you_mean
from emporion.market.offer import Market
from emporion.market.pin import PinnedImage, PinnedPlacement, PinnedPool

__all__ = [
    "account_name", "check", "checkpoint_path", "immutability", "infiniband_set", "interruption", "lustre",
    "machine_name", "network", "one_set", "pool_size", "reservation", "room", "spot", "tags",
]  # fmt: skip

WHERE = "emporion:placement"
_RESERVATION = re.compile(
    r"/?subscriptions/[^/]+/resourceGroups/[^/]+/providers/Microsoft\.Compute/capacityReservationGroups/[\w.-]+",
    re.IGNORECASE,
)
_ACCOUNT = re.compile(r"[a-z0-9]{3,24}")
_MACHINE = re.compile(r"(?=.{1,64}$)[A-Za-z0-9](?:[A-Za-z0-9_.-]*[A-Za-z0-9_])?")

_TAG_REFUSED = re.compile(r"[<>%&\\?/]")
_TAG_KEY, _TAG_VALUE, _OWN_TAGS_ROOM = 128, 256, 46
_MOST_IMMUTABLE_DAYS = 146_000


def check(placement: PinnedPlacement) -> None:
    """Raise every problem of a placement at once.

    Raises: UserError: E-TYPE, E-INFINIBAND, E-SPOT, E-RESERVATION, E-LUSTRE, E-ADDRESSES, E-BUCKET, E-TAG, E-IMAGE.
    """
    found = list(_problems(placement))
    if found:
        raise UserErrors.of(found)


def _problems(placement: PinnedPlacement) -> Iterator[UserError]:
    yield from network(VNET_CIDR)
    for pool in placement.pools:
        yield from pool_size(pool, sizes())
        yield from image(pool.image)
        yield from infiniband_set(pool)
        yield from reservation(pool)
        yield from spot(pool)
        yield from interruption(pool, placement)
        yield from machine_name(pool.name)
    if placement.controller is not None:
        yield from image(placement.controller.image)
    yield from one_set(placement)
    yield from lustre(placement)
    yield from checkpoint_path(placement)
    yield from immutability(placement)
    yield from tags(placement)
    yield from room(placement)


def pool_size(pool: PinnedPool, known: Mapping[str, Size]) -> Iterator[UserError]:
    """Accept a size that is known, can be stood up, has InfiniBand where RDMA is asked, and runs the image."""
    size = known.get(pool.instance_type)
    if size is None:
        near = did_you_mean(pool.instance_type, set(known))
        yield UserError(
            "E-TYPE", f"pool {pool.name}: what a launch of {pool.instance_type} needs is not known to this version",
            WHERE, f"did you mean {near}?" if near else "pin another offer: emporion plan INTENT --pin STACK",
        )  # fmt: skip
        return
    if size.refused:
        yield UserError(
            "E-TYPE", f"pool {pool.name}: {pool.instance_type} cannot be stood up: {size.refused}", WHERE,
            "pin another offer: emporion plan INTENT --pin STACK",
        )  # fmt: skip
    if pool.rdma and not size.infiniband:
        having = sorted(name for name, other in known.items() if other.infiniband and not other.refused)
        yield UserError(
            "E-INFINIBAND", f"pool {pool.name} asks for RDMA, and {pool.instance_type} has no InfiniBand", WHERE,
            f"network.rdma: preferred, or one of {', '.join(having)}",
        )  # fmt: skip
    if pool.image.arch != size.arch:
        yield UserError(
            "E-TYPE", f"image {pool.image.id} is for {pool.image.arch}, and {pool.instance_type} is {size.arch}", WHERE,
            "pin again, or give an image of that architecture: image.id",
        )  # fmt: skip
    if pool.count < 1:
        yield UserError("E-TYPE", f"pool {pool.name} has {pool.count} nodes", WHERE, "pin again with a count above 0")


def image(found: PinnedImage) -> Iterator[UserError]:
    """Accept a marketplace URN with an exact version, or the id of an image of the user's own."""
    try:
        ImageReference.parse(found.id)
    except ValueError as error:
        yield UserError(
            "E-IMAGE", str(error), WHERE,
            "image.id: microsoft-dsvm:ubuntu-hpc:2404:24.04.2026110101, or /subscriptions/…/images/NAME",
        )  # fmt: skip


def one_set(placement: PinnedPlacement) -> Iterator[UserError]:
    """Z1: machines reach each other over InfiniBand inside one scale set only."""
    joined = [pool.name for pool in placement.pools if single_placement_group(pool)]
    if len(joined) > 1:
        yield UserError(
            "E-INFINIBAND",
            f"pools {', '.join(joined)} ask for RDMA, and InfiniBand joins only the machines of one scale set",
            WHERE, "pin a placement of one pool: network: low-latency with one type",
        )  # fmt: skip


def infiniband_set(pool: PinnedPool) -> Iterator[UserError]:
    """Z2: a set with InfiniBand is one placement group, which takes 100 machines."""
    if single_placement_group(pool) and pool.count > SET_LIMIT:
        yield UserError(
            "E-INFINIBAND", f"pool {pool.name} has {pool.count} nodes, and InfiniBand joins {SET_LIMIT} at most", WHERE,
            "fewer nodes, or larger ones: resources.gpus.count",
        )  # fmt: skip


def network(cidr: ipaddress.IPv4Network) -> Iterator[UserError]:
    """Z3: the network does not overlap the range of the RDMA network."""
    if cidr.overlaps(INFINIBAND_RANGE):
        yield UserError(
            "E-INFINIBAND", f"the network {cidr} overlaps {INFINIBAND_RANGE}, which InfiniBand uses", "azure/plan.py",
            "another private range",
        )  # fmt: skip


def reservation(pool: PinnedPool) -> Iterator[UserError]:
    """Z4: a capacity reservation needs a set over several placement groups, so InfiniBand excludes it."""
    if pool.capacity_block:
        yield UserError(
            "E-RESERVATION", f"pool {pool.name} asks for a capacity block, which Azure does not sell", WHERE,
            "access.capacity_block: false; access.reservation takes a capacity reservation group",
        )  # fmt: skip
    reserved = pool.market is Market.RESERVED or pool.reservation is not None
    if reserved and single_placement_group(pool):
        yield UserError(
            "E-RESERVATION",
            f"pool {pool.name} has InfiniBand, whose scale set Azure does not take with a capacity reservation",
            WHERE, "lifecycle.market: on_demand without access.reservation, or network.rdma: no",
        )  # fmt: skip
    if pool.reservation and not _RESERVATION.fullmatch(pool.reservation):
        yield UserError(
            "E-RESERVATION", f"{pool.reservation!r} is not the id of a capacity reservation group", WHERE,
            "access.reservation: subscriptions/…/Microsoft.Compute/capacityReservationGroups/NAME",
        )  # fmt: skip
    if pool.reservation and pool.market is Market.SPOT:
        yield UserError(
            "E-RESERVATION", f"pool {pool.name} is spot and names a reservation, and only one of them can hold", WHERE,
            "lifecycle.market: on_demand, or no access.reservation",
        )  # fmt: skip


def spot(pool: PinnedPool) -> Iterator[UserError]:
    """Z5: a ceiling belongs to spot alone, is above 0 and has five decimals at most."""
    price = pool.spot_max_price_usd_per_hour
    if price is None:
        return
    if pool.market is not Market.SPOT:
        yield UserError(
            "E-SPOT", f"pool {pool.name} is not spot and has a spot ceiling of ${price}", WHERE,
            "no lifecycle.spot_max_price, or lifecycle.market: spot",
        )  # fmt: skip
    if price <= 0:
        yield UserError(
            "E-SPOT", f"pool {pool.name} has a spot ceiling of ${price}, which Azure does not take", WHERE,
            "lifecycle.spot_max_price above 0, or none",
        )  # fmt: skip
    if price != price.quantize(Decimal("0.00001")):
        yield UserError(
            "E-SPOT", f"pool {pool.name} has a spot ceiling of ${price}, and Azure takes five decimals", WHERE,
            f"lifecycle.spot_max_price: {price.quantize(Decimal('0.00001'))}",
        )  # fmt: skip


def interruption(pool: PinnedPool, placement: PinnedPlacement) -> Iterator[UserError]:
    """Refuse to replace a lost spot node of a set with InfiniBand by one on demand.

    The priority of a set is fixed when it is made and InfiniBand does not leave it: only the whole pool falls back.
    """
    falls_back = pool.market is Market.SPOT and placement.spot_fallback == "true"
    if single_placement_group(pool) and falls_back and placement.on_interruption == "replace_node":
        yield UserError(
            "E-INFINIBAND",
            f"pool {pool.name} would replace a lost spot node by one on demand, and InfiniBand does not leave a scale "
            "set, whose machines all have one priority",
            WHERE, "lifecycle.on_interruption: replace_pool, or spot_fallback: pause",
        )  # fmt: skip


def machine_name(name: str) -> Iterator[UserError]:
    """Accept 1 to 64 letters, digits, `-`, `_` and `.` as a machine's name, no `-` or `.` last."""
    if not _MACHINE.fullmatch(name):
        yield UserError(
            "E-NAME", f"{name[:80]!r} cannot be the name of a machine of Azure", WHERE,
            "1 to 64 letters, digits, `-`, `_` and `.`; a letter or digit first, no `-` or `.` last",
        )  # fmt: skip
    elif "microsoft" in name.lower():
        yield UserError("E-NAME", f"{name!r} holds a word that Azure keeps for itself", WHERE, "another name")


def account_name(name: str) -> Iterator[UserError]:
    """Accept 3 to 24 lower-case letters and digits as a storage account's name."""
    if not _ACCOUNT.fullmatch(name):
        yield UserError(
            "E-NAME", f"{name[:40]!r} cannot be the name of a storage account", WHERE,
            "3 to 24 lower-case letters and digits",
        )  # fmt: skip


def lustre(placement: PinnedPlacement) -> Iterator[UserError]:
    """Accept a file system that Azure Managed Lustre makes."""
    storage = placement.storage
    if storage.file_system is None:
        return
    speed = storage.file_system_mbps_per_tib
    if speed is not None and speed not in LUSTRE_SKUS:
        yield UserError(
            "E-LUSTRE", f"a Lustre file system of {speed} MB/s per TiB cannot be made", WHERE,
            f"one of {', '.join(map(str, LUSTRE_SKUS))}",
        )  # fmt: skip
        return
    if not storage.file_system_gib or lustre_prefix(lustre_tib(storage)) is None:
        size = "?" if storage.file_system_gib is None else storage.file_system_gib
        yield UserError(
            "E-LUSTRE", f"a Lustre file system of {size} GiB cannot be made", WHERE,
            "resources.storage: up to 400tib; it is rounded up to what Azure Managed Lustre sells",
        )  # fmt: skip


def checkpoint_path(placement: PinnedPlacement) -> Iterator[UserError]:
    """Refuse a store of the user's own: its address names no resource group, so no role on it can be given."""
    path = placement.storage.checkpoint_path
    if path is not None:
        yield UserError(
            "E-BUCKET", f"{path} is not a store in which this version can let Azure's nodes write", WHERE,
            "leave checkpoint_path out: checkpoints then go to the cluster's own storage account",
        )  # fmt: skip


def immutability(placement: PinnedPlacement) -> Iterator[UserError]:
    """Accept 1 to 146,000 days for which a container keeps its data (MSC immutable storage, 2026-11)."""
    days = placement.storage.object_lock_days
    if days is not None and not 1 <= days <= _MOST_IMMUTABLE_DAYS:
        yield UserError(
            "E-BUCKET", f"checkpoints cannot be kept for {days} days", WHERE,
            f"access.object_lock_days: 1 to {_MOST_IMMUTABLE_DAYS}",
        )  # fmt: skip


def room(placement: PinnedPlacement) -> Iterator[UserError]:
    """Refuse more nodes than the subnet has addresses."""
    needed = addresses_needed(placement)
    if needed > 2 ** (32 - min(PREFIXES)):
        yield UserError(
            "E-ADDRESSES", f"{needed} addresses do not fit in the cluster's {VNET_CIDR}", WHERE, "fewer nodes"
        )


def tags(placement: PinnedPlacement) -> Iterator[UserError]:
    """Accept only tags that every type of Azure takes beside our own four (storage takes keys of 128 characters)."""
    if len(placement.tags) > _OWN_TAGS_ROOM:
        yield UserError(
            "E-TAG", f"{len(placement.tags)} tags, and Azure takes {_OWN_TAGS_ROOM} beside ours", WHERE, "fewer tags"
        )
    for key, value in placement.tags:
        reserved = key.lower().startswith(("microsoft", "azure", "windows"))
        if _TAG_REFUSED.search(key) or not 0 < len(key) <= _TAG_KEY or reserved:
            yield UserError(
                "E-TAG", f"{key!r} cannot be the key of a tag", WHERE,
                f"1 to {_TAG_KEY} characters without < > % & \\ ? /, not beginning with microsoft, azure or windows",
            )  # fmt: skip
        if len(value) > _TAG_VALUE:
            yield UserError(
                "E-TAG", f"the value of tag {key!r} is longer than Azure takes", WHERE, f"at most {_TAG_VALUE} letters"
            )
