"""The AWS part of a cluster. No `from __future__ import annotations`: Pulumi's analyzer reads the annotations."""

from dataclasses import replace
from typing import Any, NotRequired, TypedDict

import pulumi
import pulumi_aws as aws

from emporion.components.aws import controller, events, fabric, identity, network, nodes, storage
from emporion.components.aws.bootstrap import MUNGE_UNSET, bootstrap_objects
from emporion.components.aws.briefing import Briefing
from emporion.components.aws.context import Context
from emporion.components.aws.plan import Location
from emporion.components.aws.validate import check
from emporion.components.names import Names, ignored_paths, logical_name, parent_types
from emporion.components.pinned import read_placement
from emporion.components.world import check_account
from emporion.market.errors import UserError
from emporion.market.pin import PinnedPlacement

__all__ = ["AwsCluster", "AwsClusterArgs"]

LOCAL_ACCOUNT = "000000000000"
"""The account of the local cloud; AWS gives none of this number."""
LOG_DAYS = 30


class AwsClusterArgs(TypedDict):
    """What an AWS cluster is built from."""

    placement: dict[str, Any]
    """The pinned placement, schema `emporion.placement/1`."""
    generation: NotRequired[int]
    """Part of every `emporion-id`; raised only by `emporion recover`."""
    delete_data: NotRequired[bool]
    """Whether the cluster's bucket is deleted although it holds data; default no."""
    above: NotRequired[list[str]]
    """Type tokens of the components above, outermost first; default the parent alone."""


class AwsCluster(pulumi.ComponentResource):
    """A cluster of GPU nodes in one region of AWS, reachable only through Session Manager.

    Creates the network, the fabric, storage, identity, event queue, controller and node pools of the pinned placement.
    Raises: `UserError`: when AWS would refuse the placement, before anything is registered.
    """

    node_count: pulumi.Output[int]
    """GPU nodes in all pools."""
    cluster_address: pulumi.Output[str]
    """Private address of the controller; empty without a scheduler."""
    controller_id: pulumi.Output[str]
    """Instance id of the controller; empty without a scheduler."""
    node_ids: pulumi.Output[list[str]]
    """Instance ids of the nodes that are launched one by one; `emporion status` lists those of groups."""
    node_addresses: pulumi.Output[list[str]]
    """Their private addresses; secret."""
    node_groups: pulumi.Output[list[str]]
    """Names of the auto scaling groups."""
    bucket: pulumi.Output[str]
    """Name of the cluster's bucket."""
    checkpoint_uri: pulumi.Output[str]
    """Where checkpoints go."""
    file_system: pulumi.Output[str]
    """Id of the Lustre file system; empty without one."""
    node_role: pulumi.Output[str]
    """ARN of the nodes' role."""
    network_id: pulumi.Output[str]
    """Id of the VPC."""
    security_group: pulumi.Output[str]
    """Id of the nodes' security group."""
    placement_groups: pulumi.Output[list[str]]
    """Names of the cluster placement groups."""
    fabric: pulumi.Output[str]
    """`efa`, or `ethernet` when no pool has RDMA."""
    event_queue: pulumi.Output[str]
    """URL of the queue with interruption warnings."""

    def __init__(self, name: str, args: AwsClusterArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        """Build the cluster."""
        token = "emporion:index:AwsCluster"  # noqa: S105 - a type token
        placement = read_placement(args["placement"])
        check(placement)
        super().__init__(token, logical_name(name), {}, opts)
        asked = pulumi.InvokeOptions(parent=self)
        context = Context(
            name=name,
            names=Names(
                pulumi.get_project(),
                pulumi.get_stack(),
                args.get("generation") or 0,
                (*(args.get("above") or parent_types(opts)), token),
                placement.tags,
            ),
            parent=self,
            placement=placement,
            account=aws.get_caller_identity(opts=asked).account_id,
            zones=_zones(placement, aws.get_availability_zones(opts=asked)),
            delete_data=bool(args.get("delete_data")),
        )
        self._build(context)
        self.register_outputs({key: getattr(self, key) for key in AwsCluster.__annotations__})

    @staticmethod
    def provider(placement: PinnedPlacement, world: str) -> pulumi.ProviderResource:
        """Return the provider of the placement's region, after a look at the account behind it.

        Raises: UserError E-WORLD: when a local stack reaches a real account, or a real one the local cloud.
        """
        local = world == "local"
        provider: pulumi.ProviderResource = aws.Provider(
            # A provider per region: moving to another one replaces everything, and the engine says so.
            f"{placement.provider}-{placement.region}",
            region=placement.region,
            # A second lock beside the look below: the provider plugin itself refuses the other world's account.
            allowed_account_ids=[LOCAL_ACCOUNT] if local else None,
            forbidden_account_ids=None if local else [LOCAL_ACCOUNT],
        )
        account = aws.get_caller_identity(opts=pulumi.InvokeOptions(provider=provider)).account_id
        check_account(account, LOCAL_ACCOUNT, world)
        return provider

    def _build(self, context: Context) -> None:
        """Make everything, in the order in which it is needed."""
        placement = context.placement
        net = network.build(context)
        joined = fabric.build(context, net)
        store = storage.build_store(context)
        lustre = storage.build_lustre(context, net, joined, store)
        logs = aws.cloudwatch.LogGroup(
            context.child("logs"),
            name=f"/emporion/{context.physical(aws.cloudwatch.LogGroup, 'logs', 255)}",
            retention_in_days=LOG_DAYS,
            tags=context.tags(aws.cloudwatch.LogGroup, "logs"),
            opts=context.named(),
        )
        munge = _munge_parameter(context)
        scope = identity.Scope(
            store=store.name,
            checkpoints=storage.checkpoint_location(context, store.name),
            data=_data(placement),
            log_group=f"/emporion/{context.physical(aws.cloudwatch.LogGroup, 'logs', 255)}",
            munge_parameter=munge[0] if munge else None,
        )
        node = identity.build(context, "node", scope)
        after: list[pulumi.Resource] = [
            *net.ready, *joined.rules, *store.ready, *bootstrap_objects(context, store), logs,
            *(lustre.ready if lustre else ()), *((munge[1],) if munge else ()),
        ]  # fmt: skip
        facts = Briefing(context, scope, net.controller_ip, lustre)
        head = None
        if placement.controller is not None:
            own = identity.build(context, "controller", replace(scope, writes_munge=True))
            head = controller.build(
                context,
                placement.controller,
                network=net,
                joined=joined,
                identity=own,
                facts=facts.of_controller(),
                after=[*after, *identity.ready(own)],
            )
        pools = [
            nodes.build(
                context,
                pool,
                network=net,
                joined=joined,
                identity=node,
                facts=facts.of_pool(pool),
                after=[*after, *identity.ready(node)],
            )
            for pool in placement.pools
        ]
        queue = events.build(context)
        single = [instance for pool in pools for instance in pool.instances]
        outputs: dict[str, pulumi.Input[Any]] = {
            "node_count": sum(pool.count for pool in placement.pools),
            "cluster_address": net.controller_ip or "",
            "controller_id": head.id if head is not None else "",
            "node_ids": pulumi.Output.all(*(instance.id for instance in single)),
            "node_addresses": pulumi.Output.secret(pulumi.Output.all(*(instance.private_ip for instance in single))),
            "node_groups": pulumi.Output.all(*(pool.group.name for pool in pools if pool.group is not None)),
            "bucket": store.bucket.bucket,
            "checkpoint_uri": scope.checkpoints.uri,
            "file_system": lustre.file_system.id if lustre else "",
            "node_role": node.role.arn,
            "network_id": net.vpc.id,
            "security_group": joined.group.id,
            "placement_groups": pulumi.Output.all(
                *(pool.placement_group.name for pool in pools if pool.placement_group is not None)
            ),
            "fabric": "efa" if any(pool.rdma for pool in placement.pools) else "ethernet",
            "event_queue": queue.url,
        }
        for key, value in outputs.items():
            setattr(self, key, pulumi.Output.from_input(value))


def _zones(placement: PinnedPlacement, seen: Any) -> dict[str, str]:  # noqa: ANN401 - the SDK is not followed
    """Return zone id -> this account's zone name, sorted.

    Raises: UserError E-ZONE: when the account does not have a zone.
    """
    names = dict(sorted(zip(seen.zone_ids, seen.names, strict=True)))
    wanted = [pool.zone for pool in placement.pools if pool.zone]
    missing = [zone for zone in wanted if zone not in names]
    if missing or not names:
        raise UserError(
            "E-ZONE",
            f"this account has no zone {', '.join(missing) or 'at all'} in {placement.region}: {', '.join(names)}",
            "emporion:placement",
            "pin again: emporion plan INTENT --pin STACK (a Local Zone must be enabled in the account first)",
        )
    return names


def _data(placement: PinnedPlacement) -> tuple[Location, ...]:
    """Return the S3 addresses that the intent reads from."""
    sources = [str(item.get("source") or "") for item in placement.intent.get("data") or []]
    return tuple(dict.fromkeys(Location.parse(source) for source in sources if source.startswith("s3://")))


def _munge_parameter(context: Context) -> tuple[str, aws.ssm.Parameter] | None:
    """Make the place for the scheduler's key. The controller puts the key there: Pulumi never sees it."""
    if context.placement.controller is None:
        return None
    name = f"/emporion/{context.physical(aws.ssm.Parameter, 'munge', 200)}"
    return name, aws.ssm.Parameter(
        context.child("munge"),
        name=name,
        type="SecureString",
        value=MUNGE_UNSET,
        description="Emporion: key of the cluster's scheduler",
        tags=context.tags(aws.ssm.Parameter, "munge"),
        opts=context.named(ignore_changes=ignored_paths(aws.ssm.Parameter, "value")),
    )
