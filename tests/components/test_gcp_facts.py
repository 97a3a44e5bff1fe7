"""Google Cloud resources as facts: regions, what is paid for, GPUs that are in a machine's price."""

from __future__ import annotations

import csv
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from emporion.components.gcp.facts import facts
from emporion.market.bill import make_bill
from emporion.market.facts import Disk, Fact, Node, Purchase, UnknownFactError, known
from emporion.market.resources import UNKNOWN, Others, Resource

DATA = Path(__file__).parents[2] / "market/emporion/market/data"
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


def listed(instance_type: str, gpu: str, count: int, region: str) -> Decimal:
    rows = csv.DictReader((DATA / "offers.csv").read_text(encoding="utf-8").splitlines())
    wanted = ("gcp", region, instance_type, gpu, str(count))
    return max(
        Decimal(row["on_demand_usd_hr"])
        for row in rows
        if (row["provider"], row["region"], row["instance_type"], row["gpu"], row["gpu_count"]) == wanted
    )


@pytest.mark.parametrize(
    ("kind", "gpus", "expected"),
    [
        pytest.param("n1-highmem-8", [("nvidia-tesla-v100", 1)], ("v100-16gb", 1), id="one"),
        pytest.param("n1-highmem-32", [("nvidia-tesla-v100", 4)], ("v100-16gb", 4), id="four"),
        pytest.param("n1-highmem-8", [("nvidia-tesla-v100", 2)], None, id="a number without a price"),
        pytest.param("n1-highmem-8", [], None, id="none: the price with GPUs is not its own"),
        pytest.param("n1-highmem-8", [("nvidia-tesla-x9", 1)], None, id="a model that nobody knows"),
    ],
)
def test_attached_gpus_are_priced_with_their_machine(
    kind: str, gpus: list[tuple[str, int]], expected: tuple[str, int] | None
) -> None:
    attached = [{"type": name, "count": count} for name, count in gpus]
    [usd] = bill(INSTANCE, machineType=kind, zone="us-central1-a", guestAccelerators=attached).values()
    assert usd == (None if expected is None else listed(kind, *expected, "us-central1"))


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
