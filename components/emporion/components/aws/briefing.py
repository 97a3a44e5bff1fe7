"""What each node of a cluster is told at its first boot."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pulumi

from emporion.components.aws.bootstrap import NodeFacts
from emporion.components.aws.context import Context
from emporion.components.aws.controller import POOL
from emporion.components.aws.identity import Scope
from emporion.components.aws.instance_types import instance_types
from emporion.components.aws.nics import nics
from emporion.components.aws.storage import Lustre
from emporion.market.pin import PinnedPool

__all__ = ["Briefing"]


@dataclass(frozen=True, slots=True)
class Briefing:
    """The facts of one cluster, from which those of its nodes follow."""

    context: Context
    scope: Scope
    controller_ip: str | None
    lustre: Lustre | None

    def of_pool(self, pool: PinnedPool) -> NodeFacts | pulumi.Output[NodeFacts]:
        """Return the facts of a pool's nodes."""
        kind = instance_types()[pool.instance_type]
        return self._mounted(
            replace(
                self._base(),
                pool=pool.name,
                gpus=pool.gpus_per_node,
                efa_interfaces=sum(nic.efa for nic in nics(kind, rdma=pool.rdma)),
                nvme=kind.nvme_gb > 0,
            )
        )

    def of_controller(self) -> NodeFacts | pulumi.Output[NodeFacts]:
        """Return the facts of the controller."""
        return self._mounted(replace(self._base(), role="controller", pool=POOL))

    def _base(self) -> NodeFacts:
        names, scope = self.context.names, self.scope
        return NodeFacts(
            role="node",
            stack=f"{names.project}/{names.stack}",
            pool="",
            region=self.context.region,
            store=scope.store,
            log_group=scope.log_group,
            checkpoint_uri=scope.checkpoints.uri,
            scheduler=self.context.placement.scheduler,
            controller_ip=self.controller_ip or "",
            munge_parameter=scope.munge_parameter or "",
        )

    def _mounted(self, facts: NodeFacts) -> NodeFacts | pulumi.Output[NodeFacts]:
        """Return `facts` with the file system's address, which is known only once it exists."""
        if self.lustre is None:
            return facts
        file_system = self.lustre.file_system
        address = pulumi.Output.all(file_system.dns_name, file_system.mount_name)
        return address.apply(lambda found: replace(facts, lustre_dns=found[0], lustre_mount=found[1]))
