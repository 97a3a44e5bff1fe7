"""The stand-in provider without its wire: check, diff, create, read, update, delete and invoke over plain values."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from emporion.localcloud.faults import Kill
from emporion.localcloud.plugin.calls import Call, Caller
from emporion.localcloud.plugin.checks import Failure, check_inputs
from emporion.localcloud.plugin.diff import Difference, compare
from emporion.localcloud.plugin.lifecycle import Lifecycle, Made
from emporion.localcloud.plugin.outputs import previewed, previewed_update
from emporion.localcloud.plugin.schema import Schemas
from emporion.market.errors import did_you_mean
from emporion.market.stand_in import StandIn, TypeRule

__all__ = ["Naming", "Provider", "token_of"]

NAME_DIGITS = 7


@dataclass(frozen=True, slots=True)
class Naming:
    """How the engine wants a missing name made."""

    seed: bytes = b""
    proposed: str | None = None
    disabled: bool = False


def token_of(urn: str) -> str:
    """Return the type token of a URN."""
    return urn.split("::")[2].rpartition("$")[2]


@dataclass(slots=True)
class Provider:
    """One configured provider."""

    caller: Caller
    schemas: Schemas
    region: str = ""
    default_tags: Mapping[str, str] = field(default_factory=dict)

    @property
    def rules(self) -> StandIn:
        """The cloud's rules."""
        return self.caller.rules

    def rule(self, token: str) -> TypeRule:
        """Return the rule of a type, a generic one when the cloud's folder has none."""
        return self.rules.types.get(token) or self.rules.generic(token)

    def check_config(self, config: Mapping[str, Any]) -> list[Failure]:
        """Return what is wrong with the provider's configuration."""
        known = self.schemas.config_keys()
        found: list[Failure] = []
        for key in sorted(config):
            if key not in known and not key.startswith("__") and key != "version":
                near = did_you_mean(key, known)
                found.append((key, f"unknown property {key!r}" + (f"; did you mean {near!r}?" if near else "")))
        return found + list(self.rules.config_keys(config))

    def configure(self, config: Mapping[str, Any]) -> None:
        """Take over the provider's configuration."""
        self.region = str(config.get(self.rules.region_key) or "")
        self.default_tags = self.rules.default_tags(config)

    def check(
        self,
        urn: str,
        old: Mapping[str, Any],
        new: Mapping[str, Any],
        naming: Naming,
    ) -> tuple[dict[str, Any], list[Failure]]:
        """Return the inputs with names and defaults filled in, and every failure."""
        token = token_of(urn)
        rule = self.rule(token)
        failures = check_inputs(self.schemas, token, rule, new)
        inputs, filled = dict(new), []
        for key, value in rule.defaults.items():
            if inputs.get(key) is None:
                inputs[key] = value
                filled.append(key)
        named = rule.named if rule.named and self._takes(token, rule.named) else None
        if named and inputs.get(named) is None and (rule.prefix is None or inputs.get(rule.prefix) is None):
            if naming.disabled:
                failures.append((named, f"missing required property {named!r}: automatic naming is off"))
            else:
                kept = old.get(named) if named in old.get("__defaults", ()) else None
                inputs[named] = kept or _automatic_name(rule, urn.rpartition("::")[2], naming)
                filled.append(named)
        if filled:
            inputs["__defaults"] = sorted(filled)
        return inputs, failures

    def _takes(self, token: str, name: str) -> bool:
        schema = self.schemas.resource(token)
        return schema is not None and name in schema["inputs"]

    def diff(self, urn: str, old: Mapping[str, Any], new: Mapping[str, Any], ignored: Sequence[str]) -> Difference:
        """Return what differs between two sets of inputs."""
        return compare(self.rule(token_of(urn)), old, new, ignored)

    def create(self, urn: str, inputs: Mapping[str, Any], *, preview: bool) -> tuple[Made, Kill | None]:
        """Make something, or say what is known of it before it is made."""
        token = token_of(urn)
        if preview:
            return Made(
                "", previewed(self.schemas.resource(token), self.rule(token), inputs, self._settled(inputs)), inputs
            ), None
        life, call = self._call("create", urn, "", inputs)
        return self.caller.make(call, life.rule, lambda: life.create(urn, inputs), lambda made: made.takes_s)

    def update(
        self,
        urn: str,
        resource_id: str,
        old: Mapping[str, Any],
        old_inputs: Mapping[str, Any],
        inputs: Mapping[str, Any],
        *,
        preview: bool,
    ) -> tuple[Made, Kill | None]:
        """Change something in place."""
        if preview:
            token = token_of(urn)
            changed = compare(self.rule(token), old_inputs, inputs).top
            kept = {name: value for name, value in old.items() if name not in old_inputs or name in inputs}
            outputs = previewed_update(self.rule(token), changed, kept, inputs, self._settled(inputs))
            return Made(resource_id, outputs, inputs), None
        life, call = self._call("update", urn, resource_id, inputs)
        return self.caller.make(
            call, life.rule, lambda: life.update(urn, resource_id, inputs), lambda made: made.takes_s
        )

    def read(self, urn: str, resource_id: str, old: Mapping[str, Any]) -> tuple[Made | None, Kill | None]:
        """Return something as the world has it now, or None; without `old` outputs it is read for an import."""
        life, call = self._call("read", urn, resource_id, old)
        return self.caller.make(call, life.rule, lambda: life.read(resource_id, for_import=not old))

    def delete(self, urn: str, resource_id: str, old: Mapping[str, Any]) -> Kill | None:
        """Delete something; what is gone already is fine."""
        life, call = self._call("delete", urn, resource_id, old)
        return self.caller.make(call, life.rule, lambda: life.delete(resource_id))[1]

    def invoke(self, token: str, arguments: Mapping[str, Any]) -> Mapping[str, Any] | list[Failure]:
        """Return a function's answer, or what is wrong with the call."""
        function = self.rules.invokes.get(token)
        if function is None:
            near = did_you_mean(token, list(self.rules.invokes))
            known = ", ".join(sorted(self.rules.invokes))
            hint = f"did you mean {near!r}?" if near else f"it has {known}"
            return [("", f"the local cloud has no function {token!r}; {hint}")]
        answer = function(self._lifecycle(token, arguments).maker(arguments, self.caller.world.next_seed()))
        if isinstance(answer, str):
            return [("", answer)]
        return answer

    def _call(self, operation: str, urn: str, resource_id: str, values: Mapping[str, Any]) -> tuple[Lifecycle, Call]:
        token = token_of(urn)
        life = self._lifecycle(token, values, urn)
        return life, Call(operation, token, urn, resource_id, life.region)

    def _lifecycle(self, token: str, values: Mapping[str, Any], urn: str = "") -> Lifecycle:
        region = str(values.get("region") or self.region)
        return Lifecycle(
            self.caller.world,
            self.rules,
            self.rule(token),
            token,
            region,
            self._settled(values),
            self.schemas.resource(token) if urn else None,
            urn,
        )

    def _settled(self, inputs: Mapping[str, Any]) -> dict[str, Any]:
        """Return the outputs that the provider knows by itself: the region, and tags with the default ones."""
        tags = inputs.get("tags") or {}
        known: Any = {**self.default_tags, **tags} if isinstance(tags, Mapping) else tags
        return {"region": inputs.get("region") or self.region, "tagsAll": known}


def _automatic_name(rule: TypeRule, logical: str, naming: Naming) -> str:
    if naming.proposed:
        return naming.proposed
    import hashlib  # noqa: PLC0415 - start-up: most programs name everything themselves
    import secrets  # noqa: PLC0415

    digits = hashlib.sha256(naming.seed).hexdigest() if naming.seed else secrets.token_hex(NAME_DIGITS)
    name = f"{logical[: rule.name_limit - NAME_DIGITS - 1]}-{digits[:NAME_DIGITS]}"
    return re.sub(r"[^a-z0-9.-]", "-", name.lower()) if rule.name_lower else name
