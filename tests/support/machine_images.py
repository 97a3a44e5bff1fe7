"""Machine images of the regions in which tests plan."""

from __future__ import annotations

from dataclasses import replace

from emporion.market.clouds import FoundImage
from emporion.market.plan import ImageKey

__all__ = ["IMAGES", "newer"]

PLACES = (
    ("aws", "us-east-1"), ("aws", "us-east-2"), ("aws", "us-west-2"), ("azure", "eastus"), ("gcp", "us-central1"),
)  # fmt: skip
IMAGES = {
    ImageKey(*place, purpose, found.arch): found
    for place in PLACES
    for purpose, found in (
        ("gpu", FoundImage("ami-gpu", "gpu image", "2026-11-01", "x86_64", "580.95", "1.44")),
        ("controller", FoundImage("ami-cpu", "cpu image", "2026-11-02", "x86_64", None, None)),
    )
}
"""An image for each purpose in each of `PLACES`."""


def newer(purpose: str, image_id: str) -> dict[ImageKey, FoundImage]:
    """Return `IMAGES` with another image for a purpose, everywhere."""
    return {key: replace(found, id=image_id) if key.purpose == purpose else found for key, found in IMAGES.items()}
