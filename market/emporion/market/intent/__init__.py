"""The intent: read, validated, normalised.

    load_intent(path, flags)     a YAML file, flags in place of its keys
    intent_from_flags(gpus=…)    flags alone
    intent_json, intent_hash     what is printed, pinned and compared
    intent_schema                the JSON Schema that editors use

Reading is by one table of keys (`keys.py`) and not by pydantic, whose import alone costs 190 ms of the 500 ms of CPU
that `emporion plan` may take.
"""

from __future__ import annotations

from emporion.market.intent.codec import intent_from_json, intent_hash, intent_json
from emporion.market.intent.load import FLAGS, Flag, intent_from_flags, load_intent
from emporion.market.intent.model import Intent
from emporion.market.intent.schema import intent_schema

__all__ = [
    "FLAGS",
    "Flag",
    "Intent",
    "intent_from_flags",
    "intent_from_json",
    "intent_hash",
    "intent_json",
    "intent_schema",
    "load_intent",
]
