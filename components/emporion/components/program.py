"""The Pulumi program: the pinned placement of the stack's configuration becomes a cluster, or one for each stage."""

from __future__ import annotations

import os
import signal

import pulumi

from emporion.components.cluster import GpuCluster, GpuClusterArgs, cloud_component
from emporion.components.pinned import read_placement
from emporion.components.world import check_world
from emporion.market.errors import UserError
from emporion.market.pin import Place, cluster_name, output_name

__all__ = ["run"]


def run() -> None:
    """Build the cluster of this stack and export what it is.

    Raises: pulumi.RunError: with a `UserError`'s text, when the user can mend it.
    """
    # Pulumi interrupts its program when an update fails or is cancelled; the traceback of that tells nobody anything.
    signal.signal(signal.SIGINT, lambda _signum, _frame: os._exit(1))
    try:
        _build(pulumi.Config("emporion"))
    except UserError as error:
        raise pulumi.RunError(str(error)) from error


def _build(config: pulumi.Config) -> None:
    stack = pulumi.get_stack()
    pinned = config.get_object("placement")
    if pinned is None:
        raise UserError(
            "E-PIN",
            f"stack {stack} has no pinned placement",
            f"Pulumi.{stack}.yaml  emporion:placement",
            f"emporion plan INTENT --pin {stack}",
        )
    placement = read_placement(pinned, stages=True, where=f"Pulumi.{stack}.yaml  emporion:placement")
    world = check_world(config.get("world") or "local")
    pulumi.export("world", world)
    pulumi.export("name", placement.name)
    # Each region of each cloud has its provider, and every cluster names its own: never the ambient default.
    providers: dict[Place, pulumi.ProviderResource] = {}
    for stage, each in placement.clusters:
        place = Place(each.provider, each.region)
        if place not in providers:
            providers[place] = cloud_component(each.provider).provider(each, world)
        args: GpuClusterArgs = {
            "placement": each.to_json(),
            "generation": config.get_int("generation") or 0,
            "delete_data": bool(config.get_bool("delete_data")),
        }
        cluster = GpuCluster(cluster_name(stage), args, pulumi.ResourceOptions(providers=[providers[place]]))
        # One by one: a single secret value would make a whole map secret.
        for key in GpuCluster.__annotations__:
            pulumi.export(output_name(key, stage), getattr(cluster, key))
