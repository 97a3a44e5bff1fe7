from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from cloud_ask import FakeAsk
from hypothesis import given, settings
from hypothesis import strategies as st
from price_answers import COREWEAVE, NEBIUS, lambda_types, runpod_type, runpod_types, vast_offer

from emporion.market.errors import UserError
from emporion.market.offers.adapter import Adapter, Row
from emporion.market.offers.adapters import coreweave, lambda_cloud, nebius, runpod, vast
from emporion.market.offers.document import OPTIONAL, REQUIRED
from emporion.market.offers.refreshed import check_rows

KEYS = dict.fromkeys(("LAMBDA_API_KEY", "RUNPOD_API_KEY", "VAST_API_KEY"), "k")
DOCUMENTS: dict[str, tuple[Adapter, Any]] = {
    "lambda": (lambda_cloud.ADAPTER, lambda_types()),
    "runpod": (
        runpod.ADAPTER,
        runpod_types(
            runpod_type("A40", 48, secureCloud=True, securePrice=0.4, secureSpotPrice=0.2, maxGpuCountSecureCloud=4),
            runpod_type(
                "H100 SXM", 80, communityCloud=True, communityPrice=2.7, community={"minVcpu": 8, "minMemory": 60}
            ),
        ),
    ),
    "vast": (vast.ADAPTER, {"offers": [vast_offer(1), vast_offer(2, machine_id=1, num_gpus=2)]}),
}
PAGES = {"nebius": (nebius.ADAPTER, NEBIUS), "coreweave": (coreweave.ADAPTER, COREWEAVE)}

anything = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 10**20) | st.floats() | st.text(st.characters(), max_size=12),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)


def places(document: Any, above: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the way to every value of a JSON document, its own last."""
    inner = (
        document.items() if isinstance(document, dict) else enumerate(document) if isinstance(document, list) else ()
    )
    for key, value in inner:
        yield from places(value, (*above, key))
    yield above


def changed(document: Any, place: tuple[Any, ...], value: Any) -> Any:
    if not place:
        return value
    found = copy.deepcopy(document)
    within = found
    for key in place[:-1]:
        within = within[key]
    within[place[-1]] = value
    return found


def holds(adapter: Adapter, answer: Any) -> None:
    """See to it that an answer gives rows that a refresh can take or refuse, or one error."""
    rows: list[Row] = []
    assert told(lambda: rows.extend(adapter.fetch(FakeAsk(lambda *_asked: answer, KEYS)))) <= {"E-ADAPTER"}
    for row in rows:
        assert set(row) <= {*REQUIRED, *OPTIONAL}
        assert all(isinstance(cell, str) for cell in row.values())
    assert told(lambda: check_rows(rows, adapter.provider, {})) <= {"E-OFFERS"}


def told(call: Callable[[], object]) -> set[str]:
    """Return the codes of what a call raises that the user can mend."""
    try:
        call()
    except UserError as error:
        return {each.code for each in error.problems()}
    return set()


@pytest.mark.parametrize("name", DOCUMENTS)
def test_whatever_stands_in_an_answer_it_is_rows_or_one_error(name: str) -> None:
    adapter, document = DOCUMENTS[name]
    ways = list(places(document))

    @settings(max_examples=150, deadline=None)
    @given(place=st.sampled_from(ways), value=anything)
    def change(place: tuple[Any, ...], value: Any) -> None:
        holds(adapter, changed(document, place, value))

    change()


@pytest.mark.parametrize("name", PAGES)
def test_whatever_a_page_says_it_is_rows_or_one_error(name: str) -> None:
    adapter, page = PAGES[name]

    @settings(max_examples=150, deadline=None)
    @given(at=st.integers(0, len(page)), cut=st.integers(0, 60), text=st.text(max_size=6) | st.sampled_from('|$<>"`#'))
    def change(at: int, cut: int, text: str) -> None:
        holds(adapter, page[:at] + text + page[at + cut :])

    change()
