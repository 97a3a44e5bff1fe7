"""The cluster as users know it. No `from __future__ import annotations`: Pulumi's analyzer reads the annotations."""

from importlib import import_module
from typing import Any, NotRequired, TypedDict

import pulumi

from emporion.components.names import logical_name, parent_types
from emporion.components.pinned import read_placement
from emporion.market.clouds import installed_clouds
from emporion.market.errors import UserError, did_you_mean

__all__ = ["GpuCluster", "GpuClusterArgs", "cloud_component"]


class GpuClusterArgs(TypedDict):
    """What a cluster is built from."""

    placement: dict[str, Any]
    """The pinned placement, schema `emporion.placement/1`, as `emporion plan INTENT --pin STACK` writes it."""
    generation: NotRequired[int]
    """Part of every `emporion-id`; raised only by `emporion recover`."""
    delete_data: NotRequired[bool]
    """Whether stores are deleted although they hold data; default no."""


class GpuCluster(pulumi.ComponentResource):
    """A cluster of GPU nodes at one site, reachable only through the cloud's session service.

    Creates the network, the fabric, storage, identity, controller and node pools of the pinned placement, on the
    placement's provider. Give the provider plugin's provider of the placement's region in `providers`.
    Raises: `UserError`: E-PIN: when the placement cannot be read; E-CLOUD: when no component for its provider is
    installed; and what the cloud's own component raises.
    """

    provider: pulumi.Output[str]
    """Provider of the pools (`aws`)."""
    region: pulumi.Output[str]
    """Region of the pools."""
    usd_per_hour: pulumi.Output[str]
    """Full-chain cost per hour of the pinned plan, in USD."""
    node_count: pulumi.Output[int]
    """GPU nodes in all pools."""
    cluster_address: pulumi.Output[str]
    """Private address of the controller; empty without a scheduler."""
    controller_id: pulumi.Output[str]
    """Machine id of the controller; empty without a scheduler."""
    node_ids: pulumi.Output[list[str]]
    """Machine ids of the nodes that are launched one by one; `emporion status` lists those of groups."""
    node_addresses: pulumi.Output[list[str]]
    """Their private addresses; secret."""
    node_groups: pulumi.Output[list[str]]
    """Names of the groups that keep their number of nodes."""
    bucket: pulumi.Output[str]
    """Name of the cluster's bucket."""
    checkpoint_uri: pulumi.Output[str]
    """Where checkpoints go."""
    file_system: pulumi.Output[str]
    """Id of the shared file system; empty without one."""
    node_role: pulumi.Output[str]
    """The nodes' identity."""
    network_id: pulumi.Output[str]
    """Id of the network."""
    security_group: pulumi.Output[str]
    """Id of the group that lets nodes talk to each other."""
    placement_groups: pulumi.Output[list[str]]
    """Names of the groups that keep nodes close together."""
    fabric: pulumi.Output[str]
    """The network between nodes: `efa`, …, or `ethernet`."""
    event_queue: pulumi.Output[str]
    """Where interruption warnings arrive."""

    def __init__(self, name: str, args: GpuClusterArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        """Build the cluster."""
        token = "emporion:index:GpuCluster"  # noqa: S105 - a type token
        logical_name(name)
        placement = read_placement(args["placement"])
        component = cloud_component(placement.provider)
        super().__init__(token, name, {}, opts)
        built = component(
            name,
            {
                "placement": args["placement"],
                "generation": args.get("generation") or 0,
                "delete_data": bool(args.get("delete_data")),
                "above": [*parent_types(opts), token],
            },
            pulumi.ResourceOptions(parent=self),
        )
        own = {
            "provider": placement.provider,
            "region": placement.region,
            "usd_per_hour": format(placement.usd_per_hour, "f"),
        }
        for key in GpuCluster.__annotations__:
            setattr(self, key, pulumi.Output.from_input(own[key]) if key in own else getattr(built, key))
        self.register_outputs({key: getattr(self, key) for key in GpuCluster.__annotations__})


def cloud_component(provider: str) -> Any:  # noqa: ANN401 - a class of a cloud that is imported only when it is used
    """Return the component class of a provider.

    Raises: UserError E-CLOUD: when none is installed.
    """
    clouds = installed_clouds()
    if provider not in clouds:
        near = did_you_mean(provider, set(clouds))
        raise UserError(
            "E-CLOUD",
            f"no component for {provider}: clusters can be made on {', '.join(clouds)}",
            "emporion:placement",
            f"did you mean {near}?" if near else "plan again with constraints.providers",
        )
    module, _, attribute = clouds[provider].cluster.partition(":")
    try:
        return getattr(import_module(module), attribute)
    except ModuleNotFoundError as error:
        if error.name != clouds[provider].sdk:
            raise
        raise UserError(
            "E-CLOUD", f"the SDK of {provider} is not installed ({error.name})", None,
            f"pip install 'emporion[{clouds[provider].extra}]'",
        ) from error  # fmt: skip
