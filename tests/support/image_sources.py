"""Clouds that are asked for images alone: one that answers, one that cannot be reached."""

from __future__ import annotations

from emporion.market.clouds import FoundImage
from emporion.market.errors import ExitCode, UserError

__all__ = ["Answering", "Unreachable"]


class Answering:
    """Names the region and the purpose in each image's id."""

    def __init__(self, region: str) -> None:
        self.region = region

    def image(self, purpose: str, arch: str) -> FoundImage:
        return FoundImage(f"ami-{self.region}-{purpose}", f"{purpose} image", "2026-11-01", arch, None, None)


class Unreachable(Answering):
    """Refuses as a cloud without a network does."""

    def image(self, purpose: str, arch: str) -> FoundImage:
        raise UserError(
            "E-CLOUD", f"cannot ask for the {purpose} image of {arch}", self.region, "try later", ExitCode.FAILED
        )
