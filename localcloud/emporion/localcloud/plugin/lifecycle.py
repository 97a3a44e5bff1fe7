"""What happens in the world when something is made, changed, read or deleted. Each method is one transaction's work."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from emporion.localcloud.machines import reserve, settle_group, start
from emporion.localcloud.making import Maker
from emporion.localcloud.meeting import hidden
from emporion.localcloud.plugin.diff import compare
from emporion.localcloud.plugin.outputs import computed, echoed, given
from emporion.localcloud.plugin.values import at_path
from emporion.localcloud.world import Resource, World
from emporion.market.stand_in import GroupLaunch, InUse, Reference, Refusal, StandIn, TypeRule

__all__ = ["Lifecycle", "Made"]

IDENTITY = re.compile(r"(?:^|-)([0-9a-f]{20})(?:$|[^0-9a-f])")


@dataclass(frozen=True, slots=True)
class Made:
    """Something as it now is."""

    id: str
    outputs: Mapping[str, Any]
    inputs: Mapping[str, Any]
    failures: tuple[str, ...] = field(default=())
    """Why it exists but is not complete (a group that lacks machines)."""
    takes_s: float = 0.0
    """How long the provider waits for it, in the world's time."""


@dataclass(frozen=True, slots=True)
class Lifecycle:
    """The life of things of one type in one region."""

    world: World
    rules: StandIn
    rule: TypeRule
    token: str
    region: str
    settled: Mapping[str, Any]
    schema: Mapping[str, Any] | None
    urn: str

    @property
    def scope(self) -> str:
        """Where an id is unique."""
        return "" if self.rule.is_global else self.region

    def maker(self, inputs: Mapping[str, Any], seed: str, **more: Any) -> Maker:  # noqa: ANN401 - fields of Maker
        """Return the rules' view of something of this type."""
        project, stack, name = _urn_parts(self.urn)
        plain = given(inputs)
        return Maker(
            self.world, self.rules, self.token, name, self.region, plain, seed, project=project, stack=stack, **more
        )

    def create(self, urn: str, inputs: Mapping[str, Any]) -> Made | Refusal:
        """Make one, or write over it where the cloud does."""
        maker = self.maker(inputs, self.world.next_seed())
        refusal = self._missing(maker) or self._invalid(maker)
        if refusal:
            return refusal
        maker.id = maker.make_id(self.rule.id)
        found = self.world.resource(self.rules.plugin, self.scope, self.token, maker.id)
        if (found and not self.rule.put) or self._twin(maker):
            return replace(self.rule.exists, text=maker.text(self.rule.exists.text.replace("{noun}", self.rule.noun)))
        outputs, facts = computed(self.schema, self.rule, maker, self.settled), {}
        if self.rule.kind == "machine":
            launched = self._launch(maker)
            if isinstance(launched, Refusal):
                return launched
            outputs, facts = {**outputs, **launched[0]}, launched[1]
        elif self.rule.kind == "reservation":
            refusal = reserve(self.world, self.rules, maker)
            if refusal:
                return refusal
        if self.rule.keeps_versions:
            facts = {"versions": {"1": given(inputs)}}
        known: dict[str, Any] = {"emporion_id": self._identity(inputs), "urn": urn}
        known.update(project=maker.project, stack=maker.stack, inputs=inputs, outputs=outputs, facts=facts)
        if found:
            seq = found.seq
            self.world.change(seq, **known)
        else:
            seq = self.world.insert(
                provider=self.rules.plugin,
                scope=self.scope,
                region=self.region,
                token=self.token,
                resource_id=maker.id,
                **known,
            )
        failures = settle_group(self.world, self.rules, maker, seq) if self.rule.kind == "group" else []
        return Made(maker.id, outputs, inputs, tuple(failures), self._takes_s(maker, seq, facts))

    def _takes_s(self, maker: Maker, seq: int, facts: Mapping[str, Any]) -> float:
        """Return how long a machine, or the last machine that a group waits for, takes until it runs."""
        running = [facts]
        wanted = self.rules.group(maker) if self.rule.kind == "group" else None
        if isinstance(wanted, GroupLaunch) and wanted.wait:
            machines = self.world.resources(self.rules.plugin, self.rules.machine, owner=seq)
            running = [machine.facts for machine in machines]
        now_s = self.world.time_s()
        return max((one.get("running_s", now_s) - now_s for one in running), default=0.0)

    def update(self, urn: str, resource_id: str, inputs: Mapping[str, Any]) -> Made | Refusal:
        """Change one in place."""
        row = self.world.resource(self.rules.plugin, self.scope, self.token, resource_id)
        if row is None:
            return self._not_found(resource_id)
        maker = self.maker(inputs, f"{self.world.name}/{row.seq}", id=row.id, old=row.outputs)
        refusal = self._missing(maker) or self._invalid(maker)
        if refusal:
            return refusal
        kept = {name: value for name, value in row.outputs.items() if name not in row.inputs}
        outputs = {
            **computed(self.schema, self.rule, maker, self.settled),
            **kept,
            **given(inputs),
            **echoed(self.rule, maker),
        }
        outputs.update({name: value for name, value in self.settled.items() if name in outputs})
        changed = set(compare(self.rule, row.inputs, inputs).top)
        facts = dict(row.facts)
        if changed - self.rule.on_update_unless:
            outputs.update({name: change(maker) for name, change in self.rule.on_update.items() if name not in inputs})
            if self.rule.keeps_versions:
                facts["versions"] = {**facts["versions"], str(len(facts["versions"]) + 1): given(inputs)}
        if self.rule.kind == "machine":
            facts["tags"] = {**facts["tags"], **self.rules.tag_inputs(inputs)}
        self.world.change(
            row.seq,
            inputs=inputs,
            outputs=outputs,
            facts=facts,
            emporion_id=self._identity(inputs),
            project=maker.project,
            stack=maker.stack,
            urn=urn,
        )
        failures = settle_group(self.world, self.rules, maker, row.seq) if self.rule.kind == "group" else []
        return Made(row.id, outputs, inputs, tuple(failures), self._takes_s(maker, row.seq, {}))

    def read(self, resource_id: str, *, for_import: bool) -> Made | None:
        """Return one as it is now, by its id; an import may also name it as `pulumi import` does."""
        row = self.world.resource(self.rules.plugin, self.scope, self.token, resource_id)
        if row is None and for_import and self.rule.import_id:
            rows: Iterator[Resource] = iter(self.world.resources(self.rules.plugin, self.token))
            row = next((row for row in rows if self.import_id(row) == resource_id), None)
        if row is None or hidden(self.world, self.rules, row):
            return None
        return Made(row.id, row.outputs, row.inputs)

    def import_id(self, row: Resource) -> str:
        """Return the id by which `pulumi import` takes something that exists."""
        if not self.rule.import_id:
            return row.id
        return Maker.of(self.world, self.rules, row).text(self.rule.import_id)

    def delete(self, resource_id: str) -> Made | Refusal:
        """Delete one with what vanishes with it; one that is gone already is fine."""
        row = self.world.resource(self.rules.plugin, self.scope, self.token, resource_id)
        if row is None:
            return Made(resource_id, {}, {})
        for use in self.rule.in_use:
            blockers = list(self._users(row, use))
            if blockers and not (use.unless and row.inputs.get(use.unless)):
                text = use.text.format(id=row.id, user=blockers[0].id)
                return Refusal(use.code, text)
            for blocker in blockers:
                self.world.remove(blocker.seq)
        for token, path in self.rule.gone_with:
            for other in self.world.resources(self.rules.plugin, token, containing=row.id):
                if row.id in at_path(other.outputs, path):
                    self.world.remove(other.seq)
        self.world.remove(row.seq)
        return Made(row.id, row.outputs, row.inputs)

    def _users(self, row: Resource, use: InUse) -> Iterator[Resource]:
        value = row.id if use.key == "id" else row.outputs.get(use.key)
        if not isinstance(value, str):
            return
        for other in self.world.resources(self.rules.plugin, use.token, containing=value):
            belongs = row.seq in {other.seq, other.owner}
            own = use.but_own is not None and other.outputs.get(use.but_own) == row.id
            if not belongs and not own and value in at_path(other.outputs, use.path):
                yield other

    def _launch(self, maker: Maker) -> tuple[Mapping[str, Any], dict[str, Any]] | Refusal:
        launch = self.rules.instance(maker)
        if isinstance(launch, Refusal):
            return launch
        facts = start(self.world, self.rules, maker, launch)
        if isinstance(facts, Refusal):
            return facts
        return self.rules.machine_outputs(maker, launch, facts["addresses"], self.world.now()), facts

    def _missing(self, maker: Maker) -> Refusal | None:
        for reference in self.rule.references:
            for value in at_path(maker.inputs, reference.path):
                if isinstance(value, str) and not _exists(maker, reference, value):
                    return Refusal(reference.code, reference.text.format(value=value))
        return None

    def _invalid(self, maker: Maker) -> Refusal | None:
        wanted = self.rules.group(maker) if self.rule.kind == "group" else None
        if isinstance(wanted, Refusal):
            return wanted
        return next((refusal for refusal in (validate(maker) for validate in self.rule.validate) if refusal), None)

    def _twin(self, maker: Maker) -> bool:
        """Return whether something else has the same values where only one may."""
        if not self.rule.unique:
            return False
        key = [maker.inputs.get(name) for name in self.rule.unique]
        region = None if self.rule.is_global else self.region
        others = self.world.resources(self.rules.plugin, self.token, region)
        return any([other.inputs.get(name) for name in self.rule.unique] == key for other in others)

    def _identity(self, inputs: Mapping[str, Any]) -> str | None:
        tagged = self.rules.tag_inputs(inputs).get("emporion-id")
        if tagged:
            return tagged
        name = inputs.get(self.rule.named) if self.rule.named else None
        found = IDENTITY.search(name) if isinstance(name, str) else None
        return found[1] if found else None

    def _not_found(self, resource_id: str) -> Refusal:
        refusal = self.rules.refusals["not_found"]
        return replace(refusal, text=refusal.text.format(noun=self.rule.noun, id=resource_id))


def _exists(maker: Maker, reference: Reference, value: str) -> bool:
    for token in reference.tokens:
        if reference.key == "id":
            if maker.find(token, value):
                return True
        elif maker.find_by(token, reference.key, value):
            return True
    return any(maker.find_by(token, output, value) for token, output in reference.also)


def _urn_parts(urn: str) -> tuple[str | None, str | None, str]:
    """Return project, stack and logical name."""
    if not urn:
        return None, None, ""
    stack, project, _, name = urn.removeprefix("urn:pulumi:").split("::", 3)
    return project, stack, name
