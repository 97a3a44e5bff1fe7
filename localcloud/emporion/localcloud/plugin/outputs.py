"""Outputs of a resource: its inputs, what the cloud computes, and in a preview what the real provider leaves open."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from emporion.localcloud.making import Maker
from emporion.market.stand_in import TypeRule
from emporion.market.wire import UNKNOWN_TEXT

__all__ = ["computed", "echoed", "given", "previewed", "previewed_update"]

Schema = Mapping[str, Any] | None
EMPTY: Mapping[str, Any] = {"str": "", "int": 0, "float": 0, "bool": False, "list": [], "map": {}}


def given(inputs: Mapping[str, Any]) -> dict[str, Any]:
    """Return the inputs as outputs, without the provider's own marks."""
    return {key: value for key, value in inputs.items() if not key.startswith("__") and value is not None}


def computed(schema: Schema, rule: TypeRule, maker: Maker, settled: Mapping[str, Any]) -> dict[str, Any]:
    """Return all outputs of something that is being made."""
    outputs = given(maker.inputs)
    always = {name: kind for name, (present, kind) in schema["outputs"].items() if present} if schema else {}
    for name, value in settled.items():
        if name in always:
            outputs[name] = value
    for name, compute in rule.outputs.items():
        if name not in outputs:
            value = maker.text(compute) if isinstance(compute, str) else compute(maker)
            if value is not None:
                outputs[name] = value
    for name, value in rule.fills.items():
        outputs.setdefault(name, value)
    for name, kind in always.items():
        if kind in EMPTY:
            outputs.setdefault(name, EMPTY[kind])
    return {**outputs, **echoed(rule, maker)}


def echoed(rule: TypeRule, maker: Maker) -> dict[str, Any]:
    """Return the outputs that come back in another form than their input."""
    return {name: echo(maker) for name, echo in rule.echo.items() if maker.inputs.get(name) is not None}


def previewed(schema: Schema, rule: TypeRule, inputs: Mapping[str, Any], settled: Mapping[str, Any]) -> dict[str, Any]:
    """Return what is known before a create: the inputs; everything that the cloud computes is unknown."""
    outputs = {name: UNKNOWN_TEXT if name in rule.echo else value for name, value in given(inputs).items()}
    if schema:
        for name, (present, _) in schema["outputs"].items():
            if present and name not in outputs:
                outputs[name] = settled.get(name, UNKNOWN_TEXT)
    return outputs


def previewed_update(
    rule: TypeRule,
    changed: Sequence[str],
    old: Mapping[str, Any],
    inputs: Mapping[str, Any],
    settled: Mapping[str, Any],
) -> dict[str, Any]:
    """Return what is known before an update: the new inputs, and of the computed outputs those that cannot change.

    `old` are the computed outputs so far, without those that were inputs and are no more.
    """
    outputs = dict(old)
    outputs.update({name: value for name, value in settled.items() if name in outputs})
    outputs.update({name: value for name, value in given(inputs).items() if name not in rule.echo})
    outputs.update({name: UNKNOWN_TEXT for name in rule.echo if name in changed})
    if set(changed) - rule.on_update_unless:
        outputs.update({name: UNKNOWN_TEXT for name in rule.on_update if name not in inputs})
    return outputs
