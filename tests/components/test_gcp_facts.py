"""Google Cloud resources as facts: regions, what is paid for, GPUs that are in a machine's price."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from emporion.components.gcp.facts import facts
from emporion.market.bill import make_bill
from emporion.market.facts import Disk, Fact, Node, Purchase, UnknownFactError, known
from emporion.market.resources import UNKNOWN, Others, Resource

INSTANCE = "gcp:compute/instance:Instance"


def read(kind: str, **inputs: Any) -> list[Fact]:
    resource = Resource("urn:pulumi:dev::shop::t::one", kind, inputs, {"region": "europe-west4"})
    return list(facts(resource, Others([resource])))


def bill(kind: str, **inputs: Any) -> dict[str, Decimal | None]:
    found = [fact for fact in read(kind, **inputs) if isinstance(fact, Purchase)]
    return {line.cost.item: line.cost.usd_per_hour for line in make_bill(found).lines}


@pytest.mark.parametrize(
    ("inputs", "region"),
    [
        pytest.param({"zone": "us-central1-a"}, "us-central1", id="zone"),
        pytest.param({"zone": "https://www.googleapis.com/compute/v1/projects/p/zones/us-central1-a"}, "us-central1",
                     id="zone as an address"),
        pytest.param({"location": "US"}, "us", id="multi-region"),
        pytest.param({"location": "EUROPE-WEST1"}, "europe-west1", id="location"),
        pytest.param({}, "europe-west4", id="of its provider"),
        pytest.param({"zone": UNKNOWN}, "?", id="unknown zone"),
    ],
)  # fmt: skip
def test_where_it_stands(inputs: dict[str, Any], region: str) -> None:
    [disk] = [fact for fact in read("gcp:compute/disk:Disk", **inputs) if isinstance(fact, Disk)]
    assert known(disk, "region", "?") == region


def test_gpus_in_the_price_of_a_machine_are_not_counted_twice() -> None:
    zone = "us-central1-a"
    alone = bill(INSTANCE, machineType="g2-standard-4", zone=zone)
    named = bill(
        INSTANCE, machineType="g2-standard-4", zone=zone, guestAccelerators=[{"type": "nvidia-l4", "count": 1}]
    )
    assert alone == named
    assert alone["g2-standard-4 on-demand"] is not None


def test_a_machine_whose_gpus_are_attached_has_no_price_here_rather_than_a_wrong_one() -> None:
    lines = bill(INSTANCE, machineType="n1-standard-8", zone="us-central1-a", guestAccelerators=[{"count": 1}])
    assert lines == {"n1-standard-8 with GPUs on-demand": None}


@pytest.mark.parametrize(
    ("inputs", "gpus"),
    [
        pytest.param({"machineType": "a3-highgpu-8g"}, 8, id="built in"),
        pytest.param(
            {"machineType": "n1-standard-8", "guestAccelerators": [{"count": 2}, {"count": 1}]}, 3, id="attached"
        ),
        pytest.param({"machineType": "n1-standard-8"}, 0, id="none"),
        pytest.param({"machineType": "a4-ultragpu-99g"}, None, id="a type that nobody knows"),
        pytest.param({"machineType": UNKNOWN}, None, id="not known yet"),
    ],
)
def test_how_many_gpus(inputs: dict[str, Any], gpus: int | None) -> None:
    [node] = [fact for fact in read(INSTANCE, **inputs) if isinstance(fact, Node)]
    assert known(node, "gpus", None) == gpus
    if gpus is None:
        with pytest.raises(UnknownFactError):
            _ = node.gpus


def test_disks_and_addresses_of_spot_machines() -> None:
    lines = bill(
        INSTANCE, machineType="g2-standard-4", zone="us-central1-a", scheduling={"provisioningModel": "SPOT"},
        bootDisk={"initializeParams": {"size": 100, "type": "pd-balanced"}},
        networkInterfaces=[{"accessConfigs": [{}]}],
    )  # fmt: skip
    assert list(lines) == ["g2-standard-4 spot", "disk of one", "public address of one"]
    assert None not in lines.values()
