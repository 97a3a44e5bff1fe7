"""The JSON Schema of an intent file, from the table of keys."""

from __future__ import annotations

from typing import Any

from emporion.market.intent.keys import ROOT, Key, Section
from emporion.market.intent.spellings import SPELLINGS

__all__ = ["intent_schema", "section_schema"]


def intent_schema() -> dict[str, Any]:
    """Return the JSON Schema (2020-12) of an intent file, every key with its description."""
    schema = section_schema(ROOT)
    properties = schema["properties"]
    for name, path in SPELLINGS.items():
        same_key = {"$ref": f"#/properties/{'/properties/'.join(path)}"}
        properties[name] = same_key
        if path[0] == "resources":
            properties["resources"]["properties"].setdefault(name, same_key)
    properties["spot"] = properties["lifecycle"]["properties"]["spot"] = {
        "description": "Another spelling of lifecycle.market: any, spot, on_demand.",
        "enum": ["prefer", "require", "never"],
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "emporion intent",
        **schema,
    }


def section_schema(section: Section) -> dict[str, Any]:
    """Return the JSON Schema of one section of a table of keys."""
    doc = section.doc if section.acted else f"{section.doc} Not acted on in this version."
    if section.open:
        return {"description": doc, "type": "object", "additionalProperties": {"type": ["string", "number", "boolean"]}}
    mapping: dict[str, Any] = {
        "type": "object",
        "properties": {key.name: _key(key) if isinstance(key, Key) else section_schema(key) for key in section.keys},
        "additionalProperties": False,
    }
    if section.many:
        return {"description": doc, "type": "array", "items": mapping}
    if section.shorthand:
        return {
            "description": doc,
            "type": ["object", "string", "array"] if section.name == "gpus" else ["object", "string"],
            "examples": [section.shorthand],
            **{key: value for key, value in mapping.items() if key != "type"},
        }
    return {"description": doc, **mapping}


def _key(key: Key) -> dict[str, Any]:
    value: dict[str, Any] = {"type": ["string", "number", "boolean"], "examples": [key.example]}
    if key.values:
        value = {"enum": _words(key.values)}
    if key.many:
        value = {"anyOf": [value, {"type": "array", "items": value}]}
    doc = key.doc if key.acted else f"{key.doc} Not acted on in this version."
    value = {"description": doc, **value}
    if key.default is not None:
        value["default"] = _word(key.default)
    return value


def _words(values: tuple[str, ...]) -> list[Any]:
    """Return the words, with true and false also as YAML reads them."""
    return sorted({str(value) for value in values}) + [_BOOLEANS[value] for value in values if value in _BOOLEANS]


_BOOLEANS = {"true": True, "false": False, "no": False}


def _word(text: str) -> Any:  # noqa: ANN401 - JSON
    return _BOOLEANS.get(text, str(text))
