"""The shape of a cluster as plain data: addresses, scale sets, names. Pure, so that `validate.py` can look first."""

from __future__ import annotations

import ipaddress
import re
import uuid
from decimal import Decimal

from emporion.components.azure.sizes import sizes
from emporion.market.offer import Market
from emporion.market.pin import PinnedPlacement, PinnedPool, PinnedStorage

__all__ = [
    "BASTION_CIDR", "CHECKPOINTS", "CONTROLLER_HOST", "INFINIBAND_RANGE", "LUSTRE_SKUS", "PREFIXES",
    "RESERVED_ADDRESSES", "ROLES", "VNET_CIDR", "addresses_needed", "assignment_name", "is_infiniband",
    "lustre_cidr", "lustre_prefix", "lustre_sku", "lustre_tib", "max_price", "nodes_cidr", "role_definition",
    "single_placement_group", "storage_account_name", "wants_proximity_group",
]  # fmt: skip

VNET_CIDR = ipaddress.IPv4Network("10.0.0.0/16")
INFINIBAND_RANGE = ipaddress.IPv4Network("172.16.0.0/16")
"""Kept for the RDMA network (MSC setup-infiniband.md, read 2026-11); no network security group filters it."""
BASTION_CIDR = "10.0.255.192/26"
"""Bastion takes a subnet of a /26 or larger (learn.microsoft.com/azure/bastion/configuration-settings, 2026-11)."""
LUSTRE_SPACE = ipaddress.IPv4Network("10.0.252.0/23")
RESERVED_ADDRESSES = 5
"""Azure keeps the first four addresses of a subnet and the last one."""
CHECKPOINTS = "checkpoints"
"""Name of the container."""
CONTROLLER_HOST = 10
"""The controller's place in its subnet: fixed, so that no node's custom data has to wait for it."""
PREFIXES = (20, 18)
"""Sizes of the nodes' subnet: the usual one, and one for more nodes."""

ROLES = {
    "blobs": "ba92f5b4-2d11-453d-a403-e96b0029c9fe",  # Storage Blob Data Contributor
    "read_secrets": "4633458b-17de-408a-b874-0445c86b69e6",  # Key Vault Secrets User
    "write_secrets": "b86a8fe4-44ce-4948-aee5-eccb2c155cd7",  # Key Vault Secrets Officer
}
"""Built-in roles by id: a name can be changed, an id never (learn.microsoft.com built-in roles, 2026-11)."""

LUSTRE_SKUS = {40: (48, "AMLFS-Durable-Premium-40"), 125: (16, "AMLFS-Durable-Premium-125"),
               250: (8, "AMLFS-Durable-Premium-250"), 500: (4, "AMLFS-Durable-Premium-500")}  # fmt: skip
"""MB/s per TiB -> (smallest size and step in TiB, SKU) of Azure Managed Lustre (terraform-provider-azurerm)."""
_LUSTRE_PREFIXES = ((16, 27), (40, 26), (92, 25), (196, 24), (400, 23))
"""Up to so many TiB a file system needs a subnet of its own of this size (amlfs-prerequisites, 2026-11)."""
_NOT_IN_ACCOUNT = re.compile(r"[^a-z0-9]")


def single_placement_group(pool: PinnedPool) -> bool:
    """Return whether the pool's scale set is one placement group: InfiniBand does not leave one."""
    return pool.rdma


def wants_proximity_group(pool: PinnedPool) -> bool:
    """Return whether the nodes are kept in one data centre by a proximity placement group.

    Not with InfiniBand, whose placement group is closer already and would be overconstrained by a second one; not with
    a reservation, which has its place.
    """
    return not pool.rdma and pool.count > 1 and pool.market is not Market.RESERVED and pool.reservation is None


def max_price(pool: PinnedPool) -> float:
    """Return the ceiling of a spot pool as Azure takes it; -1: up to the on-demand price, never evicted for a price."""
    price = pool.spot_max_price_usd_per_hour
    return -1.0 if price is None else float(price.quantize(Decimal("0.00001")))


def addresses_needed(placement: PinnedPlacement) -> int:
    """Return how many addresses the nodes' subnet must have, those that Azure keeps included.

    A pool that is replaced needs its old addresses only: the old set goes before the new one comes.
    """
    controller = CONTROLLER_HOST + 1 if placement.controller else 0
    return RESERVED_ADDRESSES + controller + sum(pool.count for pool in placement.pools)


def nodes_cidr(placement: PinnedPlacement) -> str:
    """Return the range of the nodes' subnet.

    Raises: ValueError: when the network is too small (`validate.py` refuses that before).
    """
    needed = addresses_needed(placement)
    for prefix in PREFIXES:
        first = next(VNET_CIDR.subnets(new_prefix=prefix))
        if needed <= first.num_addresses:
            return str(first)
    message = f"{needed} addresses do not fit in a subnet of {VNET_CIDR}"
    raise ValueError(message)


def lustre_sku(storage: PinnedStorage) -> str:
    """Return the SKU of the file system; without a throughput that of the cost model."""
    return LUSTRE_SKUS[storage.file_system_mbps_per_tib or 125][1]


def lustre_tib(storage: PinnedStorage) -> int:
    """Return the file system's size: the next step of its SKU above what is asked."""
    step, _ = LUSTRE_SKUS[storage.file_system_mbps_per_tib or 125]
    return max(1, -(-(storage.file_system_gib or 0) // (1024 * step))) * step


def lustre_prefix(tib: int) -> int | None:
    """Return the size of the file system's subnet; None: no such file system can be made."""
    return next((prefix for most, prefix in _LUSTRE_PREFIXES if tib <= most), None)


def lustre_cidr(storage: PinnedStorage) -> str:
    """Return the range of the file system's subnet."""
    prefix = lustre_prefix(lustre_tib(storage)) or LUSTRE_SPACE.prefixlen
    return str(next(LUSTRE_SPACE.subnets(new_prefix=prefix)))


def storage_account_name(emporion_id: str) -> str:
    """Return the name of a storage account: 3 to 24 lower-case letters and digits, unique in all of Azure."""
    return f"em{_NOT_IN_ACCOUNT.sub('', emporion_id)}"[:24]


def assignment_name(emporion_id: str) -> str:
    """Return the name of a role assignment, which must be a GUID: the same for the same resource."""
    return str(uuid.uuid5(uuid.NAMESPACE_URL, f"emporion:{emporion_id}"))


def role_definition(subscription: str, role: str) -> str:
    """Return the id of a built-in role of `ROLES`."""
    return f"/subscriptions/{subscription}/providers/Microsoft.Authorization/roleDefinitions/{ROLES[role]}"


def is_infiniband(size: str) -> bool:
    """Return whether a size of the table has InfiniBand."""
    known = sizes().get(size)
    return known is not None and known.infiniband
