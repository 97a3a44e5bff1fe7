"""Azure's stand-in provider plugin: every rule that the local cloud needs of this cloud, in one record.

::

    stand_in_network.py   groups, networks, Bastion     stand_in_launch.py      how machines start
    stand_in_machines.py  machines and scale sets       stand_in_references.py  what they share
    stand_in_storage.py   storage, vault, identities
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from emporion.components.azure.images import image_queries
from emporion.components.azure.stand_in_launch import group, instance, machine_outputs, reservation, tag_inputs, vcpus
from emporion.components.azure.stand_in_machines import MACHINES
from emporion.components.azure.stand_in_network import NETWORK
from emporion.components.azure.stand_in_references import VM, exists
from emporion.components.azure.stand_in_storage import STORAGE
from emporion.market.errors import did_you_mean
from emporion.market.stand_in import ImageTemplate, Making, Refusal, StandIn, TypeRule
from emporion.market.tables import rows
from emporion.market.wire import UNKNOWN_TEXT

__all__ = ["STAND_IN", "SUBSCRIPTION"]

SUBSCRIPTION = "00000000-0000-0000-0000-000000000000"
"""No Azure subscription has it: programs and stand-ins tell the local world by it."""
TENANT = "00000000-0000-0000-0000-000000000001"
MAX_ATTEMPTS = 6
"""Assumed: the provider's own number is not published."""
_ZONES = ("1", "2", "3")


@cache
def _regions() -> tuple[str, ...]:
    """Return the regions of the market's table."""
    return tuple(row["region"] for row in rows("regions.csv") if row["provider"] == "azure")


def _zones(region: str) -> Mapping[str, str]:
    """Return physical zone -> the reserved subscription's logical zone; that every region has three is assumed."""
    return {f"{region}-az{number}": number for number in _ZONES} if region in _regions() else {}


def _generic(token: str) -> TypeRule:
    """Return the rule for a type without one: an id by Azure's pattern, no more claims than that."""
    _, module, name = token.split(":")
    kind = f"Microsoft.{module.capitalize()}/{name[0].lower()}{name[1:]}s"
    return TypeRule(
        kind,
        f"Microsoft.{module.capitalize()}:{name}",
        f"/subscriptions/{{account}}/resourceGroups/{{resourceGroupName}}/providers/{kind}/{{hex20}}",
        outputs={"type": kind},
        replace=frozenset({"resourceGroupName", "location"}),
        exists=exists(),
    )


def _message(rule: TypeRule, verb: str, name: str, refusal: Refusal, request_id: str) -> str:
    """Return an error as the provider words it."""
    del request_id
    if not refusal.status:
        return f"{verb} {rule.noun} ({name}): azure-native: {refusal.text}"
    return (
        f"{verb} {rule.noun} ({name}): azure-native: Status={refusal.status} "
        f'Code="{refusal.code}" Message="{refusal.text}"'
    )


def _shortfall(name: str, refusal: Refusal) -> str:
    """Return how the provider reports a scale set whose machines do not come."""
    return f'{name}: Status={refusal.status} Code="{refusal.code}" Message="{refusal.text}"'


def _config_problems(config: Mapping[str, Any]) -> Sequence[tuple[str, str]]:
    location, subscription = config.get("location"), config.get("subscriptionId")
    problems: list[tuple[str, str]] = []
    if not location:
        problems.append(("location", "missing location: set it on the provider"))
    elif location not in _regions() and location != UNKNOWN_TEXT:
        near = did_you_mean(str(location), _regions())
        problems.append(("location", f"invalid location {location}" + (f"; did you mean {near!r}?" if near else "")))
    if subscription not in (None, "", SUBSCRIPTION, UNKNOWN_TEXT):
        problems.append(("subscriptionId", f"subscription {subscription} is not that of the local cloud"))
    return problems


def _client_config(making: Making) -> Mapping[str, Any]:
    return {
        "clientId": TENANT,
        "objectId": TENANT,
        "subscriptionId": making.account,
        "tenantId": TENANT,
    }


def _first_images() -> tuple[ImageTemplate, ...]:
    """Return the image of each purpose with which every region begins; the versions are ours."""
    return tuple(
        ImageTemplate(purpose, arch, f"{query.offer} {query.sku} 24.04.2026070101", "2026-07-01T00:00:00Z")
        for (purpose, arch), query in image_queries().items()
    )


def _image_id(_region: str, name: str) -> str:
    """Return the URN of an image by the name that the API gives it (`offer sku version`); a URN names itself."""
    for query in image_queries().values():
        head, _, version = name.rpartition(" ")
        if head == f"{query.offer} {query.sku}":
            return query.urn(version)
    return name


STAND_IN = StandIn(
    plugin="azure-native",
    sdk="pulumi_azure_native",
    distribution="pulumi-azure-native",
    account=SUBSCRIPTION,
    types={**NETWORK, **MACHINES, **STORAGE},
    machine=VM,
    generic=_generic,
    instance=instance,
    group=group,
    reservation=reservation,
    machine_outputs=machine_outputs,
    refusals={
        "capacity": Refusal(
            "AllocationFailed",
            "Allocation failed. We do not have sufficient capacity for the requested VM size {instance_type} in this "
            "region.",
            409,
        ),
        "capacity_spot": Refusal(
            "SkuNotAvailable",
            "The requested size for resource is currently not available: {instance_type} has no spot capacity in this "
            "location.",
            409,
        ),
        "reservation": Refusal(
            "OverconstrainedAllocationRequest",
            "Allocation failed. Constraints applied are: capacity reservation {reservation_id}",
            409,
        ),
        "no_reservation": Refusal("ResourceNotFound", "The Resource '{reservation_id}' was not found.", 404),
        "quota": Refusal(
            "OperationNotAllowed",
            "Operation could not be completed as it results in exceeding approved {instance_type} Family Cores quota. "
            "Current Limit: {limit}.",
            409,
        ),
        "quota_spot": Refusal(
            "OperationNotAllowed",
            "Operation could not be completed as it results in exceeding approved LowPriorityCores quota. "
            "Current Limit: {limit}.",
            409,
        ),
        "addresses": Refusal("SubnetIsFull", "Subnet {subnet_id} does not have enough capacity for another address."),
        "throttled": Refusal("TooManyRequests", "The request is being throttled.", 429),
        "server_error": Refusal("InternalServerError", "An error occurred.", 500),
        "unavailable": Refusal("ServiceUnavailable", "The service is unavailable.", 503),
        "timeout": Refusal("RequestTimeout", 'Put "https://management.azure.com/": dial tcp: i/o timeout', 0),
        "lost_answer": Refusal(
            "RequestTimeout", 'Put "https://management.azure.com/": net/http: timeout awaiting response headers', 0
        ),
        "not_found": Refusal("ResourceNotFound", "The Resource '{id}' ({noun}) was not found.", 404),
    },
    message=_message,
    shortfall=_shortfall,
    zones=_zones,
    regions=_regions(),
    images=_first_images(),
    image_id=_image_id,
    invokes={"azure-native:authorization:getClientConfig": _client_config},
    vcpus=vcpus,
    tag_inputs=tag_inputs,
    config_keys=_config_problems,
    default_tags=lambda _config: {},
    max_attempts=MAX_ATTEMPTS,
    region_key="location",
    storage=("azure-native:storage:",),
)
