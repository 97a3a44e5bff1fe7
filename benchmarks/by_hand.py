"""The demo's resources as somebody would write them without Emporion: a straight program over the same SDK classes.

The program is written out from the state of a finished `up`, so it always has the same resources and inputs: one call
per resource, in order, literal inputs, and the other resource's attribute wherever one depends on another.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from emporion.market.wire import UNKNOWN_TEXT

__all__ = ["program"]

HEAD = '''"""Written out by benchmarks/by_hand.py."""

import pulumi
import pulumi_aws as aws

'''
VERBATIM = frozenset({"tags"})
"""Inputs whose keys are the user's own."""


def program(resources: Sequence[Mapping[str, Any]], previewed: Mapping[tuple[str, str], Any]) -> str:
    """Return the program that makes the given resources of a Pulumi state.

    `previewed` are the inputs that a first preview knows, by type and name: what is known there is written out.
    """
    lines = [HEAD]
    names: dict[str, str] = {}
    by_urn = {one["urn"]: one for one in resources}
    secret = {one["urn"] for one in resources if "ciphertext" in json.dumps(one.get("inputs") or {})}
    for number, one in enumerate(one for one in resources if _wanted(one)):
        variable = f"r{number}"
        if one["type"].startswith("pulumi:providers:"):
            lines.append(f"provider = aws.Provider({one['urn'].split('::')[-1]!r}, {_provider(one['inputs'])})")
            continue
        names[one["urn"]] = variable
        dependencies = one.get("propertyDependencies") or {}
        values = []
        for key, value in (one.get("inputs") or {}).items():
            if key == "__defaults":
                continue
            known = [(names[urn], by_urn[urn]) for urn in dependencies.get(key) or () if urn in names]
            if UNKNOWN_TEXT not in str(previewed[one["type"], one["urn"].split("::")[-1]].get(key)):
                known = []
            literal = (
                "pulumi.Output.secret('0' * 64)"
                if one["urn"] in secret and isinstance(value, dict) and "ciphertext" in value
                else _value(value, known, verbatim=key in VERBATIM)
            )
            values.append(f"{_snake(key)}={literal}")
        after = [names[urn] for urn in one.get("dependencies") or () if urn in names]
        options = f"pulumi.ResourceOptions(provider=provider, depends_on=[{', '.join(after)}])"
        logical = one["urn"].split("::")[-1]
        lines.append(f"{variable} = {_class(one['type'])}({logical!r}, {', '.join([*values, f'opts={options}'])})")
    return "\n".join(lines) + "\n"


def _wanted(one: Mapping[str, Any]) -> bool:
    return bool(one.get("custom")) and not one.get("external")


def _provider(inputs: Mapping[str, Any]) -> str:
    """Return the provider's arguments; its configuration travels as JSON text."""
    given = []
    for key, value in inputs.items():
        if key in {"version", "__internal"}:
            continue
        try:
            plain = json.loads(value) if isinstance(value, str) else value
        except json.JSONDecodeError:
            plain = value
        given.append(f"{_snake(key)}={plain!r}")
    return ", ".join(given)


def _class(token: str) -> str:
    package, module, name = token.split(":")
    return f"{package}.{module.partition('/')[0]}.{name}"


def _snake(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])([A-Z])", lambda match: "_" + match[1].lower(), name)


def _value(value: object, known: Sequence[tuple[str, Mapping[str, Any]]], *, verbatim: bool = False) -> str:
    """Return an expression for an input; text that is or holds another resource's output refers to it."""
    if isinstance(value, dict):
        items = (
            f"{(key if verbatim else _snake(key))!r}: {_value(item, known, verbatim=verbatim or key in VERBATIM)}"
            for key, item in value.items()
        )
        return "{" + ", ".join(items) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(_value(item, known, verbatim=verbatim) for item in value) + "]"
    if isinstance(value, str):
        return _text(value, known)
    return repr(int(value) if isinstance(value, float) and value.is_integer() else value)


def _text(text: str, known: Sequence[tuple[str, Mapping[str, Any]]]) -> str:
    outputs = [
        (value, f"{variable}.{_snake(key)}")
        for variable, one in known
        for key, value in [("id", one["id"]), *(one.get("outputs") or {}).items()]
        if isinstance(value, str) and len(value) > 4  # noqa: PLR2004 - shorter ones would be found in anything
    ]
    for value, expression in outputs:
        if value == text:
            return expression
    for variable, one in known if text.isdecimal() else ():
        for key, value in (one.get("outputs") or {}).items():
            if value == int(text) and not isinstance(value, bool):
                return f"{variable}.{_snake(key)}.apply(lambda number: str(int(number)))"
    parts: list[str] = []
    for value, expression in sorted(outputs, key=lambda pair: -len(pair[0])):
        if value in text:
            text = (
                text.replace(value, "{" + str(len(parts)) + "}")
                if "{" not in text
                else text.replace(value, f"@{len(parts)}@")
            )
            parts.append(expression)
    if not parts:
        return repr(text)
    fill = "".join(f".replace('@{number}@', given[{number}])" for number in range(len(parts)))
    if "@0@" in text:
        return f"pulumi.Output.all({', '.join(parts)}).apply(lambda given: {text!r}{fill})"
    return f"pulumi.Output.format({text!r}, {', '.join(parts)})"
