from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emporion.localcloud.capacity import machine_limit, quota_limit
from emporion.localcloud.clock import Mode
from emporion.localcloud.fault_kinds import COMMON, FIELDS, KINDS
from emporion.localcloud.fault_reading import read_fault
from emporion.localcloud.faults import add_fault, faults
from emporion.localcloud.models import model
from emporion.localcloud.scenario import apply, load_scenario, scenario_schema
from emporion.localcloud.world import World
from emporion.market.errors import UserError

LOST = """
name: us-east-1-lost
description: a region dies while jobs train in it
seed: 7
clock: {now: 2027-01-01T00:00:00Z, rate: 0}
delays: modelled
prices: moving
capacity:
  - {provider: azure, region: eastus, instance_type: Standard_ND96isr_H100_v5, machines: 2}
  - {provider: aws, machines: none}
quotas:
  - {provider: aws, region: us-west-2, market: spot, machines: 0}
faults:
  - {kind: region-outage, provider: aws, region: us-east-1, after: 5m, for: 1h}
  - {kind: throttle, provider: aws, region: us-west-2, times: 20}
  - {kind: slow, delay: 20s, operation: create}
"""


def write(folder: Path, text: str) -> Path:
    path = folder / "scenario.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_scenario_makes_the_world_as_it_says(world: World, tmp_path: Path) -> None:
    apply(world, load_scenario(write(tmp_path, LOST)))
    assert (world.seed, world.now(), world.virtual_clock().mode) == ("7", "2027-01-01T00:00:00.000Z", Mode.STEPPED)
    assert [model(world, name) for name in ("delays", "interruptions", "prices")] == ["modelled", "none", "moving"]
    assert machine_limit(world, "azure-native", "eastus", ("1", "1"), "Standard_ND96isr_H100_v5") == (2, "*")
    assert machine_limit(world, "aws", "us-east-1", ("a", "b"), "p5.48xlarge") is None
    assert quota_limit(world, "aws", "us-west-2", "p5.48xlarge", "spot") == (0, "spot")
    outage, throttle, slow = faults(world)
    assert (outage.kind, outage.provider, outage.region, outage.times) == ("region-outage", "aws", "us-east-1", 0)
    assert outage.ends_s == outage.starts_s + 3600 == world.time_s() + 300 + 3600
    assert (throttle.times, slow.times, slow.operation, dict(slow.detail)) == (20, 1, "create", {"delay_s": 20})


def test_recorded_prices_lie_beside_the_scenario(world: World, tmp_path: Path) -> None:
    lines = "provider,region,zone,instance_type,observed_at,spot_usd_hr\naws,us-east-1,,p5.48xlarge,2026-01-01,9\n"
    (tmp_path / "history.csv").write_text(lines, encoding="utf-8")
    apply(world, load_scenario(write(tmp_path, "price_history: history.csv")))
    assert model(world, "prices") == "replay"
    with pytest.raises(UserError, match="cannot be read"):
        apply(world, load_scenario(write(tmp_path, "seed: 3\nprice_history: other.csv")))
    assert world.seed == world.name


def test_what_a_scenario_does_not_name_stays(world: World, tmp_path: Path) -> None:
    add_fault(world, "throttle")
    apply(world, load_scenario(write(tmp_path, "faults: [{kind: quota}]")))
    assert [fault.kind for fault in faults(world)] == ["throttle", "quota"]


def test_a_scenario_that_cannot_be_applied_changes_nothing(world: World, tmp_path: Path) -> None:
    text = "seed: 9\nclock: {now: 1999-01-01}\nfaults: [{kind: quota}]"
    with pytest.raises(UserError, match="only goes forward"):
        apply(world, load_scenario(write(tmp_path, text)))
    assert (faults(world), world.seed) == ([], world.name)


@pytest.mark.parametrize(
    ("text", "where", "says", "fix"),
    [
        pytest.param("fault: []", ":1  fault", "unknown key 'fault'", "did you mean faults", id="unknown key"),
        pytest.param(
            "faults:\n - {kind: region-outag}", ":2  faults[0].kind", "no fault is called", "region-outage?", id="kind"
        ),
        pytest.param("faults:\n - {times: 3}", ":2  faults[0]", "the kind of the fault is missing", "kind:", id="none"),
        pytest.param(
            "faults:\n - {kind: region-outage}", ":2  faults[0]", "region-outage needs region", "us-east-1", id="needs"
        ),
        pytest.param(
            "faults:\n - {kind: quota, delay: 3s}", ":2  faults[0]", "quota has no delay", "instance_type", id="odd"
        ),
        pytest.param(
            "faults:\n - {kind: slow, delay: 3}", ":2  faults[0].delay", "'3' has no unit", "10m", id="no unit"
        ),
        pytest.param(
            "faults:\n - {kind: quota, provider: asw}", ":2  faults[0]", "no provider 'asw'", "aws?", id="provider"
        ),
        pytest.param(
            "faults:\n - {kind: region-outage, provider: aws, region: us-east-9}",
            ":2  faults[0]",
            "aws has no region 'us-east-9'",
            "us-east-",
            id="region",
        ),
        pytest.param(
            "faults:\n - {kind: zone-outage, provider: aws, region: us-east-1, zone: use1-az99}",
            ":2  faults[0]",
            "us-east-1 has no zone 'use1-az99'",
            "use1-az",
            id="zone",
        ),
        pytest.param("capacity:\n - {provider: aws}", ":2  capacity[0]", "how many machines", "none", id="machines"),
        pytest.param(
            "capacity: [{machines: many}]", ":1  capacity[0].machines", "'many' is not a whole number", "4", id="many"
        ),
        pytest.param("capacity: {machines: 1}", ":1  capacity", "a list", "capacity: [...]", id="no list"),
        pytest.param("clock: {now: noon}", ":1  clock.now", "'noon' is not a moment", "2026", id="moment"),
        pytest.param("clock: {rate: fast}", ":1  clock.rate", "'fast' is not a plain number", "4", id="rate"),
        pytest.param("", "", "the file is empty", "faults:", id="empty"),
        pytest.param("a: [", ":2:1", "not YAML", "brackets", id="not yaml"),
    ],
)
def test_what_is_wrong_is_said_with_its_line_and_a_way_out(
    text: str, where: str, says: str, fix: str, tmp_path: Path
) -> None:
    path = write(tmp_path, text)
    with pytest.raises(UserError) as refused:
        load_scenario(path)
    assert refused.value.where == f"{path}{where}"
    assert says in refused.value.what
    assert fix in (refused.value.fix or "")


def test_all_problems_are_told_at_once_in_the_order_of_their_lines(tmp_path: Path) -> None:
    text = (
        "quotas:\n - {provider: x, machines: 1}\nfaults:\n - {kind: slow}\n - {kind: throttle, times: -1}\nseeed: 1\n"
    )
    with pytest.raises(UserError) as refused:
        load_scenario(write(tmp_path, text))
    lines = [(one.where or "").partition("scenario.yaml:")[2].partition(" ")[0] for one in refused.value.problems()]
    assert lines == ["2", "4", "5", "6"]


def test_the_schema_describes_every_key_that_the_reader_takes() -> None:
    schema = scenario_schema()
    assert schema["additionalProperties"] is False
    fault = schema["properties"]["faults"]["items"]
    assert set(fault["properties"]) == {"kind", *(field.name for field in FIELDS)}
    assert fault["properties"]["kind"]["enum"] == sorted(KINDS)
    for section in schema["properties"].values():
        keys = section.get("items", section).get("properties", {})
        assert all(key["description"] for key in keys.values())


@given(st.sampled_from(sorted(KINDS)), st.sets(st.sampled_from([field.name for field in FIELDS])))
def test_a_kind_takes_its_fields_and_no_others(kind: str, names: set[str]) -> None:
    said = {field.name: field.read(field.example) for field in FIELDS if field.name in names}
    row = KINDS[kind]
    fits = names >= set(row.needs) and names <= {*row.needs, *row.takes, *COMMON}
    try:
        fault = read_fault(kind, said)
    except UserError as error:
        assert error.code == "E-ZONE" or not fits  # noqa: PT017 - what is said decides
    else:
        assert fits
        told = {"delay": "delay_s", "code": "code", "text": "text", "node": "node"}
        assert fault["detail"].keys() == {told[name] for name in names & told.keys()}
