"""The table of instance types against EC2's own description, and the interfaces made from it."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import moto
import pytest

from emporion.components.aws.deployable import is_local_zone
from emporion.components.aws.instance_types import InstanceType, instance_types
from emporion.components.aws.nics import Nic, nics, problems

TYPES = instance_types()
WITH_EFA = sorted(name for name, kind in TYPES.items() if kind.efa_interfaces)


@pytest.fixture(scope="module")
def described() -> dict[str, Any]:
    """What EC2 says of its types, as moto bundles it."""
    packed = Path(moto.__file__).parent / "ec2" / "resources" / "instance_types.json.gz"
    found: dict[str, Any] = json.loads(gzip.decompress(packed.read_bytes()))
    return found


@pytest.mark.parametrize("name", sorted(TYPES))
def test_a_row_says_what_ec2_says(name: str, described: dict[str, Any]) -> None:
    kind, said = TYPES[name], described[name]
    network = said["NetworkInfo"]
    cards = network["NetworkCards"]
    assert kind.vcpus == said["VCpuInfo"]["DefaultVCpus"]
    assert kind.arch in said["ProcessorInfo"]["SupportedArchitectures"]
    assert kind.network_cards == len(cards)
    assert kind.interfaces_per_card == min(card["MaximumNetworkInterfaces"] for card in cards)
    assert kind.efa_interfaces == network.get("EfaInfo", {}).get("MaximumEfaInterfaces", 0)
    with_efa = [card["NetworkCardIndex"] for card in cards if "efa" in card["InterfaceTypes"]]
    assert kind.first_efa_card == (with_efa[0] if kind.efa_interfaces else None)
    assert kind.capacity_block == ("capacity-block" in said["SupportedUsageClasses"])
    assert kind.cluster_placement == ("cluster" in said["PlacementGroupInfo"]["SupportedStrategies"])


@pytest.mark.parametrize("name", WITH_EFA)
def test_every_efa_interface_is_on_a_card_of_its_own(name: str) -> None:
    kind = TYPES[name]
    layout = nics(kind, rdma=True)
    assert problems(kind, layout) == []
    assert sum(nic.efa for nic in layout) == kind.efa_interfaces
    assert len({nic.card for nic in layout if nic.efa}) == kind.efa_interfaces


@pytest.mark.parametrize("name", sorted(TYPES))
def test_without_rdma_a_node_has_one_plain_interface(name: str) -> None:
    assert nics(TYPES[name], rdma=False) == (Nic("interface", 0, 0),)


def test_p4d_has_four_efa_interfaces_on_cards_0_to_3() -> None:
    assert nics(TYPES["p4d.24xlarge"], rdma=True) == (
        Nic("efa", 0, 0), Nic("efa", 1, 1), Nic("efa", 2, 1), Nic("efa", 3, 1),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("name", "interfaces", "addresses"),
    [
        ("p4d.24xlarge", 4, 4),
        ("p5.48xlarge", 33, 1),
        ("p5en.48xlarge", 17, 1),
        ("p6-b200.48xlarge", 9, 1),
        ("p6-b300.48xlarge", 17, 1),
        ("g6e.48xlarge", 4, 4),
        ("g6.8xlarge", 1, 1),
    ],
)
def test_interfaces_and_addresses_of_a_node(name: str, interfaces: int, addresses: int) -> None:
    layout = nics(TYPES[name], rdma=True)
    assert (len(layout), sum(nic.takes_address for nic in layout)) == (interfaces, addresses)


def test_the_first_card_of_p6_b300_has_no_efa() -> None:
    layout = nics(TYPES["p6-b300.48xlarge"], rdma=True)
    assert [nic.interface_type for nic in layout if nic.card == 0] == ["interface"]


def test_efa_of_a_type_without_it_is_a_fault_of_the_caller() -> None:
    with pytest.raises(ValueError, match="has no EFA"):
        nics(TYPES["g6.xlarge"], rdma=True)


P4D: InstanceType = TYPES["p4d.24xlarge"]
P5 = TYPES["p5.48xlarge"]


@pytest.mark.parametrize(
    ("kind", "layout", "problem"),
    [
        pytest.param(P4D, [Nic("efa", 1, 0)], "no interface on card 0, device 0", id="no primary"),
        pytest.param(P4D, [Nic("efa", 0, 0), Nic("interface", 0, 0)], "same card and device", id="place twice"),
        pytest.param(P4D, [Nic("efa-only", 0, 0)], "primary interface needs an address", id="efa-only first"),
        pytest.param(P4D, [Nic("efa", 0, 0), Nic("efa", 4, 1)], "card 4 of 4", id="no such card"),
        pytest.param(P4D, [Nic("efa", 0, 0), Nic("efa", 0, 1)], "2 EFA interfaces on card 0", id="two on a card"),
        pytest.param(
            P5,
            [Nic("interface", 0, 0), Nic("efa-only", 0, 1), Nic("interface", 0, 2)],
            "3 interfaces on card 0, which takes 2",
            id="card full",
        ),
        pytest.param(
            TYPES["p6-b300.48xlarge"],
            [Nic("interface", 0, 0), Nic("efa-only", 0, 1)],
            "card 0 has no EFA",
            id="card without efa",
        ),
        pytest.param(
            TYPES["g6.xlarge"], [Nic("efa", 0, 0)], "1 EFA interfaces, g6.xlarge takes 0", id="type without efa"
        ),
    ],
)
def test_what_ec2_would_refuse_is_found(kind: InstanceType, layout: list[Nic], problem: str) -> None:
    assert any(problem in found for found in problems(kind, layout))


@pytest.mark.parametrize(
    ("zone", "local"), [("use1-az1", False), ("use1-atl2-az1", True), ("usw2-lax1-az1", True), ("apne1-az4", False)]
)
def test_a_local_zone_is_told_by_its_id(zone: str, *, local: bool) -> None:
    assert is_local_zone(zone) is local
