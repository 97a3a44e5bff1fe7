"""Ids of machines as a screen shows them."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from emporion.market.clouds import short_ids

GROUP = "/subscriptions/s/resourceGroups/g/providers/Microsoft.Compute"


def test_ids_without_a_path_stay() -> None:
    assert short_ids(["i-1", "i-2"]) == {"i-1": "i-1", "i-2": "i-2"}
    assert short_ids([]) == {}


def test_paths_lose_what_they_share() -> None:
    single, member = f"{GROUP}/virtualMachines/c", f"{GROUP}/virtualMachineScaleSets/set/virtualMachines/0"
    assert short_ids([single, member]) == {
        single: "virtualMachines/c",
        member: "virtualMachineScaleSets/set/virtualMachines/0",
    }
    assert short_ids([single]) == {single: "c"}


@given(st.lists(st.text("ab/", min_size=1), unique=True))
def test_they_still_tell_all_apart(ids: list[str]) -> None:
    short = short_ids(ids)
    assert list(short) == ids
    assert len(set(short.values())) == len(ids)
    assert all(each.endswith(end) and end for each, end in short.items() if not each.endswith("/"))


def test_paths_of_several_clouds_lose_what_those_of_each_share() -> None:
    azure = f"{GROUP}/virtualMachines/c"
    google = ["projects/p/zones/z/instances/a", "projects/p/zones/z/instances/b"]
    assert short_ids([azure, "i-1", *google]) == {azure: "c", "i-1": "i-1", google[0]: "a", google[1]: "b"}
