"""The world as operations see it: `CloudApi` for one region of one stand-in cloud."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from string import Formatter
from typing import Any

from emporion.localcloud.capacity import quota_limit
from emporion.localcloud.delays import Phase, phase
from emporion.localcloud.happenings import come_to_pass, told_notices
from emporion.localcloud.images import newest_image
from emporion.localcloud.machines import end_machine, settle_groups
from emporion.localcloud.making import Maker
from emporion.localcloud.meeting import Place, hidden, meet
from emporion.localcloud.places import rules_of
from emporion.localcloud.processes import home_from
from emporion.localcloud.time_control import wait
from emporion.localcloud.world import Resource, World
from emporion.market.clouds import Cloud, CloudNode, FoundImage, Pending
from emporion.market.errors import ExitCode, UserError
from emporion.market.stand_in import Refusal, StandIn, TypeRule

__all__ = ["LocalCloud", "open_cloud"]

MAX_ATTEMPTS = 5
"""As boto3's standard retry mode with the settings of the real clients."""


def open_cloud(cloud: Cloud, region: str) -> LocalCloud:
    """Return the API of a cloud's region in the local world of this Emporion home (entry point `emporion.worlds`)."""
    return LocalCloud(lambda: World.open(home_from(os.environ)), rules_of(cloud), region)


class LocalCloud:
    """One region of a stand-in cloud. The world is open only during a call."""

    def __init__(
        self,
        open_world: Callable[[], World],
        rules: StandIn,
        region: str,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._open = open_world
        self._sleep = sleep
        self._rules = rules
        self._region = region

    def account(self) -> str:
        """Return the reserved account of the local world."""
        self._ask("the account").close()
        return self._rules.account

    def find(self, pending: Pending) -> str | None:
        """Return the id under which the state holds what `pending` made, or None when it made nothing.

        By its `emporion-id` where the world noted one; else by what makes it unique in its parent.
        """
        rule = self._rules.types.get(pending.type_token) or self._rules.generic(pending.type_token)
        with self._ask(f"what a killed update made of {pending.urn.rpartition('::')[2]}") as world:
            rows = [
                row
                for row in world.resources(self._rules.plugin, pending.type_token)
                if self._is_here(rule, row) and row.id not in pending.known and not hidden(world, self._rules, row)
            ]
            tagged = [row for row in rows if row.emporion_id == pending.emporion_id]
            if len(tagged) > 1:
                ids = ", ".join(row.id for row in tagged)
                raise UserError(
                    "E-CLOUD",
                    f"{len(tagged)} things carry emporion-id {pending.emporion_id}: {ids}",
                    pending.urn,
                    "delete all but one of them, then run the command again",
                    ExitCode.FAILED,
                )
            same = tagged or [row for row in rows if self._is_same(world, rule, row, pending)]
            return same[0].id if same else None

    def _is_here(self, rule: TypeRule, row: Resource) -> bool:
        return row.owner is None and (rule.is_global or row.region == self._region)

    def _is_same(self, world: World, rule: TypeRule, row: Resource, pending: Pending) -> bool:
        if self._rules.tag_inputs(row.inputs).get("emporion-id", pending.emporion_id) != pending.emporion_id:
            return False  # its own tag says that it is something else
        asked = {key: value for key, value in pending.inputs.items() if not key.startswith("__") and value is not None}
        has = {key: value for key, value in row.inputs.items() if not key.startswith("__") and value is not None}
        if rule.put and asked != has:
            return False  # a setting is there when it is as asked
        if rule.unique and all(asked.get(key) == has.get(key) for key in rule.unique):
            return True
        return _follows_from_inputs(rule) and row.id == Maker(
            world, self._rules, row.token, "", self._region, asked, ""
        ).make_id(rule.id)

    def nodes(self, project: str, stack: str) -> Sequence[CloudNode]:
        """Return the stack's machines, by launch time."""
        with self._ask(f"the machines of {project}/{stack}") as world:
            settle_groups(world, self._rules, self._region)
            zone_ids = {name: zone_id for zone_id, name in self._rules.zones(self._region).items()}
            found = [
                _node(row, zone_ids, world.time_s())
                for row in world.resources(self._rules.plugin, self._rules.machine, self._region)
                if row.facts["tags"].get("emporion-stack") == f"{project}/{stack}"
                and not hidden(world, self._rules, row)
            ]
        return sorted(found, key=lambda node: (node.launched_at or "", node.id))

    def image(self, purpose: str, arch: str) -> FoundImage:
        """Return the newest image for `purpose` (`gpu`, `controller`) and `arch` (`x86_64`, `arm64`)."""
        with self._ask(f"the {purpose} image") as world:
            image = newest_image(world, self._rules, self._region, purpose, arch)
        if image is None:
            raise UserError(
                "E-CLOUD",
                f"{self._region} has no {purpose} image for {arch}",
                self._where,
                "name one in the intent: image.id",
                ExitCode.FAILED,
            )
        return image

    def zones(self) -> Mapping[str, str]:
        """Return zone id -> the reserved account's zone name."""
        self._ask("the zones").close()
        return self._rules.zones(self._region)

    def quota(self, instance_type: str, market: str) -> int | None:
        """Return how many machines of this type the world's quota allows, running ones included; None: no quota."""
        with self._ask(f"the quota of {instance_type}") as world:
            limit = quota_limit(world, self._rules.plugin, self._region, instance_type, market)
        return limit[0] if limit else None

    def notices(self, node_id: str) -> Sequence[Mapping[str, str]]:
        """Return what the world has announced for a machine (`kind`, `at`: UTC, ISO 8601), by time."""
        with self._ask(f"notices for {node_id}") as world:
            return told_notices(world, self._rules, node_id)

    def terminate(self, node_id: str) -> None:
        """End one machine. One that is gone already is no error."""
        with self._ask(f"the end of {node_id}") as world:
            machine = world.resource(self._rules.plugin, self._region, self._rules.machine, node_id)
            if machine is not None:
                end_machine(world, self._rules, machine)

    @property
    def _where(self) -> str:
        return f"{self._rules.plugin} {self._region} (local)"

    def _ask(self, what: str) -> World:
        """Return the open world after the faults that this call meets.

        Raises: UserError E-CLOUD: when the local cloud is stopped, or a fault lasts longer than the retries.
        """
        world = self._open()
        refused = self._refusal(world) if world.running else "the local cloud is stopped"
        if refused is None:
            come_to_pass(world, self._rules, self._region)
            return world
        stopped = not world.running
        world.close()
        raise UserError(
            "E-CLOUD",
            f"cannot ask for {what}: {refused}",
            self._where,
            "emporion local start"
            if stopped
            else "run the command again; `emporion local fault list` shows the faults",
            ExitCode.FAILED,
        )

    def _refusal(self, world: World) -> str | None:
        """Return what the cloud says to this call after the client's own retries; None: it answers."""
        place = Place(self._region, "api", self._rules.plugin)
        refused: Refusal | None = None
        for attempt in range(MAX_ATTEMPTS):
            met = meet(world, self._rules, place, first_attempt=attempt == 0)
            wait(world, met.delay_s, self._sleep)
            refused = met.refusal
            if refused is None or not met.retried:
                break
        if refused is None:
            return None
        return f"{refused.code}: {refused.text}" if refused.status else refused.text


def _follows_from_inputs(rule: TypeRule) -> bool:
    """Return whether the id is made of inputs alone: the same inputs name the same thing."""
    if not isinstance(rule.id, str):
        return False
    fields = {name for _, name, _, _ in Formatter().parse(rule.id) if name}
    return bool(fields) and not any(name.startswith("hex") or name == "uuid" for name in fields)


def _node(row: Resource, zone_ids: Mapping[str, str], now_s: float) -> CloudNode:
    facts: Mapping[str, Any] = row.facts
    reserved = facts["market"] == "capacity_block" or facts["reservation_id"]
    return CloudNode(
        id=row.id,
        pool=facts["tags"].get("emporion-pool", ""),
        state="pending" if phase(facts, now_s) is Phase.PENDING else facts["state"],
        zone=zone_ids.get(facts["zone"]),
        instance_type=facts["instance_type"],
        market="reserved" if reserved else facts["market"],
        private_ip=next(iter(facts["addresses"]), None),
        launched_at=row.created_at,
        image_id=facts["image_id"],
    )
