"""Which machine images the nodes start from: data/images.csv, looked up when a plan is pinned, never by the program.

An image is named by its URN (`publisher:offer:sku:version`, the version exact, never `latest`) or, when it is the
user's own, by its resource id. Some marketplace images are ordered under a purchase plan, which repeats three of the
URN's parts; such a URN ends in `#plan`.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

__all__ = ["ImageQuery", "ImageReference", "image_queries"]

_URN = re.compile(r"([\w.-]+):([\w.-]+):([\w.-]+):(\d+(?:\.\d+)+)(#plan)?")
_RESOURCE = re.compile(r"/?subscriptions/[^/]+/resourceGroups/[^/]+/providers/Microsoft\.Compute/.+", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class ImageQuery:
    """One row of the table."""

    publisher: str
    offer: str
    sku: str
    plan: bool

    def urn(self, version: str) -> str:
        """Return the URN of one version."""
        return f"{self.publisher}:{self.offer}:{self.sku}:{version}{'#plan' if self.plan else ''}"


@cache
def image_queries() -> Mapping[tuple[str, str], ImageQuery]:
    """Return (purpose, architecture) -> query."""
    text = files("emporion.components.azure").joinpath("data/images.csv").read_text(encoding="utf-8")
    rows = csv.DictReader(line for line in text.splitlines() if not line.startswith("#"))
    return {
        (row["purpose"], row["arch"]): ImageQuery(row["publisher"], row["offer"], row["sku"], row["plan"] == "yes")
        for row in rows
    }


@dataclass(frozen=True, slots=True)
class ImageReference:
    """A pinned image as compute takes it."""

    id: str | None
    """Resource id of an image of the user's own; None: of the marketplace."""
    publisher: str = ""
    offer: str = ""
    sku: str = ""
    version: str = ""
    plan: bool = False

    @classmethod
    def parse(cls, image: str) -> ImageReference:
        """Return the reference of a pinned image's id.

        Raises: ValueError: when it is neither a URN with an exact version nor the id of an image.
        """
        urn = _URN.fullmatch(image)
        if urn:
            return cls(None, urn[1], urn[2], urn[3], urn[4], plan=urn[5] is not None)
        if _RESOURCE.fullmatch(image):
            return cls(image if image.startswith("/") else f"/{image}")
        message = f"{image!r} is neither publisher:offer:sku:version (an exact version) nor the id of an image"
        raise ValueError(message)
