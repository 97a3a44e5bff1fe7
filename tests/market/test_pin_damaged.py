"""A pin lies in a file that people edit and merge: whatever stands there is read, or refused in words."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from machine_images import IMAGES
from plans import AWS, INTENTS, NOW

from emporion.market.errors import ExitCode, UserError
from emporion.market.intent import intent_from_json, load_intent
from emporion.market.offers import load_bundled
from emporion.market.pin import PinnedPlacement
from emporion.market.plan import Plan, make_plan, market_diff, pin, pricing, stale_note


@cache
def plan() -> Plan:
    return make_plan(load_intent(INTENTS / "demo.yaml"), load_bundled(), clouds=AWS, now=NOW)


@cache
def document() -> str:
    return json.dumps(pin(plan(), IMAGES).to_json())


def paths(value: object, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Return the path of everything in a document."""
    below: list[tuple[Any, Any]] = []
    if isinstance(value, dict):
        below = list(value.items())
    elif isinstance(value, list):
        below = list(enumerate(value))
    return [path, *(deeper for key, item in below for deeper in paths(item, (*path, key)))] if path or below else []


def use(data: object) -> None:
    """Do everything that commands do with a pin."""
    pinned = PinnedPlacement.from_json(data, where="stack demo")
    stale_note(pinned, NOW)
    pricing(pinned, NOW)
    json.dumps(pinned.to_json())
    market_diff(pinned, plan(), IMAGES)
    intent_from_json(pinned.intent, where="stack demo")


def refusal(data: object) -> UserError | None:
    """Return why a document is refused, None when it is used."""
    try:
        use(data)
    except UserError as error:
        return error
    return None


JUNK = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=8)
    | st.sampled_from(["-1", "NaN", "1e9"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=4,
)


@settings(deadline=None, max_examples=600)
@given(data=st.data())
def test_a_damaged_pin_is_used_or_refused_in_words(data: st.DataObject) -> None:
    damaged: Any = json.loads(document())
    for _ in range(data.draw(st.integers(1, 3))):
        places = paths(damaged)
        if not places:
            break
        *above, last = data.draw(st.sampled_from([place for place in places if place] or [("schema",)]))
        inside = damaged
        for key in above:
            inside = inside[key]
        if data.draw(st.booleans()):
            inside[last] = data.draw(JUNK)
        else:
            del inside[last]
    error = refusal(damaged)
    if error is not None:
        assert error.code in {"E-PIN", "E-INTENT-JSON"}
        assert error.exit_code is ExitCode.BAD_INPUT
        assert error.fix


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("pools",), []),
        (("pools",), "none"),
        (("pools", 0, "count"), "2"),
        (("pools", 0, "usd_per_hour"), "NaN"),
        (("pools", 0, "usd_per_hour"), "-1"),
        (("pools", 0, "image"), None),
        (("usd_per_hour",), None),
        (("cost_lines",), {}),
        (("cost_lines", 0), "free"),
        (("cost_lines", 0, "quantity"), "many"),
        (("intent",), []),
        (("storage", "file_system"), "nfs"),
        (("scheduler",), "cron"),
        (("nat",), "yes"),
        (("tags",), [["a"]]),
        (("prefer",), 1),
    ],
    ids=lambda one: ".".join(map(str, one)) if isinstance(one, tuple) else repr(one),
)
def test_what_does_not_fit_is_refused_with_the_way_to_mend_it(path: tuple[Any, ...], value: object) -> None:
    damaged = json.loads(document())
    inside = damaged
    for key in path[:-1]:
        inside = inside[key]
    inside[path[-1]] = value
    with pytest.raises(UserError) as refused:
        PinnedPlacement.from_json(damaged, where="Pulumi.demo.yaml")
    assert (refused.value.code, refused.value.where) == ("E-PIN", "Pulumi.demo.yaml")
    assert refused.value.fix == "pin again: emporion plan INTENT --pin STACK"


def test_a_date_that_is_none_counts_as_old() -> None:
    damaged = json.loads(document())
    damaged["cost_lines"][0]["as_of"] = "lately"
    note = stale_note(PinnedPlacement.from_json(damaged), NOW)
    assert note is not None
    assert note.endswith("with prices without a date")
