"""How many machines of a type the account may run: EC2's quotas count vCPUs per family and market."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, cast

from emporion.components.aws.api.session import Clients, unless_absent

__all__ = ["QUOTA_CODES", "machines_allowed"]

# Quota codes of service `ec2`, the same in every region and account ("Amazon EC2 service quotas",
# docs.aws.amazon.com/general/latest/gr/ec2-service.html, and `aws service-quotas list-service-quotas`, read 2026-11).
# P4 and older P share one spot quota, P5 has its own; sources differ on P6 spot, so it has no row: unknown.
_STANDARD = ("L-1216C47A", "L-34B43A08")
QUOTA_CODES: Mapping[str, tuple[str, str | None]] = {
    **dict.fromkeys(("a", "c", "d", "h", "i", "m", "r", "t", "z"), _STANDARD),
    "dl": ("L-6E869C2A", "L-85EED4F7"),
    "f": ("L-74FC7D96", "L-88CF9481"),
    "g": ("L-DB2E81BA", "L-3819A6DF"),
    "gr": ("L-DB2E81BA", "L-3819A6DF"),
    "inf": ("L-1945791B", "L-B5D1601B"),
    "p": ("L-417A185B", None),
    "p2": ("L-417A185B", "L-7212CCBC"),
    "p3": ("L-417A185B", "L-7212CCBC"),
    "p4": ("L-417A185B", "L-7212CCBC"),
    "p5": ("L-417A185B", "L-C4BD4855"),
    "trn": ("L-2C3B7624", "L-6B0D517C"),
    "vt": ("L-DB2E81BA", "L-3819A6DF"),
    "x": ("L-7295265B", "L-E3A00192"),
}
"""Family, with its generation where that decides -> (quota of on-demand, quota of spot)."""

_FAMILY = re.compile(r"(?P<letters>[a-z]+)(?P<generation>\d+)")


def quota_code(instance_type: str, market: str) -> str | None:
    """Return the code of the quota that a type counts against; None: unknown, or a market without one."""
    match = _FAMILY.match(instance_type)
    if match is None:
        return None
    letters = re.sub(r"^(i)m$|^(i)s$", "i", match["letters"])  # im4gn and is4gen are storage machines of family I
    codes = QUOTA_CODES.get(letters + match["generation"]) or QUOTA_CODES.get(letters)
    if codes is None or market not in ("on_demand", "spot"):
        return None
    return codes[0] if market == "on_demand" else codes[1]


def machines_allowed(clients: Clients, instance_type: str, market: str) -> int | None:
    """Return how many machines of this type the account's vCPU quota allows; None: AWS does not tell."""
    code = quota_code(instance_type, market)
    if code is None:
        return None
    answer = unless_absent(
        {"NoSuchResourceException"},
        lambda: clients.service_quotas.get_service_quota(ServiceCode="ec2", QuotaCode=code),
    )
    if answer is None:
        return None
    types = unless_absent(
        {"InvalidInstanceType"},
        lambda: clients.ec2.describe_instance_types(InstanceTypes=cast("Any", [instance_type])),  # newer than the stubs
    )
    vcpus = types["InstanceTypes"][0]["VCpuInfo"]["DefaultVCpus"] if types and types["InstanceTypes"] else None
    return int(answer["Quota"]["Value"]) // vcpus if vcpus else None
