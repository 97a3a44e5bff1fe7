"""The clouds, regions and zones that a world has, as people name them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib import import_module

from emporion.market.clouds import Cloud, installed_clouds
from emporion.market.errors import UserError, did_you_mean
from emporion.market.stand_in import StandIn
from emporion.market.units import shown

__all__ = ["check_region", "check_zone", "plugin_of", "provider_of", "rules_of", "stand_ins"]

ANY = "*"


def rules_of(cloud: Cloud) -> StandIn:
    """Return the rules of a cloud's stand-in."""
    module, _, attribute = cloud.stand_in.partition(":")
    rules: StandIn = getattr(import_module(module), attribute)
    return rules


@cache
def stand_ins() -> Mapping[str, StandIn]:
    """Return the stand-ins by the provider names of their offers, sorted."""
    return {name: rules_of(cloud) for name, cloud in installed_clouds().items()}


def plugin_of(provider: str) -> str:
    """Return the plugin that stands in for a provider; `*` is every one.

    Raises: UserError E-PROVIDER: when the local cloud has no such provider.
    """
    known = list(installed_clouds())
    if provider == ANY:
        return ANY
    if provider in known:
        return installed_clouds()[provider].plugin
    near = did_you_mean(provider, known)
    raise UserError(
        "E-PROVIDER",
        f"the local cloud has no provider {shown(provider)}; it has: {', '.join(known)}",
        None,
        f"did you mean {near}?" if near else f"{' or '.join(known)}, or '*' for every one",
    )


def provider_of(plugin: str) -> str:
    """Return the provider that a plugin stands in for; `*` is every one."""
    return next((name for name, cloud in installed_clouds().items() if cloud.plugin == plugin), plugin)


def check_region(provider: str, region: str) -> None:
    """See to it that a provider (`*`: any) has a region (`*`: every one).

    Raises: UserError E-REGION: when it has none of that name.
    """
    regions = {name for rules in _rules(provider) for name in rules.regions}
    if region == ANY or region in regions:
        return
    near = did_you_mean(region, regions)
    whose = "no provider" if provider == ANY else provider
    raise UserError(
        "E-REGION",
        f"{whose} has {'a' if provider == ANY else 'no'} region {shown(region)}",
        None,
        f"did you mean {near}?" if near else "write the cloud's own name of a region, or '*' for every one",
    )


def check_zone(provider: str, region: str, zone: str) -> None:
    """See to it that a region (`*`: any) has a zone, by its id or its name (`*`: every one).

    Raises: UserError E-ZONE: when it has none of that name.
    """
    zones: set[str] = set()
    for rules in _rules(provider):
        for name in rules.regions if region == ANY else (region,):
            pairs = rules.zones(name)
            zones.update(pairs, pairs.values())
    if zone == ANY or zone in zones:
        return
    near = did_you_mean(zone, zones)
    raise UserError(
        "E-ZONE",
        f"{'no region' if region == ANY else region} has {'a' if region == ANY else 'no'} zone {shown(zone)}",
        None,
        f"did you mean {near}?" if near else "write a zone's id or name, or '*' for every one",
    )


def _rules(provider: str) -> tuple[StandIn, ...]:
    return tuple(stand_ins().values()) if provider == ANY else (stand_ins()[provider],)
