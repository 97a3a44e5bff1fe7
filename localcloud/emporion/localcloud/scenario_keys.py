"""Every key of a scenario file, once: how its text is read and what it means. The JSON Schema comes from it too."""

from __future__ import annotations

from emporion.localcloud.fault_kinds import FIELDS, KINDS, words
from emporion.localcloud.fault_reading import fault_kind
from emporion.localcloud.model_kinds import MODELS
from emporion.localcloud.time_control import read_moment
from emporion.market.intent.keys import Key, Section
from emporion.market.intent.readers import choice, matching, whole
from emporion.market.units import parse_number

__all__ = ["ROOT"]


def _rate(text: str) -> float:
    return float(parse_number(text, zero=True))


def _machines(text: str) -> int | None:
    word = text.strip()
    if word == "none":
        return None
    if word == "0":
        return 0
    return whole(word)


_BY_NAME = {key.name: key for key in FIELDS}
_PLACE = (_BY_NAME["provider"], _BY_NAME["region"], _BY_NAME["instance_type"])
_NUMBER = Key("machines", "How many; `none`: no limit.", _machines, "4")

ROOT = Section(
    "scenario",
    "What a world is to be like.",
    (
        Key("name", "What the scenario is called; the file's name by default.", words, "region-lost"),
        Key("description", "What it is for.", words, "a region dies while jobs train in it"),
        Key(
            "seed",
            "What the world's chances follow from: equal seeds, equal chances.",
            matching(r"\S(.*\S)?", "a seed", "seed: 7", limit=64),
            "7",
        ),
        Section(
            "clock",
            "How the world's time goes.",
            (
                Key("now", "The moment at which it begins.", read_moment, "2027-01-01T00:00:00Z"),
                Key("rate", "Seconds of the world a second; 0: it stands still.", _rate, "60"),
            ),
        ),
        *(
            Key(each.name, each.what, choice(*each.values), each.values[-1], each.values, each.values[0])
            for each in MODELS.values()
        ),
        Key("price_history", "A CSV file whose recorded spot prices are replayed from now on.", words, "history.csv"),
        Section(
            "capacity",
            "How many machines there are, running ones included; no limit without an entry.",
            (*_PLACE, _BY_NAME["zone"], _NUMBER),
            many=True,
        ),
        Section(
            "quotas",
            "How many machines the account may run; no limit without an entry.",
            (*_PLACE, _BY_NAME["market"], _NUMBER),
            many=True,
        ),
        Section(
            "faults",
            "What goes wrong, and when.",
            (Key("kind", "What goes wrong.", fault_kind, "throttle", tuple(KINDS)), *FIELDS),
            many=True,
        ),
    ),
)
