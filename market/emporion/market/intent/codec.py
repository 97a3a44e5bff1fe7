"""The intent as JSON (`emporion.intent/1`): normalised, defaults filled in, the unit in each key, money as strings.

Read back from a stack's pin, where it may have been damaged: then it is an error of the user's file, not a traceback.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import re
from collections.abc import Mapping
from decimal import Decimal
from enum import StrEnum
from functools import cache
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from emporion.market.errors import UserError
from emporion.market.gpus import gpu_info, meets_vram
from emporion.market.intent.model import Gpus, Intent
from emporion.market.money import money_text
from emporion.market.units import Memory, parse_memory, plain, shown

__all__ = ["SCHEMA", "intent_from_json", "intent_hash", "intent_json"]

SCHEMA = "emporion.intent/1"
_OF_THE_FILE = ("source", "positions", "flags")
_WHEN_SET = ("where", "arch")
"""Fields that came later: left out while they say nothing, so that an intent without them keeps its hash."""


def intent_json(intent: Intent) -> dict[str, Any]:
    """Return the normalised intent; the order of keys is that of the model."""
    return {"schema": SCHEMA, **_mapping(intent, leave_out=_OF_THE_FILE)}


def _mapping(value: Any, leave_out: tuple[str, ...] = ()) -> dict[str, Any]:  # noqa: ANN401 - a dataclass
    written: dict[str, Any] = {}
    for field in dataclasses.fields(value):
        if field.name in leave_out:
            continue
        item = getattr(value, field.name)
        if item in (None, ()) and field.name in _WHEN_SET:
            continue
        if isinstance(item, Memory):
            number = item.gib if item.binary else item.gb
            written[f"{field.name}_{'gib' if item.binary else 'gb'}"] = plain(number)
        elif field.name == "tags":
            written["tags"] = dict(item)
        else:
            written[field.name] = _plain(item, field.name)
    return written


def _plain(value: object, name: str) -> Any:  # noqa: ANN401 - JSON
    if isinstance(value, tuple):
        return [_plain(item, name) for item in value]
    if isinstance(value, Decimal):
        return money_text(value) if "usd" in name else plain(value)
    if isinstance(value, StrEnum):
        return value.value
    if dataclasses.is_dataclass(value):
        return _mapping(value)
    return value


def intent_hash(intent: Intent) -> str:
    """Return the SHA-256 of what the intent means, equal for all spellings of one wish.

    The name, the file, the words that were written for the GPUs, and a floor of memory that every accepted model meets
    do not count.
    """
    resources = dataclasses.replace(intent.resources, gpus=_meaning(intent.resources.gpus))
    stages = tuple(
        dataclasses.replace(stage, resources=dataclasses.replace(stage.resources, gpus=_meaning(stage.resources.gpus)))
        for stage in intent.stages
    )
    meaning = dataclasses.replace(intent, name="", resources=resources, stages=stages, not_acted_on=())
    text = json.dumps(intent_json(meaning), sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def _meaning(gpus: Gpus | None) -> Gpus | None:
    if gpus is None:
        return None
    floor = gpus.min_vram
    if floor is not None and gpus.types:
        known = [gpu_info(gpu) for gpu in gpus.types]
        if all(meets_vram(floor, gpu.vram_gb, gpu.memory_mib) for gpu in known):
            floor = None
    return dataclasses.replace(gpus, asked=(), min_vram=floor)


def intent_from_json(data: object, *, where: str | None = None) -> Intent:
    """Return the intent that `intent_json` wrote.

    Raises: UserError E-INTENT-JSON: when it is of another schema, or damaged.
    """
    if not isinstance(data, Mapping) or data.get("schema") != SCHEMA:
        seen = data.get("schema") if isinstance(data, Mapping) else type(data).__name__
        raise _damaged(f"schema {shown(str(seen))}, {SCHEMA} is expected", where)
    try:
        intent: Intent = _read_mapping(Intent, {key: value for key, value in data.items() if key != "schema"}, "")
    except _DamagedError as error:
        raise _damaged(str(error), where) from None
    return intent


class _DamagedError(Exception):
    """A value that does not fit, with its key path."""


def _damaged(what: str, where: str | None) -> UserError:
    return UserError("E-INTENT-JSON", f"not a normalised intent: {what}", where, "write it again: emporion plan --pin")


@cache
def _hints(kind: type) -> Mapping[str, Any]:
    return get_type_hints(kind)


def _read_mapping(kind: type, data: object, path: str) -> Any:  # noqa: ANN401 - an instance of `kind`
    if not isinstance(data, Mapping) or not all(isinstance(key, str) for key in data):
        raise _DamagedError(f"{path or 'it'} is not a mapping")
    left = dict(data)
    values: dict[str, Any] = {}
    for name, hint in _hints(kind).items():
        below = f"{path}.{name}" if path else name
        if Memory in get_args(hint):
            values[name] = _read_memory(left, name, below)
        elif name == "tags":
            tags = left.pop(name, {})
            if not isinstance(tags, Mapping) or not all(
                isinstance(item, str) for pair in tags.items() for item in pair
            ):
                raise _DamagedError(f"{below} is not a mapping of text")
            values[name] = tuple(sorted(tags.items()))
        elif name in left:
            values[name] = _read(hint, left.pop(name), below)
    if left:
        raise _DamagedError(f"unknown key {shown(next(iter(left)))} in {path or 'it'}")
    try:
        return kind(**values)
    except TypeError:
        raise _DamagedError(f"a key is missing in {path or 'it'}") from None


def _read_memory(left: dict[str, Any], name: str, path: str) -> Memory | None:
    for unit in ("gb", "gib"):
        text = left.pop(f"{name}_{unit}", None)
        if text is not None:
            try:
                return parse_memory(f"{text}{unit}", zero=True)
            except UserError as error:
                raise _DamagedError(f"{path}: {error.what}") from None
    if left.pop(name, None) is not None:
        raise _DamagedError(f"{path} has no unit in its key")
    return None


def _read(hint: Any, value: object, path: str) -> Any:  # noqa: ANN401 - what the hint says
    origin, args = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        if value is None and NoneType in args:
            return None
        (inner,) = (arg for arg in args if arg is not NoneType)
        return _read(inner, value, path)
    if origin is tuple:
        if not isinstance(value, list):
            raise _DamagedError(f"{path} is not a list")
        return tuple(_read(args[0], item, f"{path}[{index}]") for index, item in enumerate(value))
    if origin is Literal:
        if value not in args:
            raise _DamagedError(f"{path} is {shown(str(value))}")
        return value
    return _read_plain(hint, value, path)


def _read_plain(kind: type, value: object, path: str) -> Any:  # noqa: ANN401 - an instance of `kind`
    if dataclasses.is_dataclass(kind):
        return _read_mapping(kind, value, path)
    if kind is Decimal:
        if not isinstance(value, str) or re.fullmatch(r"[0-9]{1,80}(?:\.[0-9]{1,80})?", value) is None:
            raise _DamagedError(f"{path} is not a number")
        return Decimal(value)
    if issubclass(kind, StrEnum):
        if not isinstance(value, str) or value not in list(kind):
            raise _DamagedError(f"{path} is {shown(str(value))}")
        return kind(value)
    if type(value) is not kind:
        raise _DamagedError(f"{path} is not {kind.__name__}")
    return value
