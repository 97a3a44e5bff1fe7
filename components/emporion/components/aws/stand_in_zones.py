"""Zones of the stand-in's account: zone ids are AWS's own, names are the account's: each has its own order."""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["REGIONS", "zones"]

# Zone ids from the bundled offers (2026-07) and moto 5.2.5's offerings per zone (2026-10); us-gov and cn have none.
_ZONES: Mapping[str, tuple[str, str]] = {
    "af-south-1": ("afs1", "123"),
    "ap-east-1": ("ape1", "123"),
    "ap-northeast-1": ("apne1", "124"),
    "ap-northeast-2": ("apne2", "1234"),
    "ap-northeast-3": ("apne3", "123"),
    "ap-south-1": ("aps1", "123"),
    "ap-southeast-1": ("apse1", "123"),
    "ap-southeast-2": ("apse2", "123"),
    "ap-southeast-3": ("apse3", "123"),
    "ap-southeast-4": ("apse4", "123"),
    "ca-central-1": ("cac1", "124"),
    "eu-central-1": ("euc1", "123"),
    "eu-central-2": ("euc2", "123"),
    "eu-north-1": ("eun1", "123"),
    "eu-south-1": ("eus1", "123"),
    "eu-south-2": ("eus2", "123"),
    "eu-west-1": ("euw1", "123"),
    "eu-west-2": ("euw2", "123"),
    "eu-west-3": ("euw3", "123"),
    "il-central-1": ("ilc1", "123"),
    "me-central-1": ("mec1", "123"),
    "me-south-1": ("mes1", "123"),
    "sa-east-1": ("sae1", "123"),
    "us-east-1": ("use1", "123456"),
    "us-east-2": ("use2", "123"),
    "us-west-1": ("usw1", "13"),
    "us-west-2": ("usw2", "1234"),
}
_LOCAL: Mapping[str, Mapping[str, str]] = {
    "us-east-1": {"use1-atl2-az1": "us-east-1-atl-2a"},
    "us-west-2": {"usw2-lax1-az1": "us-west-2-lax-1a", "usw2-lax1-az2": "us-west-2-lax-1b"},
}
REGIONS = tuple(sorted(_ZONES))


def zones(region: str) -> Mapping[str, str]:
    """Return zone id -> zone name, sorted by id; empty for a region that AWS does not have.

    The letters are shifted against the ids by one: who takes az1 for `a` is wrong here, as in most accounts.
    """
    if region not in _ZONES:
        return {}
    prefix, numbers = _ZONES[region]
    letters = "abcdefgh"[: len(numbers)]
    shifted = letters[1:] + letters[:1]
    found = {f"{prefix}-az{number}": f"{region}{letter}" for number, letter in zip(numbers, shifted, strict=True)}
    return dict(sorted({**found, **_LOCAL.get(region, {})}.items()))
