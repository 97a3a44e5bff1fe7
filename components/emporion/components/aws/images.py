"""Which machine images the nodes start from.

Looked up when a plan is pinned (`api.py`), never by the program. Both purposes are Ubuntu 24.04, because controller and
nodes must run the same Slurm, and its Slurm (23.11) is the first of an Ubuntu with dynamic nodes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

__all__ = ["IMAGES", "ImageQuery"]


@dataclass(frozen=True, slots=True)
class ImageQuery:
    """How EC2's DescribeImages finds the newest image: the latest `CreationDate` of the owner's images of this name."""

    owner: str
    """Account id."""
    name: str
    """Name pattern; `*` and `?` as EC2's filters take them."""
    arch: str
    source: str


# Canonical's account and its name pattern; AWS's Deep Learning AMIs (driver, CUDA, EFA, container toolkit inside).
_CANONICAL = "documentation.ubuntu.com/aws/aws-how-to/instances/find-ubuntu-images, read 2026-08"
_DLAMI = "docs.aws.amazon.com/dlami/latest/devguide, Base OSS Nvidia Driver GPU AMI, release of 2026-07-21"

IMAGES: Mapping[tuple[str, str], ImageQuery] = {
    ("gpu", "x86_64"): ImageQuery(
        "898082745236", "Deep Learning Base OSS Nvidia Driver GPU AMI (Ubuntu 24.04) ????????", "x86_64", _DLAMI
    ),
    ("gpu", "arm64"): ImageQuery(
        "898082745236", "Deep Learning ARM64 Base OSS Nvidia Driver GPU AMI (Ubuntu 24.04) ????????", "arm64", _DLAMI
    ),
    ("controller", "x86_64"): ImageQuery(
        "099720109477", "ubuntu/images/hvm-ssd-gp3/ubuntu-noble-24.04-amd64-server-*", "x86_64", _CANONICAL
    ),
    ("controller", "arm64"): ImageQuery(
        "099720109477", "ubuntu/images/hvm-ssd-gp3/ubuntu-noble-24.04-arm64-server-*", "arm64", _CANONICAL
    ),
}
"""(purpose, architecture) -> query."""
