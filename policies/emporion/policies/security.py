"""Security: who gets in, what is encrypted, what rights and secrets lie about."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator, Sequence

from emporion.market.facts import (
    Address,
    Bucket,
    Disk,
    FileSystem,
    Grant,
    Ingress,
    Key,
    Node,
    SecurityGroup,
    Unreadable,
)
from emporion.policies.rule import Level, Severity, rule

__all__ = [
    "bucket_encrypted",
    "bucket_not_public",
    "bucket_tls_only",
    "disk_encrypted",
    "file_system_encrypted",
    "file_system_encrypted_in_transit",
    "gpu_node_no_assigned_address",
    "gpu_node_no_public_ip",
    "image_pinned",
    "metadata_session_tokens",
    "no_broad_role",
    "no_long_lived_keys",
    "no_public_ingress",
    "no_public_ssh",
    "no_secrets_in_user_data",
    "no_shared_keys",
    "no_wildcard_rights",
    "node_has_role",
    "rdma_placed_together",
    "rdma_self_rules",
    "resource_understood",
    "secure_boot",
    "store_expires",
    "store_protected",
]

ADMIN_PORTS = {22: "SSH", 3389: "RDP"}
ANYWHERE_PREFIX_BITS = 1
"""Two halves of the address space are the whole of it, written differently."""


def _open_to_all(ingress: Ingress) -> list[str]:
    return [source for source in ingress.sources if _is_anywhere(source)]


def _is_anywhere(source: str) -> bool:
    try:
        return ipaddress.ip_network(source, strict=False).prefixlen <= ANYWHERE_PREFIX_BITS
    except ValueError:
        return False  # a named range of the cloud; what means everybody is written as a CIDR block by its facts


@rule(
    "resource-understood",
    severity=Severity.HIGH,
    level=Level.MANDATORY,
    fix="look at its properties: some are of a type that its cloud does not take",
)
def resource_understood(resource: Unreadable) -> Iterator[str]:
    """Every resource can be judged: its properties are of the types that its cloud takes."""
    yield f"{resource.name} has properties {resource.properties}"


@rule(
    "no-public-ssh",
    severity=Severity.CRITICAL,
    level=Level.MANDATORY,
    fix="let in a network of your own, or use the cloud's session service",
    like=("CKV_AWS_24", "CKV_AWS_25", "CKV_GCP_2", "CKV_AZURE_10"),
)
def no_public_ssh(ingress: Ingress) -> Iterator[str]:
    """No machine takes SSH or RDP from everywhere."""
    if ingress.protocol not in {"tcp", "all"}:
        return
    first, last = ingress.ports
    for port, service in ADMIN_PORTS.items():
        if first <= port <= last:
            for source in _open_to_all(ingress):
                yield f"{ingress.name} takes {service} (port {port}) from {source}"


@rule(
    "no-public-ingress",
    severity=Severity.HIGH,
    fix="name the networks that need it, or put a load balancer in front",
    like=("CKV_AWS_260", "CKV_AZURE_160"),
)
def no_public_ingress(ingress: Ingress, *, allowed_ports: Sequence[str] = ()) -> Iterator[str]:
    """Nothing is open to everywhere, except ports that are allowed by name."""
    open_to = _open_to_all(ingress)
    if not open_to:
        return
    first, last = ingress.ports
    ports = str(first) if first == last else f"{first}-{last}"
    if ports not in allowed_ports:
        yield f"{ingress.name} takes {ingress.protocol} on ports {ports} from {', '.join(open_to)}"


@rule(
    "gpu-node-no-public-ip",
    severity=Severity.HIGH,
    level=Level.MANDATORY,
    fix="take the public address away and use the cloud's session service",
    like=("CKV_AWS_88", "CKV_GCP_40", "CKV_AZURE_119"),
)
def gpu_node_no_public_ip(node: Node) -> Iterator[str]:
    """GPU nodes have no public address."""
    if node.gpus and node.public_ip:
        yield f"{node.name} has {node.gpus} GPU{'s' if node.gpus > 1 else ''} and a public address"


@rule(
    "gpu-node-no-assigned-address",
    severity=Severity.HIGH,
    level=Level.MANDATORY,
    fix="take the address away from the machine",
)
def gpu_node_no_assigned_address(address: Address) -> Iterator[str]:
    """No public address is given to a GPU node afterwards."""
    if address.gpu_node:
        yield f"{address.name} is a public address of the GPU node {address.gpu_node}"


@rule(
    "metadata-session-tokens",
    severity=Severity.HIGH,
    level=Level.MANDATORY,
    fix="metadataOptions: httpTokens required",
    like=("CKV_AWS_79", "CKV_AWS_341"),
)
def metadata_session_tokens(node: Node, *, max_hops: int = 2) -> Iterator[str]:
    """Metadata is given only for a session token (IMDSv2), and not far away."""
    if not node.session_tokens:
        yield f"{node.name} answers metadata requests without a session token (IMDSv1)"
    if node.metadata_hops > max_hops:
        yield f"{node.name} lets metadata answers travel {node.metadata_hops} hops, allowed: {max_hops}"


@rule(
    "disk-encrypted",
    severity=Severity.HIGH,
    level=Level.MANDATORY,
    fix="turn encryption on",
    like=("CKV_AWS_3", "CKV_AWS_8", "CKV_AZURE_97"),
)
def disk_encrypted(disk: Disk) -> Iterator[str]:
    """Disks are encrypted."""
    if not disk.encrypted:
        yield f"{disk.name}{f' disk {disk.device}' if disk.device else ''} is not encrypted"


@rule(
    "file-system-encrypted", severity=Severity.HIGH, level=Level.MANDATORY, fix="choose a type that encrypts, at rest"
)
def file_system_encrypted(files: FileSystem) -> Iterator[str]:
    """File systems are encrypted at rest."""
    if not files.encrypted:
        yield f"{files.name} is not encrypted at rest"


@rule(
    "file-system-encrypted-in-transit",
    severity=Severity.MEDIUM,
    level=Level.MANDATORY,
    fix="choose a type that encrypts between its servers and the nodes",
)
def file_system_encrypted_in_transit(files: FileSystem) -> Iterator[str]:
    """File systems are encrypted in transit."""
    if not files.encrypted_in_transit:
        yield f"{files.name} is not encrypted in transit"


@rule(
    "bucket-encrypted",
    severity=Severity.HIGH,
    level=Level.MANDATORY,
    fix="set server-side encryption for the bucket",
    like=("CKV_AWS_145", "CKV_AWS_19"),
)
def bucket_encrypted(bucket: Bucket) -> Iterator[str]:
    """Buckets are encrypted at rest."""
    if not bucket.encrypted:
        yield f"{bucket.name} is not encrypted at rest"


@rule(
    "bucket-tls-only",
    severity=Severity.MEDIUM,
    level=Level.MANDATORY,
    fix="refuse requests without TLS",
    like=("CKV_AZURE_3", "CKV_AZURE_44"),
)
def bucket_tls_only(bucket: Bucket) -> Iterator[str]:
    """Buckets refuse requests without TLS."""
    if not bucket.tls_only:
        yield f"{bucket.name} takes requests without TLS"


@rule(
    "bucket-not-public",
    severity=Severity.CRITICAL,
    level=Level.MANDATORY,
    fix="block public access with all four switches of a BucketPublicAccessBlock, or the cloud's like",
    like=("CKV_AWS_53", "CKV_AWS_54", "CKV_AWS_55", "CKV_AWS_56", "CKV_GCP_29", "CKV_GCP_114", "CKV_AZURE_59"),
)
def bucket_not_public(bucket: Bucket) -> Iterator[str]:
    """Public access to buckets is closed off."""
    if not bucket.private:
        yield f"{bucket.name} can be made public, or is"


@rule(
    "no-wildcard-rights",
    severity=Severity.CRITICAL,
    level=Level.MANDATORY,
    fix="name the actions and the resources",
    like=("CKV_AWS_62", "CKV_AWS_63", "CKV_AWS_355"),
)
def no_wildcard_rights(grant: Grant) -> Iterator[str]:
    """No rights without bounds: every action, all of a service on everything, all but some."""
    for wildcard in grant.wildcards:
        yield f"{grant.name} grants {wildcard}"


@rule(
    "no-long-lived-keys",
    severity=Severity.CRITICAL,
    level=Level.MANDATORY,
    fix="give the machine or the workload a role of its own",
)
def no_long_lived_keys(key: Key) -> Iterator[str]:
    """No credentials that live until somebody removes them."""
    yield f"{key.name} is a long-lived key of {key.of}"


@rule(
    "no-shared-keys",
    severity=Severity.HIGH,
    level=Level.MANDATORY,
    fix="turn shared key access off; identities are enough",
)
def no_shared_keys(bucket: Bucket) -> Iterator[str]:
    """No account-wide key opens a store."""
    if bucket.shared_keys:
        yield f"{bucket.name} can be opened with a key of the whole account"


@rule(
    "no-secrets-in-user-data",
    severity=Severity.CRITICAL,
    level=Level.MANDATORY,
    fix="keep it in the cloud's secret store and let the node's role read it; renew what stood there",
    like=("CKV_AWS_46", "CKV_AZURE_45"),
)
def no_secrets_in_user_data(node: Node) -> Iterator[str]:
    """Start scripts and metadata hold no secrets."""
    for kind in node.secrets:
        yield f"the start script of {node.name} holds {kind}"


@rule(
    "rdma-self-rules",
    severity=Severity.HIGH,
    level=Level.MANDATORY,
    fix="let the group take all traffic from itself and send all traffic to itself, by rules that name the group",
)
def rdma_self_rules(group: SecurityGroup) -> Iterator[str]:
    """Security groups with EFA interfaces let all traffic within themselves through, in and out."""
    if not group.fast:
        return
    if not group.all_in_from_itself:
        yield f"{group.name} has EFA interfaces, but takes not all traffic from itself"
    if not group.all_out_to_itself:
        yield f"{group.name} has EFA interfaces, but sends not all traffic to itself"


@rule("node-has-role", severity=Severity.MEDIUM, fix="give it an instance profile or a managed identity")
def node_has_role(node: Node) -> Iterator[str]:
    """GPU nodes have an identity of their own, so that nobody puts keys on them."""
    if node.gpus and not node.role:
        yield f"{node.name} has no role"


@rule("no-broad-role", severity=Severity.HIGH, fix="make an identity with exactly the rights that the node uses")
def no_broad_role(node: Node) -> Iterator[str]:
    """No node runs under the cloud's default identity with all rights."""
    if node.broad_role:
        yield f"{node.name} runs under the cloud's default identity with all rights"


@rule("image-pinned", severity=Severity.MEDIUM, fix="name the image's version or digest, not its newest one")
def image_pinned(node: Node) -> Iterator[str]:
    """Machines start from an image that stays the same: named by id, version or digest."""
    image = node.image
    if image and (image.lower().endswith((":latest", "/latest")) or "resolve:ssm:" in image):
        yield f"{node.name} starts from {image}, which moves"


@rule(
    "store-protected",
    severity=Severity.MEDIUM,
    fix="set `protect`, and leave out what deletes a store together with its content",
)
def store_protected(bucket: Bucket) -> Iterator[str]:
    """Stores are not deleted together with what is in them."""
    if not bucket.protected:
        yield f"{bucket.name} can be deleted with everything in it"


@rule("store-expires", severity=Severity.LOW, fix="add a lifecycle rule for old objects, versions and broken uploads")
def store_expires(bucket: Bucket) -> Iterator[str]:
    """Something removes what is old from a store."""
    if not bucket.expires:
        yield f"{bucket.name} keeps everything for ever"


@rule(
    "rdma-placed-together",
    severity=Severity.MEDIUM,
    fix="put the machines into one placement group, else the fast network is slow or missing",
)
def rdma_placed_together(node: Node) -> Iterator[str]:
    """Machines with a fast network stand near each other."""
    if node.fast_network and not node.placed_together:
        yield f"{node.name} has RDMA interfaces and no placement group"


@rule("secure-boot", severity=Severity.LOW, fix="turn secure boot on where the image allows it", like=("CKV_GCP_39",))
def secure_boot(node: Node, *, wanted: bool = False) -> Iterator[str]:
    """Machines boot only what is signed, where that is wanted (GPU drivers then have to be signed too)."""
    if wanted and not node.secure_boot:
        yield f"{node.name} boots without checking signatures"
